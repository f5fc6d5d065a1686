"""moocore 0.3.2's names, signatures and minimising conventions on this core.

``from paretopo_core.compat import moocore`` in the place of ``import moocore``. Functions take
lists and NumPy arrays of shape (points, objectives), **minimise** unless ``maximise=`` says
otherwise, and answer as moocore does; batches, masks and tensors are those of
:mod:`paretopo_core` itself.
Where the two differ it is on purpose:

* NaN ranks below every number; moocore's ranks of the other points depend on where it stands. In
  a volume it is refused.
* Infinite values order as numbers, where moocore can crash the interpreter. A volume refuses those
  on the better side, whose volume would be infinite.
* Small contributions keep their digits; from 4 objectives moocore rounds those below 1.5e-8 to 0.
* An array that is not of two dimensions is refused everywhere.

>>> filter_dominated([[1, 1], [0, 1], [1, 0], [1, 0]])
array([[0, 1],
       [1, 0]])
>>> hypervolume([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[10, 10])
38.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike

import paretopo_core as pp

Senses = bool | Sequence[bool] | np.ndarray

__all__ = [
    "Hypervolume",
    "RelativeHypervolume",
    "any_dominated",
    "apply_within_sets",
    "avg_hausdorff_dist",
    "eaf",
    "epsilon_additive",
    "epsilon_mult",
    "filter_dominated",
    "filter_dominated_within_sets",
    "hv_contributions",
    "hypervolume",
    "igd",
    "igd_plus",
    "is_nondominated",
    "is_nondominated_within_sets",
    "normalise",
    "pareto_rank",
    "r2_exact",
]

# What moocore 0.3.2 has beyond that: differences of attainment, estimates of volumes by its own
# methods, rectangles with weights, and its readers of files and data.
NOT_HERE = (
    "ReadDatasetsError",
    "eafdiff",
    "generate_ndset",
    "get_dataset",
    "get_dataset_path",
    "hv_approx",
    "largest_eafdiff",
    "read_datasets",
    "total_whv_rect",
    "vorob_dev",
    "vorob_t",
    "whv_hype",
    "whv_rect",
)


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
) -> np.ndarray:
    """Tell which points nobody dominates; of equal ones the first, or with keep_weakly all.

    >>> is_nondominated([[1, 1], [0, 1], [1, 0], [1, 0]])
    array([False,  True,  True, False])
    """
    rows = _rows(points)
    senses = _senses(maximise, rows.shape[1])
    return pp.is_nondominated(rows, maximise=senses, keep_weakly=bool(keep_weakly))


def any_dominated(
    points: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> bool:
    """Tell whether any point is dominated or, without keep_weakly, there twice.

    >>> any_dominated([[0, 1], [1, 0], [1, 0]]), any_dominated([[0, 1], [1, 0]])
    (True, False)
    """
    rows = _rows(points)
    if len(rows) == 0:
        raise ValueError("points must have at least one row, got none")
    return not is_nondominated(rows, maximise=maximise, keep_weakly=keep_weakly).all()


def filter_dominated(
    points: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> np.ndarray:
    """Return the rows of which :func:`is_nondominated` is True, in their order and dtype."""
    kept = is_nondominated(points, maximise=maximise, keep_weakly=keep_weakly)
    members: np.ndarray = np.asarray(points)[kept]
    return members


def pareto_rank(points: ArrayLike, /, *, maximise: Senses = False) -> np.ndarray:
    """Rank points by non-dominated sorting, from 0.

    >>> pareto_rank([[0, 0], [1, 1], [0, 1]])
    array([0, 2, 1], dtype=int32)
    """
    rows = _rows(points)
    return pp.pareto_rank(rows, maximise=_senses(maximise, rows.shape[1]))


# Volumes


def hypervolume(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Measure what the points dominate below ref, or above it where larger is better."""
    rows = _rows(points)
    objectives = rows.shape[1]
    corner = _one_each(np.asarray(ref, dtype=float), objectives, "ref")
    return float(pp.hypervolume(rows, ref=corner, maximise=_senses(maximise, objectives)))


def hv_contributions(
    points: ArrayLike,
    /,
    ref: ArrayLike,
    maximise: Senses = False,
    ignore_dominated: bool = True,
) -> np.ndarray:
    """Measure what each point alone adds to the hypervolume.

    >>> hv_contributions([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[10, 10])
    array([2., 1., 6., 3.])
    """
    rows = _rows(points)
    objectives = rows.shape[1]
    corner = _one_each(np.asarray(ref, dtype=float), objectives, "ref")
    senses = _senses(maximise, objectives)
    ignore = bool(ignore_dominated)
    return pp.hv_contributions(rows, ref=corner, maximise=senses, ignore_dominated=ignore)


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
        """Measure the points, shape (points, objectives), beside the reference set."""
        return 1.0 - super().__call__(points) / self._of_ref_set


# Indicators


