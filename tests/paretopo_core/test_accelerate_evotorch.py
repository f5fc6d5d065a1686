"""EvoTorch accelerated gives its own answers."""

import pytest
from support.hosts import assert_same, both, count_calls, load, need, odd_points

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


def ranks_of(core, points, crowdsort):
    return [
        part.numpy() for part in core._compute_pareto_ranks(points, crowdsort) if part is not None
    ]


@pytest.mark.parametrize("objectives", [1, 2, 3, 5, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("crowdsort", [False, True])
def test_ranks_of_evotorch_are_the_same(monkeypatch, objectives, dtype, crowdsort):
    core = load("evotorch.core")
    calls = count_calls(monkeypatch, "pareto_rank")
    points = odd_points(90, objectives, dtype)
    own, ours = both("evotorch", lambda: ranks_of(core, points, crowdsort))
    assert len(calls) == 1
    assert len(own) == len(ours) == 1 + crowdsort
    for mine, theirs in zip(ours, own, strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.tolist() == theirs.tolist()


def test_evotorch_ranks_integers_itself(monkeypatch):
    core = load("evotorch.core")
    calls = count_calls(monkeypatch, "pareto_rank")
    points = odd_points(30, 3, "float32").nan_to_num().clamp(-9, 9).long()
    assert_same("evotorch", lambda: ranks_of(core, points, False))
    assert calls == []


@pytest.mark.parametrize("senses", [["min", "min"], ["max", "min", "max"]], ids=len)
def test_batches_and_runs_of_evotorch_are_the_same(monkeypatch, senses):
    need("evotorch")
    import torch
    from evotorch import Problem
    from evotorch.algorithms import GeneticAlgorithm
    from evotorch.operators import GaussianMutation, SimulatedBinaryCrossOver

    def aims(x):
        distances = [((x - i / 3) ** 2).sum(-1).mul(20).round() for i in range(len(senses))]
        return torch.stack(distances, dim=-1)

    def run():
        problem = Problem(senses, aims, solution_length=5, bounds=(0, 1), vectorized=True, seed=1)
        cross = SimulatedBinaryCrossOver(problem, tournament_size=4, eta=8)
        operators = [cross, GaussianMutation(problem, stdev=0.03)]
        search = GeneticAlgorithm(problem, popsize=24, operators=operators)
        search.run(8)
        last = search.population
        fronts, ranks = last.arg_pareto_sort()
        return last.values.numpy(), last.evals.numpy(), ranks.numpy(), [f.numpy() for f in fronts]

    calls = count_calls(monkeypatch, "pareto_rank")
    assert_same("evotorch", run)
    assert len(calls) > 16  # a tournament and the best solutions, in each generation
