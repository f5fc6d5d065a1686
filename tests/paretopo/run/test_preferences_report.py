"""The report on a steerable run shows each preference, with any number of objectives."""

import itertools
import json

import pytest
from matplotlib.image import imread

from paretopo.config import loads
from paretopo.run.folder import RunFolder
from paretopo.run.history import read_history
from paretopo.run.preferences import describe_sweep
from paretopo.run.report import write_report

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


@pytest.mark.parametrize(("count", "levels"), [(2, 4), (3, 3), (4, 2), (4, 6)])
def test_each_preference_is_a_row_of_table_page_and_picture(tmp_path, count, levels):
    run, grid = tell_sweep(tmp_path, count, levels)
    sweep = describe_sweep(read_history(run))
    assert [row[0] for row in sweep.rows] == list(map(str, grid))
    assert len(sweep.columns) == count
    assert sweep.notes[0].startswith(f"{len(grid)} of {len(grid)} preferences lead to different")
    assert sum("100 % of the pairs" in one for one in sweep.notes) == count
    text = write_report([run]).read_text(encoding="utf-8")
    assert f"| {grid[0]} |" in text
    page = (run.report / "report.html").read_text(encoding="utf-8")
    assert json.dumps(sweep.notes[0]) in page
    height, width, _ = imread(run.report / "preferences.png").shape
    assert min(height, width) > 500
    if count > 2 and len(grid) < 60:
        assert height > 150 * 0.26 * len(grid)  # a line for each preference
