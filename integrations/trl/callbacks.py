"""Callbacks beside the session's own: learning rate, checkpoints, the bar."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer
from paretopo.progress import make_bar
from paretopo.run.interrupt import Interrupt
from paretopo.session import Session

_LOGS_KEPT = 100  # rows of the trainer's own log


class LearningRateFactor(TrainerCallback):
    """Multiplies the scheduled learning rate by the controller's factor, step by step.

    The scheduler sets the rate anew after every step, so factors never pile up.
    """

    def __init__(self, trainer: ParetoGRPOTrainer) -> None:
        self._trainer = trainer

    def on_pre_optimizer_step(self, _args: Any, _state: Any, _control: Any, **kwargs: Any) -> None:
        """Scale every parameter group."""
        factor = self._trainer.controller.learning_rate_factor
        if factor != 1.0:
            for group in kwargs["optimizer"].param_groups:
                group["lr"] *= factor


class WholeCheckpoints(TrainerCallback):
    """Completes each checkpoint of the trainer with the session's state, and stops after Ctrl-C.

    Args:
        checkpoints: Where they are.
        session: Its state is kept.
        interrupt: Asked after every step.
    """

    def __init__(self, checkpoints: Checkpoints, session: Session, interrupt: Interrupt) -> None:
        self._checkpoints = checkpoints
        self._session = session
        self._interrupt = interrupt

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """After Ctrl-C: keep this step and stop, whatever the schedule of checkpoints says."""
        # Each checkpoint would hold the whole log once more; the session's records have it.
        del state.log_history[:-_LOGS_KEPT]
        if self._interrupt.came:
            control.should_save = True
            control.should_training_stop = True

    def on_save(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """The trainer's files are written: add ours, then the marker."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier()  # the other processes write their random states
        if state.is_world_process_zero:
            self._checkpoints.complete(state.global_step, self._session.state())


class Interruptions(TrainerCallback):
    """Keeps what a training has reached when Ctrl-C gives up what is being generated.

    The state is that of the last whole step. Where its evaluation is missing, as after Ctrl-C in
    the middle of one, that comes first when the run goes on.

    Args:
        trainer: Trains; a checkpoint is made of it.
        checkpoints: Where they are.
        session: Its state is kept.
        owed: The checkpoint that a resumed run goes on from, if its evaluation is missing.
    """

    def __init__(
        self, trainer: Any, checkpoints: Checkpoints, session: Session, owed: int | None
    ) -> None:
        self._trainer, self._checkpoints, self._session = trainer, checkpoints, session
        self._owed = owed
        self._random: Any = None  # as a checkpoint of the last whole step would hold it

    def on_train_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """The missing evaluation samples what it would have sampled."""
        if self._owed is not None:
            self._trainer._load_rng_state(str(self._checkpoints.path(self._owed)))

    def on_step_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """A step is whole; its evaluation may follow."""
        self._random = _random_state()

    def on_evaluate(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """It did: the missing one becomes part of its checkpoint."""
        self._random = _random_state()
        if self._owed is not None:
            self._trainer._save_rng_state(str(self._checkpoints.path(self._owed)))
            self._checkpoints.complete(self._owed, self._session.state())
            self._owed = None

    def keep(self) -> None:
        """Make a checkpoint of the last whole step, if there is none."""
        trainer = self._trainer
        step = trainer.state.global_step
        if self._random is None or step in self._checkpoints.steps():
            return
        _set_random_state(self._random)
        trainer._save_checkpoint(trainer.model, None)
        trainer.callback_handler.on_save(trainer.args, trainer.state, trainer.control)


def _random_state() -> tuple[Any, ...]:
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), gpus  # noqa: NPY002


def _set_random_state(state: tuple[Any, ...]) -> None:
    python, numpy, cpu, gpus = state
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(cpu)
    if gpus:
        torch.cuda.set_rng_state_all(gpus)


class Progress(TrainerCallback):
    """The bar: held-out accuracy and calls, stage, size of the archive."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bar: Any = None

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Open the bar where the run goes on."""
        if state.is_world_process_zero:
            self._bar = make_bar(
                total=state.max_steps, initial=state.global_step, desc="training", unit="step"
            )

    def on_step_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """One step further."""
        if self._bar is not None:
            self._bar.update()
            self._show()

    def on_evaluate(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Show the new outcome."""
        self._show()

    def on_train_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(self._session.progress()[1])
