"""The limit on the memory of results whose size no one knows in advance."""

from __future__ import annotations

from paretopo_core import _core
from paretopo_core._machinery.numbers import MAX_WHOLE, whole_number
from paretopo_core._machinery.settings import Setting, Users


def memory_limit(size: int) -> Setting[int]:
    """Let one call take at most ``size`` bytes for boxes, or for the choices of exact subsets.

    Beyond the limit a call raises MemoryError; the default is 4 GiB, 2³² bytes. It holds for calls
    of all threads of this process, from now on, or in a ``with`` statement.

    Args:
        size: in bytes, at least 1.

    Returns:
        the :class:`~paretopo_core.Setting`, a context manager with ``undo()``.

    Raises:
        TypeError: not an integer.
        ValueError: below 1.

    >>> from paretopo_core import nondominated_boxes
    >>> with memory_limit(100):
    ...     nondominated_boxes([[1, 3], [2, 2], [3, 1]], ref=0)
    Traceback (most recent call last):
        ...
    MemoryError: the boxes of points of shape (3, 2), padded to the set with the most boxes, would \
take more than 100 bytes: take fewer points, objectives or sets at once, use hypervolume, which \
needs no boxes, or raise memory_limit()
    """
    return _USERS.add(whole_number(size, "size", 1, MAX_WHOLE))


def name_limit() -> str:
    """Return the limit in words."""
    size = _core.most_bytes()
    return f"{size / 2**30:.3g} GiB" if size >= 2**20 else f"{size} bytes"


_USERS = Users("memory of a call", _core.set_most_bytes, _core.most_bytes())
