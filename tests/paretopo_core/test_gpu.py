"""GPU kernels on sets of every size and shape: emulated, and on a GPU if there is one."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from support import device_arrays
from support.device_arrays import DeviceArray
from support.operations import CALLS, ON_GPU, shape_of_answer
from support.strategies import LARGE_KINDS, large_set

import paretopo_core as pp
from paretopo_core import _core, definitions

WARP_POINTS = 64
VOLUMES = (
    *(pp.hypervolume, pp.hypervolume_contributions),
    *(partial(pp.hypervolume_contributions, ignore_dominated=False), pp.hypervolume_gradient),
)
EMULATED = {
    mapping: pytest.param(f"emulated_{mapping}", marks=pytest.mark.emulated)
    for mapping in device_arrays.MAPPINGS
}
CUDA = pytest.param("torch_cuda", marks=pytest.mark.cuda)
on_devices = pytest.mark.parametrize("backend", [*EMULATED.values(), CUDA], indirect=True)
# Other mappings compute sets beyond the points of a block as "block" does.
of_large_sets = pytest.mark.parametrize(
    "backend", [EMULATED["block"], EMULATED["grid"], CUDA], indirect=True
)


def agree(backend, operation, points, mask=None, *, rtol=0.0, atol=0.0):
    """The answers of a backend are the CPU's."""
    sent = None if mask is None else backend.send(mask)
    found, expected = operation(backend.send(points), mask=sent), operation(points, mask=mask)
    if not isinstance(expected, tuple):
        found, expected = [found], [expected]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(backend.fetch(ours), theirs, rtol=rtol, atol=atol)


@on_devices
@pytest.mark.parametrize("centre", ["mean", "none", "std", "loo"])
@pytest.mark.parametrize("points", [1, 4, 7, 8, 15, 16, 17, 33, 64, 65, 130])
def test_groups_of_every_size_get_the_same_advantages(backend, points, centre):
    rng = np.random.default_rng(points)
    for objectives in (2, 3, 4, 5):
        rewards = rng.integers(0, 6, (5, points, objectives)).astype(np.float32)
        rewards[1] = rng.random((points, objectives))
        rewards[2] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0], rewards[2].shape)
        weights = np.linspace(0.1, 1, objectives)
        advantages = partial(pp.pareto_advantage, weights=weights, centre=centre)
        for dtype in (np.float32, np.float64):
            for mask in (rng.random((5, points)) < 0.8, None):
                for operation in (advantages, partial(advantages, return_ranks=True)):
                    agree(backend, operation, rewards.astype(dtype), mask)


def large_sets(kind, objectives):
    points = np.stack([large_set(kind, 2500, objectives, seed) for seed in (0, 1)])
    return points, np.random.default_rng(1).random(points.shape[:2]) < 0.8


@of_large_sets
@pytest.mark.parametrize("kind", LARGE_KINDS)
@pytest.mark.parametrize("objectives", [2, 3, 5, 10])
def test_large_sets_have_the_same_fronts(backend, kind, objectives):
    points, mask = large_sets(kind, objectives)
    maximise = [m % 2 == 0 for m in range(objectives)]
    for dtype, operation in (
        ("float32", partial(pp.is_nondominated, duplicates="first")),
        ("float64", pp.is_nondominated),
        ("float32", pp.pareto_rank),
        ("float64", pp.pareto_rank),
        ("float32", pp.crowding_distance),
    ):
        agree(backend, partial(operation, maximise=maximise), points.astype(dtype), mask)


@of_large_sets
@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("kind", ["sphere", "uniform", "grid", "chain", "antichain", "equal"])
def test_large_sets_have_the_same_volumes(backend, kind, objectives):
    points, mask = large_sets(kind, objectives)
    ref = np.median(points, axis=(0, 1)) - 0.5
    for operation in VOLUMES[: 3 if objectives == 2 else 1]:
        agree(backend, partial(operation, ref=ref), points, mask, rtol=1e-11, atol=1e-13)


@on_devices
@pytest.mark.parametrize("objectives", range(1, 9))
@pytest.mark.parametrize("kind", ["sphere", "uniform", "grid", "equal"])
def test_volumes_of_any_number_of_objectives(backend, kind, objectives):
    counts = {1: (1, 40, 90), 2: (2, 40, 200), 3: (5, 64, 200), 4: (30, 70), 5: (20,)}
    for points in counts.get(objectives, (9,)):
        values = large_set(kind, points, objectives) + 0.25
        maximise = [m % 2 == 0 for m in range(objectives)]
        ref = np.where(maximise, 0.1, 1.4) * np.where(values.max() > 2, 3, 1)
        unbounded = 3 if objectives == 2 else 1
        for operation in VOLUMES if points <= WARP_POINTS else VOLUMES[:unbounded]:
            rtol, atol = (1e-12, 0.0) if operation is pp.hypervolume else (1e-11, 1e-13)
            run = partial(operation, ref=ref, maximise=maximise)
            agree(backend, run, values, rtol=rtol, atol=atol)


