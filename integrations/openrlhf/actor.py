"""The policy's process on each GPU: OpenRLHF's class, with learning-rate factor and LoRA."""

from __future__ import annotations

from typing import Any

from openrlhf.trainer.ray import ppo_actor

from paretopo.integrations.openrlhf.trainer import unwrap_actor
from paretopo.integrations.openrlhf.weights import merged_weights


class ParetoPolicyActor(unwrap_actor(ppo_actor.PolicyModelActor)):  # type: ignore[misc]
    """One data-parallel process of the policy."""

    _factor = 1.0

    def scale_learning_rate(self, factor: float) -> None:
        """Multiply the scheduled learning rate of the next update only."""
        self._factor = factor

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Update the policy on the experiences of the buffer."""
        # The scheduler sets the rate again after each optimiser step, so factors do not accumulate.
        rates = self.actor_scheduler.get_last_lr()
        for group, rate in zip(self.actor_optim.param_groups, rates, strict=True):
            group["lr"] = rate * self._factor
        self._factor = 1.0
        return super().fit(*args, **kwargs)

    def broadcast_to_vllm(self) -> None:
        """Send the weights to the engines."""
        with merged_weights(self.trainer):
            super().broadcast_to_vllm()
