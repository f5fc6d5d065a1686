"""Reports from the public trackers of other libraries, and a review's: each has an answer here.

Reports on this package are in ``HELD_ELSEWHERE``, with the test of each. The tests below answer one
report each from another tracker. ``NOT_OFFERED`` lists the wishes that are still open.
"""

import ast
import sys
from itertools import islice, permutations
from pathlib import Path

import numpy as np
import pytest

import paretopo_core as pp
from paretopo_core import reference

FOLDER = Path(__file__).parent

HELD_ELSEWHERE = {
    "a process ends during a call": "test_leaving::test_process_ends_by_any_way",
    "a process forks while a thread is in an archive": (
        "test_leaving::test_a_child_of_fork_finds_archives_between_two_additions"
    ),
    "one far point hides others": "test_ranges::test_one_far_point_does_not_hide_the_others",
    "small distances are lost": "test_ranges::test_distances_keep_their_digits",
    "uncrowded contributions overflow": "test_ranges::test_uncrowded_distances_keep_their_digits",
    "a value over epsilon overflows": (
        "test_dominance::test_boxes_narrower_than_floats_hold_one_value_each"
    ),
    "filter and archive differ in boxes": (
        "test_bounded_archives::test_boxes_are_those_of_the_filter_from_1e_300_to_1e300"
    ),
    "a flat objective changes crowding": ("test_crowding::test_a_constant_objective_adds_nothing"),
    "a flat objective changes survivors": (
        "test_select::test_a_constant_objective_changes_no_survivor"
    ),
    "arguments of a wrong type pass": "test_wrong_types::test_wrong_type_is_refused_by_name",
    "masked arrays lose their mask": "test_wrong_types::test_wrong_type_is_refused_by_name",
    "a gradient is float32 in part": (
        "test_ranges::test_gradient_of_expected_hypervolume_has_double_precision"
    ),
    "unequal numbers of runs": (
        "test_compat_moocore::test_unequal_run_counts_are_compared_by_share"
    ),
    "moocore's frames become arrays": "test_compat_moocore::test_a_frame_stays_a_frame",
    "moocore's surfaces have another order": (
        "test_compat_moocore::test_rows_of_three_objectives_are_in_moocores_order"
    ),
    "moocore ranks points without objectives": (
        "test_compat_moocore::test_without_objectives_all_points_are_equal"
    ),
    "moocore's errors have another class": "test_compat_moocore::test_errors_have_moocores_class",
    "moocore's runs must be together": "test_compat_moocore::test_runs_may_be_interleaved",
    "no archive without its volume": (
        "test_archive::test_without_a_reference_it_has_the_same_members"
    ),
    "a missing reference is not named": "test_wrong_types::test_a_missing_reference_is_refused",
    "a column of text is not named": "test_frames::test_text_columns_are_named",
    "a lazy frame is not named": (
        "test_wrong_types::test_lazy_and_one_time_inputs_are_refused_with_advice"
    ),
    "names of other libraries are not understood": (
        "test_wrong_names::test_every_function_names_the_right_argument"
    ),
    "a frame loses its index": "test_frames::test_a_value_for_each_point_keeps_the_index",
    "violations of several constraints": ("test_dominance::test_constraints_of_a_point_add_up"),
    "front files of jMetal, PISA, Platypus, pymoo": (
        "test_front_files::test_text_of_many_programs_is_read"
    ),
}

NOT_OFFERED = {
    "reference directions of the least Riesz energy": "riesz_directions",
    "pymoo PR 342: crowding by entropy or by several neighbours": "entropy_crowding",
}


@pytest.mark.parametrize("report", HELD_ELSEWHERE)
def test_the_test_of_a_report_exists(report):
    file, name = HELD_ELSEWHERE[report].split("::")
    tree = ast.parse((FOLDER / f"{file}.py").read_text(encoding="utf-8"))
    assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("report", NOT_OFFERED)
def test_open_wishes_are_not_met(report):
    assert NOT_OFFERED[report] not in pp.__all__  # once it is, its report gets a test


def test_ranks_of_duplicates_in_five_objectives():  # moocore#74, pymoo#797
    points = np.random.default_rng(0).integers(0, 4, (384, 5)).astype(float)
    points[::3] = points[5]
    np.testing.assert_array_equal(pp.pareto_rank(points), reference.pareto_rank(points))


def test_ranks_of_one_objective():  # moocore#29
    assert pp.pareto_rank([[2], [1], [2], [0]], maximise=False).tolist() == [2, 1, 2, 0]


