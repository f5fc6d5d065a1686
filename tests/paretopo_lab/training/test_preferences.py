"""The report on a steerable run shows each preference, with any number of objectives."""

import itertools
import json

import numpy as np
import pytest
from matplotlib.image import imread

from paretopo.config import loads
from paretopo.records.folder import RunFolder
from paretopo_lab.document.pictures import make_panels, name_points
from paretopo_lab.read.history import read_history
from paretopo_lab.training.preferences import tabulate_preferences
from paretopo_lab.training.report import write_report

NAMES = ("correct", "tokens", "polite", "short")


def tell_sweep(folder, count, levels):
    """Return a run in which every objective reaches its weight."""
    names = NAMES[:count]
    tables = "".join(
        f"[[objectives]]\nname = '{name}'\n" + ("high = 1\nlow = 0\n" if at > 1 else "")
        for at, name in enumerate(names)
    )
    settings = {"paretopo.preference": "given", "paretopo.stage2_estimator": "gdpo"}
    settings |= {"preference.levels": levels, "preference.grid": levels}
    run = RunFolder.create(folder, loads(tables, settings))
    grid = [
        [one / levels for one in units]
        for units in itertools.product(range(levels + 1), repeat=count)
        if sum(units) == levels
    ]
    for step, weights in itertools.product((0, 2), grid):
        measured = dict(zip(names, weights, strict=True)) | {"tokens": 10.0 * (1.0 - weights[1])}
        row = {"step": step, "preference": str(weights), "weights": weights, "measured": measured}
        outcome = dict(zip(names, weights, strict=True))
        run.append_evaluation({**row, "outcome": outcome, "hypervolume": 0.1, "archive_size": 1})
    return run, grid


@pytest.mark.parametrize(
    ("count", "levels"), [(2, 4), (3, 3), (4, 2), pytest.param(4, 6, marks=pytest.mark.long)]
)
def test_each_preference_is_a_row_of_table_page_and_picture(tmp_path, count, levels):
    run, grid = tell_sweep(tmp_path, count, levels)
    table, notes = tabulate_preferences(read_history(run))
    assert [row[0] for row in table.rows] == list(map(str, grid))
    assert len(table.header) == 1 + count
    assert notes.startswith(f"{len(grid)} of {len(grid)} preferences lead to different")
    assert notes.count("100 % of the pairs") == count
    text = write_report([run]).read_text(encoding="utf-8")
    assert f"| {grid[0]} |" in text
    page = (run.report / "report.html").read_text(encoding="utf-8")
    assert f">{notes.splitlines()[0]}</p>" in page
    assert "<h2>Results under each preference</h2>" in page
    height, width, _ = imread(run.report / "preferences.png").shape
    assert min(height, width) > 500


def test_a_name_covers_no_mark_and_stays_inside():
    figure, [axes] = make_panels(1, 1, (5.2, 4.6))
    points = np.array([[0.0, 4.7], [0.033, 6.2], [0.023, 3.1], [0.5, 70.0], [0.0, 0.0]])
    axes.plot(*points.T, "o")
    name_points(axes, points, {0: "0 : 1", 1: "0.25 : 0.75"})
    frame, marks = axes.get_window_extent(), axes.transData.transform(points)
    for text in axes.texts:
        box = text.get_window_extent()
        assert (box.min >= frame.min).all()
        assert (box.max <= frame.max).all()
        gaps = np.maximum(box.min - marks, marks - box.max).max(axis=1)
        assert gaps.min() > 4 * figure.dpi / 72


def test_points_within_the_noise_count_once(tmp_path):
    run, grid = tell_sweep(tmp_path, 2, 4)
    rows = run.evaluations()
    noisy = [{**row, "error": {"correct": 0.15, "tokens": 1.5}} for row in rows]
    (run.path / "evaluations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in noisy))
    _, text = tabulate_preferences(read_history(RunFolder.open(run.path)))
    notes = text.splitlines()
    assert notes[0].startswith(f"3 of {len(grid)} preferences lead to different")
    values = [[w[0] ** 2 + w[1] ** 2 for w in grid], [0.5 * (w[0] + w[1]) for w in grid]]
    asked, blind = (sum(one) / len(grid) for one in values)
    assert notes[1].startswith(f"Expected utility: {asked:.4f} as asked; {blind:.4f} if")
