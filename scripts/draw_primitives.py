"""Draw docs/images/primitives.png: crowding, contributions, attainment and boxes of small sets.

Usage: draw_primitives.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import paretopo_core as pp

FRONT = np.array([[1.0, 5.0], [2.0, 4.4], [3.5, 3.0], [4.5, 1.8], [5.2, 0.8]])
MOST = 6.0
RUNS = [FRONT, FRONT * [1, 0.75], FRONT[1:] * [0.6, 1.1]]


def draw_rectangle(axes: Axes, lower: np.ndarray, upper: np.ndarray, colour: str) -> None:
    """Draw a filled box up to the end of the axes."""
    width, height = np.minimum(upper, MOST) - lower
    axes.add_patch(Rectangle(tuple(lower), width, height, facecolor=colour, edgecolor="white"))


def draw_crowding(axes: Axes) -> None:
    """Draw the neighbours of a point, whose distances its crowding distance adds up."""
    before, after = FRONT[1], FRONT[3]
    draw_rectangle(axes, np.minimum(before, after), np.maximum(before, after), "lightblue")
    for point, distance in zip(FRONT, pp.crowding_distance(FRONT), strict=True):
        axes.annotate(f"{distance:.2g}", point, (5, 4), textcoords="offset points")


def draw_contributions(axes: Axes) -> None:
    """Draw the region that each point dominates, and the part that no other point dominates."""
    corners = np.vstack([[0.0, MOST], FRONT, [MOST, 0.0]])
    for k, contribution in enumerate(pp.hypervolume_contributions(FRONT, 0)):
        draw_rectangle(axes, np.zeros(2), FRONT[k], "lightgrey")
        axes.annotate(f"{contribution:.2g}", FRONT[k], (5, 4), textcoords="offset points")
    for k, point in enumerate(FRONT):
        draw_rectangle(axes, np.array([corners[k][0], corners[k + 2][1]]), point, "lightblue")


def draw_attainment(axes: Axes) -> None:
    """Draw the surfaces that all, two and one of three runs attain."""
    points, sets = np.vstack(RUNS), np.repeat(range(3), [len(run) for run in RUNS])
    surfaces = pp.attainment_surfaces(points, sets, percentiles=[1, 50, 100])
    for percentile, colour in ((1, "lightblue"), (50, "steelblue"), (100, "navy")):
        rows = surfaces.points[surfaces.percentiles == percentile]
        rows = rows[rows[:, 0].argsort()]
        xs, ys = [0.0, *rows[:, 0], rows[-1, 0]], [rows[0, 1], *rows[:, 1], 0.0]
        runs = {1: "one run", 50: "two runs", 100: "three runs"}[percentile]
        axes.step(xs, ys, where="pre", color=colour, label=runs)
    axes.legend(frameon=False)


def draw_boxes(axes: Axes) -> None:
    """Draw the boxes of the non-dominated region."""
    boxes = pp.nondominated_boxes(FRONT, 0)
    colours = ("lightblue", "lightgrey")
    for k, (lower, upper) in enumerate(zip(boxes.lower, boxes.upper, strict=True)):
        draw_rectangle(axes, lower, upper, colours[k % 2])


def main() -> None:
    """Draw the four pictures."""
    root = Path(__file__).parents[1]
    file = sys.argv[1] if len(sys.argv) > 1 else root / "docs/images/primitives.png"
    figure, row = plt.subplots(1, 4, figsize=(12, 3.1), layout="constrained")
    drawings = {
        "crowding_distance": draw_crowding,
        "hypervolume_contributions": draw_contributions,
        "attainment_surfaces": draw_attainment,
        "nondominated_boxes": draw_boxes,
    }
    for axes, (name, draw) in zip(row, drawings.items(), strict=True):
        draw(axes)
        if name != "attainment_surfaces":
            axes.plot(*FRONT.T, "o", color="navy")
        axes.set(title=name, xlim=(0, MOST), ylim=(0, MOST), xticks=[], yticks=[])
    figure.savefig(file, dpi=80)


if __name__ == "__main__":
    main()
