"""Stand-ins for GPUs and engines, so that verl's own trainer runs on a CPU.

verl loads this module in each of its processes (``VERL_USE_EXTERNAL_MODULES``), before its own.
`CpuPlatform` replaces CUDA, `CpuEngine` is a Hugging Face model in a Ray process instead of vLLM's
server, and verl's own FSDP engine is registered for a CPU.
"""

from contextlib import nullcontext

import ray
import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry, set_platform

NAME = "paretopo_cpu"  # of platform and engine, in VERL_PLATFORM and rollout.name


def _nothing(*_, **__):
    return None


class _CpuDevice:
    """torch.cpu with the functions that verl expects of a device module; memory is not counted."""

    manual_seed = manual_seed_all = staticmethod(torch.manual_seed)
    set_rng_state = staticmethod(torch.set_rng_state)
    empty_cache = set_device = staticmethod(_nothing)
    max_memory_allocated = max_memory_reserved = memory_allocated = memory_reserved = staticmethod(
        lambda *_: 0
    )
    mem_get_info = staticmethod(lambda *_: (0, 0))
    get_device_name = staticmethod(lambda *_: "CPU")

    def __getattr__(self, name):
        return getattr(torch.cpu, name)


@PlatformRegistry.register(platform=NAME)
class CpuPlatform(PlatformBase):
    """The CPU as a platform; Ray offers one GPU under its name, which does not exist."""

    device_name, vendor_name, device_module = "cpu", "paretopo", _CpuDevice()

    def is_available(self):
        return True

    def is_platform_available(self, *_, **__):
        return True

    def current_device(self):
        return torch.device("cpu")

    def device_count(self):
        return 1

    def manual_seed(self, seed):
        torch.manual_seed(seed)

    manual_seed_all = manual_seed
    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    profiler_start = profiler_stop = get_collective_module = cudart = _nothing

    def get_device_capability(self, *_):
        return None, None

    def communication_backend_name(self):
        return "gloo"

    def visible_devices_envvar(self):
        return "CUDA_VISIBLE_DEVICES"

    def nvtx_range(self, *_):
        return nullcontext()

    def ray_resource_name(self):
        return "GPU"

    def ray_resource_options(self, num_gpus):
        return {"num_gpus": num_gpus}

    def ray_noset_envvars(self):
        return []

    def is_ipc_supported(self):
        return False

    def rollout_env_vars(self):
        return {}


set_platform(CpuPlatform())

# These need a platform.
from verl.single_controller.base import Worker
from verl.trainer.ppo.v1 import PPOTrainer
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine_workers import ActorRolloutRefWorker
from verl.workers.rollout import base as rollout_base
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import (
    RolloutReplica,
    RolloutReplicaRegistry,
    TokenOutput,
)


class GlooWorker(ActorRolloutRefWorker):
    """verl's process of the policy; verl itself names two back ends of its process group."""

    def __init__(self, *args, **kwargs):
        Worker.__init__(self)  # sets the addresses
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("gloo")
        torch.set_num_threads(1)
        super().__init__(*args, **kwargs)


class CpuEngine:
    """Generates with a Hugging Face model, one request after the other."""

    def __init__(self, path, most):
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        torch.manual_seed(0)
        self.model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self.most, self.step = most, 0

    def load(self, weights, step):
        missing, strange = self.model.load_state_dict(weights, strict=False)
        assert not {*missing} - {*(self.model._tied_weights_keys or ())} | {*strange}
        self.step = step

    @torch.no_grad()
    def generate(self, *, prompt_ids, sampling_params, **_):
        tokens, written, log_probs = list(prompt_ids), [], []
        temperature = sampling_params["temperature"] or 1.0
        while len(written) < self.most and written[-1:] != [self.model.config.eos_token_id]:
            logits = self.model(torch.tensor([tokens + written])).logits[0, -1]
            chances = torch.log_softmax(logits / temperature, dim=-1)
            written.append(int(torch.multinomial(chances.exp(), 1)))
            log_probs.append(float(chances[written[-1]]))
        return TokenOutput(
            token_ids=written,
            log_probs=log_probs,
            stop_reason="completed",
            extra_fields={"global_steps": self.step},
        )

    sleep = wake_up = abort_all_requests = resume_generation = clear_kv_cache = _nothing
    release_kv_cache = resume_kv_cache = start_profile = stop_profile = _nothing


class CpuReplica(RolloutReplica):
    """Starts an engine in a process of its own."""

    async def launch_servers(self):
        path, most = self.model_config.path, self.config.response_length
        server = ray.remote(num_cpus=0)(CpuEngine).options(name=NAME).remote(path, most)
        self.servers, self._server_handle, self._server_address = [server], server, NAME


class CpuRollout(BaseRollout):
    """Sends the policy's weights to the engine, which never sleeps."""

    async def resume(self, tags):
        """Nothing sleeps."""

    async def release(self):
        """Nothing sleeps."""

    async def update_weights(self, weights, **more):
        whole = {name: one.detach().to("cpu", copy=True) for name, one in weights}
        await ray.get_actor(NAME).load.remote(whole, more.get("global_steps") or 0)


def _use_gloo(self):
    init(self)
    self.role_worker_mapping = dict.fromkeys(self.role_worker_mapping, ray.remote(GlooWorker))


init = PPOTrainer._init_resource_pool_mgr
PPOTrainer._init_resource_pool_mgr = _use_gloo
EngineRegistry.register(model_type="language_model", backend=["fsdp2"], device=["cpu"])(
    FSDPEngineWithLMHead
)
RolloutReplicaRegistry.register(NAME, lambda: CpuReplica)
rollout_base._ROLLOUT_REGISTRY[NAME, "async"] = f"{__name__}.{CpuRollout.__name__}"