def igd(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Average the distances from the points of a reference set to the nearest point."""
    return _beside(pp.igd, points, ref, maximise)


def igd_plus(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Average by how much the nearest point falls short of each point of a reference set."""
    return _beside(pp.igd_plus, points, ref, maximise)


def avg_hausdorff_dist(
    points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False, p: int = 1
) -> float:
    """Take the larger of the mean distances to and from a reference set."""
    return _beside(pp.avg_hausdorff_dist, points, ref, maximise, p=p)


def epsilon_additive(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Measure by how much the points must get better to be as good as a reference set."""
    return _beside(pp.epsilon_additive, points, ref, maximise)


def epsilon_mult(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Measure by what factor the points must get better to be as good as a reference set."""
    return _beside(pp.epsilon_mult, points, ref, maximise)


def _beside(
    indicator: Callable[..., Any], points: ArrayLike, ref: ArrayLike, maximise: Senses, **more: Any
) -> float:
    rows = _rows(points)
    reference = np.asarray(ref, dtype=float)
    return float(indicator(rows, reference, maximise=_senses(maximise, rows.shape[1]), **more))


def r2_exact(points: ArrayLike, /, ref: ArrayLike, *, maximise: Senses = False) -> float:
    """Average, over all weights of two objectives, the weighted distance from an ideal point.

    >>> round(r2_exact([[5, 5], [4, 6], [2, 7], [7, 4]], ref=[0, 0]), 9)
    2.594191919
    """
    rows = _rows(points)
    ideal = _one_each(np.asarray(ref, dtype=float), rows.shape[1], "ref")
    return float(pp.r2(rows, ideal, maximise=_senses(maximise, rows.shape[1])))


def eaf(points: ArrayLike, /, sets: ArrayLike, *, percentiles: Sequence[float] = ()) -> np.ndarray:
    """Find what each number of sets attains; the last column is the percentile.

    >>> eaf([[1, 3], [3, 1], [2, 2]], [0, 0, 1], percentiles=[100])
    array([[  2.,   3., 100.],
           [  3.,   2., 100.]])
    """
    wanted = np.unique(np.ravel(percentiles).astype(float))
    surfaces = pp.eaf(
        _rows(points), sets, percentiles=wanted if len(wanted) else None, maximise=False
    )
    joined: np.ndarray = np.column_stack(surfaces)
    return joined


# Scales


def normalise(
    points: ArrayLike,
    /,
    to_range: ArrayLike = (0.0, 1.0),
    *,
    lower: ArrayLike = np.nan,
    upper: ArrayLike = np.nan,
    maximise: Senses = False,
) -> np.ndarray:
    """Move each objective from lower..upper, or its least..largest, to a range.

    An objective that is maximised runs from the range's second value to its first.

    >>> normalise([[1, 30], [2, 10]])
    array([[0., 1.],
           [1., 0.]])
    """
    rows = _rows(points)
    objectives = rows.shape[1]
    ends = np.asarray(to_range, dtype=float)
    if ends.shape != (2,):
        raise ValueError(f"to_range must be two numbers, got shape {ends.shape}")
    low, high = (
        _one_each(np.asarray(bound, dtype=float), objectives, name)
        for bound, name in ((lower, "lower"), (upper, "upper"))
    )
    if len(rows):
        low = np.where(np.isnan(low), rows.min(axis=0), low)
        high = np.where(np.isnan(high), rows.max(axis=0), high)
    senses = np.array(_senses(maximise, objectives))
    width = np.where(high == low, 1.0, high - low)
    from_best = np.where(senses, high - rows, rows - low)
    result: np.ndarray = ends[0] + (ends[1] - ends[0]) * (from_best / width)
    return result


# Many sets in one array


def is_nondominated_within_sets(
    points: ArrayLike,
    /,
    sets: ArrayLike,
    *,
    maximise: Senses = False,
    keep_weakly: bool = False,
) -> np.ndarray:
    """Tell which points nobody in their own set dominates.

    >>> is_nondominated_within_sets([[1, 2], [1, 3], [2, 1], [2, 2]], [1, 1, 1, 2])
    array([ True, False,  True,  True])
    """
    return apply_within_sets(
        points, sets, is_nondominated, maximise=maximise, keep_weakly=keep_weakly
    )


def filter_dominated_within_sets(
    data: ArrayLike, /, *, maximise: Senses = False, keep_weakly: bool = False
) -> np.ndarray:
    """Return the rows that nobody in their own set dominates; the last column is the set.

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
    members: np.ndarray = rows[kept]
    return members


def apply_within_sets(
    x: ArrayLike, sets: ArrayLike, func: Callable[..., Any], **kwargs: Any
) -> np.ndarray:
    """Call func on the rows of each set, and join the answers.

    Answers with as many rows as they were given come back in the order of x; answers with one row,
    or scalars, in the order in which the sets begin.

    >>> apply_within_sets([[5], [7], [6]], ["b", "a", "b"], lambda rows: rows.max())
    array([6, 7])
    """
    rows = np.asarray(x)
    _, first, of_row = np.unique(np.asarray(sets), return_index=True, return_inverse=True)
    if len(of_row) != len(rows):
        raise ValueError(f"sets must name one for each of the {len(rows)} rows, got {len(of_row)}")
    members = [np.flatnonzero(of_row == which) for which in first.argsort()]
    answers = [np.atleast_1d(func(rows[chosen], **kwargs)) for chosen in members]
    for answer, chosen in zip(answers, members, strict=True):
        if len(answer) not in (1, len(chosen)):
            raise ValueError(
                f"`func` returned an array of length {len(answer)} but the input has length "
                f"{len(chosen)} for rows {chosen}"
            )
    joined: np.ndarray = np.concatenate(answers)
    if len(joined) == len(rows):
        joined = joined[np.concatenate(members).argsort()]
    return joined


# Arguments


def _rows(points: ArrayLike) -> np.ndarray:
    rows = np.asarray(points, dtype=float)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(
            f"points must have shape (points, objectives), 1 objective or more, got {rows.shape}"
        )
    return rows


def _one_each(values: np.ndarray, objectives: int, name: str) -> np.ndarray:
    """One value for each objective, from as many, or from one for all."""
    flat = np.ravel(values)
    if len(flat) not in (1, objectives):
        raise ValueError(f"{name} must have length 1 or {objectives}, got {len(flat)}")
    each: np.ndarray = np.broadcast_to(flat, (objectives,))
    return each


def _senses(maximise: Senses, objectives: int) -> list[bool]:
    senses: list[bool] = (
        _one_each(np.asarray(maximise), objectives, "maximise").astype(bool).tolist()
    )
    return senses
