"""The grid: every cell once, resumed where it was left, failures apart; its file; its command."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from paretopo.config import ConfigError
from paretopo.study import grid
from paretopo.study import plan as plans

TABLE = {
    "study": {"methods": ["recommended", "grpo"], "seeds": 3, "steps": 10},
    "tasks": {"free": {}, "concave": {"without": ["grpo"]}},
}


def run(plan, out):
    ended = []
    failures = grid.run(
        plan, out, workers=2, done=lambda cell, failure: ended.append((cell, failure))
    )
    return ended, failures


def test_what_is_done_is_not_done_again(tmp_path):
    plan = plans.of_table(TABLE)
    ended, failures = run(plan, tmp_path)
    assert len(ended) == len(plan.cells()) == 9
    assert not failures
    before = (tmp_path / "records.jsonl").read_bytes()
    assert run(plan, tmp_path) == ([], {})
    assert (tmp_path / "records.jsonl").read_bytes() == before


def test_a_killed_study_goes_on(tmp_path):
    plan = plans.of_table(TABLE)
    run(plan, tmp_path)
    whole = grid.records(plan, tmp_path)
    lines = (tmp_path / "records.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_bytes(b"".join(lines[:4]) + lines[4][:50])  # torn
    ended, _ = run(plan, tmp_path)
    assert len(ended) == 5
    again = grid.records(plan, tmp_path)
    assert {cell: row["evaluations"] for cell, row in again.items()} == {
        cell: row["evaluations"] for cell, row in whole.items()
    }


def test_a_record_of_other_settings_is_out_of_date(tmp_path):
    run(plans.of_table(TABLE), tmp_path)
    longer = plans.of_table({**TABLE, "study": {**TABLE["study"], "steps": 12}})
    assert not grid.records(longer, tmp_path)
    assert len(run(longer, tmp_path)[0]) == 9


def test_a_failure_stays_apart_and_is_tried_again(tmp_path):
    (tmp_path / "broken.toml").write_text('[model]\npath = "no/such/model"\n')
    table = {**TABLE, "tasks": {"free": {}, "broken": {"config": "broken.toml", "seeds": 1}}}
    plan = plans.of_table(table, beside=tmp_path)
    ended, failures = run(plan, tmp_path / "out")
    assert len(ended) == 8
    assert {str(cell) for cell in failures} == {"broken/recommended/1000", "broken/grpo/1000"}
    assert all("ended with" in failure for failure in failures.values())
    assert len(grid.records(plan, tmp_path / "out")) == 6
    assert len(run(plan, tmp_path / "out")[0]) == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, r"needs at least one \[tasks.NAME\]"),
        ({"tasks": {"fre": {}}}, "unknown task 'fre' .*did you mean 'free'"),
        ({"tasks": {"free": {"sed": 1}}}, "unknown key tasks.free.sed; did you mean 'seeds'"),
        ({"tasks": {"free": {"methods": ["grop"]}}}, "unknown method 'grop'"),
        ({"tasks": {"free": {"config": "no.toml"}}}, "tasks.free.config: there is no file"),
        ({"tasks": {"free": 3}}, r"\[tasks.free\] must be a section"),
        ({"tasks": {"free": {}}, "stdy": {}}, r"unknown section \[stdy\]; did you mean 'study'"),
        (
            {"tasks": {"free": {}}, "study": {"seeds": 0}},
            "study.seeds must be an integer at least 1",
        ),
        ({"tasks": {"free": {}}, "study": {"methods": ["grpo", "grpo"]}}, "names a method twice"),
        ({"tasks": {"free": {}}, "study": {"methods": "grpo"}}, "must be a list of texts"),
        ({"tasks": {"free": {}}, "study": {"ablation_tasks": ["x"]}}, r"no \[tasks.x\]"),
    ],
)
def test_a_wrong_file_is_refused(table, message):
    with pytest.raises(ConfigError, match=message):
        plans.of_table(table)


def test_quick_takes_fewer_seeds():
    plan = plans.of_table({**TABLE, "quick": {"seeds": 2}}, quick=True)
    assert len(plan.cells()) == 6


def test_ablations_go_on_their_tasks_only():
    study = {**TABLE["study"], "ablations": ["constant"], "ablation_tasks": ["free"]}
    plan = plans.of_table({**TABLE, "study": study})
    assert plan.methods_of("free") == ("recommended", "grpo", "constant")
    assert plan.methods_of("concave") == ("recommended",)


def test_a_training_is_worth_its_share_of_the_best():
    section = plans.TaskSection(config="x", without_calls=0.4, best_calls=1.0, most_calls=4.0)
    assert section.hypervolume(1.0, 1.0) == 1.0
    assert section.hypervolume(0.4, 0.0) == section.hypervolume(0.3, 0.0) == 0.0
    assert section.hypervolume(0.7, 1.0) == pytest.approx(0.5)
    assert section.hypervolume(1.0, 9.0) == 0.0


def test_the_command_trains_reports_and_goes_on(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[study]\nmethods = ["recommended", "grpo"]\nseeds = 2\nsteps = 10\n'
        "[tasks.free]\n[tasks.concave]\n"
    )

    def paretopo(*words):
        command = [sys.executable, "-m", "paretopo.cli", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = paretopo("study", str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "mine" / "report.md")
    rows = [json.loads(line) for line in (tmp_path / "mine/records.jsonl").read_text().splitlines()]
    assert len(rows) == 8
    for picture in ("overview", "fronts", "dynamics"):
        assert (tmp_path / "mine" / f"{picture}.png").stat().st_size > 10_000
    (tmp_path / "mine" / "report.md").unlink()
    assert paretopo("report", str(file)).returncode == 0
    assert (tmp_path / "mine" / "report.md").is_file()
    wrong = paretopo("study", str(tmp_path / "none.toml"))
    assert wrong.returncode == 2
    assert "cannot read" in wrong.stderr
