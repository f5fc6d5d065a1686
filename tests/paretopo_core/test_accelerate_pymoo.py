"""pymoo accelerated gives its own answers."""

import numpy as np
import pytest
from support.hosts import assert_same, both, load

import paretopo_core as pp

# Warnings of a host's own are not about us.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.mark.parametrize(
    ("algorithm", "module"),
    [("NSGA2", "nsga2"), ("NSGA3", "nsga3"), ("SMSEMOA", "sms"), ("AGEMOEA", "age")],
)
@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_runs_of_pymoo_are_the_same_runs(algorithm, module, objectives):
    kind = getattr(load(f"pymoo.algorithms.moo.{module}"), algorithm)
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem
    from pymoo.util.ref_dirs import get_reference_directions

    given = {"pop_size": 24}
    if algorithm == "NSGA3":
        directions = get_reference_directions("das-dennis", objectives, n_partitions=4)
        given = {"ref_dirs": directions}

    def run():
        problem = get_problem("dtlz2", n_var=objectives + 4, n_obj=objectives)
        return minimize(problem, kind(**given), ("n_gen", 8), seed=1).F

    assert_same("pymoo", run)


@pytest.mark.parametrize("sample", range(8))
def test_select_has_the_survivors_of_pymoos_nsga_iii(sample):
    """Up to random choices: over many seeds, both choose the same sets of survivors."""
    survival = load("pymoo.algorithms.moo.nsga3").ReferenceDirectionSurvival
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem

    points = np.abs(np.random.default_rng(sample).normal(size=(9, 3)))
    points[:6] /= np.linalg.norm(points[:6], axis=1, keepdims=True)
    directions = pp.reference_directions(3, 2)
    own, ours = set(), set()
    for seed in range(60):
        chosen = survival(directions)._do(
            Problem(n_var=1, n_obj=3),
            Population.new(F=points, X=np.arange(9)[:, None]),
            4,
            random_state=np.random.RandomState(seed),
        )
        own.add(tuple(sorted(chosen.get("X")[:, 0])))
        keywords = {"method": "NSGA-III", "directions": directions, "maximise": False}
        ours.add(tuple(pp.select(points, k=4, rng=seed, **keywords)))
    assert ours == own


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_volumes_and_fronts_of_pymoo_are_the_same(objectives):
    sorting = load("pymoo.util.nds.non_dominated_sorting")
    from pymoo.indicators.hv import HV
    from pymoo.indicators.hv.approximate import ApproximateHypervolume

    points = np.random.default_rng(objectives).random((60, objectives)).round(1)
    ref = np.full(objectives, 1.1)

    def measure():
        return HV(ref_point=ref)(points), ApproximateHypervolume(ref).add(points).hvc

    def sort():
        fronts, ranks = sorting.NonDominatedSorting().do(points, return_rank=True)
        some = sorting.NonDominatedSorting().do(points, n_stop_if_ranked=20)
        return (ranks, sorting.find_non_dominated(points), *fronts, *some)

    for own, ours in zip(*both("pymoo", measure), strict=True):
        np.testing.assert_allclose(ours, own, atol=1e-7)
    assert_same("pymoo", sort)


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("keywords", [{}, {"zero_to_one": True}, {"norm_by_dist": True}], ids=str)
def test_distances_of_pymoo_are_the_same(objectives, keywords):
    epsilon = load("pymoo.indicators.epsilon")
    from pymoo.indicators import gd, gd_plus, igd, igd_plus

    rng = np.random.default_rng(objectives)
    points, front = rng.random((40, objectives)) + 0.1, rng.random((70, objectives))
    kinds = [igd.IGD, igd_plus.IGDPlus, gd.GD, gd_plus.GDPlus]
    if not keywords:
        kinds += [epsilon.Epsilon, epsilon.EpsilonMultiplicative]
    broken = points.copy()
    broken[3, 0] = np.inf
    for kind in kinds:
        for given in (points, points[0], broken, points[:0]):
            own, ours = both("pymoo", lambda kind=kind, given=given: kind(front, **keywords)(given))
            assert ours == pytest.approx(own, rel=1e-12, nan_ok=True)
    moved = gd.GD(front)
    moved.dist_func = lambda a, b, norm: np.abs(a - b).max(axis=1)  # a user's own
    assert_same("pymoo", lambda: moved(points))
