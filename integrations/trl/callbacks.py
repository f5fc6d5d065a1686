"""Callbacks next to the session's own: checkpoints and progress bars."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.random_state import read_random_state, set_random_state
from paretopo.interrupt import Interrupt
from paretopo.progress import make_bar
from paretopo.session import Session

_LOGS_KEPT = 100  # rows of the trainer's own log


class WholeCheckpoints(TrainerCallback):
    """Completes each checkpoint of the trainer with the session's state, and stops after Ctrl-C.

    If Ctrl-C drops a generation, `keep` saves the last whole step. If the evaluation of that step
    is missing, as after Ctrl-C in the middle of one, the resumed run begins with it.

    Args:
        trainer: The trainer to save.
        checkpoints: The run's checkpoints.
        session: The session whose state is saved.
        interrupt: Checked after every step.
        owed: The checkpoint from which the run resumes, if its evaluation is missing.
    """

    def __init__(
        self,
        trainer: Any,
        checkpoints: Checkpoints,
        session: Session,
        interrupt: Interrupt,
        owed: int | None,
    ) -> None:
        self._trainer, self._checkpoints, self._session = trainer, checkpoints, session
        self._interrupt, self._owed = interrupt, owed
        self._random: Any = None  # the random state of the last whole step

    def on_train_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Restore the random state, so that the missing evaluation draws the same samples."""
        if self._owed is not None:
            self._trainer._load_rng_state(str(self._checkpoints.path(self._owed)))

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Note the random state; after Ctrl-C, save this step and stop, whatever the schedule."""
        self._random = read_random_state()  # the evaluation of this step may follow
        # Each checkpoint would repeat the whole log; the session's records already have it.
        del state.log_history[:-_LOGS_KEPT]
        if self._interrupt.came:
            control.should_save = True
            control.should_training_stop = True

    def on_evaluate(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Add the missing evaluation to its checkpoint."""
        self._random = read_random_state()
        if self._owed is not None:
            self._trainer._save_rng_state(str(self._checkpoints.path(self._owed)))
            self._checkpoints.complete(self._owed, self._session.state())
            self._owed = None

    def on_save(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Add our state to the trainer's files, then the marker."""
        self._checkpoints.complete(state.global_step, self._session.state())

    def keep(self) -> None:
        """Save a checkpoint of the last whole step, unless there is one."""
        trainer = self._trainer
        step = trainer.state.global_step
        if self._random is None or step in self._checkpoints.steps():
            return
        set_random_state(self._random)
        trainer._save_checkpoint(trainer.model, None)
        trainer.callback_handler.on_save(trainer.args, trainer.state, trainer.control)


class Progress(TrainerCallback):
    """The progress bar: held-out accuracy and calls, stage, size of the archive."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bar: Any = None

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Open the bar at the current step."""
        self._bar = make_bar(
            total=state.max_steps, initial=state.global_step, desc="training", unit="step"
        )

    def on_step_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Advance the bar by one step."""
        self._bar.update()
        self._show()

    def on_evaluate(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Show the new evaluation."""
        if self._bar is not None:  # there is none outside of training
            self._show()

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Close the bar."""
        self._bar.close()

    def _show(self) -> None:
        self._bar.set_postfix_str(self._session.progress()[1])


class EvaluationProgress(TrainerCallback):
    """Advances a bar by the questions of each batch of an evaluation.

    Args:
        bar: Of `make_bar`, with the number of questions as total.
        batch: Questions in a batch; the last one may have fewer.
    """

    def __init__(self, bar: Any, batch: int) -> None:
        self._bar, self._batch = bar, batch

    def on_prediction_step(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Advance the bar."""
        self._bar.update(min(self._batch, self._bar.total - self._bar.n))
