"""The studies are complete, and the pages quote their reports."""

import functools
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from paretopo.config import from_table
from paretopo_lab.study import plan
from paretopo_lab.study.analysis import Results
from paretopo_lab.study.records import read_records
from paretopo_lab.study.report import describe, results_folder
from research import questions
from research.claims import check_claims
from research.grid import TABLES
from research.tuning import choose_settings

pytestmark = pytest.mark.long  # they read all records

ROOT = Path(__file__).parents[2]
HERE = ROOT / "research"
STUDIES = [
    HERE / f"{name}.toml"
    for name in (
        *("claims", "d3po", "hypervolume", "models", "steerable"),
        *("steerable_leaning", "steerable_models", "value"),
    )
]
JUDGED = ("hypervolume", "value")


def load(file):
    questions.write_missing()
    return plan.load(HERE / file, tables=TABLES)


@functools.cache
def read(file):
    study = load(file)
    return Results(study, read_records(study, results_folder(file)))


@pytest.mark.parametrize("file", STUDIES, ids=lambda path: path.stem)
def test_every_training_of_the_plan_is_there(file):
    results = read(file)
    missing = {
        cell.seed
        for cell in results.plan.cells()
        if cell.seed not in results.seeds(cell.task, cell.method)
    }
    assert not missing


QUESTIONS = 512  # held out of each language model's task


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
    """Rows of tables with numbers, without the words before a method's name."""
    lines = [re.sub(r"^\| [^|`]+, `", "| `", line) for line in text.splitlines()]
    return [line for line in lines if line.startswith("|") and re.search(r"\d\.\d", line)]


def test_quoted_rows_exist_in_a_report():
    reports = [describe(read(file)).write() for file in STUDIES]
    rows = {line for text in reports for line in text.splitlines() if line.startswith("|")}
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    assert len(quoted_rows(page)) > 10
    assert [line for line in quoted_rows(page) if line not in rows] == []


def test_the_page_quotes_the_levels_of_language_models():
    """It gives the worst task and the mean."""
    results = read(HERE / "models.toml")
    page = " ".join((ROOT / "docs" / "study.md").read_text(encoding="utf-8").split())
    for measure in ("preference", "hypervolume"):
        for method in ("recommended", "accuracy_only", "grpo"):
            ends = 100.0 * results.over_tasks(method, measure=measure)
            assert f"{ends.min(axis=0).mean():.1f} / {ends.mean():.1f}" in page


def test_the_page_on_steerable_policies_quotes_the_records():
    """Hypervolumes at the end, of one policy and of eight; D3PO's is smaller."""
    steerable, d3po = read(HERE / "steerable.toml"), read(HERE / "d3po.toml")

    def share(results, task, method):
        return 100.0 * results.curve(task, method, "hypervolume")[:, -1].mean()

    page = (ROOT / "docs" / "steerable.md").read_text(encoding="utf-8")
    for task in d3po.tasks:
        one, eight = (share(steerable, task, name) for name in ("worth+given", "worth"))
        assert f"| `{task}` | {one:.1f} | {eight:.1f} |" in page
        if task == "trade_off":
            fixed = share(steerable, task, "rloo+recipe+given")
            assert f"{fixed:.1f} instead of {one:.1f} % on `{task}`" in " ".join(page.split())
        assert share(d3po, task, "d3po+gated+given") < one


def test_the_page_on_steerable_policies_quotes_the_language_models():
    """Means and deviations at the end."""
    results = read(HERE / "steerable_models.toml")
    page = (ROOT / "docs" / "steerable.md").read_text(encoding="utf-8")

    def ends(method, measure):
        return 100.0 * results.curve("series", method, measure)[:, -1]

    def row(title, cells):
        return f"| {title} | {' | '.join(cells)} |".replace("-", "\N{MINUS SIGN}")

    for title, measure in (
        ("**expected utility**", "utility"),
        ("value by the stated preference", "preference"),
        ("pairs of preferences in the requested order", "order"),
        ("preferences that lead to different points", "distinct"),
        ("hypervolume of the front", "hypervolume"),
    ):
        found = [ends(method, measure) for method in results.plan.study.methods]
        assert row(title, [f"{one.mean():.1f} ± {one.std(ddof=1):.1f}" for one in found]) in page
    same = read(HERE / "steerable_leaning.toml")
    [method] = same.plan.study.methods
    separate = [ends(results.plan.study.methods[1], "utility")]
    separate.append(100.0 * same.curve("series", method, "utility")[:, -1])
    one = ends(results.plan.study.methods[0], "utility")
    assert [int((one > other).sum()) for other in separate] == [7, 8]
    without = np.delete(one - separate[0], 2).mean()
    assert f"the first difference is {without:.1f} points" in " ".join(page.split())


def test_quoted_verdicts_are_those_of_the_records():
    verdicts = defaultdict(dict)
    for one in check_claims(read(HERE / "claims.toml")):
        verdicts[one.claim][one.task] = one.verdict
    rows = [
        f"| {claim} | {' | '.join(by_task[task] for task in ('free', 'lucky', 'overcalling'))} |"
        for claim, by_task in verdicts.items()
    ]
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    table = page.split("## The paper's claims")[1]
    quoted = [line for line in table.splitlines() if line.startswith("| ")][1:]
    settings = re.compile(r"\((?:beta|gamma) ")
    assert quoted == [row for row in rows if not settings.search(row)]


@pytest.mark.parametrize("name", JUDGED)
def test_variants_are_those_that_the_rule_chose(name):
    judged = load(f"{name}.toml")
    chosen = choose_settings(read(HERE / "tuning.toml"), judged.study.measure)
    published = {"paper", "accuracy_only", "grpo"}
    assert set(judged.study.methods) - published - {judged.ours} <= set(chosen.values())
    assert set(chosen.values()) <= set(judged.study.methods)


@pytest.mark.parametrize("name", JUDGED)
def test_recommended_recipe_is_the_studied_method(name):
    judged = load(f"{name}.toml")
    config = from_table({}, judged.overrides_of(judged.study.methods[0]))
    recommended = from_table({}, {})
    assert config.objectives == recommended.objectives
    # It has no first stage, for which the rest would matter.
    assert recommended.paretopo.stage1_steps == 0
    # Its filter drops groups without differences, whose advantages are 0 without it.
    for switch in ("stage2_estimator", "economies", "weights", "floors", "gate"):
        assert getattr(config.paretopo, switch) == getattr(recommended.paretopo, switch)


def test_rivals_of_language_models_have_the_tuned_settings():
    """One cost: all economies count alike, and "each" is that of the only one."""
    chosen = choose_settings(read(HERE / "tuning.toml"), "preference").values()
    tuned = {variant.replace("+each", "") for variant in chosen}
    models = load("models.toml")
    assert set(models.study.methods) - {"recommended"} <= tuned
    assert models.ours == "recommended"


@pytest.mark.parametrize("name", JUDGED)
def test_tuning_and_judging_share_no_task_or_seed(name):
    tuning, judged = (load(f"{one}.toml") for one in ("tuning", name))
    assert all(task.startswith("tune_") for task in tuning.tasks)
    assert not any(task.startswith("tune_") for task in judged.tasks)
    assert {f"tune_{task}" for task in judged.tasks} == set(tuning.tasks)
    seeds = [set().union(*(one.seeds_of(task) for task in one.tasks)) for one in (tuning, judged)]
    assert not seeds[0] & seeds[1]
