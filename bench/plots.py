"""Plots of the benchmark, drawn from its CSV files only.

Time against points where a workload was measured at several sizes, one panel per number of
objectives; dots on a scale of time for everything else. Peers differ by colour and marker.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.peers import OURS, PEERS
from bench.rows import Measurement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Okabe and Ito (2008): distinguishable with every kind of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
_MARKERS = "os^DvPX<>*hpd"
_THEME: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 10,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
}
_SEVERAL = 3  # sizes that make a line
_WIDE = 4  # panels in a row


def draw(rows: Sequence[Measurement], folder: Path) -> list[Path]:
    """Draw every operation that has rows; return the files written.

    They are ``<operation>-<workload>.png`` and ``<operation>.png``. If an operation has several
    tasks, the later ones get ``<task>-<workload>.png``.
    """
    written = []
    for operation in dict.fromkeys(row.operation for row in rows):
        if operation == "bounds":  # its 132 lines would not be readable
            continue
        timed = [row for row in rows if row.operation == operation and row.is_timed]
        lines = _find_lines(timed)
        first, *_ = [task for task, _ in lines] or [""]
        for (task, workload), panels in lines.items():
            name = operation if task == first else task
            path = folder / f"{name}-{workload}.png"
            _draw_lines(f"{_title(name)}, {workload} points", panels, path)
            written.append(path)
        rest = [
            row for row in timed if row.objectives not in lines.get((row.task, row.workload), {})
        ]
        if rest:
            path = folder / f"{operation}.png"
            _draw_dots(_title(operation), rest, path)
            written.append(path)
    return written


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


_Panels = dict[int, list[Measurement]]  # by objectives


def _find_lines(rows: Iterable[Measurement]) -> dict[tuple[str, str], _Panels]:
    """Find the workloads that were measured at several sizes, and their panels."""
    panels: dict[tuple[str, str], _Panels] = {}
    for row in rows:
        if not row.groups:
            by_objectives = panels.setdefault((row.task, row.workload), {})
            by_objectives.setdefault(row.objectives, []).append(row)
    found = {}
    for key, by_objectives in panels.items():
        several = {
            m: some
            for m, some in by_objectives.items()
            if len({row.points for row in some}) >= _SEVERAL
        }
        if several:
            found[key] = several
    return found


def _draw_lines(title: str, panels: Mapping[int, Sequence[Measurement]], path: Path) -> None:
    columns = min(_WIDE, len(panels))
    lines = -(-len(panels) // columns)
    figure, grid = _make_panels(lines, columns, (3.4 * columns + 0.6, 3.1 * lines + 1.3))
    for axes, (objectives, rows) in zip(grid, sorted(panels.items()), strict=False):
        for peer in _sort_peers(rows):
            mine = sorted((row for row in rows if row.peer == peer), key=lambda row: row.points)
            axes.plot(
                [row.points for row in mine],
                [row.milliseconds for row in mine],
                label=peer,
                **_style(peer),
            )
        axes.set(xscale="log", yscale="log", title=f"{objectives} objectives", xlabel="points")
        sizes = sorted({row.points for row in rows})
        axes.set_xticks(sizes, _label_ticks(sizes))
        axes.set_xticks([], minor=True)
        _format_axis(axes.yaxis)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[::columns]:
        axes.set_ylabel("milliseconds")
    _save(figure, grid, title, path)


def _draw_dots(title: str, rows: Sequence[Measurement], path: Path) -> None:
    labels = list(dict.fromkeys(_label(row) for row in rows))
    figure, (axes,) = _make_panels(1, 1, (9.0, 0.36 * len(labels) + 1.9))
    for peer in _sort_peers(rows):
        mine = [row for row in rows if row.peer == peer]
        style = {**_style(peer), "linestyle": "none"}
        heights = [labels.index(_label(row)) for row in mine]
        axes.plot([row.milliseconds for row in mine], heights, label=peer, **style)
    axes.set(xscale="log", xlabel="milliseconds", yticks=range(len(labels)), yticklabels=labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    _format_axis(axes.xaxis)
    _save(figure, [axes], title, path)


def _make_panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Make an empty figure, its size in inches, and its panels row by row."""
    # Without pyplot: no window system, no global state.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_THEME):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def _format_axis(axis: Axis) -> None:
    """Write numbers without powers; 1, 2 and 5 of each decade where there are few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 50 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}"))
    axis.set_minor_formatter(NullFormatter())


def _label_ticks(sizes: Sequence[int]) -> list[str]:
    """Label sizes on a logarithmic axis, but not those that are too near to the last label."""
    labels: list[str] = []
    last = 0.0
    for size in sizes:
        has_room = not last or math.log(size / last) >= 0.09 * math.log(sizes[-1] / sizes[0])
        labels.append(_shorten(size) if has_room else "")
        last = size if has_room else last
    return labels


def _shorten(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def _label(row: Measurement) -> str:
    size = f"{row.points:,} × {row.objectives}"
    if row.groups:
        size = f"{row.groups:,} × {size}"
    task = "" if row.operation in ("fronts", "filter", "hypervolume") else f"{row.task} "
    workload = "" if row.workload == "uniform" and task else f"{row.workload} "
    kind = " f32" if row.dtype == "float32" else ""
    many = f", {row.threads} threads" if row.operation == "threads" else ""
    return f"{task}{workload}{size}{kind}{many}".replace("1 threads", "1 thread")


def _sort_peers(rows: Iterable[Measurement]) -> list[str]:
    """Sort as in ``PEERS``, ours last, so that it is drawn on top."""
    there = {row.peer for row in rows}
    known = [name for name in PEERS if name in there and name != OURS]
    return [*known, *sorted(there - set(PEERS)), *([OURS] if OURS in there else [])]


def _style(peer: str) -> dict[str, Any]:
    order = [*PEERS]
    index = order.index(peer) if peer in order else len(order)
    is_ours = peer == OURS
    return {
        "color": _COLOURS[0] if is_ours else _COLOURS[1 + (index - 1) % (len(_COLOURS) - 1)],
        "linestyle": "-" if index <= len(_COLOURS) - 1 else "--",
        "linewidth": 2.6 if is_ours else 1.3,
        "marker": _MARKERS[index % len(_MARKERS)],
        "markersize": 7 if is_ours else 5,
        "zorder": 4 if is_ours else 3,
    }


def _save(figure: Figure, grid: Sequence[Axes], title: str, path: Path) -> None:
    from PIL import Image

    handles: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    names = [OURS, *(name for name in handles if name != OURS)] if OURS in handles else [*handles]
    figure.suptitle(title, fontsize=13, wrap=True)
    figure.legend(
        [handles[name] for name in names],
        names,
        loc="outside lower center",
        ncols=min(len(names), max(3, round(figure.get_size_inches()[0] / 1.3))),
        frameon=False,
    )
    figure.savefig(path, dpi=120)
    with Image.open(path) as image:  # 64 colours take a quarter of the bytes
        image.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
