"""A session around TRL's training loop: it gets rollouts, steps and evaluations as they come."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from transformers import TrainerCallback

from paretopo.integrations.trl.trainer import SessionTrainer
from paretopo.rollout import Rollout
from paretopo.session import Session, choose_recorded


class SessionCallback(TrainerCallback):
    """Requests evaluations on schedule, and passes steps and evaluations to the session.

    Args:
        trainer: Generates the rollouts of evaluations; its session gets all records.
        held_out: Names of the held-out prompts.
    """

    def __init__(self, trainer: SessionTrainer, held_out: Iterable[str]) -> None:
        self._trainer = trainer
        self._held_out = held_out
        self._with_text: set[str] | None = None
        self._evaluated: dict[int, Rollout] = {}  # by row in the data set
        self._evaluation_started = self._step_started = time.perf_counter()
        self._learning_rate = 0.0
        self._left: tuple[int, float] | None = None  # an unrecorded step, and its seconds

    @property
    def session(self) -> Session:
        """Return the trainer's session, which is open."""
        assert self._trainer.session is not None
        return self._trainer.session

    def on_train_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Request the evaluation before the first step."""
        self._await_evaluation()

    def on_step_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Start the clock."""
        self._record_left()
        self._step_started = time.perf_counter()

    def on_optimizer_step(self, _args: Any, _state: Any, _control: Any, **kwargs: Any) -> None:
        """Record the learning rate in use, with the controller's factor."""
        self._learning_rate = float(kwargs["optimizer"].param_groups[0]["lr"])

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Request an evaluation if it is due."""
        self._left = state.global_step, time.perf_counter() - self._step_started
        last = state.global_step >= state.max_steps
        due = state.global_step % self.session.config.evaluation.every == 0
        control.should_evaluate = last or due
        self._await_evaluation()

    def on_log(
        self, _args: Any, state: Any, _control: Any, logs: dict[str, float] | None = None, **_: Any
    ) -> None:
        """Record the step that TRL just logged."""
        if logs is None or "loss" not in logs:
            return  # an evaluation, or the final summary
        self._left = None
        measured = {
            "loss": float(logs["loss"]),
            "grad_norm": float(logs["grad_norm"]) if "grad_norm" in logs else None,
            "learning_rate": self._learning_rate,
            "seconds": time.perf_counter() - self._step_started,
        }
        self.session.record_step(state.global_step, measured, self._choose_logged(logs))

    def on_prediction_step(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Collect a batch; a row repeated to fill the last batch of all processes counts once."""
        if self._with_text is None:
            count = self.session.config.run.trajectories
            self._with_text = choose_recorded(self._held_out, count)
        rewards = self._trainer.session_rewards
        names = [one.prompt_id for one in rewards.rollouts]
        chosen = [number for number, name in enumerate(names) if name in self._with_text]
        for row, rollout in zip(rewards.rows, self._trainer.rollouts(chosen), strict=True):
            self._evaluated.setdefault(row, rollout)

    def on_evaluate(
        self,
        _args: Any,
        state: Any,
        _control: Any,
        metrics: dict[str, float] | None = None,
        **_: Any,
    ) -> None:
        """Pass the whole evaluation to the session, in the order of the data set."""
        self._record_left()
        rollouts = [self._evaluated[row] for row in sorted(self._evaluated)]
        seconds = time.perf_counter() - self._evaluation_started
        self._tell(self.session.observe(state.global_step, rollouts, seconds), metrics)

    def _choose_logged(self, logs: dict[str, float]) -> dict[str, float]:
        """Return TRL's numbers without its statistics of the reward: TRL only gets `correct`."""
        if self._trainer.script is not None:
            return logs
        of_reward = ("reward", "reward_std", "frac_reward_zero_std")
        return {
            name: value
            for name, value in logs.items()
            if name not in of_reward and not name.startswith("rewards/")
        }

    def _record_left(self) -> None:
        """Record a step that TRL did not log; its loss is unknown."""
        if self._left is not None:
            (step, seconds), self._left = self._left, None
            measured = {"learning_rate": self._learning_rate, "seconds": seconds}
            self.session.record_step(step, measured)

    def _tell(self, seen: dict[str, float], metrics: dict[str, float] | None) -> None:
        """Report the numbers of an evaluation."""

    def _await_evaluation(self) -> None:
        self._evaluated = {}
        self._evaluation_started = time.perf_counter()
