"""Names, signatures and minimising conventions of moocore 0.3.2 and its main branch, on this core.

Use ``from paretopo_core.compat import moocore`` instead of ``import moocore``. Functions take lists
and NumPy arrays of shape (points, objectives), **minimise** by default, and return the same results
as moocore. For batches, masks and tensors, use :mod:`paretopo_core` itself.

The differences are deliberate:

* NaN ranks below every number; in moocore, ranks of other points depend on its position. Volumes
  refuse NaN.
* Infinite values are ordered like numbers; they can crash moocore. Volumes refuse infinity on the
  better side.
* Small contributions keep their digits; from 4 objectives moocore rounds those below 1.5e-8 to 0.
* ``whv_hype`` is exact; moocore draws samples. ``hv_approx`` estimates the same volume by
  :func:`paretopo_core.hypervolume_approx`, with other last digits.
* ``eaf``, ``vorob_t`` and ``vorob_dev`` take the runs in any order; moocore needs the points of a
  run together, and ascending ``sets``. ``eafdiff`` compares shares of the runs if x and y have
  different numbers of them. ``whv_rect`` is right for every set of points and rectangles. An empty
  set is the worst in every indicator. In these cases moocore is wrong: see ``bench/defects.md``.
* If points have the same third objective, 3-dimensional rows of ``eaf`` may be in another order.
* ``maximise=`` works wherever it is in the signature, even if moocore refuses it. So do lists, one
  objective, and more than 2 objectives in ``whv_rect``.
* Ranks are int32 for every number of objectives; moocore has int64 for 1.
* Errors have other words. They are ValueErrors where moocore raises an IndexError or an
  AssertionError, and where it computes with an array that is not of two dimensions, a reference
  that is NaN or empty, too few ``sets``, or a setting out of its range.

>>> filter_dominated([[1, 1], [0, 1], [1, 0], [1, 0]])
array([[0, 1],
       [1, 0]])
>>> hypervolume([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[10, 10])
38.0
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from io import StringIO
from typing import Any, Literal, Never

import numpy as np
from numpy.typing import ArrayLike, NDArray

import paretopo_core as pp
from paretopo_core._machinery.tables import table_of
from paretopo_core._machinery.torch_arrays import is_tensor
from paretopo_core.compat._arguments import Senses, corner_of, rows_of, senses_of, whole
from paretopo_core.compat._attainment import (
    eaf,
    eafdiff,
    largest_eafdiff,
    total_whv_rect,
    vorob_dev,
    vorob_t,
    whv_rect,
)
from paretopo_core.compat._sets import apply_within_sets
from paretopo_core.front_files import parse_fronts

__all__ = [
    "Hypervolume",
    "RelativeHypervolume",
    "any_dominated",
    "apply_within_sets",
    "avg_hausdorff_dist",
    "eaf",
    "eafdiff",
    "epsilon_additive",
    "epsilon_mult",
    "filter_dominated",
    "filter_dominated_within_sets",
    "generate_ndset",
    "hv_approx",
    "hv_contributions",
    "hypervolume",
    "igd",
    "igd_plus",
    "is_nondominated",
    "is_nondominated_within_sets",
    "largest_eafdiff",
    "normalise",
    "pareto_rank",
    "r2_exact",
    "read_datasets",
    "total_whv_rect",
    "vorob_dev",
    "vorob_t",
    "whv_hype",
    "whv_rect",
]

# Further names of moocore 0.3.2: its files, and an error of their reader.
NOT_HERE = ("ReadDatasetsError", "get_dataset", "get_dataset_path")


def __getattr__(name: str) -> Never:
    if name in NOT_HERE:
        raise AttributeError(
            f"paretopo_core.compat.moocore has no {name}: take moocore's own. It has "
            f"{', '.join(__all__)}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Dominance


def is_nondominated(
    points: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> NDArray[np.bool_]:
    """Mark the non-dominated points; of equal ones the first, or with keep_weakly all.

    >>> is_nondominated([[1, 1], [0, 1], [1, 0], [1, 0]])
    array([False,  True,  True, False])
    """
    rows = rows_of(points)
    senses = senses_of(maximise, rows.shape[1])
    return pp.is_nondominated(rows, maximise=senses, duplicates="all" if keep_weakly else "first")


def any_dominated(
    points: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> bool:
    """Return True if any point is dominated or, without keep_weakly, a duplicate.

    >>> any_dominated([[0, 1], [1, 0], [1, 0]]), any_dominated([[0, 1], [1, 0]])
    (True, False)
    """
    rows = rows_of(points)
    if len(rows) == 0:
        raise ValueError("points must have at least one row, got none")
    return not is_nondominated(rows, maximise=maximise, keep_weakly=keep_weakly).all()


def filter_dominated(
    points: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> Any:
    """Return the rows for which :func:`is_nondominated` is True, in their order and dtype.

    Frames of pandas and polars, and tensors, keep their type.
    """
    kept = is_nondominated(points, maximise=maximise, keep_weakly=keep_weakly)
    if (table := table_of(points)) is not None:
        return table.where(kept)
    rows: Any = points if is_tensor(points) else np.asanyarray(points)
    return rows[kept]


def pareto_rank(points: ArrayLike, /, *, maximise: Senses = False) -> NDArray[np.int32]:
    """Rank points by non-dominated sorting, from 0. Without objectives, all are equal.

    >>> pareto_rank([[0, 0], [1, 1], [0, 1]])
    array([0, 2, 1], dtype=int32)
    """
    rows = rows_of(points, fewest=0)
    if rows.shape[1] == 0:
        return np.zeros(len(rows), dtype=np.int32)
    return pp.pareto_rank(rows, maximise=senses_of(maximise, rows.shape[1]))


# Volumes


def hypervolume(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Measure the volume that the points dominate below ref, or above it if larger is better."""
    rows = rows_of(points)
    senses = senses_of(maximise, rows.shape[1])
    return float(pp.hypervolume(rows, corner_of(ref, rows), maximise=senses))


