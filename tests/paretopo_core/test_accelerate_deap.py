"""DEAP accelerated gives its own answers."""

import importlib

import numpy as np
import pytest
from support.hosts import assert_same, both, need

from paretopo_core import accelerate

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def made():
    need("deap")
    from deap import base, creator

    for count in (1, 2, 3, 4):
        weights = tuple((-1.0) ** m * (m + 1) for m in range(count))
        creator.create(f"PairedFitness{count}", base.Fitness, weights=weights)
        creator.create(f"Paired{count}", list, fitness=getattr(creator, f"PairedFitness{count}"))

    def population(count, objectives, levels, seed=0):
        rng = np.random.default_rng(seed)
        found = []
        for values in rng.integers(0, levels, (count, objectives)).astype(float):
            one = getattr(creator, f"Paired{objectives}")([len(found)])
            one.fitness.values = tuple(values)
            found.append(one)
        return found

    return population


def numbers(fronts):
    """Which individuals, in their order."""
    return [[one[0] for one in front] for front in fronts]


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize(("count", "levels"), [(1, 5), (12, 2), (80, 6), (80, 10**6)])
def test_fronts_of_deap_are_the_same_in_the_same_order(made, objectives, count, levels):
    from deap import tools

    population = made(count, objectives, levels)

    def sort():
        found = [
            tools.sortNondominated(population, k, first)
            for k in (0, 1, count // 2, count, 2 * count)
            for first in (False, True)
        ]
        if objectives > 1:  # DEAP's own has no end with one
            found += [tools.sortLogNondominated(population, k) for k in (0, count // 2, count)]
            found += [[tools.sortLogNondominated(population, count, first_front_only=True)]]
            found += [[tools.selNSGA2(population, count // 2, nd="log")]]
        found += [[tools.selNSGA2(population, max(1, count // 2))]]
        return [numbers(one) for one in found]

    assert_same("deap", sort)


def test_deap_handles_empty_fronts(made):
    from deap import tools

    with accelerate("deap"):
        assert tools.sortNondominated([], 3) == [[]]


def test_a_dominance_of_its_own_is_left_to_deap(made):
    from deap import base, tools

    class Reversed(base.Fitness):
        weights = (1.0, 1.0)

        def dominates(self, other, *rest):
            return base.Fitness.dominates(other, self, *rest)

    population = made(20, 2, 5)
    for one in population:
        one.fitness = Reversed(one.fitness.values)
    assert_same("deap", lambda: numbers(tools.sortNondominated(population, 20)))


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_the_least_contribution_of_deap_is_the_same(made, objectives):
    from deap import tools

    population = made(60, objectives, 10**6)
    front = tools.sortNondominated(population, 60, True)[0]

    def least():
        return [
            tools.hypervolume(front),
            tools.hypervolume(front, ref=np.full(objectives, 10.0**7)),
            tools.hypervolume(front[:1]),
        ]

    assert_same("deap", least)
    # Several dominated ones contribute nothing; which of them is found is a matter of rounding.
    for choice in both("deap", lambda: tools.hypervolume(population)):
        assert not any(population[choice] is one for one in front)


def test_toolboxes_of_deap_registered_before_are_served(made):
    from deap import base, tools

    toolbox = base.Toolbox()
    toolbox.register("select", tools.selNSGA2)
    population = made(40, 3, 6)
    calls = []
    ours = importlib.import_module("paretopo_core.accelerate.deap")
    with pytest.MonkeyPatch.context() as patch:
        real = ours.sort_standard
        patch.setattr(ours, "sort_standard", lambda *a, **k: calls.append(1) or real(*a, **k))
        with accelerate("deap"):
            toolbox.select(population, 10)
    assert calls == [1]
