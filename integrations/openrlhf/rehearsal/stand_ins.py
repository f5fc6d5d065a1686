"""Stand-ins that let unmodified OpenRLHF run without CUDA; nothing here runs on a GPU.

OpenRLHF assumes CUDA in these places; each has its stand-in:

1. `flash_attn` is imported at the top of `openrlhf.models.ring_attn_utils`, though only packed
   samples use it. Empty modules stand in during that one import and are removed afterwards,
   because the fallbacks elsewhere must find the package missing.
2. `torch.cuda.current_device()` returns the device of tensors. The stand-in returns the CPU, as a
   text that `f"cuda:{...}"` turns into a device number.
3. `torch.cuda.set_device`, `synchronize` and `current_stream` do nothing.
4. DeepSpeed takes its CPU accelerator (`DS_ACCELERATOR=cpu`): gloo, and optimisers in C++.
5. `PyNcclCommunicator`, which carries weights from the policy to the engines, is replaced by the
   store of the same process group. Without the stand-in it would silently carry nothing, and the
   engines would compute with uninitialised memory.
6. vLLM's worker allocates received weights with `device="cuda"`: redirected for that one method.
7. vLLM's CPU layers repack each weight after loading and drop the parameter, so no later weight
   could arrive. Here they keep the parameter and multiply with torch instead.
8. Ray gets a number of GPUs in name, so that it creates placement groups and actors.

The driver calls `prepare_process`, and Ray calls it in every worker before anything else. The
process that vLLM starts below an engine calls it through the worker extension.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Callable
from typing import Any

_THIS = "paretopo.integrations.openrlhf.rehearsal.stand_ins"
_FLASH_NAMES = {
    "flash_attn.bert_padding": ("index_first_axis", "pad_input", "rearrange", "unpad_input"),
    "flash_attn.utils.distributed": ("all_gather",),
}
_SPARE_CORES = 2  # for actors without a GPU; Ray starts a process for every core
_STORE_BYTES = 512 * 2**20
_STARTS = 3  # attempts, for a busy machine
_DIGESTED_AT_ONCE = 2**20  # numbers: the embeddings of a real model in float64 take gigabytes


def prepare_process() -> None:
    """Prepare this process; torch and vLLM are patched only when OpenRLHF imports them."""
    os.environ["DS_ACCELERATOR"] = "cpu"
    # DeepSpeed compiles two operations at first use; keep them with the environment.
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", f"{sys.prefix}/torch_extensions")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def start_ray(gpus: int, environment: dict[str, str]) -> None:
    """Start a new Ray on this machine, never join a running one; its GPUs exist only in name."""
    import ray

    for left in reversed(range(_STARTS)):
        try:
            ray.init(
                address="local",
                num_cpus=gpus + _SPARE_CORES,
                num_gpus=gpus,
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
                runtime_env={
                    "worker_process_setup_hook": f"{_THIS}.prepare_process",
                    "env_vars": environment | _environment(),
                },
            )
        except Exception as error:
            if left == 0 or "timed out during startup" not in str(error):
                raise
            print("Ray did not start within its limit of 30 seconds: trying again", flush=True)
            ray.shutdown()
        else:
            return


def use_cpu_engines() -> None:
    """Make OpenRLHF start its engines with our worker extension."""
    import ray
    from openrlhf.trainer.ray import vllm_engine

    from paretopo.integrations.openrlhf.rehearsal.processes import CpuEngine

    vllm_engine.RolloutRayActor = ray.remote(CpuEngine)


WORKER = f"{_THIS}.CpuWorker"


def __getattr__(name: str) -> Any:
    """Create the worker extension when vLLM asks for it: importing this module needs no vLLM."""
    if name != "CpuWorker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    prepare_process()
    worker = _cpu_worker()
    globals()[name] = worker
    return worker


def _environment() -> dict[str, str]:
    passed = ("PYTHONPATH", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TORCH_EXTENSIONS_DIR")
    return {
        "DS_ACCELERATOR": "cpu",
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"),  # GiB
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # saves a process below each engine
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        **{name: os.environ[name] for name in passed if name in os.environ},
    }


# ---- torch and flash-attn ------------------------------------------------------------------------


class _CpuDevice(str):
    """ "cpu" as a device, 0 inside a formatted "cuda:..."."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        return "0"


