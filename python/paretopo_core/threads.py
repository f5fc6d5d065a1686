"""The number of threads of a call on the CPU."""

from __future__ import annotations

import os

from paretopo_core import _core
from paretopo_core._machinery.numbers import whole_number
from paretopo_core._machinery.settings import Setting, Users


def get_threads() -> int:
    """Return how many threads one call may use on the CPU.

    The default is the environment variable ``PARETOPO_NUM_THREADS``, or else the number of CPUs
    that this process may use.

    >>> get_threads() >= 1
    True
    """
    return _core.threads()


def threads(count: int) -> Setting[int]:
    """Let one call use at most ``count`` threads on the CPU; results do not depend on it.

    It holds for calls of all threads of this process, from now on, or in a ``with`` statement.

    Args:
        count: at least 1.

    Returns:
        the :class:`~paretopo_core.Setting`, a context manager with ``undo()``.

    Raises:
        TypeError: not an integer.
        ValueError: below 1.

    >>> with threads(1):
    ...     get_threads()
    1
    """
    return _USERS.add(whole_number(count, "count", 1, _MAX))


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


_USERS = Users("threads of a call", _core.set_threads, _choose_initial())
