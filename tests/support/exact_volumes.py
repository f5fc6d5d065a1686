"""Volumes of unions of boxes, in fractions."""

from fractions import Fraction


def exact_volume(sides):
    """Measure boxes between 0 and these sides, slice by slice along the last objective."""
    if not sides:
        return Fraction(0)
    if len(sides[0]) == 1:
        return max(side[0] for side in sides)
    levels = sorted({side[-1] for side in sides})
    total = Fraction(0)
    for level, below in zip(levels, [Fraction(0), *levels], strict=False):
        total += (level - below) * exact_volume([side[:-1] for side in sides if side[-1] >= level])
    return total
