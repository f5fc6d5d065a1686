"""A session around TRL's training loop: it gets rollouts, steps and evaluations as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import compress
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback

from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.names import read_names
from paretopo.integrations.trl.session_trainer import SessionTrainer
from paretopo.records.trajectories import choose_recorded
from paretopo.rewards.measures import find_judged_prompts
from paretopo.rollout import BadRollout, Rollout
from paretopo.session import Session


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
        """Record the learning rate in use."""
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
        names = [one.prompt_id for one in self._trainer.measured]
        chosen = [number for number, name in enumerate(names) if name in self._with_text]
        for row, rollout in zip(self._find_rows(), self._trainer.rollouts(chosen), strict=True):
            self._evaluated.setdefault(row, rollout)

    def on_evaluate(self, _args: Any, state: Any, _control: Any, **kwargs: Any) -> None:
        """Pass the whole evaluation to the session, in the order of the data set."""
        self._record_left()
        evaluated = [self._evaluated[row] for row in sorted(self._evaluated)]
        gate = self.session.config.objectives[0]
        if gate.gate and evaluated and not find_judged_prompts(evaluated, gate.name):
            raise BadRollout(
                f"the gate {gate.name!r} is None for all {len(evaluated)} held-out rollouts, so it "
                "judges none: return a number for some, or choose another gate"
            )
        rollouts = [*compress(evaluated, self._trainer.find_judged(evaluated))]
        seconds = time.perf_counter() - self._evaluation_started
        seen = self.session.observe(state.global_step, rollouts, seconds)
        self._tell(seen, kwargs.get("metrics"))

    def _find_rows(self) -> list[int]:
        """Return the row of each rollout of a held-out batch in the data set."""
        return [row["row"] for row in self._trainer.generated.inputs]

    def _choose_logged(self, logs: dict[str, float]) -> dict[str, float]:
        """Return TRL's numbers without its statistics of the reward: TRL only gets `correct`."""
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


class ScriptCallback(SessionCallback):
    """Passes a script's steps, evaluations and checkpoints to its session.

    Args:
        trainer: As for `SessionCallback`.
        open_session: Opens the trainer's session for this many steps.
        updates: Updates of the policy with the rollouts of one generation.

    Attributes:
        adds_evaluation: True if the next evaluation is not of `GRPOConfig`'s schedule.
    """

    def __init__(
        self, trainer: SessionTrainer, open_session: Callable[[int], None], updates: int
    ) -> None:
        names = () if trainer.eval_dataset is None else read_names(trainer.eval_dataset)
        super().__init__(trainer, names)
        self._open_session, self._updates = open_session, updates
        self.adds_evaluation = False
        self._observed: int | None = None
        self._save_due = False

    def on_train_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Open the session: the number of steps is known."""
        self._open_session(_state.max_steps)
        super().on_train_begin(_args, _state, _control)

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Request an evaluation if the script has no schedule of its own."""
        theirs = control.should_evaluate
        self._postpone_save(state, control)
        super().on_step_end(_args, state, control)
        if self._trainer.eval_dataset is None:
            control.should_evaluate = theirs
        elif self._trainer.args.eval_strategy != "no":
            control.should_evaluate = theirs or state.global_step >= state.max_steps
        self.adds_evaluation = not theirs

    def on_epoch_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Do not repeat the evaluation at the end of the step."""
        self.adds_evaluation = False
        if self._observed == state.global_step:
            control.should_evaluate = False
        self._await_evaluation()

    def on_prediction_step(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Ignore an evaluation outside of training, which is the script's own."""
        if self._trainer.session is not None:
            super().on_prediction_step(_args, _state, _control)

    def on_evaluate(self, *_: Any, **__: Any) -> None:
        """Do nothing: `FirstEvaluations` passes the evaluation on."""

    def take_evaluation(self, state: Any, kwargs: dict[str, Any]) -> None:
        """Pass an evaluation to the session, once for each step."""
        if self._trainer.session is not None and self._observed != state.global_step:
            super().on_evaluate(None, state, None, **kwargs)
            self._observed = state.global_step
        self._await_evaluation()

    def on_save(self, args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Add our state to the trainer's files, if a run can resume from them."""
        self._record_left()
        self._trainer.accelerator.wait_for_everyone()
        if state.is_world_process_zero and self._is_between_generations(state):
            checkpoints = Checkpoints(Path(args.output_dir), kept=None)
            checkpoints.complete(state.global_step, self.session.state())

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Record the last step."""
        self._record_left()

    def _find_rows(self) -> list[int]:
        """Return the row of each rollout: they arrive in order."""
        trainer, arrived = self._trainer, len(self._evaluated)
        # Several processes fill the last batch with rollouts of the first rows.
        most = len(trainer.eval_dataset) * trainer.num_generations_eval
        return [(arrived + at) % most for at in range(len(trainer.measured))]

    def _choose_logged(self, logs: dict[str, float]) -> dict[str, float]:
        """Return all numbers: TRL gets the script's own rewards."""
        return logs

    def _postpone_save(self, state: Any, control: Any) -> None:
        """Postpone a save to the end of a generation: TRL does not save its rollouts."""
        self._save_due |= control.should_save
        last = state.global_step >= state.max_steps
        control.should_save = self._save_due and (last or self._is_between_generations(state))
        self._save_due &= not control.should_save

    def _is_between_generations(self, state: Any) -> bool:
        return bool(state.global_step % self._updates == 0)

    def _tell(self, seen: dict[str, float], metrics: dict[str, float] | None) -> None:
        """Report to the script's trackers, and to its `metric_for_best_model`."""
        numbers = {f"eval_{name}": value for name, value in seen.items()}
        if metrics is not None:
            metrics.update(numbers)
        Trainer.log(self._trainer, dict(numbers))


class FirstEvaluations(TrainerCallback):
    """Adds the session's numbers to an evaluation's before other callbacks read them."""

    def __init__(self, recorded: ScriptCallback) -> None:
        self._recorded = recorded

    def on_evaluate(self, _args: Any, state: Any, _control: Any, **kwargs: Any) -> None:
        """Pass the evaluation on."""
        self._recorded.take_evaluation(state, kwargs)
