"""What stands in for GPUs and engines in a rehearsal on a CPU; nothing else imports it.

verl loads this module in each of its processes (``VERL_USE_EXTERNAL_MODULES``), before its own:

* `CpuPlatform`, the CPU in the place of CUDA, which verl's own registry takes;
* the rest is in `parts`, which needs a platform to be imported.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry, set_platform

from paretopo.integrations.verl.rehearsal.plan import PLATFORM


class _CpuDevice:
    """torch.cpu, and what verl asks a device module for beside it: memory is not counted."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def empty_cache(self) -> None:
        """There is none."""

    def max_memory_allocated(self, *_: Any) -> int:
        """Not counted."""
        return 0

    max_memory_reserved = memory_allocated = memory_reserved = max_memory_allocated

    def mem_get_info(self, *_: Any) -> tuple[int, int]:
        """Not counted."""
        return 0, 0

    def get_device_name(self, *_: Any) -> str:
        """Of no GPU whose speed verl knows."""
        return "CPU"

    def set_device(self, *_: Any) -> None:
        """There is one."""

    def manual_seed(self, seed: int) -> None:
        """torch's own."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_rng_state(self, state: torch.Tensor) -> None:
        """torch's own."""
        torch.set_rng_state(state)


@PlatformRegistry.register(platform=PLATFORM)
class CpuPlatform(PlatformBase):
    """The CPU, under whose name Ray hands out one GPU that is none."""

    device_name = "cpu"
    vendor_name = "paretopo"
    device_module = _CpuDevice()

    def is_available(self) -> bool:
        """Always."""
        return True

    def is_platform_available(self, *_: Any, **__: Any) -> bool:
        """Always."""
        return True

    def current_device(self) -> Any:
        """The device itself: it has no number."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """One."""
        return 1

    def set_device(self, device_index: int) -> None:
        """There is one."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Nothing runs beside."""

    def manual_seed(self, seed: int) -> None:
        """torch's own."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None:
        """There are none."""

    def empty_cache(self) -> None:
        """There is none."""

    def get_device_capability(self, *_: Any) -> tuple[None, None]:
        """Of a GPU."""
        return None, None

    def communication_backend_name(self) -> str:
        """Between CPUs."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Ray sets it."""
        return "CUDA_VISIBLE_DEVICES"

    def nvtx_range(self, *_: Any) -> Any:
        """Not profiled."""
        return nullcontext()

    def profiler_start(self) -> None:
        """Not profiled."""

    def profiler_stop(self) -> None:
        """Not profiled."""

    def ray_resource_name(self) -> str:
        """What verl reserves."""
        return "GPU"

    def ray_resource_options(self, num_gpus: float) -> dict[str, Any]:
        """What verl reserves."""
        return {"num_gpus": num_gpus}

    def ray_noset_envvars(self) -> list[str]:
        """None: Ray sets them."""
        return []

    def is_ipc_supported(self) -> bool:
        """Of a GPU."""
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        """None."""
        return {}

    def get_collective_module(self) -> None:
        """Of a GPU."""

    def cudart(self) -> None:
        """Of a GPU."""


set_platform(CpuPlatform())

import paretopo.integrations.verl.rehearsal.parts  # noqa: E402, F401
