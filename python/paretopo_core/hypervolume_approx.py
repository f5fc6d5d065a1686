"""Estimated hypervolumes, with standard errors."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Never, TypeVar

import numpy as np

from paretopo_core import _core
from paretopo_core._dominance import NONDOMINATED
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import MAX_WHOLE, numbers_of, seed_of, whole_number
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise, minimised_bits, signs_of
from paretopo_core._machinery.shapes import parts_of
from paretopo_core._machinery.types import Mask, PerPoint, PerSet, Points, Rng, Vector
from paretopo_core.hypervolume import hypervolume

ValueT = TypeVar("ValueT")


class Estimate(NamedTuple, Generic[ValueT]):
    """An estimated volume or contribution, and its standard error.

    Attributes:
        value: shape (...) or (..., points), float64; its mean, over seeds, is exact. An estimate of
            a very small contribution can be negative.
        error: of the same shape, float64, the standard error of ``value``, estimated from 32
            replicates and accurate to about an eighth of it; at least a bound of the rounding. The
            exact value is within two errors for 19 of 20 seeds. Where the value is too large for
            float64, both are infinite.

    >>> estimate = hypervolume_approx([[1, 3], [2, 2], [3, 1]], ref=0, rng=0)
    >>> abs(estimate.value - 6) < 4 * estimate.error
    np.True_
    """

    value: ValueT
    error: ValueT


@explain_calls
def hypervolume_approx(
    points: Points,
    ref: Vector,
    *extra: Never,
    samples: int = 65536,
    rng: Rng = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Estimate[PerSet[np.float64]]:
    """Estimate the hypervolume from random directions, with its standard error.

    Use it for 8 objectives and more, for which :func:`paretopo_core.hypervolume` may take minutes.
    The estimate is unbiased: its mean over seeds is the hypervolume. Each direction leads from the
    reference to a random point in the box of one of the points, which is chosen with a probability
    proportional to the volume of its box. The volume along a direction is integrated exactly: with
    m objectives and the distance r_i at which box i ends, a sample is max r_i^m / Σ r_i^m times the
    sum of the boxes' volumes. A sample lies between the mean volume of the boxes and their sum; for
    a single point, it is exact. The directions form 32 randomly shifted lattices, the replicates.
    Lattices are more precise than independent directions, and the spread of the replicates gives
    the error.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU. A point that is not better than the reference in *every* objective,
            or is dominated, changes nothing.
        ref: the reference point, finite: a number, shape (objectives,), or (..., objectives).
        samples: how many directions, at least 1; rounded up to a multiple of 32. The error falls at
            least as fast as 1 / sqrt(samples).
        rng: the source of the random shifts of the lattices: a seed from 0 to 2⁶³ - 1, which gives
            the same numbers on any number of threads; a ``numpy.random.Generator``, which gives one
            such seed to the call; or None, for other numbers each time. All sets of a call share
            the seed, so that two similar sets are compared more precisely than either is measured.
            (A mean over many sets of one call therefore does not average errors away.)
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        ``value`` and ``error``, shape (...) each, float64; NumPy scalars for one set. Same library
        as ``points``.

    Raises:
        ValueError: as :func:`paretopo_core.hypervolume`; ``samples`` below 1; ``rng`` out of
            range; points on a GPU.
        TypeError: as there; ``samples`` not a whole number, ``rng`` neither one nor a Generator. A
            derivative of this result raises NotImplementedError.

    Cost: O(samples · n · objectives) for n undominated points, about 0.3 ns for each on AVX-512,
    plus the cost of finding these points; threads share the replicates.

    Source: boxes chosen by volume after Karp and Luby (1983), as Bringmann and Friedrich (2010),
    Comput. Geom. 43, use them for hypervolumes; distances integrated along directions as Deng and
    Zhang (2019), IEEE Trans. Evol. Comput. 23(5), do for uniform ones; replicates after Cranley and
    Patterson (1976): docs/mathematics.md.

    >>> import numpy as np
    >>> points = 0.5 + np.eye(10) / 2
    >>> volume, error = hypervolume_approx(points, ref=0, samples=4096, rng=0)
    >>> exact = 11 * 0.5**10  # a cube that all have, and as much for each point
    >>> bool(abs(volume - exact) < 4 * error), bool(error < exact / 100)
    (True, True)
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return Estimate(*_ESTIMATE.answer(points, maximise, mask, ref, samples, seed_of(rng)))


_ESTIMATE = Operation(
    _core.hypervolume_approx,
    cpu_only="estimates",
    checks={
        "samples": lambda _, samples: whole_number(samples, "samples", 1, MAX_WHOLE),
    },
)


