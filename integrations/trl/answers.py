"""Learning from right answers, without rewards: TRL's `SFTTrainer` with our evaluations."""

from __future__ import annotations

from typing import Any

from trl import SFTTrainer

from paretopo.integrations.trl.session_trainer import SessionTrainer, TiedWeights


class AnswerTrainer(TiedWeights, SFTTrainer):
    """`SFTTrainer` whose evaluations generate rollouts with the tools.

    Args:
        *args: As for `SFTTrainer`.
        sampler: Generates and scores the rollouts of evaluations with the same model; it never
            trains.
        **kwargs: As for `SFTTrainer`.
    """

    def __init__(self, *args: Any, sampler: SessionTrainer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sampler = sampler

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Run the sampler's evaluation at this trainer's step."""
        self._sampler.state.global_step = self.state.global_step
        self._sampler.state.max_steps = self.state.max_steps
        metrics: dict[str, float] = self._sampler.evaluate()
        self.control.should_evaluate = False  # else the end of the last pass repeats it
        return metrics
