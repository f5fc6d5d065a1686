"""The parts of a rehearsal: stand-ins for the engine, and a trainer that checks its results.

- `CpuEngine`, a Hugging Face model in a Ray process, replaces vLLM's server. `CpuReplica` starts
  it, and `CpuRollout` sends it the policy's weights, both through verl's own interfaces.
- verl's own FSDP engine (fsdp2) is registered for a CPU.
- `RehearsedWorker` joins its process group with gloo only; verl names two back ends.
- `RehearsedTrainer` is our trainer, which also reads the queue back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue
from verl.single_controller.base import Worker
from verl.trainer.ppo.v1 import register_trainer
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout import base as rollout_base
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry, TokenOutput

from paretopo.controller.by_group import step_by_group
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.verl.rehearsal.plan import ENGINE, TRAINER
from paretopo.integrations.verl.rollouts import column
from paretopo.integrations.verl.trainer import ParetoPPOTrainerSync
from paretopo.records.files import append_row

EngineRegistry.register(model_type="language_model", backend=["fsdp2"], device=["cpu"])(
    FSDPEngineWithLMHead
)


class RehearsalFailed(RuntimeError):
    """A rehearsal had a wrong result, which the message names."""


class RehearsedWorker(ActorRolloutRefWorker):
    """verl's process of the policy, on gloo."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        Worker.__init__(self)  # sets the addresses
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("gloo")
        torch.set_num_threads(1)
        super().__init__(*args, **kwargs)


class CpuEngine:
    """Generates with a Hugging Face model, one request after the other."""

    def __init__(self, path: str, most_tokens: int) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(path)
        self._end = self._tokenizer.eos_token_id
        self._most, self._step = most_tokens, 0

    def load(
        self,
        weights: dict[str, torch.Tensor],
        step: int,
        adapters: dict[str, Any] | None = None,
    ) -> None:
        """Load the policy's weights or, with peft's settings, its adapters' weights."""
        if adapters is None:
            missing, strange = self._model.load_state_dict(weights, strict=False)
            missing = sorted({*missing} - {*(self._model._tied_weights_keys or ())})
        else:
            import peft

            if not isinstance(self._model, peft.PeftModel):
                made = peft.get_peft_model(self._model, peft.LoraConfig(**adapters))
                self._model = made.eval()
            missing = sorted({*peft.get_peft_model_state_dict(self._model)} - {*weights})
            strange = peft.set_peft_model_state_dict(self._model, weights).unexpected_keys
        if missing or strange:
            raise RehearsalFailed(f"weights are missing {missing}, or unknown {strange}")
        self._step = step

    @torch.no_grad()
    def generate(
        self, *, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any
    ) -> TokenOutput:
        """Generate one turn, with the log-probabilities of its tokens."""
        tokens, temperature, cache = (
            torch.tensor([prompt_ids]),
            sampling_params["temperature"],
            None,
        )
        most = min(self._most, sampling_params.get("max_tokens", self._most))
        stops = sampling_params.get("stop", ())
        written: list[int] = []
        log_probs: list[float] = []
        while len(written) < most:
            seen = self._model(tokens, past_key_values=cache, use_cache=True)
            cache, logits = seen.past_key_values, seen.logits[0, -1].float()
            chances = torch.log_softmax(logits / (temperature or 1.0), dim=-1)
            token = int(torch.multinomial(chances.exp(), 1) if temperature else chances.argmax())
            written.append(token)
            log_probs.append(float(chances[token]))
            if token == self._end or (stops and self._ends_with(written, stops)):
                break
            tokens = torch.tensor([[token]])
        return TokenOutput(
            token_ids=written,
            log_probs=log_probs,
            stop_reason="completed",
            extra_fields={"global_steps": self._step},
        )

    def _ends_with(self, tokens: list[int], texts: Sequence[str]) -> bool:
        text = self._tokenizer.decode(tokens)
        return any(one in text for one in texts)

    def rest(self, *_: Any, **__: Any) -> None:
        """Do nothing: memory is not released."""

    sleep = wake_up = abort_all_requests = resume_generation = clear_kv_cache = rest
    release_kv_cache = resume_kv_cache = start_profile = stop_profile = rest


