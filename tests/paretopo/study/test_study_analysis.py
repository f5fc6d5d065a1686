"""The statistics, findings and report of records."""

from __future__ import annotations

import re

import numpy as np
import pytest

from paretopo.config import ConfigError
from paretopo.study import plan as plans
from paretopo.study.analysis import Results, choose_settings, compare
from paretopo.study.claims import _decide_dominates, _decide_more, check_claims
from paretopo.study.report import _check_scores, format_report

SEEDS = 12


def results(ends, switches=None, ablations=()):
    """Make a study whose runs end with (hypervolume, accuracy, calls) and a little noise."""
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


def test_verdicts_by_margin_and_scatter():
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


def test_one_sided_verdicts_follow_the_interval():
    rng = np.random.default_rng(1)
    scatter = rng.standard_normal(SEEDS)
    scatter -= scatter.mean()
    differences = {"above": 0.02 + 0.04 * scatter, "below": -0.02 - 0.04 * scatter}
    found = compare(differences, dict.fromkeys(differences, 0.02))
    assert [one.verdict for one in found] == ["no worse", "no better"]
    assert not any(one.is_contradictory for one in found)


def test_too_few_seeds_give_no_verdict():
    few = compare({"five": np.full(5, 0.1)}, {"five": 0.01})
    assert [(one.verdict, one.p, one.least_p) for one in few] == [("too few seeds", 0.0625, 0.0625)]
    six = compare({"six": np.full(6, 0.1)}, {"six": 0.01})
    assert [one.verdict for one in six] == ["more"]
    family = {str(number): np.full(6, 0.1) for number in range(2)}  # Holm: 2 * 2 / 64
    assert {one.verdict for one in compare(family, dict.fromkeys(family, 0.01))} == {
        "too few seeds"
    }
    # One with more seeds may come first, and leaves a smaller family to the other.
    mixed = compare({"few": np.full(6, 0.1), "many": np.full(12, 0.1)}, {"few": 0.0, "many": 0.0})
    assert [one.verdict for one in mixed] == ["more", "more"]


@pytest.mark.parametrize("seeds", [3, 5])
def test_report_names_too_few_seeds(seeds):
    whole = results(ENDS)
    records = {cell: row for cell, row in whole._records.items() if cell.seed < 1000 + seeds}
    study = Results(whole.plan, records)
    text = format_report(study, [])
    said = f"**Too few seeds for a verdict** on all of them: of {seeds} seeds p is at least"
    assert text.count(said) == 6  # losses, two worst cases, two tasks, claims
    assert "| none |" in text
    assert {one.verdict for one in check_claims(study) if one.tested} == {"too few seeds"}
    assert not set(re.findall(r"\| (ahead|behind|equal|no worse|no better|reproduced) \|", text))


def test_tables_state_the_number_of_comparisons():
    study = results(ENDS)
    text = format_report(study, [])
    assert text.count("p after Holm over the 3 comparisons of this table.") == 4
    tested = sum(len(one.tested) for one in check_claims(study))
    assert f"p after Holm over the {tested} differences that are tested here" in text
    counted = re.findall(r"\(p = [\d.e-]+\)", text)
    assert len(counted) == tested


def test_a_claim_that_p_leaves_open_is_unknown():
    """An interval without 0, and p that is not significant among many: neither verdict holds."""
    rng = np.random.default_rng(5)
    scatter = rng.standard_normal(SEEDS)
    scatter -= scatter.mean()
    noise = {str(number): rng.standard_normal(SEEDS) for number in range(70)}
    for mean in (0.17, -0.17):
        differences = {"claim": mean + 0.2 * scatter, **noise}
        claim = compare(differences, dict.fromkeys(differences, 0.005))[0]
        assert claim.p > 0.05
        assert claim.is_contradictory
        assert _decide_more([claim]) == _decide_dominates([claim, claim]) == "unknown"
    (single,) = compare({"claim": 0.17 + 0.2 * scatter}, {"claim": 0.005})
    assert _decide_more([single]) == "reproduced"


def test_claims_are_refuted_only_by_an_interval():
    rng = np.random.default_rng(5)
    scatter = rng.standard_normal(SEEDS)
    scatter -= scatter.mean()
    verdicts = []
    for mean, spread in ((-0.05, 0.1), (0.0, 0.1), (0.0, 0.001), (-0.3, 0.1), (0.3, 0.1)):
        found = compare({"claim": mean + spread * scatter}, {"claim": 0.03})
        verdicts.append(_decide_more(found))
    wanted = ["not reproduced", "unknown", "no difference", "the opposite", "reproduced"]
    assert verdicts == wanted


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


def test_methods_are_compared_on_shared_seeds():
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
    most = "accuracy only: near the highest accuracy, most calls"
    assert found[most, "lucky"] == "by means: yes"
    assert found["calls fall in the course of ParetoPO", "free"] == "reproduced"


def test_choice_maximises_the_worst_case():
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
    assert choose_settings(study, "hypervolume") == {"grpo": "grpo+w80", "rloo": "rloo+w60"}


def test_a_method_that_beats_the_best_policy_is_refused():
    beaten = {place: (1.2 * share, *rest) for place, (share, *rest) in ENDS.items()}
    with pytest.raises(ConfigError, match=r"'recommended' has 108.0 % of the best policy's hyperv"):
        _check_scores(results(beaten))
    _check_scores(results(ENDS))
