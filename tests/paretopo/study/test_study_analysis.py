"""The statistics, findings and report of records."""

from __future__ import annotations

import numpy as np
import pytest

from paretopo.study import plan as plans
from paretopo.study.analysis import Results, choose_settings, compare
from paretopo.study.claims import check_claims
from paretopo.study.report import format_report

SEEDS = 12


def results(ends, switches=None, ablations=()):
    """Of a study whose runs end with (hypervolume, accuracy, calls) and a little noise."""
    methods = list(dict.fromkeys(method for _, method in ends if method not in ablations))
    tasks = list(dict.fromkeys(task for task, _ in ends))
    plan = plans.from_table(
        {
            "study": {"methods": methods, "seeds": SEEDS}
            | ({"ablations": list(ablations), "ablation_tasks": tasks} if ablations else {}),
            "tasks": {task: {} for task in tasks},
            "switches": switches or {},
        }
    )
    rng = np.random.default_rng(0)
    records = {}
    for cell in plan.cells():
        share, accuracy, calls = np.array(ends[cell.task, cell.method]) + 1e-4 * rng.random(3)
        row = {"hypervolume": share, "accuracy": accuracy, "cost": calls, "economy": 1 - calls / 5}
        courses = {name: [value, value] for name, value in (row | {"preference": share}).items()}
        records[cell] = {"evaluations": {**courses, "cost": [4.0, calls], "step": [0, 9]}}
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
    assert verdicts == {"paper": "more", "accuracy_only": "more", "grpo": "less"}
    assert {one.verdict for one in study.compare_worst()} == {"more"}
    assert study.worst("grpo").mean() == pytest.approx(0.2, abs=1e-3)
    assert study.rank_by_worst() == ["recommended", "accuracy_only", "grpo", "paper"]
    assert [(task, one.other) for task, one in study.find_losses()] == [("free", "grpo")]


def test_less_than_the_margin_is_equal_and_scatter_is_unknown():
    rng = np.random.default_rng(1)
    differences = {
        "small": 0.002 + 1e-4 * rng.random(SEEDS),  # significant, and as good as nothing
        "large": 0.05 + 1e-4 * rng.random(SEEDS),
        "scattered": 0.2 * rng.standard_normal(SEEDS),
    }
    found = compare(differences, dict.fromkeys(differences, 0.01))
    assert [one.verdict for one in found] == ["equal", "more", "unknown"]
    assert found[0].p < 0.05
    assert found[0].p == pytest.approx(3 * 2 / 2**SEEDS)  # Holm, of three
    low, high = found[1].interval
    assert low < found[1].mean < high


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


def test_what_is_cut_short_is_compared_on_the_seeds_that_all_methods_have():
    whole = results(ENDS)
    missing = {"free/recommended/1000", "lucky/paper/1001"}
    records = {cell: row for cell, row in whole._records.items() if str(cell) not in missing}
    study = Results(whole.plan, records)
    for task, gone in (("free", 0), ("lucky", 1)):
        for one, full in zip(study.compare(task), whole.compare(task), strict=True):
            assert one.differences.tolist() == np.delete(full.differences, gone).tolist()
    assert study.worst("grpo").tolist() == whole.worst("grpo")[2:].tolist()
    assert f"free ({SEEDS - 1} seeds), lucky ({SEEDS - 1} seeds)" in format_report(study, [])


def test_an_ablation_counts_when_it_has_ended_on_all_seeds():
    ablation = "paper+without_stage_1"
    ends = ENDS | {(task, ablation): (0.1, 0.4, 0.1) for task in ("free", "lucky")}
    whole = results(ends, ablations=(ablation,))
    records = {
        cell: row for cell, row in whole._records.items() if str(cell) != f"free/{ablation}/1002"
    }
    study = Results(whole.plan, records)
    assert whole.seeds("free", ablation) == whole.seeds("free", "paper")
    assert study.seeds("free", ablation) == []
    assert study.seeds("lucky", ablation) == whole.seeds("lucky", ablation)
    assert study.trainings == whole.trainings - SEEDS
    assert study.worst("grpo").tolist() == whole.worst("grpo").tolist()
    claim = "removing stage 1 lowers accuracy"
    found = {one.task for one in check_claims(study) if one.claim == claim}
    assert found == {"lucky"}


def test_the_report_has_every_method_and_finding():
    study = results(ENDS)
    text = format_report(study, ["overview.png"])
    assert all(text.count(f"`{method}`") >= 3 for method in study.plan.study.methods)
    assert "![overview.png](overview.png)" in text
    assert text.index("## Where ours loses") < text.index("## Hypervolume")
    found = {(one.claim, one.task): one.verdict for one in check_claims(study)}
    assert found["ParetoPO: as accurate as accuracy only, fewer calls", "free"] == "not reproduced"
    most = "accuracy only: near the highest accuracy, most calls (by means, not tested)"
    assert found[most, "lucky"] == "reproduced"
    assert found["calls fall in the course of ParetoPO", "free"] == "reproduced"


def test_of_each_method_the_variant_of_the_best_worst_case_is_chosen():
    ends = {
        ("free", "grpo+w60"): (0.9, 0.7, 1.2), ("lucky", "grpo+w60"): (0.3, 0.7, 1.2),
        ("free", "grpo+w80"): (0.7, 0.7, 1.2), ("lucky", "grpo+w80"): (0.6, 0.7, 1.2),
        ("free", "rloo+w60"): (0.5, 0.7, 1.2), ("lucky", "rloo+w60"): (0.5, 0.7, 1.2),
        ("free", "rloo+w80"): (0.9, 0.7, 1.2), ("lucky", "rloo+w80"): (0.4, 0.7, 1.2),
    }  # fmt: skip
    weights = {
        name: {"objectives": {"correct": {"weight": share}, "calls": {"weight": 1.0 - share}}}
        for name, share in (("w60", 0.6), ("w80", 0.8))
    }
    study = results(ends, weights)
    assert choose_settings(study, ["w60", "w80"]) == {"grpo": "grpo+w80", "rloo": "rloo+w60"}