class CpuReplica(RolloutReplica):
    """Starts an engine."""

    async def launch_servers(self) -> None:
        """Start the engine in a process of its own."""
        path, most = self.model_config.path, self.config.response_length
        name = _name(self.replica_rank)
        server = ray.remote(num_cpus=0)(CpuEngine).options(name=name).remote(path, most)
        self.servers, self._server_handle, self._server_address = [server], server, name


class CpuRollout(BaseRollout):
    """The engine in the interface that the policy's process uses."""

    async def resume(self, tags: list[str]) -> None:
        """Nothing sleeps."""

    async def release(self) -> None:
        """Nothing sleeps."""

    async def update_weights(
        self, weights: Iterator[tuple[str, torch.Tensor]], **more: Any
    ) -> None:
        """Send all weights, or only those of the adapters if the policy has some."""
        whole = {name: one.detach().to("cpu", copy=True) for name, one in weights}
        step, adapters = more.get("global_steps") or 0, more.get("peft_config")
        await ray.get_actor(_name(0)).load.remote(whole, step, adapters)


def _name(rank: int) -> str:
    return f"paretopo rehearsal engine {rank}"


RolloutReplicaRegistry.register(ENGINE, lambda: CpuReplica)
rollout_base._ROLLOUT_REGISTRY[ENGINE, "async"] = f"{__name__}.{CpuRollout.__name__}"


@register_trainer(TRAINER)
class RehearsedTrainer(ParetoPPOTrainerSync):
    """Our trainer; at each step it compares the queue's advantages with the controller's."""

    role_worker_mapping: Any

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        self.role_worker_mapping = dict.fromkeys(
            self.role_worker_mapping, ray.remote(RehearsedWorker)
        )

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        before = json.loads(json.dumps(self.session.controller.state_dict()))
        scored: list[list[float]] = []
        weights: list[Any] = []
        ask = self.session.advantages

        def note(groups: Any, given: Any = None) -> Any:
            scored.extend([*one.rewards] for group in groups for one in group)
            weights.append(self.session.weights_of(groups))
            return ask(groups, given)

        self.session.advantages = note  # type: ignore[method-assign]
        try:
            batch = super()._compute_advantage(batch, metrics)
        finally:
            self.session.advantages = ask  # type: ignore[method-assign]
        groups = self._group(batch)
        ids = [at for at, group in enumerate(groups) for _ in group]
        controller = ParetoPO(self.session.config.paretopo)
        controller.load_state_dict(before)
        wanted = step_by_group(controller, scored, ids, *weights).advantages
        data = transfer_queue.kv_batch_get(
            keys=batch.keys,
            partition_id=batch.partition_id,
            select_fields=["advantages", "response_mask"],
        )
        written, masks = column(data["advantages"]), column(data["response_mask"])
        sessions = [one for group in groups for one in group]
        for session, advantage in zip(sessions, wanted, strict=True):
            for row in session.rows:
                expected = masks[row].float() * np.float32(advantage)
                if not torch.equal(written[row].float(), expected):
                    raise RehearsalFailed(
                        f"row {batch.keys[row]} of step {self.global_steps} got "
                        f"{written[row].tolist()}, the controller gives {advantage}"
                    )
        ours = {row for session in sessions for row in session.rows}
        padded = [row for row in range(len(batch.keys)) if row not in ours]
        if any(bool(written[row].any()) for row in padded):
            raise RehearsalFailed(f"padding of step {self.global_steps} got an advantage")
        append_row(
            self.run.folder.path / "rehearsal.jsonl",
            {
                "step": self.global_steps,
                "stage": self.session.controller.stage,
                "rollouts": len(sessions),
                "not_zero": int(np.count_nonzero(wanted)),
                "padding": len(padded),
            },
        )
        return batch

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> Any:
        """Take one step; engine and policy must compute the same probabilities."""
        batch = super().step(metrics, timing_raw)
        gap = metrics.get("training/rollout_probs_diff_max")
        if gap is None or not float(gap) < 1e-3:
            raise RehearsalFailed(f"engine and policy differ in probability by {gap}")
        return batch
