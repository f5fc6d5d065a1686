"""Held-out evaluations and training steps: what they hand to the controller and the records."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from transformers import TrainerCallback

from paretopo.integrations.trl.rewards import CallRewards
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer
from paretopo.rewards.scoring import Scored
from paretopo.run.jsonl import Row
from paretopo.run.outcomes import averages, observe
from paretopo.run.records import RunFolder
from paretopo.run.trajectories import Group
from paretopo.run.transcripts import Transcript, judged, spread


class Evaluations(TrainerCallback):
    """Orders evaluations on schedule; their outcome goes to the controller and the records.

    Args:
        trainer: Its rewards and controller are read.
        rewards: What the rollouts did.
        run: Gets a row per evaluation.
        every: Steps between evaluations; the last step is always evaluated.
        first_phase: What the evaluation before the first step is called in the records.

    Attributes:
        latest: The newest row, None before the first.
    """

    def __init__(
        self,
        trainer: ParetoGRPOTrainer,
        rewards: CallRewards,
        run: RunFolder,
        every: int,
        first_phase: str,
    ) -> None:
        self._trainer = trainer
        self._rewards = rewards
        self._run = run
        self._every = every
        self._first_phase = first_phase
        earlier = run.evaluations()
        self.latest: Row | None = earlier[-1] if earlier else None
        self._rollouts: dict[int, tuple[Scored, NDArray[np.float64], int]] = {}
        self._kept = set(spread(run.config.evaluation.prompts, run.config.run.trajectories))
        self._wrote: dict[int, Transcript] = {}  # by row, those that are kept
        self._started = time.perf_counter()

    def on_train_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """The evaluation before the first step comes next."""
        self._begin()

    def on_step_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Order an evaluation when one is due."""
        last = state.global_step >= state.max_steps
        control.should_evaluate = last or state.global_step % self._every == 0
        self._begin()

    def on_prediction_step(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Collect a batch; a row repeated to fill the last batch of all processes counts once."""
        trainer = self._trainer
        rollouts = zip(self._rewards.scored, trainer.rewards, trainer.response_tokens, strict=True)
        for scored, vector, tokens in rollouts:
            self._rollouts.setdefault(scored.row, (scored, vector, int(tokens)))
        rows = [one.row for one in self._rewards.scored]
        kept = [number for number, row in enumerate(rows) if row in self._kept]
        for number, transcript in zip(kept, trainer.transcripts(kept), strict=True):
            self._wrote.setdefault(rows[number], transcript)

    def on_evaluate(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Hand the outcome to the controller and record it."""
        collected = list(self._rollouts.values())
        scored = [one for one, _, _ in collected]
        row, vectors = observe(
            self._trainer.controller,
            self._rewards,
            scored,
            np.array([vector for _, vector, _ in collected]),
            [tokens for _, _, tokens in collected],
        )
        self.latest = {
            "step": state.global_step,
            "phase": self._phase(state),
            **row,
            "seconds": time.perf_counter() - self._started,
        }
        if not state.is_world_process_zero:
            return
        self._run.append_evaluation(self.latest)
        for one, vector in zip(scored, vectors, strict=True):
            if one.row in self._wrote:
                wrote = self._wrote[one.row]
                self._run.append_trajectories(
                    judged(
                        self._trainer.controller,
                        [wrote],
                        [one],
                        vector[None],
                        step=state.global_step,
                    )
                )

    def _begin(self) -> None:
        self._rollouts, self._wrote = {}, {}
        self._started = time.perf_counter()

    def _phase(self, state: Any) -> str:
        if state.global_step == 0:
            return self._first_phase
        return "final" if state.global_step >= state.max_steps else "train"


class Steps(TrainerCallback):
    """Records each training step.

    Args:
        trainer: Its rewards, advantages and controller are read.
        rewards: What the rollouts did.
        run: Gets a row per step.
    """

    def __init__(self, trainer: ParetoGRPOTrainer, rewards: CallRewards, run: RunFolder) -> None:
        self._trainer = trainer
        self._rewards = rewards
        self._run = run
        self._started = time.perf_counter()
        self._learning_rate = 0.0
        self._multiplier = 1.0

    def on_step_begin(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Start the clock; what the multiplier is now is what this step trains with."""
        self._started = time.perf_counter()
        self._multiplier = self._trainer.controller.multiplier

    def on_optimizer_step(self, _args: Any, _state: Any, _control: Any, **kwargs: Any) -> None:
        """Note the learning rate that was used, the controller's factor included."""
        self._learning_rate = float(kwargs["optimizer"].param_groups[0]["lr"])

    def on_log(
        self, _args: Any, state: Any, _control: Any, logs: dict[str, float] | None = None, **_: Any
    ) -> None:
        """Record the step that TRL just logged."""
        if logs is None or "loss" not in logs:
            return  # an evaluation, or the summary at the end
        trainer, controller = self._trainer, self._trainer.controller
        groups = trainer.rewards.reshape(*trainer.advantages.shape, -1)
        kept = self._judged(state.global_step, groups)
        if not state.is_world_process_zero:
            return
        for group in kept:
            self._run.append_trajectories(group)
        self._run.append_step(
            {
                "step": state.global_step,
                "stage": controller.stage,
                **averages(self._rewards.scored),
                "economy": float(trainer.rewards[:, 1].mean()),
                "multiplier": self._multiplier,
                "informative": float(controller.informative(groups).mean()),
                "response_tokens": float(trainer.response_tokens.mean()),
                "loss": float(logs["loss"]),
                "grad_norm": float(logs["grad_norm"]) if "grad_norm" in logs else None,
                "learning_rate": self._learning_rate,
                "seconds": time.perf_counter() - self._started,
                "rank_histogram": controller.rank_histogram(groups),
            }
        )

    def _judged(self, step: int, groups: NDArray[np.float64]) -> list[Group]:
        """The first groups of the step, with what they wrote."""
        trainer, points = self._trainer, groups.shape[1]
        count = min(self._run.config.run.trajectories, len(groups))
        wrote = trainer.transcripts(range(count * points))
        scored = self._rewards.scored
        return [
            judged(
                trainer.controller,
                wrote[at * points : (at + 1) * points],
                scored[at * points : (at + 1) * points],
                groups[at],
                step=step,
                advantages=trainer.advantages[at].tolist(),
            )
            for at in range(count)
        ]
