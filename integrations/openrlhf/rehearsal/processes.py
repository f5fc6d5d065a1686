"""Engine and policy processes of a rehearsal, which also report their inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openrlhf.trainer.ray import vllm_engine

from paretopo.integrations.openrlhf.actor import ParetoPolicyActor
from paretopo.integrations.openrlhf.rehearsal.stand_ins import WORKER, digest
from paretopo.integrations.openrlhf.trainer import unwrap_actor
from paretopo.integrations.openrlhf.weights import merged_parameters


class CpuEngine(unwrap_actor(vllm_engine.RolloutRayActor)):  # type: ignore[misc]
    """A rollout engine whose worker runs without CUDA."""

    async def __init__(self, *args: Any, **kwargs: Any) -> None:  # type: ignore[misc]
        kwargs["worker_extension_cls"] = WORKER
        await super().__init__(*args, **kwargs)

    async def weight_digest(self) -> dict[str, list[float]]:
        """Return a digest of the engine's weights."""
        first: dict[str, list[float]] = (await self.llm.collective_rpc("weight_digest"))[0]
        return first


class RehearsedPolicyActor(ParetoPolicyActor):
    """Records the advantages that reach its replay buffer."""

    def init_model_from_pretrained(self, strategy: Any, *args: Any, **kwargs: Any) -> Any:
        """Find the file of the record, then load the model."""
        self._folder = Path(strategy.args.paretopo.rehearsal)
        self._appended: list[list[float]] = []
        super().init_model_from_pretrained(strategy, *args, **kwargs)
        self._step = int(self.checkpoint_states.get("global_step", 0))

    def append(self, experience: Any) -> None:
        """Append to the buffer, and record sample number, least and largest advantage."""
        rows = zip(experience.index, experience.advantages, experience.action_mask, strict=True)
        for number, advantages, mask in rows:
            own = advantages[mask.bool()]
            span = [float(own.min()), float(own.max())] if len(own) else [0.0, 0.0]
            self._appended.append([number, *span, int(mask.sum())])
        super().append(experience)

    def fit(self, *args: Any, **kwargs: Any) -> Any:
        """Update the policy; write one line of the record."""
        self._step += 1
        path = self._folder / f"buffer-{self._rank}.jsonl"
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": self._step, "samples": self._appended}) + "\n")
        self._appended = []
        return super().fit(*args, **kwargs)

    def weight_digest(self) -> dict[str, list[float]]:
        """Return a digest of the trained weights, gathered from all processes."""
        import deepspeed

        model = self.actor.model.module
        sums: dict[str, list[float]] = {}
        for name, parameter in merged_parameters(model):
            partitioned = self.strategy.args.ds.zero_stage == 3
            with deepspeed.zero.GatheredParameters([parameter], enabled=partitioned):
                sums |= digest([(name, parameter)])
        return sums
