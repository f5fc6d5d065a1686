"""Rules for every operation: batches, reference points, senses, threads, and named values."""

import numpy as np
import pytest
from support import device_arrays
from support.operations import CALLS, ON_GPU, named

import paretopo_core as pp

VOLUMES = named("volume")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_batch_is_its_sets(name, dtype):
    """Each set may have its own reference point and its own padding."""
    rng = np.random.default_rng(0)
    points = rng.random((2, 3, 8, 2)).astype(dtype)
    refs, mask = rng.random((2, 3, 2)) / 2, rng.random((2, 3, 8)) < 0.7
    run = CALLS[name].run
    for given in (refs, refs[:1]):
        together = run(points, given, mask=mask)
        for at in np.ndindex(2, 3):
            ref = np.broadcast_to(given, refs.shape)[at]
            np.testing.assert_array_equal(together[at], run(points[at], ref, mask=mask[at]))


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {*named("fixed"), *named("few")}))
def test_more_objectives_than_a_word_has_bits_keep_their_senses(name):
    points = np.tile(np.random.default_rng(0).integers(2, 4, 70) * 1.0, (3, 1))
    points[1, 69] -= 1  # the first point dominates this one,
    points[2, 66] += 1  # and this one dominates both
    signs = np.where(np.arange(70) % 3 > 0, 1.0, -1.0)
    call, ref = CALLS[name], np.full(70, 0.5)
    for one, corner in ((points, ref), (points[None], ref[None])):
        turned = call.run(one * signs, corner * signs, maximise=(signs > 0).tolist())
        expected = call.run(one, corner)
        if call.shape in ("value", "objective"):
            expected = expected * signs
        np.testing.assert_array_equal(turned, expected)


@pytest.mark.parametrize("objective", [0, 63, 64, 65, 69])
def test_one_minimised_objective_of_seventy_is_minimised(objective):
    points = np.zeros((2, 70))
    points[0, objective] = 1
    maximise = [m != objective for m in range(70)]
    assert pp.is_nondominated(points, maximise=maximise).tolist() == [False, True]


@pytest.mark.parametrize("name", sorted(CALLS))
def test_threads_and_instruction_sets_change_no_bit(name, threads, each_isa):
    shapes = [(5_000, 8, 2), (40, 150, 3), (30, 20, 5)]
    if name == "hypervolume_subset, exact":
        shapes = shapes[:1]
    elif name == "hypervolume_contributions_approx":
        shapes[0] = (500, 8, 2)  # it draws thousands of samples for each point
    for shape in shapes:
        points = np.random.default_rng(0).integers(1, 6, shape).astype(float)
        threads(1)
        expected = each_isa(lambda points=points: CALLS[name].run(points, 0.0))
        for count in (2, 3, 8):
            threads(count)
            np.testing.assert_array_equal(CALLS[name].run(points, 0.0), expected)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {*ON_GPU, "crowding_distance, ranks"}))
def test_operations_of_the_cpu_refuse_arrays_on_a_gpu(name):
    with device_arrays.emulate("warp"):
        points = device_arrays.DeviceArray(np.ones((2, 3)))
        with pytest.raises(
            (TypeError, ValueError), match=r"(points|candidates|means) are .*on a GPU"
        ):
            CALLS[name].run(points, 0)


@pytest.mark.parametrize("name", VOLUMES)
def test_values_without_a_volume_are_named(name):
    """pagmo2#382."""
    run, points = CALLS[name].run, np.ones((3, 4, 2))
    points[1, 2, 0], points[2, 0, 1] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"s\[1, 2, 0\] is NaN"):
        run(points, 0)
    with pytest.raises(ValueError, match=r"s\[2, 0, 1\] is inf, an infinite volume"):
        run(np.where(np.isnan(points), 1.0, points), 0)
    assert np.isfinite(run(points, 0, mask=np.isfinite(points).all(axis=-1))).all()
    run(-points[2], 0)  # infinity on the worse side is worse than every reference


@pytest.mark.parametrize("name", VOLUMES)
@pytest.mark.parametrize(
    ("ref", "message"),
    [
        ([0, 0, 0], r"ref must be a number or have shape \(2,\),.* got shape \(3,\)"),
        (np.zeros((2, 2)), r"or \(3, 2\) for one to each .*, got shape \(2, 2\)"),
        ([0, -np.inf], "ref must be finite, got"),
        (np.full((3, 2), np.nan), "ref must be finite, got nan"),
    ],
)
def test_wrong_reference_points_are_named(name, ref, message):
    with pytest.raises(ValueError, match=message):
        CALLS[name].run(np.ones((3, 4, 2)), ref)