@explain_calls
def hypervolume_contributions_approx(
    points: Points,
    ref: Vector,
    *extra: Never,
    samples: int = 4096,
    rng: Rng = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Estimate[PerPoint[np.float64]]:
    """Estimate the contribution of each point to the hypervolume, with its standard error.

    Use it for 8 objectives and more, for which :func:`hypervolume_contributions` may take minutes.
    The contribution is the exact volume of the point's own box minus the part of the box that other
    points dominate; :func:`hypervolume_approx` estimates that part. The error is proportional to
    the box, so a contribution much smaller than its box needs more samples.

    Args:
        points: shape (..., points, objectives), as for :func:`hypervolume_approx`. Dominated points
            are left out first, as in :func:`paretopo_core.hypervolume_contributions`.
        ref: the reference point, finite: a number, shape (objectives,), or (..., objectives).
        samples: the number of directions for each point, at least 1; rounded up to a multiple of
            32.
        rng: as for :func:`hypervolume_approx`.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        ``value`` and ``error``, shape (..., points) each, float64; same library as
        ``points``. Both are 0.0 for padding, for dominated and duplicate points, and for points
        that are not better than the reference in every objective.

    Raises:
        ValueError, TypeError: as :func:`hypervolume_approx`.

    Cost: that of :func:`hypervolume_approx` for each non-dominated point.

    Source: Bringmann and Friedrich (2012), "Approximating the least hypervolume contributor:
    NP-hard in general, but fast in practice", Theor. Comput. Sci. 425, for the limited box; the
    estimator is that of :func:`hypervolume_approx`.

    >>> import numpy as np
    >>> points = 0.5 + np.eye(10) / 2  # each point has a cube of its own
    >>> contributions, error = hypervolume_contributions_approx(points, ref=0, rng=0)
    >>> np.allclose(contributions, 0.5**10), bool((error < 1e-9).all())  # others: one cube, exact
    (True, True)
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return Estimate(*_CONTRIBUTIONS.answer(points, maximise, mask, ref, samples, seed_of(rng)))


def _compute_contributions(
    points: Any, maximise: Maximise, mask: Any, ref: Any, samples: Any, seed: Any
) -> tuple[Any, ...]:
    _ESTIMATE.compute(points, maximise, mask, ref, samples, seed)  # raises the errors
    batch = Batch.of(points, maximise=maximise, mask=mask)
    kept = np.asarray(NONDOMINATED.compute(points, maximise, mask, True))
    signs = signs_of(minimised_bits(maximise, batch.objectives), batch.objectives)
    values = np.asarray(batch.values, np.float64) * (signs if batch.signs is None else 1.0)
    corners = np.broadcast_to(numbers_of(ref, "ref") * signs, (*batch.leading, batch.objectives))
    found = np.zeros((2, *batch.per_point))
    for at in np.ndindex(batch.leading):
        rows = np.flatnonzero(kept[at])
        found[(slice(None), *at, rows)] = _of_one_set(values[at][rows], corners[at], samples, seed)
    return batch.wrap_results(tuple(found))


def _of_one_set(
    points: np.ndarray, ref: np.ndarray, samples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Contributions and errors, (points,) each; larger is better, and none is dominated."""
    found, error = np.zeros(len(points)), np.zeros(len(points))
    is_inside = (points > ref).all(axis=1)
    _, place, count = np.unique(points, axis=0, return_inverse=True, return_counts=True)
    rows = np.flatnonzero(is_inside & (count[place] == 1))  # duplicates contribute nothing
    with np.errstate(over="ignore", under="ignore"):
        unit = np.where(np.isinf(points - ref).any(axis=0), 0.5, 1.0)  # halves do not overflow
        sides = points * unit - ref * unit
        inside = sides[is_inside]
        for part in parts_of(len(rows), inside.size):
            here = rows[part]
            some = sides[here, None]
            others = (points[is_inside] != points[here, None]).any(axis=-1)
            # Powers of two bring the own box near 1, so that no volume within it overflows.
            power = np.frexp(some)[1]
            limited = np.ldexp(np.minimum(inside, some), -power)
            own = hypervolume_approx(limited, 0.0, samples=samples, rng=seed, mask=others)
            box = hypervolume(np.ldexp(some, -power), 0.0)
            doubt = np.maximum(own.error, len(unit) * np.finfo(np.float64).eps * box)
            back = (power + (unit < 1)).sum(axis=-1)[:, 0]
            found[here], error[here] = np.ldexp([box - own.value, doubt], back)
    return found, np.where(np.isinf(found), np.inf, error)


_CONTRIBUTIONS = Operation(
    Composed(
        "hypervolume_contributions_approx",
        (("ref", "corner"), ("samples", "int"), ("seed", "int")),
        (("point", "float64"), ("point", "float64")),
    ),
    compute=_compute_contributions,
)
