"""Tables of results: in the layout of the paper's tables 1 and 2, and with all measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from paretopo_lab.document.report import Table
from paretopo_lab.evaluate import published
from paretopo_lab.evaluate.published import Method
from paretopo_lab.evaluate.results import Result

Results = Mapping[str, Result]  # by data set
INTERVALS = (
    "In brackets: 95 % intervals; of EM Wilson's, of calls Student's t, of their ratio Fieller's. "
    "Right / call: right responses per tool call."
)
_NO_TOOL = "/"  # as the paper prints it


def paper_table(
    table: published.Table,
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
    header, width = ["Model", "Tool"], len(table.columns)
    for heading in table.columns.values():
        header += [f"{heading} EM", "#Tool"]
    rows = []
    for block, methods in blocks.items():
        rows.append([f"*{block}, as printed*", *[""] * (1 + 2 * width)])
        rows += [_paper_row(method, table) for method in methods]
    rows.append(["*measured here*", *[""] * (1 + 2 * width)])
    for name, (has_tool, results) in measured.items():
        if not results.keys() & table.columns.keys():
            continue
        cells: list[str] = []
        for datasource in table.columns:
            cells += _measured_cells(results.get(datasource), has_tool)
        rows.append([name, "yes" if has_tool else "no", *cells])
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
    names: dict[str, None] = {}
    for one in results:
        names.update(dict.fromkeys(one))
    return list(names)


def format_p_value(p: float) -> str:
    """Format a p-value for a table.

    >>> format_p_value(0.0412), format_p_value(1e-9)
    ('.041', '<.001')
    """
    return "<.001" if p < 0.001 else "1" if p > 0.9995 else f"{p:.3f}".lstrip("0")


def format_interval(ends: tuple[float, float], unit: float, decimals: int) -> str:
    """Format an interval in brackets; return "" for None."""
    if not all(map(math.isfinite, ends)):
        return ""
    low, high = ends
    return f"[{unit * low:.{decimals}f}, {unit * high:.{decimals}f}]"


def _format_with_interval(
    value: float, ends: tuple[float, float], unit: float, decimals: int
) -> str:
    if math.isnan(value):
        return _NO_TOOL
    return f"{value:.{decimals}f} {format_interval(ends, unit, decimals)}".rstrip()


def _paper_row(method: Method, table: published.Table) -> list[str]:
    cells = []
    for datasource in table.columns:
        one = method.cells[datasource]
        cells += [f"{one.em:.1f}", _NO_TOOL if one.calls is None else f"{one.calls:.1f}"]
    return [method.name, "yes" if method.has_tool else "no", *cells]


def _measured_cells(result: Result | None, has_tool: bool) -> list[str]:
    if result is None or not result.graded:
        return ["", ""]
    return [f"{100 * result.em:.1f}", f"{result.calls:.1f}" if has_tool else _NO_TOOL]
