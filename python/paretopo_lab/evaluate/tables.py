"""Tables of results: in the layout of the paper's tables 1 and 2, and with all measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from paretopo_lab.document.report import Table, format_interval
from paretopo_lab.evaluate import published
from paretopo_lab.evaluate.published import Method, Outcome
from paretopo_lab.evaluate.results import Result

Results = Mapping[str, Result]  # by data set
INTERVALS = (
    "In brackets: 95 % intervals; of EM Wilson's, of calls Student's t, of their ratio Fieller's. "
    "Right / call: right responses per tool call."
)
_NO_TOOL = "/"  # as the paper prints it


def paper_table(
    table: published.PaperTable,
    blocks: Mapping[str, Sequence[Method]],
    measured: Mapping[str, tuple[bool, Results]],
) -> Table:
    """Return one of the paper's tables with our rows below its own.

    Args:
        table: Its columns.
        blocks: The paper's rows to show, by base model.
        measured: For each row of ours, whether it has a tool, and its results. Rows without a
            result of the table are left out.
    """
    header = ["Model", "Tool"]
    for heading in table.columns.values():
        header += [f"{heading} EM", "#Tool"]
    nothing = [""] * (len(header) - 1)
    rows = []
    for block, methods in blocks.items():
        rows.append([f"*{block}, as printed*", *nothing])
        rows += [_make_row(one.name, one.has_tool, one.cells, table) for one in methods]
    rows.append(["*measured here*", *nothing])
    for name, (has_tool, results) in measured.items():
        if results.keys() & table.columns.keys():
            graded = {key: one for key, one in results.items() if one.graded}
            points = {key: Outcome(100 * one.em, one.calls) for key, one in graded.items()}
            rows.append(_make_row(name, has_tool, points, table))
    title = f"{table.title}, as in table {table.number}"
    return Table(header, rows, 2, title)


def results_table(evaluations: Mapping[str, Results]) -> Table:
    """Return all measurements, a row for each evaluation and data set."""
    header = ["data set", "model", "questions", "EM (%)", "#Tool", "right / call", "tokens"]
    header += ["no answer (%)", "truncated (%)", "truncated, wrong (%)", "undecided"]
    rows = []
    for datasource in list_datasources(evaluations.values()):
        for name, results in evaluations.items():
            if datasource not in results:
                continue
            one = results[datasource]
            asked = f"{one.questions}" if one.samples == 1 else f"{one.questions} x {one.samples}"
            rows.append(
                [
                    datasource,
                    name,
                    asked,
                    _format_with_interval(100 * one.em, one.em_interval, 100, 1),
                    _format_with_interval(one.calls, one.calls_interval, 1, 2),
                    _format_with_interval(one.productivity, one.productivity_interval, 1, 2),
                    f"{one.response_tokens:.0f}",
                    f"{100 * one.unanswered:.1f}",
                    f"{100 * one.truncated:.1f}",
                    f"{100 * one.truncated_wrong:.1f}",
                    f"{one.undecided}",
                ]
            )
    return Table(header, rows, 2, "Everything measured", INTERVALS)


def list_datasources(results: Iterable[Results]) -> list[str]:
    """List the data sets of some results, in the order of their first appearance."""
    return list(dict.fromkeys(name for one in results for name in one))


def format_p_value(p: float) -> str:
    """Format a p-value for a table.

    >>> format_p_value(0.0412), format_p_value(1e-9)
    ('.041', '<.001')
    """
    return "<.001" if p < 0.001 else "1" if p > 0.9995 else f"{p:.3f}".lstrip("0")


def _format_with_interval(
    value: float, ends: tuple[float, float], unit: float, decimals: int
) -> str:
    if math.isnan(value):
        return _NO_TOOL
    interval = format_interval([unit * end for end in ends], f".{decimals}f")
    return f"{value:.{decimals}f} {interval}".rstrip()


def _make_row(
    name: str, has_tool: bool, points: Mapping[str, Outcome], table: published.PaperTable
) -> list[str]:
    cells = [name, "yes" if has_tool else "no"]
    for one in map(points.get, table.columns):
        calls = None if one is None or not has_tool else one.calls
        spent = _NO_TOOL if calls is None else f"{calls:.1f}"
        cells += ["", ""] if one is None else [f"{one.em:.1f}", spent]
    return cells
