"""Reports from the trackers of other libraries, and from reviews: each has an answer here.

``ANSWERS`` has reports that one call answers, and each function below one more.
"""

import sys
from itertools import islice, permutations

import numpy as np
import pytest

import paretopo_core as pp
from paretopo_core import definitions


def filled_twice():
    archive = pp.ParetoArchive([0, 0])
    archive.extend([[1, 1], [1, 1]], ["older", "newer"])
    return archive.payloads


BEYOND = [[2.0, 2.0], [3.0, 1.5]]
FEATURES_AND_SCORE = [[3, 0.9], [2, 0.9], [1, 0.7], [1, 0.8]]
NEGATIVE = np.array([[-3.0, -1, -2], [-1, -3, -2]])
ANSWERS = {
    "moocore#29: ranks of one objective": (
        lambda: pp.pareto_rank([[2], [1], [2], [0]], maximise=False),
        [2, 1, 2, 0],
    ),
    "optuna#6242: of infeasible points the least violation is best": (
        lambda: pp.is_nondominated([[9], [1], [2]], violation=[0.5, 0.25, 0.25]),
        [False, True, True],
    ),
    "optuna#3746: a violation of NaN ranks last": (
        lambda: pp.pareto_rank([[9], [1], [2]], violation=[np.nan, 7, 0]),
        [2, 1, 0],
    ),
    "Xopt PR 300: points beyond the reference have no volume": (
        lambda: pp.hypervolume(BEYOND, ref=1, maximise=False),
        0,
    ),
    "trieste#201: points beyond the reference leave one box": (
        lambda: pp.nondominated_boxes(BEYOND, ref=1, maximise=False).counts,
        1,
    ),
    "Olive PR 165, MLOS PR 181, blackboxopt PR 48: ties stay in front": (
        lambda: pp.is_nondominated([[1, 2], [1, 2], [1, 1]]),
        [True, True, False],
    ),
    "PonyGE2#114, DEAP#135: duplicates may leave the front": (
        lambda: pp.is_nondominated([[1, 2], [2, 1], [1, 2]], duplicates="first"),
        [True, True, False],
    ),
    "mlr3fselect PR 170: one objective falls and one rises": (
        lambda: pp.is_nondominated(FEATURES_AND_SCORE, maximise=[False, True]),
        [False, True, False, True],
    ),
    "DEAP#654, DEAP#265: tuples are points": (
        lambda: pp.hypervolume([(1, 1, 1), (2, 1, 1)], ref=(0, 0, 0)),
        2,
    ),
    "ecr2#109: one point contributes its volume": (
        lambda: pp.hypervolume_contributions([[2, 3]], 0),
        [6],
    ),
    "Platypus#138: mixed senses have a volume": (
        lambda: pp.hypervolume([[1, 2], [2, 3]], ref=[3, 0], maximise=[False, True]),
        5,
    ),
    "pymoo#95: negative values have a volume": (
        lambda: pp.hypervolume(NEGATIVE, ref=0, maximise=False),
        6 + 6 - 2,
    ),
    "opt4j PR 17: of equal points the older stays": (filled_twice, ["older"]),
}


@pytest.mark.parametrize("report", ANSWERS)
def test_a_report_has_its_answer(report):
    call, expected = ANSWERS[report]
    np.testing.assert_array_equal(call(), expected)


def test_ties_have_one_volume_in_any_order():  # GPflowOpt PR 107
    points = np.array([[1, 3, 2], [1, 2, 3], [2, 3, 1], [2, 2, 2], [1, 3, 2]], dtype=float)
    volumes = {float(pp.hypervolume(points[list(p)], 0)) for p in permutations(range(5))}
    assert volumes == {float(definitions.hypervolume(points, np.zeros(3)))}


@pytest.mark.parametrize("maximise", [True, False, [True, False, True]])
def test_a_guess_of_the_reference_gives_each_point_a_volume(maximise):  # Ax PR 4970, jMetalPy#127
    points = np.random.default_rng(1).normal(size=(50, 3))
    ref = pp.reference_point(points, maximise=maximise)
    front = points[pp.is_nondominated(points, maximise=maximise)]
    assert (pp.hypervolume_contributions(front, ref, maximise=maximise) > 0).all()


def test_crowding_is_never_nan():  # LEAP#267, NSGAII.jl#2, MOEAFramework#66
    for points in ([[1, 2], [1, 2], [1, 2]], [[1, 0], [2, 0]], [[1, 0]], [[0, 3], [1, 3], [2, 3]]):
        distances = pp.crowding_distance(points, ranks=np.zeros(len(points), int))
        assert not np.isnan(distances).any()


def test_many_points_need_little_memory():  # pymoo#79, jMetal#240
    resource = pytest.importorskip("resource")
    points = np.random.default_rng(7).random((50_000, 5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert pp.pareto_rank(points).min() == 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    unit = 1024 if sys.platform.startswith("linux") else 1
    assert used * unit < 100e6  # a comparison of each pair would fill 2.5e9 bytes


def test_an_archive_need_not_compute_volumes():  # nevergrad#1022
    points = np.random.default_rng(5).random((300, 25))  # their volume would take for ever
    archive = pp.ParetoArchive(objectives=25)
    archive.extend(points)
    assert len(archive) == pp.is_nondominated(points).sum()


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_given_point_has_a_percentile(objectives):  # eaf#9
    rng = np.random.default_rng(6)
    points, sets = rng.integers(0, 6, (40, objectives)), rng.integers(0, 5, 40)
    corners, percentiles = pp.attainment_surfaces(points, sets)
    for goal in rng.integers(0, 7, (50, objectives)):
        attained = [(points[sets == run] >= goal).all(axis=1).any() for run in range(5)]
        found = percentiles[(corners >= goal).all(axis=1)].max(initial=0)
        assert found == pytest.approx(100 * np.mean(attained))


def test_truncation_keeps_the_ends():  # Evolutionary.jl PR 141, operon PR 68
    x = np.array([0.0, 1, 1.1, 1.2, 5, 10])
    front = np.stack([x, 10 - x], axis=1)
    for order in islice(permutations(range(6)), 0, 720, 37):
        rows = list(order)
        kept = front[rows][pp.select(front[rows], k=3)][:, 0]
        assert sorted(kept) == [0, 5, 10]
