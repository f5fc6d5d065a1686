from __future__ import annotations

import shutil

import numpy as np
import pytest
from support.run_stories import evaluate, tell

from paretopo.config import RunConfig
from paretopo.run import plots
from paretopo.run.folder import RunFolder
from paretopo.run.report import before_and_after, labels, write_report


def picture(path):
    from matplotlib.image import imread

    pixels = imread(path)
    assert pixels.shape[0] > 500
    assert pixels.shape[1] > 500
    assert len(np.unique(pixels[::4, ::4].sum(axis=-1))) > 50  # not blank
    return pixels


def test_a_run_is_told_in_a_table_and_two_pictures(tmp_path):
    run = tell(tmp_path)
    path = write_report([run])
    assert path == run.report / "report.md"
    text = path.read_text(encoding="utf-8")
    assert "|  | after warm-up (step 0) | end (step 6) | change |" in text
    assert "| accuracy (%) | 50.0 | 90.0 | +40.0 |" in text
    assert "| calls per question | 2.00 | 1.00 | -50 % |" in text
    assert "| response tokens | 60.0 | 40.0 | -33 % |" in text
    assert "| two calls: calls per question | 3.00 | 1.50 | -50 % |" in text
    assert "status: finished" in text
    assert "Archive at the end: 2 outcomes, hypervolume 0.8100." in text
    for name in ("front.png", "dynamics.png"):
        assert f"({name})" in text
        picture(run.report / name)


def test_a_report_needs_the_records_alone(tmp_path):
    """Only config, manifest and the two record files travel; nothing is evaluated again."""
    run = tell(tmp_path / "there")
    expected = write_report([run]).read_text(encoding="utf-8")
    here = tmp_path / "here" / run.path.name
    here.mkdir(parents=True)
    for name in ("config.toml", "manifest.json", "steps.jsonl", "evaluations.jsonl"):
        shutil.copy(run.path / name, here / name)
    assert write_report([RunFolder.open(here)]).read_text(encoding="utf-8") == expected


def test_drawing_again_gives_the_same_pictures(tmp_path):
    run = tell(tmp_path)
    write_report([run])
    first = [picture(run.report / name) for name in ("front.png", "dynamics.png")]
    write_report([run])
    again = [picture(run.report / name) for name in ("front.png", "dynamics.png")]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)


def test_several_runs_are_compared(tmp_path):
    runs = [tell(tmp_path, seed=0), tell(tmp_path, seed=1, steps=8), tell(tmp_path, recipe="paper")]
    path = write_report(runs)
    assert path == tmp_path / "comparison" / "report.md"
    text = path.read_text(encoding="utf-8")
    for name in ("recommended, seed 0", "recommended, seed 1", "paper, seed 0"):
        assert f"| {name} | 50.0 | 90.0 | 2.00 | 1.00 | -50 % | 60.0 | 40.0 |" in text
        assert f"## {name}" in text
    assert "| **mean** | 50.0 | 90.0 |" in text
    picture(path.parent / "front.png")
    picture(path.parent / "dynamics.png")
    assert not (runs[0].report / "report.md").exists()
    elsewhere = write_report(runs, tmp_path / "figures")
    assert elsewhere.parent == tmp_path / "figures"


def test_runs_of_one_name_are_told_apart_by_folder(tmp_path):
    runs = [tell(tmp_path), tell(tmp_path)]
    assert list(labels(runs)) == [f"recommended, seed 0 ({run.path.name})" for run in runs]


