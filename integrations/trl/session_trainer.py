"""TRL's trainer with a session, which `paretopo train` and a user's own script share."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from accelerate.utils import gather_object
from numpy.typing import NDArray
from trl import GRPOTrainer

from paretopo.integrations.trl.advantages import ParetoAdvantages
from paretopo.rewards.measures import find_judged_prompts, skips
from paretopo.rollout import Rollout
from paretopo.session import Session


class TiedWeights:
    """Mixin: loads checkpoints without tied weights, and with a trained adapter."""

    model: Any

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Load the trained adapter too: with a KL penalty transformers loads only the reference."""
        super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore[misc]
        model = self.model if model is None else model
        if "ref" in getattr(model, "peft_config", {}):
            from peft import load_peft_weights, set_peft_model_state_dict

            weights = load_peft_weights(resume_from_checkpoint, device="cpu")
            set_peft_model_state_dict(model, weights, "default")

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        tied = set(getattr(self.model, "all_tied_weights_keys", None) or ())
        if not load_result.unexpected_keys and set(load_result.missing_keys) <= tied:
            self.model.tie_weights()
            return
        super()._issue_warnings_after_load(load_result)  # type: ignore[misc]


class SessionTrainer(TiedWeights, ParetoAdvantages, GRPOTrainer):
    """TRL's `GRPOTrainer` whose advantages come from a session.

    Attributes:
        session: The session of the run; a script's is None until training starts.
        measured: Rollouts of the latest batch, of all processes, in TRL's order, without their
            texts, not scored.
        keeps_advantages: True keeps the advantages that TRL computes.
    """

    generation_config: Any  # of GRPOTrainer; replaced during evaluations
    generation_kwargs: Any
    session: Session | None = None
    measured: list[Rollout]
    keeps_advantages = False

    def __init__(
        self, *args: Any, evaluation_temperature: float | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if evaluation_temperature is not None and evaluation_temperature < 0:
            raise ValueError(
                f"evaluation_temperature must be at least 0, got {evaluation_temperature}"
            )
        self._evaluation_temperature = evaluation_temperature

    def compute_advantages(self, points: int) -> NDArray[np.float64]:
        """Return the session's advantages for the measured rollouts."""
        assert self.session is not None
        count = len(self.measured)
        shown = min(self.session.config.run.trajectories * points, count)
        rollouts = self.rollouts(with_text=range(shown))
        judged = self.find_judged(rollouts)
        groups = [
            [rollouts[at] for at in range(first, first + points) if judged[at]]
            for first in range(0, count, points)
        ]
        scored = self.session.score([group for group in groups if group])
        theirs = self._theirs if self.keeps_advantages else None
        advantages = np.zeros(count)
        if theirs is not None:
            advantages = self.accelerator.gather(theirs).cpu().double().numpy()
        taught = self.session.advantages(
            [group.rollouts for group in scored], None if theirs is None else advantages[judged]
        )
        advantages[judged] = np.concatenate([[], *taught])
        return advantages.reshape(-1, points)

    def find_judged(self, rollouts: Sequence[Rollout]) -> NDArray[np.bool_]:
        """Return (rollouts,) bool, False for those that the gate skips.

        A gate of None for some rollouts of a prompt skips these: they have the advantage 0, and
        count in no mean. If it is None for all, the prompt has no gate, as in another task.
        """
        assert self.session is not None
        gate = self.session.config.objectives[0]
        judged = find_judged_prompts(rollouts, gate.name) if gate.gate else set()
        return np.array(
            [one.prompt_id not in judged or not skips(one, gate.name) for one in rollouts], np.bool_
        )

    def rollouts(self, with_text: Iterable[int]) -> list[Rollout]:
        """Return the latest batch of all processes; call it in every process.

        Args:
            with_text: Indices of the rollouts to return with their text.
        """
        texts = self.texts(with_text)
        return [replace(one, **texts.get(number, {})) for number, one in enumerate(self.measured)]

    @abstractmethod
    def read_measured(self) -> list[Rollout]:
        """Return this process's rollouts of the latest batch, as the rewards measure them."""

    def gather_measured(self) -> list[Rollout]:
        """Return the rollouts of all processes with their tokens; call it in every process."""
        cuts = self.generated.find_truncated(
            self.max_completion_length,
            self.processing_class.eos_token_id,
            reported=getattr(self, "rollout_func", None) is not None,
        )
        measured = zip(self.read_measured(), self.generated.count_written(), cuts, strict=True)
        gathered: list[Rollout] = gather_object(
            [
                replace(
                    one,
                    # For rollouts that TRL generates itself, only the total time is known.
                    reward_components={"seconds": self.generation_seconds, **one.reward_components},
                    tokens=tokens,
                    truncated=cut,
                )
                for one, tokens, cut in measured
            ]
        )
        return gathered

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        matrix = super()._calculate_rewards(*args, **kwargs)
        self.measured = self.gather_measured()
        return matrix

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluate as `GRPOTrainer` does, at the evaluation temperature."""
        with self._sampling_for_evaluation():
            metrics: dict[str, float] = super().evaluate(*args, **kwargs)
        return metrics

    @contextmanager
    def _sampling_for_evaluation(self) -> Iterator[None]:
        if self._evaluation_temperature is None:
            yield
            return
        if self.use_vllm:
            engine = self.vllm_generation
            trained = engine.temperature
            engine.temperature = self._evaluation_temperature  # vLLM decodes greedily at 0
            try:
                yield
            finally:
                engine.temperature = trained
            return
        sampled = self._evaluation_temperature > 0
        changes: dict[str, Any] = {"do_sample": sampled}
        if sampled:
            changes["temperature"] = self._evaluation_temperature
        else:
            changes |= dict.fromkeys(("temperature", "top_p", "top_k", "min_p"))
        training = self.generation_config, self.generation_kwargs
        self.generation_config = copy.deepcopy(self.generation_config)
        self.generation_config.update(**changes)
        self.generation_kwargs = {**self.generation_kwargs, **changes}
        try:
            yield
        finally:
            self.generation_config, self.generation_kwargs = training
