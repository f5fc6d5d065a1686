"""Attainment of several runs, and differences between two algorithms, in moocore's conventions.

Public as names of :mod:`paretopo_core.compat.moocore`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import paretopo_core as pp
from paretopo_core.attainment_surfaces import attained_corners, count_attaining
from paretopo_core.compat._arguments import Senses, corner_of, rows_of, senses_of, whole
from paretopo_core.compat._sets import apply_within_sets


def eaf(points: ArrayLike, /, sets: ArrayLike, *, percentiles: Sequence[float] = ()) -> np.ndarray:
    """Compute the attainment surface of each number of sets; the last column is the percentile.

    >>> eaf([[1, 3], [3, 1], [2, 2]], [0, 0, 1], percentiles=[100])
    array([[  2.,   3., 100.],
           [  3.,   2., 100.]])
    """
    rows = rows_of(points)
    if rows.shape[1] > 3:
        raise NotImplementedError(f"points must have 2 or 3 objectives, got {rows.shape[1]}")
    wanted = np.unique(np.ravel(percentiles).astype(float))
    surfaces = pp.attainment_surfaces(
        rows, sets, percentiles=wanted if len(wanted) else None, maximise=False
    )
    joined: np.ndarray = np.column_stack(surfaces)
    if rows.shape[1] == 3:
        ends = np.flatnonzero(np.diff(surfaces.percentiles)) + 1
        joined = np.concatenate([each[_sweep_order(each)] for each in np.split(joined, ends)])
    return joined


def _sweep_order(surface: np.ndarray) -> list[int]:
    """Order the rows of a surface of 3 objectives as moocore's sweep along the third leaves them.

    A row leaves when another one covers it in the first two objectives, from right to left. The
    rows that stay follow, from left to right.
    """
    order: list[int] = []
    x, y, staying = list[float](), list[float](), list[int]()  # a staircase: y falls as x rises
    for row in np.lexsort((surface[:, 0], surface[:, 2])).tolist():
        first = end = bisect_left(x, surface[row, 0])
        while end < len(y) and y[end] >= surface[row, 1]:
            end += 1
        order += staying[first:end][::-1]
        x[first:end], y[first:end], staying[first:end] = [surface[row, 0]], [surface[row, 1]], [row]
    return order + staying


class VorobtResult(NamedTuple):
    """Result of ``vorob_t``: a named tuple, as of moocore 0.4, and readable like the dict of 0.3.2.

    Attributes:
        threshold: Vorob'ev's threshold, a percentile.
        ve: (n, objectives), the surface.
        avg_hyp: Mean hypervolume of the runs.
    """

    threshold: float
    ve: np.ndarray
    avg_hyp: float

    def keys(self) -> tuple[str, ...]:
        """Return the names, as the dict did."""
        return self._fields

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return names and values, as the dict did."""
        return self._asdict().items()

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if key in self._fields else tuple.__getitem__(self, key)


def vorob_t(points: ArrayLike, /, sets: ArrayLike, *, ref: ArrayLike) -> VorobtResult:
    """Find the attainment surface whose hypervolume is nearest to the mean of the runs.

    Its percentile is Vorob'ev's threshold. Like moocore, it halves 0..100 until the volume stays
    the same. Source: Binois, Ginsbourger and Roustant (2015), Eur. J. Oper. Res. 243(2).

    >>> answer = vorob_t([[1, 3], [3, 1], [2, 2]], [0, 0, 1], ref=[4, 4])
    >>> answer.threshold, answer["avg_hyp"], answer.ve.tolist()
    (62.5, 4.5, [[2.0, 3.0], [3.0, 2.0]])
    """
    rows = rows_of(points)
    corner = corner_of(ref, rows)
    corners, percentiles = pp.attainment_surfaces(rows, np.asarray(sets), maximise=False)
    surfaces = [corners[percentiles == each] for each in np.unique(percentiles)]
    volumes = [_measure(each, corner) for each in surfaces]
    mean = float(apply_within_sets(rows, sets, _measure, corner=corner).mean())
    low, high, before = 0.0, 100.0, np.nan
    while True:
        threshold = (low + high) / 2
        runs = max(1, int(np.ceil(threshold * (len(surfaces) / 100) - 1e-9)))
        volume = volumes[runs - 1]
        if volume > mean:
            low = threshold
        else:
            high = threshold
        if volume == before:
            return VorobtResult(threshold, surfaces[runs - 1], mean)
        before = volume