def _stand_in_for_cuda() -> None:
    import torch

    if torch.cuda.is_available():
        return
    cpu = _CpuDevice("cpu")
    torch.cuda.current_device = lambda: cpu  # type: ignore[assignment,return-value]
    for name in ("set_device", "synchronize", "current_stream"):
        setattr(torch.cuda, name, lambda *_args, **_kwargs: None)


def _stand_in_for_nccl() -> None:
    from vllm.distributed.device_communicators import pynccl

    pynccl.PyNcclCommunicator = _StoreCommunicator


class _StoreCommunicator:
    """Broadcasts through the store of its process group, with NCCL's interface."""

    def __init__(self, group: Any, device: Any = None) -> None:
        del device
        self.group, self.rank, self.world_size = group, group.rank, group.world_size
        # The store would keep the weights of each update for an hour. OpenRLHF sends a tensor only
        # after all engines have the one before, so delete that one.
        group.data_expiration_seconds = 0

    def broadcast(self, tensor: Any, src: int, stream: Any = None) -> None:
        """Give every process the tensor of process `src`."""
        del stream
        received = self.group.broadcast(tensor.detach().cpu(), src)
        if self.rank != src:
            tensor.copy_(received)


def _flash_stand_ins() -> dict[str, types.ModuleType]:
    def missing(*_args: Any, **_kwargs: Any) -> None:
        raise RuntimeError("flash-attn is not installed; a rehearsal does not pack samples")

    names = ("flash_attn", "flash_attn.utils", *_FLASH_NAMES)
    modules = {name: types.ModuleType(name) for name in names}
    for name, functions in _FLASH_NAMES.items():
        for function in functions:
            setattr(modules[name], function, missing)
    return modules


class _Finder(importlib.abc.MetaPathFinder):
    """Patches OpenRLHF at its first import, so that idle worker processes stay small."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == "openrlhf":
            _stand_in_for_cuda()
        elif name == "openrlhf.utils.distributed_util":
            _stand_in_for_nccl()
        elif name == "openrlhf.models.ring_attn_utils" and not _is_installed("flash_attn"):
            spec = importlib.machinery.PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _AmongStandIns(spec.loader, _flash_stand_ins)
            return spec
        return None


class _AmongStandIns(importlib.abc.Loader):
    """Executes a module while stand-ins replace some modules."""

    def __init__(self, loader: Any, modules: Callable[[], dict[str, types.ModuleType]]) -> None:
        self._loader, self._modules = loader, modules

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: Any) -> None:
        modules = self._modules()
        sys.modules.update(modules)
        try:
            self._loader.exec_module(module)
        finally:
            for name in modules:
                sys.modules.pop(name, None)


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


# ---- vLLM's worker -------------------------------------------------------------------------------


def _cpu_worker() -> type:
    import torch
    from openrlhf.trainer.ray.vllm_worker_wrap import WorkerWrap
    from torch.overrides import TorchFunctionMode
    from vllm.model_executor.layers import utils as layers

    def keep_weight(layer: Any, remove_weight: bool = False) -> None:
        del remove_weight
        layer.cpu_linear = torch.nn.functional.linear

    layers.dispatch_cpu_unquantized_gemm = keep_weight

    class CudaMeansCpu(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            given = dict(kwargs or {})
            if given.get("device") == "cuda":
                given["device"] = "cpu"
            return func(*args, **given)

    class CpuWorker(WorkerWrap):
        """OpenRLHF's worker extension, with memory on the CPU."""

        def update_weight(self, *args: Any, **kwargs: Any) -> Any:
            with CudaMeansCpu(), contextlib.redirect_stdout(None):  # it prints every matrix
                return super().update_weight(*args, **kwargs)

        def weight_digest(self) -> dict[str, list[float]]:
            return digest(self.model_runner.model.named_parameters())

    return CpuWorker


def digest(parameters: Any) -> dict[str, list[float]]:
    """Return for each parameter its size, the sum of its absolute values and of its squares."""
    sums = {}
    for name, parameter in parameters:
        size, absolute, squares = parameter.numel(), 0.0, 0.0
        for part in parameter.detach().flatten().split(_DIGESTED_AT_ONCE):
            values = part.double()
            absolute += values.abs().sum().item()
            squares += values.square().sum().item()
        sums[name] = [size, absolute, squares]
    return sums