def test_runs_in_folders_of_one_name_are_told_apart_by_path(tmp_path):
    run = tell(tmp_path)
    copy = RunFolder.open(shutil.copytree(run.path, tmp_path / "copied" / run.path.name))
    runs = [run, copy, tell(tmp_path, seed=1)]
    names = [*(f"recommended, seed 0 ({run.path})" for run in (run, copy)), "recommended, seed 1"]
    assert labels(runs) == dict(zip(names, runs, strict=True))
    with pytest.raises(ValueError, match=r"needs different runs, got .* twice"):
        write_report([run, RunFolder.open(run.path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_folder_one_stands_in_has_a_name_and_neighbours(tmp_path, monkeypatch):
    run, other = tell(tmp_path), tell(tmp_path, seed=1)
    monkeypatch.chdir(run.path)
    here = RunFolder.open(".")
    assert f"Run folder: `{run.path.name}`" in write_report([here]).read_text(encoding="utf-8")
    assert write_report([here, other]) == tmp_path / "comparison" / "report.md"


def test_an_interrupted_run_without_steps_still_reports(tmp_path):
    run = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    evaluate(run, 0, "warmup", 0.5, 2.0, 60.0)
    run.finish("interrupted")
    text = write_report([run]).read_text(encoding="utf-8")
    assert "| accuracy (%) | 50.0 | 50.0 | +0.0 |" in text
    assert "status: interrupted" in text


def test_missing_values_do_not_break_it(tmp_path):
    run = tell(tmp_path)
    run.append_evaluation(
        {"step": 7, "phase": "train", "measured": {"correct": None, "calls": 0.0}, "outcome": {}}
    )
    text = write_report([run]).read_text(encoding="utf-8")
    assert "| accuracy (%) | 50.0 | nan |  |" in text
    assert "evaluation (step 7)" in text


@pytest.mark.parametrize("stage_1", [0, 99])
def test_a_run_of_one_stage_has_no_boundary(tmp_path, stage_1):
    run = tell(tmp_path, stage_1=stage_1)
    assert plots._boundary(run) is None
    write_report([run])


def test_without_warmup_the_policy_as_it_came_counts(tmp_path):
    run = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    evaluate(run, 0, "pretrained", 0.2, 2.0, 60.0)
    evaluate(run, 1, "train", 0.3, 1.5, 50.0)
    evaluate(run, 2, "final", 0.4, 1.0, 40.0)
    before, after = before_and_after(run)
    assert (before["step"], after["step"]) == (0, 2)
    assert len(plots._trained(run)) == 3
    text = write_report([run]).read_text(encoding="utf-8")
    assert "|  | before training (step 0) | end (step 2) | change |" in text


def test_the_end_of_the_warmup_counts_where_it_was_evaluated_on_the_way(tmp_path):
    run = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    evaluate(run, 0, "warmup", 0.2, 2.0, 60.0)
    evaluate(run, 0, "warmup", 0.5, 1.5, 50.0)
    evaluate(run, 1, "final", 0.6, 1.0, 40.0)
    assert before_and_after(run)[0]["measured"]["correct"] == 0.5


def test_nothing_to_report_is_told(tmp_path):
    with pytest.raises(ValueError, match=r"a report needs at least one run"):
        write_report([])
    run = RunFolder.create(tmp_path, tell(tmp_path / "x").config)
    with pytest.raises(ValueError, match=r"has no evaluations yet: there is nothing to report"):
        write_report([run])


def test_rescored_outcomes_replace_those_of_the_time(tmp_path):
    run = RunFolder.create(tmp_path, RunConfig())
    for step, value in enumerate((0.5, 0.6, 0.7)):
        run.append_evaluation({"step": step, "outcome": {"correct": value, "calls": value}})
    np.testing.assert_array_equal(plots._outcomes(run), [[0.5, 0.5], [0.6, 0.6], [0.7, 0.7]])
    run.write_outcomes(("correct", "calls"), [[0.5, 0.1], [0.6, 0.5]])
    np.testing.assert_array_equal(plots._outcomes(run), [[0.5, 0.1], [0.6, 0.5], [0.7, 0.7]])


@pytest.mark.parametrize("sense", [1.0, -1.0])
def test_the_staircase_is_the_edge_of_what_is_dominated(sense):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 8, 20) / 8, rng.integers(0, 8, 20) / 8
    edge_x, edge_y = plots._staircase(x, y, sense)
    for i in range(len(x)):
        beaten = ((sense * x >= sense * x[i]) & (y >= y[i])).sum() > (
            (x == x[i]) & (y == y[i])
        ).sum()
        assert ((edge_x == x[i]) & (edge_y == y[i])).any() or beaten
    assert (np.diff(edge_y) >= 0).all()
    assert (np.diff(sense * edge_x) <= 0).all()