def test_small_contributions_keep_their_digits(backend):
    tiny = np.array([[1.0, 1.0, 1.0, 1.0], [1.0 + 1e-12, 0.5, 0.5, 0.5]])
    parts = backend.fetch(pp.hypervolume_contributions(backend.send(tiny), 0))
    assert parts[1] == pytest.approx((1.0 + 1e-12 - 1.0) / 8, rel=1e-14)
    rounded = np.array([[1e-41, -2.0], [0.0, -1.0]])
    parts = pp.hypervolume_contributions(backend.send(rounded), [1.0, 0.0], maximise=False)
    assert backend.fetch(parts).tolist() == [1.0, 0.0]


def on_device(points, **keywords):
    return DeviceArray(np.array(points), **keywords)


@pytest.fixture(params=device_arrays.ON_EACH)
def mapping(request):
    with device_arrays.emulate(request.param):
        yield request.param


@pytest.mark.parametrize("points", [5, 100])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_a_set_without_a_volume_has_the_volume_nan(mapping, points, objectives, special):
    values = np.random.default_rng(1).random((3, points, objectives))
    values[1, points // 2, -1] = special
    for name in (
        *(
            "hypervolume",
            "hypervolume_contributions",
            "hypervolume_gradient",
            "expected_hypervolume",
        ),
        "hypervolume_advantage",
    ):
        answer = np.isnan(CALLS[name].run(on_device(values), 0).host).reshape(3, -1)
        assert answer.all(axis=1).tolist() == answer.any(axis=1).tolist() == [False, True, False]
    mask = np.ones((3, points), dtype=bool)
    mask[1, points // 2] = False
    assert np.isfinite(pp.hypervolume(on_device(values), 0, mask=on_device(mask)).host).all()
    worse = np.where(np.isfinite(values), values, -np.inf)
    assert np.isfinite(pp.hypervolume(on_device(worse), 0).host).all()


def test_sets_larger_than_a_warp_are_refused(mapping):
    for name, shape, message in (
        ("hypervolume", (400, 8), r"with 8 objectives.* got 400: move the points to the CPU"),
        ("hypervolume_gradient", (3, 17), "up to 16 objectives.* got 3"),
        ("hypervolume_gradient", (5000, 2), r"of hypervolume on a GPU takes sets of up to \d+"),
        ("pareto_advantage", (3, 65), "pareto_advantage on a GPU takes up to 64 objectives"),
        *(
            (name, (points, 2), rf"{name} on a GPU takes sets of up to \d+")
            for name, points in (
                ("expected_hypervolume", 800),
                ("hypervolume_advantage", 200),
            )
        ),
    ):
        with pytest.raises(ValueError, match=message):
            CALLS[name].run(on_device(np.ones(shape)), 0)


def test_the_sizes_that_are_promised_fit(mapping):
    points = np.random.default_rng(2).random((64, 8))
    np.testing.assert_allclose(
        pp.hypervolume(on_device(points), 0).host, pp.hypervolume(points, 0), rtol=1e-12
    )
    points = np.random.default_rng(2).random((185, 8)) * (np.arange(185) < 9)[:, None]
    np.testing.assert_allclose(
        pp.hypervolume(on_device(points), 0).host, pp.hypervolume(points, 0), rtol=1e-12
    )


def test_empty_sets(mapping):
    for shape in ((0, 5, 2), (3, 0, 4), (0, 2), (2, 0, 5)):
        for name in set(ON_GPU) - {"expected_hypervolume", "hypervolume_advantage"}:  # draw two
            answer = CALLS[name].run(on_device(np.empty(shape)), 0)
            assert answer.shape == shape_of_answer(name, shape)
            assert (answer.host == 0).all()


def test_more_than_64_objectives_keep_their_senses(mapping):
    values = np.random.default_rng(1).integers(0, 2, (20, 70)).astype(np.float32)
    values[:10] = values[0]
    maximise = [m % 3 == 0 for m in range(70)]
    np.testing.assert_array_equal(
        pp.pareto_rank(on_device(values), maximise=maximise).host,
        definitions.pareto_rank(values, maximise=maximise),
    )


@pytest.mark.skipif(not _core.cuda_is_compiled(), reason="a build without CUDA")
def test_without_a_driver_an_error_names_the_one_that_is_needed():
    assert "NVIDIA driver" in _core.cuda_driver_needed()
    if _core.cuda_device_count() > 0:
        pytest.skip("there is a driver")
    points = np.ones((2, 3, 2), np.float32)
    view = device_arrays.view_at(_core.address(points))
    with pytest.raises(RuntimeError, match=r"needs NVIDIA driver \d+ or later.*no driver"):
        _core.pareto_rank.call(view, True, None)


@pytest.mark.skipif(_core.cuda_is_compiled(), reason="a build with CUDA")
def test_a_build_without_cuda_says_so():
    points = np.ones((2, 3, 2), np.float32)
    view = device_arrays.view_at(_core.address(points))
    with pytest.raises(RuntimeError, match="built without CUDA: move the tensor to the CPU"):
        _core.pareto_rank.call(view, True, None)
    with pytest.raises(RuntimeError, match="built without CUDA"):
        device_arrays.real_device_of(0)


def test_import_does_not_touch_the_device():
    code = "import paretopo_core as pp; print(pp._core.cuda_device_count())"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 0