def hv_contributions(
    points: ArrayLike,
    /,
    ref: ArrayLike,
    maximise: Senses = False,
    ignore_dominated: bool = True,
) -> NDArray[np.float64]:
    """Compute each point's contribution to the hypervolume.

    >>> hv_contributions([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[10, 10])
    array([2., 1., 6., 3.])
    """
    rows = rows_of(points)
    senses, ignore = senses_of(maximise, rows.shape[1]), bool(ignore_dominated)
    return pp.hypervolume_contributions(
        rows, corner_of(ref, rows), maximise=senses, ignore_dominated=ignore
    )


def hv_approx(
    points: ArrayLike,
    /,
    ref: ArrayLike,
    *,
    maximise: Senses = False,
    nsamples: int = 262_144,
    seed: int | np.random.Generator | None = None,
    method: Literal["DZ2019-HW", "DZ2019-MC", "Rphi-FWE+"] = "Rphi-FWE+",
) -> float:
    """Estimate the hypervolume from ``nsamples`` directions.

    All of moocore's methods run the same algorithm here. ``seed`` only affects "DZ2019-MC".

    >>> round(hv_approx([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[10, 10]), 2)
    38.0
    """
    methods = ("DZ2019-HW", "DZ2019-MC", "Rphi-FWE+")
    if method not in methods:
        raise ValueError(f"method must be one of {', '.join(methods)}, got {method!r}")
    rows = rows_of(points)
    corner = corner_of(ref, rows)
    number = 0
    if method == "DZ2019-MC":
        number = int(np.random.default_rng(seed).integers(2**63))
    senses = senses_of(maximise, rows.shape[1])
    samples = whole(nsamples, "nsamples", most=2**31)
    found = pp.hypervolume_approx(rows, corner, samples=samples, rng=number, maximise=senses)
    return float(found.value)


