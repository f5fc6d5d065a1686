"""A picture of a set of points and its front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Never

import numpy as np

from paretopo_core._machinery.arrays import Batch, vector_of
from paretopo_core._machinery.calls import explain_calls, refuse_call
from paretopo_core._machinery.numbers import numbers_of
from paretopo_core._machinery.senses import Maximise, senses_of
from paretopo_core._machinery.tables import align, in_order
from paretopo_core._machinery.types import Mask, Points, Vector
from paretopo_core.archive import ParetoArchive
from paretopo_core.fronts import is_nondominated

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FRONT, _DOMINATED = "#0072B2", "#999999"
_BETTER = {True: "more is better", False: "less is better"}


@explain_calls
def plot_front(
    points: Points | ParetoArchive,
    *extra: Never,
    maximise: Maximise = True,
    ref: Vector | None = None,
    names: Sequence[str] | None = None,
    mask: Mask = None,
    label: str = "front",
    ax: Axes | None = None,
    **wrong: Never,
) -> Axes:
    """Draw a set of points and its front with matplotlib.

    Two objectives become a scatter plot with the border of the dominated region, and three a
    scatter plot in space. For four or more, each point is a line over parallel axes, where up is
    better.

    Args:
        points: shape (points, objectives): an array, a list, a torch tensor, a frame of pandas or
            polars, whose columns name the objectives, or a :class:`ParetoArchive`, which has senses
            of its own. Nothing may be NaN or infinite.
        maximise: whether larger is better; one bool, or one per objective.
        ref: a reference point to draw, a number or shape (objectives,). With two objectives, the
            region between it and the front, whose area is the hypervolume, is shaded.
        names: the names of the objectives, one each.
        mask: shape (points,), bool; False leaves a point out.
        label: the name of the front in the legend, which also has dominated points and ``ref``.
        ax: the axes to draw on, in 3D for three objectives; by default those of a new figure.

    Returns:
        The axes, for limits and further sets; ``ax.figure.suptitle`` puts a title above the legend.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: wrong shape of an argument, fewer than two objectives, no points, or axes that
            are not in 3D for three objectives.
        TypeError: ``points`` are not real numbers, ``maximise`` or ``mask`` not bool, ``names`` no
            list, or ``ax`` no axes.

    Cost: that of :func:`is_nondominated`, and of matplotlib for each point.

    >>> ax = plot_front([[1, 3], [2, 2], [3, 1], [1, 1]], ref=0)  # doctest: +SKIP
    >>> ax.figure.savefig("front.png")  # doctest: +SKIP
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    if isinstance(points, ParetoArchive):
        columns, maximise, points = points.names, points.maximise, points.points
        ref = in_order(ref, columns, "ref")
    else:
        columns = getattr(points, "columns", None)
    described = (("maximise", "senses"), ("ref", "corner"), ("mask", "bools"))
    maximise, ref, mask = align(points, described, (maximise, ref, mask))
    rows = _rows_of(points, mask)
    count = rows.shape[1]
    senses = senses_of(maximise, count)
    titles = _title_axes(names if names is not None else columns, senses)
    corner = None if ref is None else vector_of(ref, count, "ref", scalar=True)
    is_front = is_nondominated(rows, maximise=senses)
    if ax is None:
        ax = _make_axes(in_space=count == 3)
    elif not hasattr(ax, "scatter"):
        raise TypeError(f"ax must be axes of matplotlib, got {ax!r}")
    draw = {2: _draw_in_plane, 3: _draw_in_space}.get(count, _draw_lines)
    draw(ax, _Picture(rows, is_front, corner, titles, label, senses))
    _explain(ax, is_flat=count <= 3)
    return ax


def _explain(ax: Any, *, is_flat: bool) -> None:
    """Draw a legend if it has more than one entry, each name once for all sets in the axes."""
    handles, names = ax.get_legend_handles_labels()
    entries = {name: handle for handle, name in zip(handles, names, strict=True)}
    if len(entries) > 1 or set(entries) - {"front"}:
        above = {"bbox_to_anchor": (0.5, 1.02 if is_flat else 1.08), "ncols": 3, "frameon": False}
        ax.legend(entries.values(), entries, loc="lower center", **above)


class _Picture(NamedTuple):
    rows: np.ndarray  # (points, objectives)
    is_front: np.ndarray  # (points,)
    corner: np.ndarray | None  # the reference point
    titles: Sequence[str]
    label: str
    senses: Sequence[bool]


def _rows_of(points: Any, mask: Any) -> np.ndarray:
    rows = numbers_of(points, "points")
    if rows.ndim != 2 or rows.shape[1] < 2:
        raise ValueError(
            "points must have shape (points, objectives) with two objectives or more, got "
            f"{rows.shape}"
        )
    if mask is not None:
        rows = rows[Batch.of(rows, mask=mask).mask.astype(bool)]
    if not len(rows):
        raise ValueError("there are no points to draw")
    if not np.isfinite(rows).all():
        raise ValueError("points must be finite; leave others out with mask=")
    return rows


