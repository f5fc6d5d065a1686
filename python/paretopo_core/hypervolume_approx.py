"""Estimated hypervolumes, with standard errors."""

from __future__ import annotations

from typing import Any, NamedTuple, Never

from paretopo_core import _core
from paretopo_core._numbers import MOST_WHOLE, check_seed, whole_number
from paretopo_core._operation import Operation
from paretopo_core._senses import Maximise
from paretopo_core._wrong_names import refuse_names
from paretopo_core.hypervolume import refuse_value


class HypervolumeEstimate(NamedTuple):
    """An estimated hypervolume and its standard error.

    Attributes:
        volume: shape (...), float64; its mean, over seeds, is the hypervolume.
        error: shape (...), float64, the standard error of ``volume``, estimated from 32 replicates
            and accurate to about an eighth of it. The hypervolume is within two errors for 19 of 20
            seeds.

    >>> estimate = hypervolume_approx([[1, 3], [2, 2], [3, 1]], ref=0)
    >>> abs(estimate.volume - 6) < 4 * estimate.error
    np.True_
    """

    volume: Any
    error: Any


def hypervolume_approx(
    points: Any,
    ref: Any,
    *,
    samples: int = 65536,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Any = None,
    **wrong: Never,
) -> HypervolumeEstimate:
    """Estimate the hypervolume from random directions, with its standard error.

    Use it for 8 objectives and more, for which :func:`paretopo_core.hypervolume` may take minutes.
    The estimate is unbiased: its mean over seeds is the hypervolume. A direction points to a random
    point in the box of a point, chosen with probability proportional to its volume. The distance is
    integrated exactly along it: a sample is max r_i^m / Σ r_i^m times the sum of the boxes, with
    r_i the distance at which box i ends. A sample lies between the mean box and the sum of all; for
    a single point it is exact. The directions form 32 randomly shifted lattices. These are more
    precise than independent directions, and the spread of the replicates gives the error.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU. A point that is not better than the reference in *every* objective,
            or is dominated, changes nothing.
        ref: the reference point, finite: a number, shape (objectives,), or (..., objectives).
        samples: how many directions, at least 1; rounded up to a multiple of 32. The error falls
            at least as fast as one over the root of it.
        seed: from 0 to 2⁶³ - 1. The same seed gives the same numbers on any number of threads. A
            set has the same estimate in a batch and by itself, so that two similar sets are
            compared more precisely than either is measured. (A mean over many sets therefore does
            not average errors away, unless they use different seeds.)
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        ``volume`` and ``error``, shape (...) each, float64; NumPy scalars for one set. Same library
        as ``points``.

    Raises:
        ValueError: as :func:`paretopo_core.hypervolume`; ``samples`` below 1; ``seed`` out of
            range; points on a GPU.
        TypeError: as there; ``samples`` or ``seed`` not a whole number. A derivative of this result
            raises NotImplementedError.

    Cost: O(samples · n · objectives) for n undominated points, about 0.3 ns for each on AVX-512,
    plus the cost of finding these points; threads share the replicates.

    Source: boxes chosen by volume after Karp and Luby (1983), as Bringmann and Friedrich (2010),
    Comput. Geom. 43, use them for hypervolumes; distances integrated along directions as Deng and
    Zhang (2019), IEEE Trans. Evol. Comput. 23(5), do for uniform ones; replicates after Cranley and
    Patterson (1976): docs/mathematics.md.

    >>> import numpy as np
    >>> points = 0.5 + np.eye(10) / 2
    >>> volume, error = hypervolume_approx(points, ref=0, samples=4096)
    >>> exact = 11 * 0.5**10  # a cube that all have, and as much for each point
    >>> bool(abs(volume - exact) < 4 * error), bool(error < exact / 100)
    (True, True)
    """
    if wrong:
        refuse_names(wrong)
    return HypervolumeEstimate(*_ESTIMATE.answer(points, maximise, mask, ref, samples, seed))


_ESTIMATE = Operation(
    _core.hypervolume_approx,
    cpu_only="estimates",
    checks={
        "samples": lambda _, samples: whole_number(samples, "samples", 1, MOST_WHOLE),
        "seed": check_seed,
    },
    refuse=refuse_value,
)