def whv_hype(
    points: ArrayLike,
    /,
    *,
    ref: ArrayLike,
    ideal: ArrayLike,
    maximise: Senses = False,
    nsamples: int = 100000,  # noqa: ARG001
    seed: int | np.random.Generator | None = None,  # noqa: ARG001
    dist: Literal["uniform", "point", "exponential"] = "uniform",
    mu: float | ArrayLike | None = None,
) -> float:
    """Measure the hypervolume of 2 objectives under one of HypE's weights, exactly.

    It is the area between ideal and ref times the probability that a draw is dominated. moocore
    estimates this probability with ``nsamples`` and ``seed``, which have no effect here. In units
    of that area, draws are uniform; or exponential with mean ``mu`` along one objective and uniform
    along the other (each half of the time); or normal around the point ``mu``, along the diagonal,
    with a deviation of 1/4 in each.

    Source: Auger, Bader, Brockhoff and Zitzler (2009), GECCO, equation 18; the distributions are
    moocore's.

    >>> round(whv_hype([[3, 1]], ref=4, ideal=1, dist="exponential", mu=0.2), 3)
    1.661
    """
    rows = rows_of(points)
    if rows.shape[1] != 2:
        raise NotImplementedError(
            f"points must have 2 objectives, got {rows.shape[1]}: weighted_hypervolume takes more"
        )
    signs = np.where(senses_of(maximise, 2), -1.0, 1.0)
    corner, best = signs * corner_of(ref, rows), signs * corner_of(ideal, rows, "ideal")
    span = corner - best
    if not (span > 0).all():
        raise ValueError(
            f"ideal must be better than ref in each objective, got {ideal!r} and {ref!r}"
        )
    front = rows[pp.is_nondominated(rows * signs, maximise=False, duplicates="first")] * signs
    front = (front[front[:, 0].argsort()] - best) / span
    if dist == "point":
        centre = (signs * corner_of(mu, rows, "mu") - best) / span
        if not np.isfinite(centre).all():
            raise ValueError(f"mu must be a point, got {mu!r}")
        nearest = (front - centre).max(axis=1).min(initial=math.inf)
        chance = math.erfc(nearest / 0.25 / math.sqrt(2)) / 2
    elif dist in ("uniform", "exponential"):
        ways = [("uniform", "uniform")]
        if dist == "exponential":
            if not isinstance(mu, (int, float)) or not mu > 0:
                raise ValueError(f"mu must be a number larger than 0, got {mu!r}")
            ways = [("exponential", "uniform"), ("uniform", "exponential")]
        chance = float(np.mean([_chance(front, *way, mu) for way in ways]))
    else:
        raise ValueError(f"dist must be uniform, point or exponential, got {dist!r}")
    return float(span.prod() * chance)


def _chance(front: np.ndarray, first: str, second: str, mu: Any) -> float:
    """Compute the probability that a staircase dominates a draw of two independent numbers."""

    def beyond(values: np.ndarray, dist: str) -> np.ndarray:
        left = np.maximum(values, 0.0)
        return np.exp(-left / mu) if dist == "exponential" else 1 - left.clip(max=1)

    ahead = beyond(np.append(front[:, 0], np.inf), first)
    return float(((ahead[:-1] - ahead[1:]) * beyond(front[:, 1], second)).sum())


