"""The policy's process on each GPU: OpenRLHF's class, with LoRA."""

from __future__ import annotations

from openrlhf.trainer.ray import ppo_actor

from paretopo.integrations.openrlhf.trainer import unwrap_actor
from paretopo.integrations.openrlhf.weights import merged_weights


class ParetoPolicyActor(unwrap_actor(ppo_actor.PolicyModelActor)):  # type: ignore[misc]
    """One data-parallel process of the policy."""

    def broadcast_to_vllm(self) -> None:
        """Send the weights to the engines."""
        with merged_weights(self.trainer):
            super().broadcast_to_vllm()
