"""Checks of shapes. Plain loops, because some versions of torch.compile cannot trace NumPy.

Sizes are compared with ==, because ``in`` misses sizes that a compiled graph leaves open.
"""

from __future__ import annotations

_MOST_VALUES = 2**20  # of a part: some 10 ms of work


def broadcast_shapes(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Return the same as NumPy's function of this name, with the same ValueError."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    found = []
    for a, b in zip(longer, (1,) * (len(longer) - len(shorter)) + shorter, strict=True):
        if a != b and a != 1 and b != 1:
            raise ValueError(f"shapes {one} and {other} cannot be broadcast")
        found.append(b if a == 1 else a)
    return tuple(found)


def broadcast_sets(
    others: tuple[int, ...], points: tuple[int, ...], name: str, points_name: str
) -> tuple[int, ...]:
    """Return the leading dimensions of two arrays of sets, broadcast; ValueError if they clash.

    Errors call the sets by ``name``, and the points by ``points_name``.
    """
    try:
        return broadcast_shapes(tuple(others[:-2]), tuple(points[:-2]))
    except ValueError:
        raise ValueError(
            f"{name} of shape {tuple(others)} and {points_name} of shape {tuple(points)} have "
            f"leading dimensions that cannot be broadcast: one set of {name} serves many sets of "
            f"{points_name} if it has a 1, or nothing, in their place"
        ) from None


def is_for_each(shape: tuple[int, ...], expected: tuple[int, ...]) -> bool:
    """Return True if the last dimension is the expected one and the others broadcast to it."""
    fits = 0 < len(shape) <= len(expected) and shape[-1] == expected[-1]
    for axis in range(1, len(shape) + 1):
        fits = fits and (shape[-axis] == 1 or shape[-axis] == expected[-axis])
    return fits


def check_per_point(
    shape: tuple[int, ...], expected: tuple[int, ...], name: str, number: str
) -> None:
    """Refuse a shape without one value per point, for all sets or for each."""
    if not is_for_each(shape, expected):
        each = "".join(f"{size}, " for size in expected)
        more = f", or ({each}constraints)" if name == "violation" else ""
        raise ValueError(
            f"{name} must have shape {expected}, one {number} per point{more}, got {shape}"
        )


def parts_of(rows: int, values: int) -> list[slice]:
    """Part rows of this many values each, so that Python can answer Ctrl-C between two parts.

    There is one part at least, which may be empty.
    """
    step = max(1, _MOST_VALUES // max(1, values))
    return [slice(first, first + step) for first in range(0, max(rows, 1), step)]
