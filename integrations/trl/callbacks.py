"""Callbacks beside the session's own: learning rate, checkpoints, the bar."""

from __future__ import annotations

from typing import Any

import torch
from tqdm import tqdm
from transformers import TrainerCallback

from paretopo.integrations.trl.checkpoints import Checkpoints
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer
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


class Progress(TrainerCallback):
    """The bar: held-out accuracy and calls, stage, size of the archive."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bar: Any = None

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Open the bar where the run goes on."""
        if state.is_world_process_zero:
            self._bar = tqdm(
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