def _title_axes(names: Any, senses: Sequence[bool]) -> list[str]:
    if names is None:
        names = [f"objective {m + 1}" for m in range(len(senses))]
    if isinstance(names, str) or not np.iterable(names):
        raise TypeError(f"names must be a list with one name per objective, got {names!r}")
    names = list(names)
    if len(names) != len(senses):
        raise ValueError(
            f"names must have one name for each of the {len(senses)} objectives, got {len(names)}"
        )
    return [f"{name} ({_BETTER[sense]})" for name, sense in zip(names, senses, strict=True)]


def _make_axes(*, in_space: bool) -> Axes:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_front needs matplotlib: pip install matplotlib") from error
    if in_space:
        _, ax = plt.subplots(subplot_kw={"projection": "3d"})
    else:  # the layout keeps a title and a long legend inside the picture; it cuts labels in 3D
        _, ax = plt.subplots(layout="constrained")
    return ax


def _draw_in_plane(ax: Any, picture: _Picture) -> None:
    rows, is_front, corner, titles, label, senses = picture
    front = rows[is_front]
    front = front[np.lexsort(front.T[::-1])]
    # Between two neighbours, the border is at the level of the one that is better in y.
    step = "pre" if senses[0] else "post"
    if not is_front.all():
        ax.scatter(*rows[~is_front].T, s=12, color=_DOMINATED, alpha=0.6, label="dominated")
    [line] = ax.plot(*front.T, drawstyle=f"steps-{step}", label=label, linewidth=1)
    ax.scatter(*front.T, s=24, color=line.get_color(), zorder=3)
    if corner is not None:
        signs = np.where(senses, 1.0, -1.0)
        inside = front[(signs * front > signs * corner).all(axis=1)]
        if len(inside):
            end = np.array([[corner[0], inside[0 if senses[0] else -1, 1]]])
            x, y = np.concatenate([end, inside] if senses[0] else [inside, end]).T
            ax.fill_between(x, y, corner[1], step=step, color=line.get_color(), alpha=0.15)
        ax.scatter(*corner, marker="x", color=line.get_color(), label="reference point")
    ax.set_xlabel(titles[0])
    ax.set_ylabel(titles[1])


def _draw_in_space(ax: Any, picture: _Picture) -> None:
    rows, is_front, corner, titles, label, _ = picture
    if getattr(ax, "name", "") != "3d":
        raise ValueError(
            'three objectives need axes in 3D: plt.subplots(subplot_kw={"projection": "3d"})'
        )
    if not is_front.all():
        ax.scatter(*rows[~is_front].T, s=12, color=_DOMINATED, alpha=0.6, label="dominated")
    # Shading by depth would make the far points of the front as pale as dominated ones.
    drawn = ax.scatter(*rows[is_front].T, s=24, label=label, depthshade=False)
    if corner is not None:
        cross = {"marker": "x", "depthshade": False, "label": "reference point"}
        ax.scatter(*corner, color=drawn.get_facecolor()[:1], **cross)
    for axis, title in zip((ax.xaxis, ax.yaxis, ax.zaxis), titles, strict=True):
        axis.set_label_text(title)


def _draw_lines(ax: Any, picture: _Picture) -> None:
    """Draw each point as a line over one axis for each objective, scaled to its range."""
    rows, is_front, corner, titles, label, senses = picture
    every = rows if corner is None else np.vstack([rows, corner])
    low, high = every.min(axis=0), every.max(axis=0)
    bottom, top = np.where(senses, low, high), np.where(senses, high, low)
    span = np.where(top == bottom, 1.0, top - bottom)
    places = np.arange(rows.shape[1])

    def scale(some: np.ndarray) -> np.ndarray:
        return np.where(top == bottom, 0.5, (some - bottom) / span)

    if not is_front.all():
        grey = ax.plot(places, scale(rows[~is_front]).T, color=_DOMINATED, alpha=0.4, linewidth=0.8)
        grey[0].set_label("dominated")
    lines = ax.plot(places, scale(rows[is_front]).T, color=_FRONT, alpha=0.8, linewidth=1.2)
    lines[0].set_label(label)
    if corner is not None:
        dots = {"color": "black", "linestyle": ":", "linewidth": 1.2}
        ax.plot(places, scale(corner), label="reference point", **dots)
    for place, least, most in zip(places, bottom, top, strict=True):
        ax.axvline(place, color="black", linewidth=0.6)
        ax.annotate(f"{most:.4g}", (place, 1.02), ha="center", va="bottom", fontsize="small")
        ax.annotate(f"{least:.4g}", (place, -0.02), ha="center", va="top", fontsize="small")
    ax.set_ylim(-0.1, 1.1)
    ax.set_yticks([])
    ax.set_xticks(places, [title.replace(" (", "\n(") for title in titles])
    ax.set_ylabel("better →")
