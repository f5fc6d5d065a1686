"""The number of threads of a call on the CPU."""

from __future__ import annotations

import os

from paretopo_core import _core
from paretopo_core._numbers import whole_number


def get_num_threads() -> int:
    """Return how many threads one call may use on the CPU.

    The default is the environment variable ``PARETOPO_NUM_THREADS``, or else the number of CPUs
    that this process may use.

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
    _core.set_threads(whole_number(threads, "threads", 1, _MAX))


_MAX = 4096


def _choose_initial() -> int:
    wanted = os.environ.get("PARETOPO_NUM_THREADS", "").strip()
    if not wanted:
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return os.cpu_count() or 1
    if not wanted.isdecimal() or not 1 <= int(wanted) <= _MAX:
        raise ValueError(
            f"the environment variable PARETOPO_NUM_THREADS must be a number from 1 to {_MAX}, "
            f"got {wanted!r}"
        )
    return int(wanted)


set_num_threads(_choose_initial())
