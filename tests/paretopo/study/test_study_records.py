"""What docs/study says is what its records say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paretopo.study import plan
from paretopo.study.analysis import Results, choose_settings
from paretopo.study.records import read_records
from paretopo.study.report import format_report, results_folder

DOCS = Path(__file__).parents[3] / "docs" / "study"
STUDIES = sorted(path for path in DOCS.glob("*.toml") if path.name != "calculator.toml")
GRID = ("w60", "w80", "w50")


def read(file):
    study = plan.load(file)
    return Results(study, read_records(study, results_folder(file)))


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_every_training_of_the_plan_is_there(file):
    results = read(file)
    assert results.trainings == len(results.plan.cells())


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_the_report_is_what_the_records_give(file):
    written = (results_folder(file) / "report.md").read_text(encoding="utf-8")
    plots = re.findall(r"!\[(.+?)\]\(\1\)", written)
    assert written == format_report(read(file), plots)


def test_the_page_quotes_the_reports():
    """Numbers stand in tables alone, and each of their rows is a row of a report."""
    reports = [(results_folder(file) / "report.md").read_text(encoding="utf-8") for file in STUDIES]
    rows = {line for text in reports for line in text.splitlines() if line.startswith("|")}
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    quoted = [line for line in page.splitlines() if line.startswith("|") and re.search(r"\d", line)]
    assert len(quoted) > 10
    assert [line for line in quoted if line not in rows] == []


def test_weights_are_those_that_the_rule_chose():
    chosen = choose_settings(read(DOCS / "tuning.toml"), GRID)
    methods = plan.load(DOCS / "main.toml").study.methods
    tuned = {method: method.rpartition("+")[0] for method in methods if method.endswith(GRID)}
    assert sorted(tuned.values()) == sorted(chosen)
    assert {base: method for method, base in tuned.items()} == chosen


def test_methods_are_judged_on_tasks_and_seeds_of_which_nothing_was_chosen():
    tuning, main = (plan.load(DOCS / name) for name in ("tuning.toml", "main.toml"))
    assert all(task.startswith("tune_") for task in tuning.tasks)
    assert not any(task.startswith("tune_") for task in main.tasks)
    assert {f"tune_{task}" for task in main.tasks} == set(tuning.tasks)
    seeds = [set().union(*(one.seeds_of(task) for task in one.tasks)) for one in (tuning, main)]
    assert not seeds[0] & seeds[1]
