"""The statistics, findings and report of records."""

from __future__ import annotations

import numpy as np
import pytest

from paretopo.study import plan as plans
from paretopo.study.analysis import Results
from paretopo.study.claims import check_claims
from paretopo.study.report import format_report

SEEDS = 12


def results(ends):
    """Of a study whose runs end with (hypervolume, accuracy, calls) and a little noise."""
    methods = list(dict.fromkeys(method for _, method in ends))
    tasks = list(dict.fromkeys(task for task, _ in ends))
    plan = plans.from_table(
        {"study": {"methods": methods, "seeds": SEEDS}, "tasks": {task: {} for task in tasks}}
    )
    rng = np.random.default_rng(0)
    records = {}
    for cell in plan.cells():
        share, accuracy, calls = np.array(ends[cell.task, cell.method]) + 1e-4 * rng.random(3)
        row = {"hypervolume": share, "accuracy": accuracy, "calls": calls, "economy": 1 - calls / 5}
        courses = {name: [value, value] for name, value in row.items()}
        records[cell] = {"evaluations": {**courses, "calls": [4.0, calls], "step": [0, 9]}}
    return Results(plan, records)


ENDS = {
    ("free", "recommended"): (0.9, 0.70, 1.2),
    ("free", "paper"): (0.8, 0.65, 1.4),
    ("free", "accuracy_only"): (0.5, 0.70, 3.0),
    ("free", "grpo"): (0.95, 0.71, 1.1),
    ("lucky", "recommended"): (0.9, 0.70, 1.2),
    ("lucky", "paper"): (0.1, 0.45, 0.1),
    ("lucky", "accuracy_only"): (0.5, 0.70, 3.0),
    ("lucky", "grpo"): (0.2, 0.50, 0.2),
}


def test_comparisons_say_who_is_better():
    study = results(ENDS)
    verdicts = {one.other: one.verdict for one in study.compare("free")}
    assert verdicts == {"paper": "better", "accuracy_only": "better", "grpo": "worse"}
    assert {one.verdict for one in study.compare_worst()} == {"better"}
    assert study.worst("grpo").mean() == pytest.approx(0.2, abs=1e-3)


def test_domination_wants_both_and_one_significantly():
    study = results(ENDS)
    assert study.find_dominating("free") == ["grpo"]
    assert study.find_dominating("lucky") == []


def test_a_task_that_is_not_finished_is_left_out():
    study = results(ENDS)
    records = {cell: row for cell, row in study._records.items() if str(cell) != "lucky/grpo/1003"}
    some = {
        cell: row for cell, row in records.items() if (cell.task, cell.method) != ("free", "paper")
    }
    assert Results(study.plan, records).tasks == ["free", "lucky"]
    assert Results(study.plan, some).tasks == ["lucky"]


def test_the_report_has_every_method_and_finding():
    study = results(ENDS)
    text = format_report(study, ["overview.png"])
    assert all(text.count(f"`{method}`") >= 3 for method in study.plan.study.methods)
    assert "![overview.png](overview.png)" in text
    found = {(one.claim, one.task): one.verdict for one in check_claims(study)}
    assert found["ParetoPO: as accurate as accuracy only, fewer calls", "free"] == "not reproduced"
    assert found["accuracy only: near the highest accuracy, most calls", "lucky"] == "reproduced"
    assert found["calls fall in the course of ParetoPO", "free"] == "reproduced"
