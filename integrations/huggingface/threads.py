"""CPU threads of torch: one for each physical core that the process was given."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CPU = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def use_threads(asked: int, *, made: bool) -> int:
    """Let torch use so many threads; returns how many.

    Threads that share a core wait for each other: what is asked for is cut to the cores there are.

    Args:
        asked: `run.threads`; 0 chooses.
        made: Is the model made on the spot? At its size a second thread makes it slower.
    """
    import torch

    cores = physical_cores()
    threads = min(asked, cores) if asked > 0 else 1 if made else cores
    torch.set_num_threads(threads)
    return threads


def physical_cores() -> int:
    """Cores that this process may run on: by its affinity, hyper-threads once, and its quota.

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
    except (OSError, ValueError):  # no control group of version 2, or no limit, "max"
        pass
    return max(cores, 1)


def _core_of(cpu: int) -> str:
    """The threads of the core, as the kernel lists them; the number itself where it does not."""
    try:
        return (_CPU / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)