def vorob_dev(
    points: ArrayLike, /, sets: ArrayLike, *, ref: ArrayLike, ve: ArrayLike | None = None
) -> float:
    """Average the volume of the symmetric difference between a run and Vorob'ev's expectation.

    >>> vorob_dev([[1, 3], [3, 1], [2, 2]], [0, 0, 1], ref=[4, 4])
    1.5
    """
    rows = rows_of(points)
    corner = corner_of(ref, rows)
    middle = rows_of(vorob_t(rows, sets, ref=ref).ve if ve is None else ve)

    def measure_difference(run: np.ndarray) -> float:
        return 2 * _measure(np.concatenate([run, middle]), corner) - _measure(run, corner)

    of_runs = apply_within_sets(rows, sets, measure_difference)
    return float(of_runs.mean() - _measure(middle, corner))


def eafdiff(
    x: ArrayLike,
    y: ArrayLike,
    /,
    *,
    intervals: int | None = None,
    maximise: Senses = False,
    rectangles: bool = False,
) -> np.ndarray:
    """Compute where one algorithm attains more than another, for 2 objectives.

    The last column of x and y is the run. Rows of the result are corners of the attainment surfaces
    of all runs together. With ``rectangles``, they are pairs of corners of the areas between two
    surfaces. The last column is the share of the runs of x that attain it less that of y, times
    ``intervals``. The default is the number of runs of each, so that it counts runs. (If x and y
    have different numbers of runs, moocore halves their sum.)

    >>> eafdiff([[1, 2, 0], [2, 1, 0]], [[2, 2, 0]])
    array([[1., 2., 1.],
           [2., 1., 1.],
           [2., 2., 0.]])
    >>> eafdiff([[1, 2, 0], [2, 1, 0]], [[2, 2, 0]], rectangles=True)
    array([[ 1.,  2.,  2., inf,  1.],
           [ 2.,  1., inf,  2.,  1.]])
    """
    one, other = (_with_runs(each, name) for each, name in ((x, "x"), (y, "y")))
    signs = np.where(senses_of(maximise, 2), -1.0, 1.0)
    (of_x, runs_of_x), (of_y, runs_of_y) = _numbered(one[:, 2]), _numbered(other[:, 2])
    most = (of_x + of_y) // 2
    intervals = most if intervals is None else whole(intervals, "intervals")
    points = np.concatenate([one[:, :2], other[:, :2]]) * signs
    runs = np.concatenate([runs_of_x, runs_of_y + of_x])
    by_first = points[:, 0].argsort()  # two later sorts are faster on sorted input
    points, runs = points[by_first], runs[by_first]
    corners, levels = attained_corners(points, runs, of_x + of_y)
    if rectangles:
        ends = np.searchsorted(levels, np.arange(2, of_x + of_y + 1))
        corners = np.concatenate([_between(*pair) for pair in pairwise(np.split(corners, ends))])
    counts = count_attaining(points, runs, (of_x, of_y), corners[:, :2])
    ahead = counts[:, 0] * of_y - counts[:, 1] * of_x  # integers, so that comparisons are exact
    scaled = min(intervals, most) * ahead / (of_x * of_y)
    rows = np.column_stack([corners, scaled])
    turns = [*signs, *signs, 1.0] if rectangles else [*signs, 1.0]
    order = np.lexsort(rows.T)
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    return rows[np.sort(order[is_new])] * turns + 0.0


def whv_rect(
    points: ArrayLike,
    /,
    rectangles: ArrayLike,
    *,
    ref: ArrayLike,
    maximise: Senses = False,
) -> float:
    """Measure the hypervolume with weights: two corners and a weight in each row of rectangles.

    >>> whv_rect([[1, 2]], [[0, 0, 3, 3, 2], [3, 3, 4, 4, 5]], ref=4)
    9.0
    """
    rows = rows_of(points)
    boxes = np.asarray(rectangles, dtype=float)
    objectives = rows.shape[1]
    if boxes.ndim != 2 or boxes.shape[1] != 2 * objectives + 1:
        raise ValueError(
            f"rectangles must have shape (rectangles, {2 * objectives + 1}), two corners and a "
            f"weight, got {boxes.shape}"
        )
    corners = boxes[:, :objectives], boxes[:, objectives:-1]
    return float(
        pp.weighted_hypervolume(
            rows,
            corner_of(ref, rows),
            boxes=(np.minimum(*corners), np.maximum(*corners)),
            weights=boxes[:, -1],
            maximise=senses_of(maximise, objectives),
        )
    )


