"""The non-dominated points: more right answers, fewer tool calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo_lab.evaluate.published import Method, Table
from paretopo_lab.evaluate.results import Result

_REFERENCE_CALLS = 3.0  # of the hypervolume; with EM 0 the worst corner
_SENSES = (True, False)  # EM is maximised, calls are minimised


@dataclass(frozen=True)
class Point:
    """A method's results on a data set.

    Attributes:
        name: Of the method.
        em: Exact match in percent.
        calls: Tool calls per question, None for a method without a tool.
    """

    name: str
    em: float
    calls: float | None


@dataclass(frozen=True)
class Panel:
    """One data set next to one block of the paper.

    Attributes:
        title: Data set and block.
        printed: The paper's points.
        ours: Our measurements.
    """

    title: str
    printed: tuple[Point, ...]
    ours: tuple[Point, ...]


@dataclass(frozen=True)
class PanelFront:
    """The non-dominated points of a panel.

    Attributes:
        best: Names of the points that no other one dominates.
        hypervolume: Hypervolume of all points, above the reference.
        printed: Of only the paper's points; NaN without any.
        reference: Calls of the worst corner, whose EM is 0.
    """

    best: tuple[str, ...]
    hypervolume: float
    printed: float
    reference: float


def measure_panel(panel: Panel) -> PanelFront | None:
    """Return the non-dominated points of a panel, and the hypervolume that they cover.

    It leaves out methods without a tool; None if no method is left. The reference is EM 0 and 3
    calls, or the next whole number if a point has more.

    >>> printed = (Point("a", 78, 2.0), Point("b", 70, 2.5), Point("c", 66, None))
    >>> measure_panel(Panel("", printed, (Point("d", 80, 1.0),)))
    PanelFront(best=('d',), hypervolume=160.0, printed=78.0, reference=3.0)
    """
    printed, ours = _as_points(panel.printed), _as_points(panel.ours)
    points = np.concatenate([printed, ours])
    if not len(points):
        return None
    reference = max(_REFERENCE_CALLS, float(math.ceil(points[:, 1].max())))
    names = [point.name for point in (*panel.printed, *panel.ours) if point.calls is not None]
    kept = paretopo_core.is_nondominated(points, maximise=_SENSES)
    return PanelFront(
        tuple(name for name, best in zip(names, kept, strict=True) if best),
        _hypervolume(points, reference),
        _hypervolume(printed, reference) if len(printed) else math.nan,
        reference,
    )


def list_panels(
    measured: Mapping[str, tuple[bool, Mapping[str, Result]]],
    shown: Sequence[tuple[Table, Mapping[str, Sequence[Method]]]],
) -> Iterator[Panel]:
    """Return every measured data set, next to each block that has it.

    Args:
        measured: For each of our rows, whether it has a tool, and its results by data set.
        shown: Tables with the blocks that are shown of them.
    """
    names = dict.fromkeys(name for _, results in measured.values() for name in results)
    for datasource in names:
        ours = tuple(
            Point(name, 100 * results[datasource].em, results[datasource].calls if tool else None)
            for name, (tool, results) in measured.items()
            if datasource in results and results[datasource].graded
        )
        blocks = [
            (f"{table.columns[datasource]}, {block}", methods)
            for table, of_table in shown
            if datasource in table.columns
            for block, methods in of_table.items()
        ]
        for title, methods in blocks or [(datasource, ())]:
            cells = [(method.name, method.cells[datasource]) for method in methods]
            printed = tuple(Point(name, cell.em, cell.calls) for name, cell in cells)
            yield Panel(title, printed, ours)


def _as_points(points: Sequence[Point]) -> NDArray[np.float64]:
    """Return (points, 2) of the points with a tool."""
    pairs = [(point.em, point.calls) for point in points if point.calls is not None]
    return np.array(pairs, np.float64).reshape(-1, 2)


def _hypervolume(points: NDArray[np.float64], reference: float) -> float:
    return float(paretopo_core.hypervolume(points, ref=(0.0, reference), maximise=_SENSES))