def test_of_infeasible_points_the_least_violation_is_best():  # optuna#6242
    violation = [0.5, 0.25, 0.25]
    assert pp.is_nondominated([[9], [1], [2]], violation=violation).tolist() == [False, True, True]


def test_a_violation_of_nan_ranks_last():  # optuna#3746
    ranks = pp.pareto_rank([[9], [1], [2]], violation=[np.nan, 7, 0])
    assert ranks.tolist() == [2, 1, 0]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_integers_are_not_wrapped(dtype):  # optuna#2421
    points = np.array([[1, 2], [2, 1]], dtype=dtype)
    assert pp.hypervolume(points, ref=[3, 3], maximise=False) == 3


def test_points_beyond_the_reference_have_no_volume():  # Xopt PR 300, trieste#201
    points = [[2.0, 2.0], [3.0, 1.5]]
    assert pp.hypervolume(points, ref=1, maximise=False) == 0
    boxes = pp.nondominated_boxes(points, ref=1, maximise=False)
    assert boxes.counts == 1
    assert pp.hypervolume_improvement(boxes, [[0.0, 0.0]], maximise=False) == 1


def test_ties_have_one_volume_in_any_order():  # GPflowOpt PR 107
    points = np.array([[1, 3, 2], [1, 2, 3], [2, 3, 1], [2, 2, 2], [1, 3, 2]], dtype=float)
    volumes = {float(pp.hypervolume(points[list(p)], 0)) for p in permutations(range(5))}
    assert volumes == {float(reference.hypervolume(points, np.zeros(3)))}


@pytest.mark.parametrize("maximise", [True, False, [True, False, True]])
def test_a_guess_of_the_reference_gives_each_point_a_volume(maximise):  # Ax PR 4970, jMetalPy#127
    points = np.random.default_rng(1).normal(size=(50, 3))
    ref = pp.reference_point(points, maximise=maximise)
    front = points[pp.is_nondominated(points, maximise=maximise)]
    assert (pp.hv_contributions(front, ref, maximise=maximise) > 0).all()


def test_crowding_is_never_nan():  # LEAP#267, NSGAII.jl#2, MOEAFramework#66
    for points in ([[1, 2], [1, 2], [1, 2]], [[1, 0], [2, 0]], [[1, 0]], [[0, 3], [1, 3], [2, 3]]):
        distances = pp.crowding_distance(points, ranks=np.zeros(len(points), int))
        assert not np.isnan(distances).any()


def test_missing_values_of_a_frame_are_never_in_front():  # aiconfigurator PR 979, SMAC3#225
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"speed": [1.0, None, 3.0], "cost": [1.0, 0.5, np.inf]})
    kept = pp.is_nondominated(frame, maximise={"speed": True, "cost": False})
    assert kept.tolist() == [True, True, True]  # each is best in one
    kept = pp.is_nondominated(frame.fillna({"cost": 9.0}), maximise=True)
    assert kept.tolist() == [False, False, True]


def test_arrays_of_any_layout_have_one_answer(tmp_path):  # polars, memory maps, structured
    points = np.random.default_rng(2).random((40, 3))
    expected = pp.pareto_rank(points).tolist()
    mapped = np.memmap(tmp_path / "points", dtype=float, mode="w+", shape=points.shape)
    mapped[:] = points
    wide = np.zeros((80, 6))
    wide[::2, ::2] = points
    for each in (mapped, wide[::2, ::2], points.astype(">f8"), np.asfortranarray(points)):
        assert pp.pareto_rank(each).tolist() == expected


def test_ties_stay_in_front():  # Olive PR 165, MLOS PR 181, blackboxopt PR 48
    assert pp.is_nondominated([[1, 2], [1, 2], [1, 1]]).tolist() == [True, True, False]
    assert pp.is_nondominated([[1, 2], [1, 1]], strict=True).all()


def test_one_objective_falls_and_one_rises():  # mlr3fselect PR 170
    features_and_score = [[3, 0.9], [2, 0.9], [1, 0.7], [1, 0.8]]
    kept = pp.is_nondominated(features_and_score, maximise=[False, True])
    assert kept.tolist() == [False, True, False, True]


def test_tuples_are_points():  # DEAP#654, DEAP#265
    assert pp.hypervolume([(1, 1, 1), (2, 1, 1)], ref=(0, 0, 0)) == 2


def test_fifteen_objectives_have_an_exact_volume():  # DEAP#677, libmoon#6, Ax#5034
    points = np.random.default_rng(3).random((12, 15))
    exact = pp.hypervolume(points, 0)
    volume, error = pp.hypervolume_approx(points, 0, samples=4096)
    assert abs(volume - exact) < 5 * error


