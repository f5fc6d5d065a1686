"""docs/study matches its records."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from paretopo.config import from_table
from paretopo.study import plan
from paretopo.study.analysis import Results, choose_settings
from paretopo.study.records import read_records
from paretopo.study.report import format_report, results_folder

DOCS = Path(__file__).parents[3] / "docs" / "study"
# A study that is not finished has no report, and nothing is quoted from it.
STUDIES = sorted(
    path for path in DOCS.glob("*.toml") if (results_folder(path) / "report.md").exists()
)
JUDGED = ("hypervolume", "value")


def read(file):
    study = plan.load(file)
    return Results(study, read_records(study, results_folder(file)))


def test_which_studies_are_reported():
    assert {"claims", "hypervolume", "models", "steerable", "value"} == {
        file.stem for file in STUDIES
    }


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_every_training_of_the_plan_is_there(file):
    results = read(file)
    missing = [
        cell
        for cell in results.plan.cells()
        if cell.seed not in results.seeds(cell.task, cell.method)
    ]
    assert missing == []


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_report_follows_from_the_records(file):
    written = (results_folder(file) / "report.md").read_text(encoding="utf-8")
    plots = re.findall(r"!\[(.+?)\]\(\1\)", written)
    assert written == format_report(read(file), plots)


QUESTIONS = 1536  # held out of each language model's task


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_no_training_is_better_than_the_best_policy(file):
    results = read(file)
    for task in results.tasks:
        for method in results.plan.methods_of(task):
            right = results.curve(task, method, "accuracy")
            noise = 3e-5  # of rounded records
            if results.is_trained(task):
                deviation = np.sqrt(right * (1.0 - right) / QUESTIONS) / np.maximum(right, 0.1)
                noise = noise + 4.0 * deviation
            for measure in ("hypervolume", "preference"):
                assert (results.curve(task, method, measure) <= 1.0 + noise).all()


def quoted_rows(text):
    """Rows of tables with numbers; other text has none."""
    lines = text.splitlines()
    return [line for line in lines if line.startswith("|") and re.search(r"\d\.\d", line)]


def test_quoted_rows_exist_in_a_report():
    reports = [(results_folder(file) / "report.md").read_text(encoding="utf-8") for file in STUDIES]
    with tarfile.open(DOCS / "history.tar.xz") as history:
        for name in history.getnames():
            if name.endswith("report.md"):
                reports.append(history.extractfile(name).read().decode())
    rows = {line for text in reports for line in text.splitlines() if line.startswith("|")}
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    home = (DOCS.parents[1] / "README.md").read_text(encoding="utf-8")
    section = home[home.index("## The study") :].split("\n## ")[0]
    assert len(quoted_rows(page)) > 10
    for text in (page, section):
        assert [line for line in quoted_rows(text) if line not in rows] == []
        prose = [line for line in text.splitlines() if not line.startswith("|")]
        told = re.findall(r"\d[\d.]* ?(?:%|points?\b)", " ".join(prose))
        assert set(told) <= {"1 point", "95 %"}  # the margin and the intervals, which are chosen


@pytest.mark.parametrize("name", JUDGED)
def test_variants_are_those_that_the_rule_chose(name):
    judged = plan.load(DOCS / f"{name}.toml")
    chosen = choose_settings(read(DOCS / "tuning.toml"), judged.study.measure)
    published = {"paper", "accuracy_only", "grpo"}
    assert set(judged.study.methods) - published - {judged.ours} <= set(chosen.values())
    assert set(chosen.values()) <= set(judged.study.methods)


@pytest.mark.parametrize("name", JUDGED)
def test_recommended_recipe_is_the_studied_method(name):
    judged = plan.load(DOCS / f"{name}.toml")
    config = from_table({}, judged.overrides_of(judged.study.methods[0]))
    recommended = from_table({}, {})
    assert config.objectives == recommended.objectives
    # It has no first stage, for which the rest would matter.
    assert recommended.paretopo.stage1_steps == 0
    for switch in ("stage2_estimator", "economies", "weights", "floors", "gate", "group_filter"):
        assert getattr(config.paretopo, switch) == getattr(recommended.paretopo, switch)


def test_every_second_seed_has_a_budget():
    models = plan.load(DOCS / "models.toml")
    tables = models.tasks["choice"].by_seed
    assert len(tables) == models.study.seeds
    prices = [table["objectives.tokens.price"] for table in tables]
    budgets = [table.get("objectives.tokens.budget") for table in tables]
    assert budgets[::2] == [None] * 6
    assert budgets[1::2] == [pytest.approx(100 * price) for price in prices[1::2]]


@pytest.mark.parametrize("name", JUDGED)
def test_tuning_and_judging_share_no_task_or_seed(name):
    tuning, judged = (plan.load(DOCS / f"{one}.toml") for one in ("tuning", name))
    assert all(task.startswith("tune_") for task in tuning.tasks)
    assert not any(task.startswith("tune_") for task in judged.tasks)
    assert {f"tune_{task}" for task in judged.tasks} == set(tuning.tasks)
    seeds = [set().union(*(one.seeds_of(task) for task in one.tasks)) for one in (tuning, judged)]
    assert not seeds[0] & seeds[1]
