"""TRL's `GRPOTrainer` for a user's own script: with a session, or only with a controller."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from trl import GRPOTrainer

from paretopo.controller.reward_vectors import name_objectives
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.trl.advantages import ParetoAdvantages
from paretopo.integrations.trl.calls import check_type, explain_calls
from paretopo.integrations.trl.random_state import keep_random_state
from paretopo.integrations.trl.scaling import find_scaling
from paretopo.integrations.trl.script import ScriptSession
from paretopo.integrations.trl.script_rewards import check_rewards, read_rollouts
from paretopo.integrations.trl.session_trainer import SessionTrainer, TiedWeights
from paretopo.rollout import Rollout


class ControllerTrainer(TiedWeights, ParetoAdvantages, GRPOTrainer):
    """TRL's `GRPOTrainer` whose advantages come from a controller, without records.

    Args:
        *args: As for `GRPOTrainer`.
        controller: Its objectives are the trainer's reward functions.
        **kwargs: As for `GRPOTrainer`.

    Raises:
        ConfigError: The controller's weights do not fit the reward functions, or its methods do
            not fit the arguments; names them.

    Example:
        >>> controller = ParetoPO(ParetoPOConfig(stage2_estimator="gdpo"))  # doctest: +SKIP
        >>> ControllerTrainer(controller=controller, reward_funcs=[correct, short], …).train()
        ... # doctest: +SKIP
    """

    @explain_calls(GRPOTrainer.__init__)
    def __init__(self, *args: Any, controller: ParetoPO, **kwargs: Any) -> None:
        check_type("controller", controller, ParetoPO, "a ParetoPO(ParetoPOConfig())")
        super().__init__(*args, **kwargs)
        self.controller = controller
        controller.names = name_objectives(controller.config, self.reward_func_names)
        controller.watch.speaks = self.accelerator.is_main_process
        find_scaling(self.args, controller.config.stage2_estimator)
        check_rewards(self)


_PLACES: dict[str, Callable[..., object]] = {
    "session=ScriptSession({}=...)": ScriptSession.__init__,
    "{}= to ControllerTrainer": ControllerTrainer.__init__,
}


class ParetoGRPOTrainer(SessionTrainer):
    """TRL's `GRPOTrainer` with several objectives; it replaces `GRPOTrainer` in a script.

    It computes advantages, adds held-out evaluations, and keeps archive, records and checkpoints of
    the script's run. All else is TRL's own: generation, order of rows, passes and loss.

    Args:
        *args: As for `GRPOTrainer`.
        session: The script's `ScriptSession`. The default, `ScriptSession()`, makes every reward
            function an objective.
        evaluation_temperature: Sampling temperature of evaluations; 0 decodes greedily, None
            samples as in training.
        **kwargs: As for `GRPOTrainer`.

    Raises:
        ValueError: `evaluation_temperature` is negative.
        ConfigError: The session's objectives do not fit the reward functions, or its methods do
            not fit the arguments; names them.

    Example:
        >>> trainer = ParetoGRPOTrainer(model=…, reward_funcs=[correct, short], …)  # doctest: +SKIP
        >>> session = ScriptSession("objectives.toml", method="recommended")  # doctest: +SKIP
        >>> trainer = ParetoGRPOTrainer(session=session, model=…, …)  # doctest: +SKIP
        >>> trainer.train(resume_from_checkpoint=True)  # doctest: +SKIP
    """

    @explain_calls(SessionTrainer.__init__, GRPOTrainer.__init__, places=_PLACES)
    def __init__(self, *args: Any, session: ScriptSession | None = None, **kwargs: Any) -> None:
        check_type("session", session, ScriptSession, 'a ScriptSession(gate="correct")')
        super().__init__(*args, **kwargs)
        self.script = session or ScriptSession()
        self.script.attach(self)
        self.keeps_advantages = self.script.keeps_advantages

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train as `GRPOTrainer` does; afterwards the records have the final state.

        Args:
            resume_from_checkpoint: As for `GRPOTrainer`. With a `ScriptSession`, True resumes from
                the last complete checkpoint of `output_dir`, or starts from the beginning if there
                is none.
            **kwargs: As for `GRPOTrainer`.
        """
        with self.script.training(resume_from_checkpoint) as checkpoint:
            return super().train(checkpoint, **kwargs)

    def compute_advantages(self, points: int) -> NDArray[np.float64]:
        """Return the advantages; a script's trackers get the session's numbers."""
        advantages = super().compute_advantages(points)
        assert self.session is not None
        for name, value in self.session.tracked().items():
            self._metrics["train"][name].append(value)
        return advantages

    def read_measured(self) -> list[Rollout]:
        """Return this process's rollouts of the latest batch."""
        return read_rollouts(self, [one.name for one in self.script.run.config.objectives])

    def _evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the random state in an evaluation that `GRPOConfig` does not schedule.

        Training then samples the same tokens as without it.
        """
        with keep_random_state() if self.script.adds_evaluation else nullcontext():
            return super()._evaluate(*args, **kwargs)