def generate_ndset(
    n: int,
    d: int,
    /,
    method: str,
    *,
    seed: int | np.random.Generator | None = None,
    integer: bool = False,
) -> NDArray[Any]:
    """Draw n points that do not dominate each other, uniformly on a surface in 0..1.

    >>> generate_ndset(3, 2, "simplex", seed=0).sum(axis=1)
    array([1., 1., 1.])
    """
    generator = np.random.default_rng(seed)

    def sphere() -> np.ndarray:
        drawn = np.abs(generator.normal(size=(n, d)))
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def simplex() -> np.ndarray:
        drawn = generator.exponential(size=(n, d))
        return drawn / drawn.sum(axis=1, keepdims=True)

    surfaces: dict[str, Callable[[], np.ndarray]] = {
        "simplex": simplex,
        "concave-sphere": sphere,
        "convex-sphere": lambda: 1.0 - sphere(),
        "convex-simplex": lambda: simplex() ** 2,
        "concave-simplex": lambda: 1.0 - simplex() ** 2,
        "inverted-simplex": lambda: 1.0 - simplex(),
    }
    short = {
        "linear": "simplex",
        "L": "simplex",
        "sphere": "concave-sphere",
        "C": "concave-sphere",
        "X": "convex-sphere",
        "inverted-linear": "inverted-simplex",
    }
    name = short.get(method, method)
    if name not in surfaces:
        raise ValueError(f"method must be one of {', '.join(surfaces)}, got {method!r}")
    points = surfaces[name]()
    while any_dominated(points):  # by rounding, very rarely
        points = surfaces[name]()
    if not integer:
        return points
    scale = 64
    while any_dominated(whole := (points * scale).astype(int)):
        scale *= 2
    return whole


class Hypervolume:
    """:func:`hypervolume` with the reference point given beforehand.

    >>> Hypervolume(ref=0, maximise=True)([[5, 5], [4, 6], [2, 7], [7, 4]])
    39.0
    """

    def __init__(self, ref: ArrayLike, maximise: Senses = False) -> None:
        self._ref = np.array(ref, dtype=float, ndmin=1)
        self._maximise = np.array(maximise, dtype=bool, ndmin=1)
        lengths = {len(self._ref), len(self._maximise)} - {1}
        if len(lengths) > 1:
            raise ValueError(
                "ref and maximise must have the same length, or length 1, got "
                f"{len(self._ref)} and {len(self._maximise)}"
            )

    def __call__(self, points: ArrayLike) -> float:
        """Measure the points, shape (points, objectives)."""
        return hypervolume(points, ref=self._ref, maximise=self._maximise)


class RelativeHypervolume(Hypervolume):
    """1 - hypervolume / hypervolume of a reference set: smaller is better.

    >>> ref_set = [[6, 6], [2, 7], [7, 2]]
    >>> RelativeHypervolume(ref=0, ref_set=ref_set, maximise=True)([[0, 0]])
    1.0
    """

    def __init__(self, ref: ArrayLike, ref_set: ArrayLike, maximise: Senses = False) -> None:
        super().__init__(ref=ref, maximise=maximise)
        self._of_ref_set = super().__call__(ref_set)
        if self._of_ref_set == 0:
            raise ValueError("ref_set must have a hypervolume, got one of 0.0 above ref")

    def __call__(self, points: ArrayLike) -> float:
        """Compare the points, shape (points, objectives), with the reference set."""
        return 1.0 - super().__call__(points) / self._of_ref_set


# Indicators


