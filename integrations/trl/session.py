"""A session around TRL's training loop: rollouts, steps and evaluations go to it as they come."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import TrainerCallback

from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer
from paretopo.rollout import Rollout
from paretopo.session import Session, choose_recorded


class SessionGRPOTrainer(ParetoGRPOTrainer):
    """`ParetoGRPOTrainer` whose advantages a session gives.

    Args:
        *args: As for `GRPOTrainer`.
        session: Gives the advantages.
        rewards: Measures the rollouts.
        **kwargs: As for `ParetoGRPOTrainer`, without `reward_funcs` and `controller`.
    """

    def __init__(
        self, *args: Any, session: Session, rewards: SessionRewards, **kwargs: Any
    ) -> None:
        self.session = session
        self.session_rewards = rewards
        functions = [rewards.measure]
        super().__init__(*args, controller=session.controller, reward_funcs=functions, **kwargs)

    @property
    def rewards_per_rollout(self) -> int:
        """TRL gets one number, which says nothing: the session knows the objectives."""
        return 1

    def compute_advantages(self, rewards: NDArray[np.float64]) -> NDArray[np.float64]:
        """The session's, for the rollouts as they were measured."""
        groups, points, _ = rewards.shape
        kept = min(self.session.config.run.trajectories, groups)
        rollouts = self.rollouts(with_text=range(kept * points))
        scored = self.session.score(
            [rollouts[first : first + points] for first in range(0, groups * points, points)]
        )
        return np.array(self.session.advantages([group.rollouts for group in scored]))

    def rollouts(self, with_text: Iterable[int]) -> list[Rollout]:
        """The latest batch of all processes; to be called in every process.

        Args:
            with_text: Numbers of the rollouts that come with their text.
        """
        texts = self.texts(with_text)
        measured = zip(
            self.session_rewards.rollouts, self.response_tokens, self.truncated, strict=True
        )
        return [
            replace(
                one,
                # Of rollouts that TRL makes itself, no more is known than what all of them took.
                reward_components={"seconds": self.generation_seconds, **one.reward_components},
                tokens=int(tokens),
                truncated=bool(cut),
                **texts.get(number, {}),
            )
            for number, (one, tokens, cut) in enumerate(measured)
        ]


class SessionCallback(TrainerCallback):
    """Orders evaluations on schedule, and hands steps and evaluations to the session.

    Args:
        trainer: Makes the rollouts of evaluations; its session gets everything.
        held_out: Names of the held-out prompts.
    """

    def __init__(self, trainer: SessionGRPOTrainer, held_out: Iterable[str]) -> None:
        self._trainer = trainer
        self._session = trainer.session
        self._with_text = choose_recorded(held_out, self._session.config.run.trajectories)
        self._evaluated: dict[int, Rollout] = {}  # by row of the data set
        self._evaluation_started = self._step_started = time.perf_counter()
        self._learning_rate = 0.0

    def on_train_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """The evaluation before the first step comes next."""
        self._await_evaluation()

    def on_step_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Start the clock."""
        self._step_started = time.perf_counter()

    def on_optimizer_step(self, _args: Any, _state: Any, _control: Any, **kwargs: Any) -> None:
        """Note the learning rate that was used, the controller's factor included."""
        self._learning_rate = float(kwargs["optimizer"].param_groups[0]["lr"])

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Order an evaluation when one is due."""
        last = state.global_step >= state.max_steps
        due = state.global_step % self._session.config.evaluation.every == 0
        control.should_evaluate = last or due
        self._await_evaluation()

    def on_log(
        self, _args: Any, state: Any, _control: Any, logs: dict[str, float] | None = None, **_: Any
    ) -> None:
        """Record the step that TRL just logged."""
        if logs is None or "loss" not in logs:
            return  # an evaluation, or the summary at the end
        measured = {
            "loss": float(logs["loss"]),
            "grad_norm": float(logs["grad_norm"]) if "grad_norm" in logs else None,
            "learning_rate": self._learning_rate,
            "seconds": time.perf_counter() - self._step_started,
        }
        self._session.record_step(state.global_step, measured)

    def on_prediction_step(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Collect a batch; a row repeated to fill the last batch of all processes counts once."""
        rewards = self._trainer.session_rewards
        names = [one.prompt_id for one in rewards.rollouts]
        chosen = [number for number, name in enumerate(names) if name in self._with_text]
        for row, rollout in zip(rewards.rows, self._trainer.rollouts(chosen), strict=True):
            self._evaluated.setdefault(row, rollout)

    def on_evaluate(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Hand over the whole evaluation, in the order of the data set."""
        rollouts = [self._evaluated[row] for row in sorted(self._evaluated)]
        seconds = time.perf_counter() - self._evaluation_started
        self._session.observe(state.global_step, rollouts, seconds)

    def _await_evaluation(self) -> None:
        self._evaluated = {}
        self._evaluation_started = time.perf_counter()
