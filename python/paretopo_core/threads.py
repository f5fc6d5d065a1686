"""How many threads a call on the CPU may use."""

from __future__ import annotations

import os

from paretopo_core import _core


def get_num_threads() -> int:
    """Return how many threads one call may use on the CPU.

    At first: the environment variable ``PARETOPO_NUM_THREADS``, else the number of CPUs that
    this process may run on.

    >>> get_num_threads() >= 1
    True
    """
    return _core.threads()


def set_num_threads(threads: int) -> None:
    """Let one call use at most ``threads`` threads on the CPU; results do not depend on it.

    Args:
        threads: at least 1.

    Raises:
        TypeError: not an integer.
        ValueError: below 1.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    """
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads must be an int, got {type(threads).__name__}")
    if not 1 <= threads <= _MOST:
        raise ValueError(f"threads must lie in 1..{_MOST}, got {threads}")
    _core.set_threads(threads)


_MOST = 4096


def _choose_initial() -> int:
    wanted = os.environ.get("PARETOPO_NUM_THREADS", "").strip()
    if not wanted:
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return os.cpu_count() or 1
    if not wanted.isdecimal() or not 1 <= int(wanted) <= _MOST:
        raise ValueError(
            f"the environment variable PARETOPO_NUM_THREADS must be a number from 1 to {_MOST}, "
            f"got {wanted!r}"
        )
    return int(wanted)


set_num_threads(_choose_initial())
