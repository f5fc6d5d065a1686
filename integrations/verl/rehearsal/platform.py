"""Stand-ins for GPUs and engines in a rehearsal on a CPU; only rehearsals import this module.

verl loads this module in each of its processes (``VERL_USE_EXTERNAL_MODULES``), before its own:

- `CpuPlatform` replaces CUDA by the CPU, through verl's own registry;
- `parts` holds the rest; it can only be imported with a platform.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry, set_platform

from paretopo.integrations.verl.rehearsal.plan import PLATFORM


class _CpuDevice:
    """torch.cpu with the functions that verl expects of a device module; memory is not counted."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    def empty_cache(self) -> None:
        """Do nothing: there is no cache."""

    def max_memory_allocated(self, *_: Any) -> int:
        """Not counted."""
        return 0

    max_memory_reserved = memory_allocated = memory_reserved = max_memory_allocated

    def mem_get_info(self, *_: Any) -> tuple[int, int]:
        """Not counted."""
        return 0, 0

    def get_device_name(self, *_: Any) -> str:
        """Return a name that verl's table of GPU speeds does not contain."""
        return "CPU"

    def set_device(self, *_: Any) -> None:
        """Do nothing: there is one device."""

    def manual_seed(self, seed: int) -> None:
        """torch's own."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_rng_state(self, state: torch.Tensor) -> None:
        """torch's own."""
        torch.set_rng_state(state)


@PlatformRegistry.register(platform=PLATFORM)
class CpuPlatform(PlatformBase):
    """The CPU as a platform; Ray offers one GPU under its name, which does not exist."""

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
        """Return the device itself: it has no number."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """One."""
        return 1

    def set_device(self, device_index: int) -> None:
        """Do nothing: there is one device."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Do nothing: the CPU runs synchronously."""

    def manual_seed(self, seed: int) -> None:
        """torch's own."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None:
        """Do nothing: there are no settings."""

    def empty_cache(self) -> None:
        """Do nothing: there is no cache."""

    def get_device_capability(self, *_: Any) -> tuple[None, None]:
        """Return no capability: only a GPU has one."""
        return None, None

    def communication_backend_name(self) -> str:
        """Between CPUs."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return the variable that Ray sets."""
        return "CUDA_VISIBLE_DEVICES"

    def nvtx_range(self, *_: Any) -> Any:
        """Not profiled."""
        return nullcontext()

    def profiler_start(self) -> None:
        """Not profiled."""

    def profiler_stop(self) -> None:
        """Not profiled."""

    def ray_resource_name(self) -> str:
        """Return the resource that verl reserves."""
        return "GPU"

    def ray_resource_options(self, num_gpus: float) -> dict[str, Any]:
        """Return the options with which verl reserves it."""
        return {"num_gpus": num_gpus}

    def ray_noset_envvars(self) -> list[str]:
        """Return no variables: Ray sets them."""
        return []

    def is_ipc_supported(self) -> bool:
        """Return False: only a GPU supports it."""
        return False

    def rollout_env_vars(self) -> dict[str, str]:
        """None."""
        return {}

    def get_collective_module(self) -> None:
        """Return None: only a GPU has it."""

    def cudart(self) -> None:
        """Return None: only a GPU has it."""


set_platform(CpuPlatform())

import paretopo.integrations.verl.rehearsal.parts  # noqa: E402, F401
