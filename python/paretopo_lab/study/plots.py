"""The picture of a study: the methods at a glance."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np

from paretopo_lab.document.pictures import make_panels, save_figure
from paretopo_lab.study.analysis import Results


def draw_overview(results: Results, path: Path) -> None:
    """Plot the deciding measure of every method on every task, the best worst case on the left."""
    methods, measure = results.rank_by_worst(), results.plan.study.measure
    rows = [*results.tasks, "worst"]
    share = np.full((len(rows), len(methods)), np.nan)
    for column, method in enumerate(methods):
        for row, task in enumerate(results.tasks):
            if method in results.methods(task):
                share[row, column] = 100 * results.read(task, method, measure).mean()
        share[-1, column] = 100 * results.worst(method).mean()
    # Methods side by side, so that a page of 1,280 pixels shows the numbers in their size.
    figure, (axes,) = make_panels(1, 1, (3.0 + 0.55 * len(methods), 3.2 + 0.32 * len(rows)))
    axes.imshow(share, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    axes.grid(visible=False)
    for (row, column), value in np.ndenumerate(share):
        text = "—" if np.isnan(value) else f"{value:.0f}"
        dark = np.isnan(value) or value > 60
        axes.text(column, row, text, ha="center", va="center", fontsize=12,
                  color="black" if dark else "white")  # fmt: skip
    axes.axhline(len(rows) - 1.5, color="white", linewidth=4)
    axes.set_yticks(range(len(rows)), [name.replace("_", " ") for name in rows], fontsize=12)
    axes.set_xticks(range(len(methods)), methods, rotation=40, ha="right", fontsize=12)
    for label, method in zip(axes.get_xticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method == results.plan.ours else "normal")
    seeds = max(len(results.seeds(task, results.plan.ours)) for task in results.tasks)
    title = f"{measure.capitalize()} at the end, % of the best policy (mean of {seeds} seeds)"
    axes.set_title(textwrap.fill(title, 30 + 5 * len(methods)), loc="left", fontsize=13)
    save_figure(figure, path, dpi=100)
