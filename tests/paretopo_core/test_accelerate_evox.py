"""EvoX accelerated gives its own answers."""

import importlib

import numpy as np
import pytest
from support.hosts import assert_same, both, count_calls, load, need, odd_points

from paretopo_core import accelerate

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def module():
    return load("evox.operators.selection.non_dominate")


@pytest.mark.parametrize("objectives", [1, 2, 3, 5, 70])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_ranks_of_evox_are_the_same(module, monkeypatch, objectives, dtype):
    calls = count_calls(monkeypatch, "pareto_rank")
    points = odd_points(90, objectives, dtype)
    own, ours = both("evox", lambda: module.non_dominate_rank(points).numpy())
    assert len(calls) == 1
    assert own.dtype == ours.dtype
    assert own.tolist() == ours.tolist()


@pytest.mark.parametrize("case", ["integers", "bools", "batch", "row", "no objectives", "device"])
def test_evox_ranks_other_tensors_itself(module, monkeypatch, case):
    points = odd_points(30, 3, "float32").nan_to_num()
    given = {
        "integers": points.clamp(-9, 9).long(),
        "bools": points > 0.5,
        "batch": points.reshape(2, 15, 3),
        "row": points[0],
        "no objectives": points[:, :0],
        "device": points,
    }[case]
    ranks = importlib.import_module("paretopo_core.accelerate.tensor_ranks")
    if case == "device":
        monkeypatch.setattr(ranks, "_DEVICES", ("another",))
    calls = count_calls(monkeypatch, "pareto_rank")

    def compute():
        try:
            return module.non_dominate_rank(given).tolist()
        except (IndexError, RuntimeError) as error:
            return str(error)

    assert_same("evox", compute)
    assert calls == []


def test_ranks_of_evox_are_the_same_under_transformations(module):
    """EvoX compiles its steps, and maps them over populations."""
    import torch

    sets = odd_points(2 * 3 * 40, 3, "float32").reshape(2, 3, 40, 3)
    rank = module.non_dominate_rank
    own = torch.stack([torch.stack([rank(points) for points in pair]) for pair in sets])
    with accelerate("evox"):
        rank = module.non_dominate_rank
        mapped = torch.vmap(torch.vmap(rank))
        compiled = torch.compile(rank, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(sets[0, 0]), own[0, 0])
        assert torch.equal(torch.vmap(rank)(sets[0]), own[0])
        for run in (mapped, torch.compile(mapped, fullgraph=True, backend="aot_eager")):
            assert torch.equal(run(sets), own)


def test_a_compiled_function_follows_accelerate_and_undo(module):
    import torch

    traced = []

    def note(graph, _):
        traced.append(graph.code)
        return graph.forward

    points = odd_points(30, 3, "float32")
    select = torch.compile(lambda f: module.non_dominate_rank(f), backend=note, fullgraph=True)
    own = select(points)
    with accelerate("evox"):
        ours = select(points)
    after = select(points)
    assert ["paretopo" in code for code in traced] == [False, True]
    assert own.tolist() == ours.tolist() == after.tolist()


@pytest.mark.parametrize("count", [1, 20, 61, 90])
def test_survivors_of_evox_are_the_same(module, count):
    points = odd_points(90, 3, "float32").nan_to_num()
    rows = points[:, :1]

    def survive():
        return [part.numpy() for part in module.nd_environmental_selection(rows, points, count)]

    assert_same("evox", survive)


@pytest.mark.parametrize(
    ("algorithm", "objectives"),
    [("NSGA2", 2), ("NSGA2", 3), ("NSGA3", 3), ("HypE", 3), ("RVEAa", 3)],
)
def test_runs_of_evox_are_the_same_runs(monkeypatch, algorithm, objectives):
    need("evox")
    import torch
    from evox import algorithms
    from evox.problems.numerical import DTLZ2
    from evox.workflows import EvalMonitor, StdWorkflow

    kind = getattr(algorithms, algorithm)

    def run():
        torch.manual_seed(1)
        lower = torch.zeros(objectives + 4)
        monitor = EvalMonitor(multi_obj=True, full_sol_history=True)
        problem = DTLZ2(d=objectives + 4, m=objectives)
        steps = StdWorkflow(kind(24, objectives, lower, lower + 1), problem, monitor)
        steps.init_step()
        for _ in range(4):
            steps.step()
        front = monitor.get_pf_fitness()
        return steps.algorithm.pop.numpy(), steps.algorithm.fit.numpy(), front.numpy()

    calls = count_calls(monkeypatch, "pareto_rank")
    own, ours = both("evox", run)
    assert len(calls) > 4
    np.testing.assert_equal(ours, own)
