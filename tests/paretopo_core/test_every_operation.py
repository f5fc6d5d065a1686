"""Rules for every operation: batches, reference points, senses, threads, and errors."""

import numpy as np
import pytest
from support import device_arrays
from support.operations import CALLS, ON_GPU, POINTS, named

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


# Without those that look at the points before they call, or compute with torch's own operators.
CHECKED = sorted(CALLS.keys() - {"crowding_distance, ranks", "stochastic_pareto_rank"})
SETS = np.ones((3, 4, 2))
WRONG = [  # points, and other arguments; ref is for operations that measure from it
    (r"\(\.\.\., points, objectives\), got \(4,\)", np.ones(4), {}),
    (r"\(\.\.\., points, objectives\), got \(\)", 3.0, {}),
    (r"\(\.\.\., points, objectives\), got \(0,\)", [], {}),
    (r"has no objectives: shape \(4, 0\)", np.ones((4, 0)), {}),
    (r"has no objectives: shape \(1, 0\)", [[]], {}),
    (r"\[1\] has 1 of them, \w+\[0\] has 2", [[1.0, 2.0], [3.0]], {}),
    (r"\[1\] has 1 of them, \w+\[0\] has 2", [[1.0, 2.0], 3.0], {}),
    (r"rectangular array of numbers: \w+\[1\] is None", [[1.0, 2.0], None], {}),
    (r"rectangular array of numbers: .* inhomogeneous", [[1.0, [2.0]]], {}),
    (r"dtype object: the NoneType None at \[0, 1\]", [[1.0, None]], {}),
    ("the ParetoArchive .*; pass its points", pp.ParetoArchive([0, 0]), {}),
    ("must be real numbers of at most 64 bits", np.ones((2, 3, 2), np.longdouble), {}),
    ("must be real numbers.* complex128", np.ones((2, 2), complex), {}),
    ("which float64 cannot hold exactly", np.full((2, 2), 2**53 + 1), {}),
    ("which float64 cannot hold exactly", [[2**70, 1]], {}),
    ("mask must be of dtype bool, got int64", SETS, {"mask": np.ones((3, 4), np.int64)}),
    (r"mask must have shape \(3, 4\).*got \(4, 3\)", SETS, {"mask": np.ones((4, 3), bool)}),
    (r"mask must have shape \(3, 4\).*got \(3, 1\)", SETS, {"mask": np.ones((3, 1), bool)}),
    ("maximise must be a bool or have one bool", SETS, {"maximise": [True]}),
    ("maximise must be a bool or have one bool", SETS, {"maximise": [True] * 3}),
    (r"ref must be a number or have shape \(2,\),.* got shape \(3,", SETS, {"ref": [0, 0, 0]}),
    (r"or \(3, 2\) for one to each .*, got shape \(2, 2\)", SETS, {"ref": np.zeros((2, 2))}),
    ("ref must be finite, got", SETS, {"ref": [0, -np.inf]}),
    ("ref must be finite, got nan", SETS, {"ref": np.full((3, 2), np.nan)}),
]


@pytest.mark.parametrize(
    ("name", "message", "points", "given"),
    [(name, *row) for row in WRONG for name in (VOLUMES if "ref" in row[2] else CHECKED)],
)
def test_wrong_arguments_are_named(name, message, points, given):
    with pytest.raises((TypeError, ValueError), match=message):
        CALLS[name].run(points, **{"ref": 0, **given})


@pytest.mark.parametrize("name", CHECKED)
def test_wrong_tensors_are_named(name):
    torch = pytest.importorskip("torch")
    for wrong, message in (
        (torch.ones(2, 2).to_sparse(), r"dense tensor, got layout torch\.sparse_coo"),
        (torch.ones(2, 2, device="meta"), "CPU or CUDA, got device meta"),
        (torch.ones(2, 2, dtype=torch.complex64), r"must be real numbers.*complex64"),
        (torch.full((2, 2), -(2**53) - 1), "which float64 cannot hold exactly"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            CALLS[name].run(wrong, 0)


@pytest.mark.parametrize("name", CHECKED)
def test_masked_arrays_get_a_hint(name):
    points = np.ma.masked_array(np.arange(18.0).reshape(6, 3), mask=False)
    points.mask[1, 0] = points.mask[4, 2] = True
    for masked in (points, np.ma.masked_array(points.data)):  # the second has no mask
        with pytest.raises(TypeError, match="s is a masked array") as caught:
            CALLS[name].run(masked, -3)
        advice = str(caught.value).partition("mask=")[2]
        mask = eval(advice, dict.fromkeys(POINTS, masked) | {"np": np})
        assert mask.tolist() == [not row.any() for row in np.ma.getmaskarray(masked)]
