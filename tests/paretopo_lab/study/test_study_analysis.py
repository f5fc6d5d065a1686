"""The statistics and the report of records."""

import re

import numpy as np
import pytest
from support.studies import ENDS, SEEDS, make_results

from paretopo.config import ConfigError
from paretopo_lab.statistics.pairs import compare
from paretopo_lab.study.analysis import Results
from paretopo_lab.study.report import _check_scores, describe


def keep(study, wanted):
    """Return the results of some cells."""
    return Results(study.plan, {cell: row for cell, row in study._records.items() if wanted(cell)})


def test_comparisons_say_who_is_better():
    study = make_results(ENDS)
    verdicts = {one.other: one.verdict for one in study.compare("free")}
    assert verdicts == {"paper": "more", "accuracy_only": "more", "grpo": "less"}
    assert {one.verdict for one in study.compare_worst()} == {"more"}
    means = {one.other: one.mean for one in study.compare_worst(mean=True)}
    ours, theirs = (study.over_tasks(name).mean() for name in ("recommended", "grpo"))
    assert means["grpo"] == pytest.approx(ours - theirs)
    assert study.worst("grpo").mean() == pytest.approx(0.2, abs=1e-3)
    assert study.rank_by_worst() == ["recommended", "accuracy_only", "grpo", "paper"]
    assert [(task, one.other) for task, one in study.find_losses()] == [("free", "grpo")]
    # Both at least as good, one of them significantly better.
    assert (study.find_dominating("free"), study.find_dominating("lucky")) == (["grpo"], [])


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
    study = keep(make_results(ENDS), lambda cell: cell.seed < 1000 + seeds)
    text = describe(study).write()
    said = f"**Too few seeds for a verdict** on all of them: of {seeds} seeds p is at least"
    assert text.count(said) == 4  # losses, over the tasks, two tasks
    assert "(none), p " in text
    assert set(re.findall(r", p [\d.<]+: ([^|]+) \|", text)) == {"too few seeds"}


def test_a_task_that_is_not_finished_is_left_out():
    study = make_results(ENDS)
    assert keep(study, lambda cell: str(cell) != "lucky/grpo/1003").tasks == ["free", "lucky"]
    assert keep(study, lambda cell: str(cell)[:11] != "free/paper/").tasks == ["lucky"]


def test_methods_are_compared_on_shared_seeds():
    whole = make_results(ENDS)
    missing = {"free/recommended/1000", "lucky/paper/1001"}
    study = keep(whole, lambda cell: str(cell) not in missing)
    for task, gone in (("free", 0), ("lucky", 1)):
        for one, full in zip(study.compare(task), whole.compare(task), strict=True):
            assert one.differences.tolist() == np.delete(full.differences, gone).tolist()
    assert study.worst("grpo").tolist() == whole.worst("grpo")[2:].tolist()
    assert f"free ({SEEDS - 1} seeds), lucky ({SEEDS - 1} seeds)" in describe(study).write()


def test_an_ablation_counts_when_it_has_ended_on_all_seeds():
    ablation = "paper+without_stage_1"
    ends = ENDS | {(task, ablation): (0.1, 0.4, 0.1) for task in ("free", "lucky")}
    whole = make_results(ends, ablations=(ablation,))
    study = keep(whole, lambda cell: str(cell) != f"free/{ablation}/1002")
    assert (whole.variations(), study.variations()) == ([ablation], [])
    [compared] = whole.compare_worst(others=[ablation])
    assert compared.mean == pytest.approx(0.8, abs=1e-3)
    assert compared.p == pytest.approx(2 / 2**SEEDS)  # a family of its own
    text = describe(whole).write()
    assert text.count(f"| `{ablation}` | 10.0 ± 0.0 / 10.0 |") == 1
    cell = "+80.00 (+80.00 to +80.00), p 0.0005: better"
    row = " | ".join([cell] * 4)  # worst case and mean, of two measures
    assert f"| `{ablation}` | {SEEDS} | {row} |" in text
    assert whole.seeds("free", ablation) == whole.seeds("free", "paper")
    assert study.seeds("free", ablation) == []
    assert study.seeds("lucky", ablation) == whole.seeds("lucky", ablation)
    assert study.trainings == whole.trainings - SEEDS
    assert study.worst("grpo").tolist() == whole.worst("grpo").tolist()
    # A seed of one task has not ended.
    study = keep(whole, lambda cell: cell.seed > 1000 or cell.task == "free")
    assert f"| `{ablation}` | {SEEDS - 1} | +80.00 (" in describe(study).write()
    assert len(study.worst(ablation)) == SEEDS - 1


def test_the_report_has_every_method_and_finding():
    study = make_results(ENDS)
    text = describe(study).write()
    assert all(text.count(f"`{method}`") >= 3 for method in study.plan.study.methods)
    assert "![overview.png](overview.png)" in text
    assert text.index("## Where ours loses") < text.index("## Hypervolume")
    assert text.count("p after Holm over the 3 comparisons of a column.") == 3


def test_a_method_that_beats_the_best_policy_is_refused():
    beaten = {place: (1.2 * share, *rest) for place, (share, *rest) in ENDS.items()}
    with pytest.raises(ConfigError, match=r"'recommended' has 108.0 % of the best policy's hyperv"):
        _check_scores(make_results(beaten))
    _check_scores(make_results(ENDS))