def test_the_least_contributor_of_many_objectives_is_estimated():  # pagmo2#582
    points = np.concatenate([0.5 + np.eye(12) / 2, np.full((1, 12), 0.51)])
    contributions, error = pp.hv_contributions_approx(points, 0)
    assert contributions.argmin() == 12
    assert abs(contributions[12] - pp.hv_contributions(points, 0)[12]) < 5 * error[12]


def test_one_point_contributes_its_volume():  # ecr2#109
    assert pp.hv_contributions([[2, 3]], 0).tolist() == [6]


def test_infinity_has_no_contribution_but_an_error():  # pagmo2#382
    with pytest.raises(ValueError, match=r"points\[0, 1\] is inf, an infinite volume"):
        pp.hv_contributions([[1, np.inf], [2, 1]], 0)


def test_mixed_senses_have_a_volume():  # Platypus#138
    assert pp.hypervolume([[1, 2], [2, 3]], ref=[3, 0], maximise=[False, True]) == 5
    for wrong in (["max", "min"], [1, -1]):
        with pytest.raises(TypeError, match=r"maximise must be .*, True where larger is better"):
            pp.hypervolume([[1, 2]], ref=0, maximise=wrong)


def test_duplicates_may_leave_the_front():  # PonyGE2#114, DEAP#135
    points = [[1, 2], [2, 1], [1, 2]]
    assert pp.is_nondominated(points, keep_weakly=False).tolist() == [True, True, False]


def test_near_duplicates_may_leave_the_front():  # discopt PR 480
    points = [[0.123, 0.9], [0.123 + 1e-12, 0.9 - 1e-12]]
    assert pp.is_nondominated(points, duplicate_tolerance=1e-8).tolist() == [True, False]


def test_many_points_need_little_memory():  # pymoo#79, jMetal#240
    resource = pytest.importorskip("resource")
    points = np.random.default_rng(7).random((50_000, 5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert pp.pareto_rank(points).min() == 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    unit = 1024 if sys.platform.startswith("linux") else 1
    assert used * unit < 100e6  # a comparison of each pair would fill 2.5e9 bytes


def test_negative_values_have_a_volume():  # pymoo#95
    points = np.array([[-3.0, -1, -2], [-1, -3, -2]])
    shifted = pp.hypervolume(points + 5, ref=5, maximise=False)
    assert pp.hypervolume(points, ref=0, maximise=False) == shifted == 6 + 6 - 2


def test_a_seed_gives_the_same_survivors():  # pymoo#794, PR 556
    points = np.random.default_rng(4).random((60, 3))
    directions = pp.reference_directions(3, 4)
    chosen = {
        tuple(pp.select(points, 20, "reference_directions", directions=directions, seed=5).tolist())
        for _ in range(3)
    }
    assert len(chosen) == 1


def test_of_equal_points_the_older_stays():  # opt4j PR 17
    archive = pp.ParetoArchive([0, 0])
    archive.add([1, 1], payload="older")
    archive.add([1, 1], payload="newer")
    assert archive.payloads == ["older"]


def test_an_archive_need_not_compute_volumes():  # nevergrad#1022
    points = np.random.default_rng(5).random((300, 25))  # their volume would take for ever
    archive = pp.ParetoArchive(objectives=25)
    archive.extend(points)
    assert len(archive) == pp.is_nondominated(points).sum()


def test_a_front_in_a_file_has_a_volume(tmp_path):  # jMetalPy#33, #119, #85
    path = tmp_path / "FUN.ZDT1"
    path.write_text("1.0 2.0 \n2.0 1.0 \n")
    (front,) = pp.read_fronts(path)
    assert pp.hypervolume(front, ref=3, maximise=False) == 3


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_given_point_has_a_percentile(objectives):  # eaf#9
    rng = np.random.default_rng(6)
    points, sets = rng.integers(0, 6, (40, objectives)), rng.integers(0, 5, 40)
    corners, percentiles = pp.eaf(points, sets)
    for goal in rng.integers(0, 7, (50, objectives)):
        attained = [(points[sets == run] >= goal).all(axis=1).any() for run in range(5)]
        found = percentiles[(corners >= goal).all(axis=1)].max(initial=0)
        assert found == pytest.approx(100 * np.mean(attained))


def test_truncation_keeps_the_ends():  # Evolutionary.jl PR 141, operon PR 68
    x = np.array([0.0, 1, 1.1, 1.2, 5, 10])
    front = np.stack([x, 10 - x], axis=1)
    for order in islice(permutations(range(6)), 0, 720, 37):
        rows = list(order)
        kept = front[rows][pp.select(front[rows], 3)][:, 0]
        assert sorted(kept) == [0, 5, 10]
