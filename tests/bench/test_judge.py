"""The judge knows right from wrong, and agrees with the definitions."""

import signal

import numpy as np
import pytest

from bench import defects, judge, peers
from bench.cases import DRAWN, NEWCOMERS, TASKS, VALID, Case
from bench.defects import Defect
from paretopo_core import definitions

PLANAR = ("exact_subset", "eafdiff", "weighted_hypervolume")


@pytest.mark.parametrize("task", TASKS)
def test_every_task_knows_right_from_wrong(task):
    case = Case("any", task, "concave", 12, 2 if task in PLANAR else 3)
    right = judge.solve(case)
    work = peers.prepare(peers.make("paretopo"), case)
    if work.fresh is not None:
        work.fresh()
    answer = np.array(work.run())
    assert judge.find_error(case, answer, right) is None
    assert judge.find_error(case, answer[..., None], right).startswith("shape")
    worse = ~answer if answer.dtype == bool else answer * 1.001 + 1
    assert "differ" in judge.find_error(case, worse, right)
    if answer.dtype == float:
        assert "differ" in judge.find_error(case, answer * np.nan, right)


DEFINED = {
    "hypervolume_advantage": lambda x, ref: definitions.hypervolume_advantage(
        -x, -ref, k=min(DRAWN, x.shape[-2])
    ),
    "hypervolume_gradient": lambda x, ref: definitions.hypervolume_gradient(x, ref, maximise=False),
    "crowding_distance": lambda x, ref: definitions.crowding_distance(-x),
}


@pytest.mark.parametrize(
    ("task", "points", "objectives", "groups"),
    [
        *(("hypervolume_advantage", points, 2, 3) for points in (3, 4, 6)),
        *(("hypervolume_gradient", 9, objectives, 0) for objectives in (2, 3)),
        ("crowding_distance", 20, 3, 0),
    ],
)
def test_the_judge_agrees_with_the_definition(task, points, objectives, groups):
    case = Case("any", task, "uniform", points, objectives, groups=groups)
    expected = DEFINED[task](case.doubles, case.ref)
    np.testing.assert_allclose(judge.solve(case), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_the_judge_of_archives_agrees_with_hypervolumes(objectives):
    case = Case("any", "archive_add", "concave", 20, objectives)
    sets = [case.doubles[: 20 + i] for i in range(NEWCOMERS + 1)]
    moocore = pytest.importorskip("moocore")
    gains = np.diff([moocore.hypervolume(points, ref=case.ref) for points in sets])
    np.testing.assert_allclose(judge.solve(case), gains, atol=1e-14)


@pytest.mark.parametrize("workload", ["uniform", "ragged"])
def test_groups_are_judged_and_done_like_single_sets(workload):
    task = "pareto_rank" if workload == "uniform" else "hypervolume"
    case = Case("batches", task, workload, 9, 3, groups=20)
    right = judge.solve(case)
    for name in ("paretopo", "moocore"):
        answer = peers.prepare(peers.make(name), case).run()
        assert judge.find_error(case, answer, right) is None


@pytest.mark.parametrize("task", ["pareto_rank", "hypervolume"])
def test_of_a_padded_group_the_first_points_count(task):
    case = Case("any", task, "padded", 9, 3, groups=20)
    alone = judge.solve(Case("any", task, "uniform", 9, 3, groups=20))
    right = judge.solve(case)
    assert case.mask.sum(axis=1).tolist() == [VALID] * 20
    assert right.shape == alone.shape
    assert (right != alone).any()
    answer = peers.prepare(peers.make("paretopo"), case).run()
    assert judge.find_error(case, answer, right) is None
    loop = peers.prepare(peers.make("moocore"), case)
    assert loop is None or judge.find_error(case, loop.run(), right) is None


def test_a_defect_is_seen_in_a_process_of_its_own():
    programs = {
        "right": "got, right = 1, True",
        "wrong: 2": "got, right = 2, False",
        f"crashes: signal {int(signal.SIGKILL)}": "import os; os.kill(os.getpid(), 9)",
        "hangs: more than 0.5 s": "import time; time.sleep(60)",
    }
    for expected, program in programs.items():
        outcome = defects.run(Defect("moocore", "", program), 0.5 if "sleep" in program else 60)
        assert str(outcome).startswith(expected)


def test_outcomes_go_into_the_row_of_their_program():
    text = defects.PAGE.read_text(encoding="utf-8")
    found = defects.read_defects(text)
    assert len(found) == text.count("\n| [") == text.count("```python") > 10
    assert {one.peer for one in found} <= set(peers.PEERS)
    row = "| [1](#1-paper-sum) | paper 1.0 | some `sum` | wrong: [1] |\n"
    [one] = defects.read_defects(f"{row}\n## 1. paper sum\n\n```python\ngot = 1\n```\n")
    assert one == Defect("paper", "some `sum`", "got = 1\n")
    rows = defects.write_outcomes(text, [(found[0], defects.Outcome("right", "x\\1"))])
    version = peers.find_version(found[0].peer)
    assert version is None or f"| {found[0].problem} | right: x\\1 |" in rows