def total_whv_rect(
    points: ArrayLike,
    /,
    rectangles: ArrayLike,
    *,
    ref: ArrayLike,
    maximise: Senses = False,
    ideal: ArrayLike | None = None,
    scalefactor: float = 0.1,
) -> float:
    """Add to the hypervolume a share of the weighted one.

    That is ``hv + scalefactor * |Π(ref - ideal)| * whv``.

    >>> total_whv_rect([[1, 2]], [[0, 0, 3, 3, 2], [3, 3, 4, 4, 5]], ref=4, ideal=0)
    20.4
    """
    if not 0 < scalefactor <= 1:
        raise ValueError(f"scalefactor must be larger than 0 and at most 1, got {scalefactor!r}")
    rows = rows_of(points)
    corner, senses = corner_of(ref, rows), senses_of(maximise, rows.shape[1])
    best = _ideal(rows, senses) if ideal is None else corner_of(ideal, rows, "ideal")
    whole = float(pp.hypervolume(rows, corner, maximise=senses))
    share = scalefactor * abs(float((corner - best).prod()))
    return whole + share * whv_rect(rows, rectangles, ref=corner, maximise=senses)


def largest_eafdiff(
    x: list[ArrayLike],
    /,
    ref: ArrayLike,
    *,
    maximise: Senses = False,
    intervals: int = 5,
    ideal: ArrayLike | None = None,
) -> tuple[tuple[int, int], float]:
    """Find the pair of algorithms with the largest mutual differences.

    Each item of x has the run in its last column. For each algorithm of a pair, take the area
    between ideal and ref in which it attains more by at least one interval. The value of the pair
    is the smaller of both areas. Source: Diaz and López-Ibáñez (2021), Eur. J. Oper. Res. 289(3).

    >>> first, second, third = [[1, 2, 0]], [[2, 1, 0]], [[3, 3, 0]]
    >>> largest_eafdiff([first, second, third], ref=[4, 4])
    ((0, 1), 2.0)
    """
    sides = [_with_runs(each, f"x[{at}]") for at, each in enumerate(x)]
    if len(sides) < 2:
        raise ValueError(f"x must have two data sets at least, got {len(sides)}")
    senses = senses_of(maximise, 2)
    every = np.concatenate(sides)[:, :2]
    best = _ideal(every, senses) if ideal is None else corner_of(ideal, every, "ideal")
    values = {}
    for one, other in combinations(range(len(sides)), 2):
        found = eafdiff(
            sides[one], sides[other], intervals=intervals, maximise=senses, rectangles=True
        )
        ahead = [found[sign * found[:, -1] >= 1] for sign in (1, -1)]
        values[one, other] = min(
            whv_rect([best], np.c_[boxes[:, :-1], np.ones(len(boxes))], ref=ref, maximise=senses)
            for boxes in ahead
        )
    pair = max(values, key=lambda each: values[each])
    return pair, values[pair]


def _ideal(rows: np.ndarray, senses: list[bool]) -> np.ndarray:
    return np.where(senses, rows.max(axis=0), rows.min(axis=0))


def _with_runs(data: ArrayLike, name: str) -> np.ndarray:
    rows = np.asarray(data, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 3 or len(rows) == 0:
        raise ValueError(
            f"{name} must have shape (points, 3), two objectives and the run, 1 point or more, got "
            f"{rows.shape}"
        )
    return rows


def _numbered(names: np.ndarray) -> tuple[int, np.ndarray]:
    """Number the runs, and return their count and the number of each point's run."""
    found, numbers = np.unique(names, return_inverse=True)
    return len(found), numbers


def _measure(rows: np.ndarray, corner: np.ndarray) -> float:
    return float(pp.hypervolume(rows, corner, maximise=False))


def _between(better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """Cover the region that only the better staircase attains by rectangles, from the top down."""
    heights = np.unique(np.concatenate([better[:, 1], worse[:, 1]]))[::-1]

    def left_at(staircase: np.ndarray) -> np.ndarray:
        lowest_first = staircase[::-1]
        found = np.searchsorted(lowest_first[:, 1], heights, side="right")
        return np.where(found > 0, lowest_first[found - 1, 0], np.inf)

    left, right = left_at(better), left_at(worse)
    tops = np.concatenate([[np.inf], heights[:-1]])
    return np.stack([left, heights, right, tops], axis=1)[left < right]