def igd(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Average the distances from the points of a reference set to the nearest point."""
    return _compare_with_set(pp.inverted_generational_distance, points, ref, maximise)


def igd_plus(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Average the shortfall of the nearest point to each point of a reference set."""
    return _compare_with_set(pp.inverted_generational_distance_plus, points, ref, maximise)


def avg_hausdorff_dist(
    points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False, p: int = 1
) -> float:
    """Take the larger of the mean distances to and from a reference set."""
    power = whole(p, "p")
    return _compare_with_set(pp.average_hausdorff_distance, points, ref, maximise, p=power)


def epsilon_additive(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Compute the shift that makes the points as good as a reference set."""
    return _compare_with_set(pp.epsilon_additive, points, ref, maximise)


def epsilon_mult(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Compute the factor that makes the points as good as a reference set."""
    return _compare_with_set(pp.epsilon_multiplicative, points, ref, maximise)


def _compare_with_set(
    indicator: Callable[..., Any], points: ArrayLike, ref: ArrayLike, maximise: Senses, **more: Any
) -> float:
    rows = rows_of(points)
    reference = np.atleast_2d(np.asarray(ref, dtype=float))
    return float(indicator(rows, reference, maximise=senses_of(maximise, rows.shape[1]), **more))


def r2_exact(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Average, over all weights of two objectives, the weighted distance from an ideal point.

    >>> round(r2_exact([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[0, 0]), 9)
    2.594191919
    """
    rows = rows_of(points)
    if rows.shape[1] != 2:
        raise NotImplementedError(
            f"points must have 2 objectives, got {rows.shape[1]}: r2_indicator takes more"
        )
    return float(pp.r2_indicator(rows, corner_of(ref, rows), maximise=senses_of(maximise, 2)))


# Scales


def normalise(
    points: ArrayLike,
    /,
    to_range: ArrayLike = (0.0, 1.0),
    *,
    lower: ArrayLike = np.nan,
    upper: ArrayLike = np.nan,
    maximise: Senses = False,
) -> NDArray[np.float64]:
    """Move each objective from lower..upper, or its least..largest, to a range.

    An objective that is maximised runs from the range's second value to its first.

    >>> normalise([[1, 30], [2, 10]])
    array([[0., 1.],
           [1., 0.]])
    """
    rows = rows_of(points)
    ends = np.asarray(to_range, dtype=float)
    if ends.shape != (2,):
        raise ValueError(f"to_range must be two numbers, got shape {ends.shape}")
    low, high = corner_of(lower, rows, "lower"), corner_of(upper, rows, "upper")
    if len(rows):
        low = np.where(np.isnan(low), rows.min(axis=0), low)
        high = np.where(np.isnan(high), rows.max(axis=0), high)
    senses = np.array(senses_of(maximise, rows.shape[1]))
    width = np.where(high == low, 1.0, high - low)
    from_best = np.where(senses, high - rows, rows - low)
    return ends[0] + (ends[1] - ends[0]) * (from_best / width)


# Many sets in one array


def is_nondominated_within_sets(
    points: ArrayLike,
    /,
    sets: ArrayLike,
    *,
    maximise: Senses = False,
    keep_weakly: bool = False,
) -> NDArray[np.bool_]:
    """Mark the points that no other point of their own set dominates.

    >>> is_nondominated_within_sets([[1, 2], [1, 3], [2, 1], [2, 2]], [1, 1, 1, 2])
    array([ True, False,  True,  True])
    """
    return apply_within_sets(
        points, sets, is_nondominated, maximise=maximise, keep_weakly=keep_weakly
    )


def filter_dominated_within_sets(
    data: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> np.ndarray:
    """Return the non-dominated rows of each set; the last column is the set.

    >>> filter_dominated_within_sets([[1, 2, 1], [1, 3, 1], [2, 2, 2]])
    array([[1., 2., 1.],
           [2., 2., 2.]])
    """
    rows = np.asarray(data, dtype=float)
    if rows.ndim != 2 or rows.shape[1] < 3:
        raise ValueError(
            "data must have shape (points, objectives + 1), with 2 objectives or more, got "
            f"{rows.shape}"
        )
    kept = is_nondominated_within_sets(
        rows[:, :-1], rows[:, -1], maximise=maximise, keep_weakly=keep_weakly
    )
    return rows[kept]


def read_datasets(filename: str | os.PathLike[str] | StringIO) -> NDArray[np.float64]:
    """Read sets of points, separated by blank lines, from a file without compression, or a text.

    The result has a row for each point; the last column numbers the sets from 1.

    >>> read_datasets(StringIO("1 4\\n2 3\\n\\n0.5 5"))
    array([[1. , 4. , 1. ],
           [2. , 3. , 1. ],
           [0.5, 5. , 2. ]])
    """
    if isinstance(filename, StringIO):
        fronts = parse_fronts(filename.getvalue().encode())
    else:
        fronts = pp.read_fronts(filename)
    numbered = enumerate(fronts, start=1)
    return np.concatenate([np.column_stack([one, np.full(len(one), at)]) for at, one in numbered])
