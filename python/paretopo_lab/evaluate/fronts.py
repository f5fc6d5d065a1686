"""The non-dominated points: more right answers, fewer tool calls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo_lab.evaluate.published import Method, Outcome, PaperTable
from paretopo_lab.evaluate.results import Result

_REFERENCE_CALLS = 3.0  # of the hypervolume; with EM 0 the worst corner
_SENSES = (True, False)  # EM is maximised, calls are minimised


@dataclass(frozen=True)
class Panel:
    """One data set next to one block of the paper.

    Attributes:
        title: Data set and block.
        printed: The paper's points, by method.
        ours: Our measurements, by model.
    """

    title: str
    printed: Mapping[str, Outcome]
    ours: Mapping[str, Outcome]


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

    >>> printed = {"a": Outcome(78, 2.0), "b": Outcome(70, 2.5), "c": Outcome(66, None)}
    >>> measure_panel(Panel("", printed, {"d": Outcome(80, 1.0)}))
    PanelFront(best=('d',), hypervolume=160.0, printed=78.0, reference=3.0)
    """
    named = [
        (name, (one.em, one.calls))
        for name, one in (*panel.printed.items(), *panel.ours.items())
        if one.calls is not None
    ]
    if not named:
        return None
    names, points = [name for name, _ in named], np.array([pair for _, pair in named], np.float64)
    printed = points[: sum(one.calls is not None for one in panel.printed.values())]
    reference = max(_REFERENCE_CALLS, float(math.ceil(points[:, 1].max())))
    kept = paretopo_core.is_nondominated(points, maximise=_SENSES)
    return PanelFront(
        tuple(name for name, best in zip(names, kept, strict=True) if best),
        _hypervolume(points, reference),
        _hypervolume(printed, reference) if len(printed) else math.nan,
        reference,
    )


def list_panels(
    measured: Mapping[str, tuple[bool, Mapping[str, Result]]],
    shown: Sequence[tuple[PaperTable, Mapping[str, Sequence[Method]]]],
) -> Iterator[Panel]:
    """Return every measured data set, next to each block that has it.

    Args:
        measured: For each of our rows, whether it has a tool, and its results by data set.
        shown: Tables with the blocks that are shown of them.
    """
    names = dict.fromkeys(name for _, results in measured.values() for name in results)
    for datasource in names:
        ours = {
            name: Outcome(100 * results[datasource].em, results[datasource].calls if tool else None)
            for name, (tool, results) in measured.items()
            if datasource in results and results[datasource].graded
        }
        blocks = [
            (f"{table.columns[datasource]}, {block}", methods)
            for table, of_table in shown
            if datasource in table.columns
            for block, methods in of_table.items()
        ]
        for title, methods in blocks or [(datasource, ())]:
            yield Panel(title, {one.name: one.cells[datasource] for one in methods}, ours)


def _hypervolume(points: NDArray[np.float64], reference: float) -> float:
    return float(paretopo_core.hypervolume(points, ref=(0.0, reference), maximise=_SENSES))
