"""CPU threads of torch: one for each physical core of the process."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CPU = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def use_threads(asked: int, *, made: bool) -> int:
    """Set the number of torch's threads; return the number in use.

    Threads that share a core wait for each other, so the number never exceeds the number of cores.

    Args:
        asked: `run.threads`; 0 chooses the number, which OMP_NUM_THREADS may limit.
        made: True for a tiny model created here; a second thread makes it slower.
    """
    import torch

    cores, limit = physical_cores(), os.environ.get("OMP_NUM_THREADS", "")
    chosen = 1 if made else int(limit) if limit.isdigit() and int(limit) > 0 else cores
    threads = min(asked if asked > 0 else chosen, cores)
    torch.set_num_threads(threads)
    return threads


def physical_cores() -> int:
    """Count the physical cores of this process: by affinity and quota, hyper-threads once.

    >>> 1 <= physical_cores() <= os.cpu_count()
    True
    """
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if allowed is None:
        return os.cpu_count() or 1
    cores = len({_core_of(cpu) for cpu in allowed})
    try:
        quota, period = _QUOTA.read_text().split()
        cores = min(cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):  # no cgroup v2, or no limit ("max")
        pass
    return max(cores, 1)


def _core_of(cpu: int) -> str:
    """Return the threads of a core as the kernel lists them; without a list, the number itself."""
    try:
        return (_CPU / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
