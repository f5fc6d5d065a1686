"""Every operation's treatment of its input: dtypes, layout, no mutation, threads."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.operations import CALLS, calls, shape_of_answer
from support.strategies import large_set

import paretopo_core as pp
from paretopo_core._machinery.shapes import broadcast_shapes

SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


NAMES = (
    *("pareto_rank", "is_nondominated", "hypervolume", "hypervolume_contributions"),
    *("hypervolume_gradient", "dominated_boxes", "hypervolume_improvement", "r2_indicator"),
    *("inverted_generational_distance_plus", "hypervolume_approx", "hypervolume_subset", "select"),
    *("uncrowded_contributions", "crowding_distance", "pareto_advantage"),
    "expected_hypervolume_improvement",
)
FOR_EACH_SET = {name for name in NAMES if CALLS[name].shape in ("set", "chosen")}


OPERATIONS = calls(NAMES, ref=-3.0) | {  # one point, of empty sets, too
    "hypervolume_subset": lambda x, **more: pp.hypervolume_subset(x, -3.0, k=1, **more)[..., 0],
    "select": lambda x, **more: pp.select(x, k=1, **more)[..., 0],
}


@pytest.fixture(params=OPERATIONS.values(), ids=OPERATIONS.keys())
def operation(request):
    return request.param


def grid(shape=(3, 7, 3), seed=0):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float64)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(
    "dtype",
    [
        *("float16", "float32", ">f8", ">f4", ">i2", "int8", "int16", "int32", "int64"),
        *("bfloat16", "bool", "uint8", "uint16", "uint32", "uint64"),
    ],
)
def test_real_dtypes_are_widened_exactly(operation, dtype, library):
    """optuna#2421."""
    points = grid() if dtype.startswith(("f", ">", "i")) else np.abs(grid()) % 2
    if library == "torch":
        torch = pytest.importorskip("torch")
        if not hasattr(torch, dtype):
            pytest.skip("a dtype of NumPy's")
        result = operation(torch.from_numpy(points).to(getattr(torch, dtype)))
        assert isinstance(result, torch.Tensor)
    elif dtype == "bfloat16":
        pytest.skip("a dtype of torch's")
    else:
        result = operation(points.astype(dtype))
    np.testing.assert_allclose(np.asarray(result), operation(points), rtol=1e-6, atol=1e-6)


def test_layout_does_not_matter(operation):
    points = grid((3, 8, 4))
    expected = operation(points)
    fortran = np.asfortranarray(points)
    strided = np.repeat(np.repeat(points, 2, axis=1), 2, axis=2)[:, ::2, ::2]
    backwards = points[:, ::-1][:, ::-1]
    buffer = bytearray(points.nbytes + 1)
    crooked = np.frombuffer(buffer, np.uint8)[1:].view(np.float64).reshape(points.shape)
    crooked[...] = points
    assert not crooked.flags.aligned
    for view in (fortran, strided, backwards, crooked):
        np.testing.assert_array_equal(operation(view), expected)
    torch = pytest.importorskip("torch")
    turned = torch.from_numpy(points.transpose(2, 0, 1).copy()).permute(1, 2, 0)
    assert not turned.is_contiguous()
    np.testing.assert_array_equal(operation(turned).numpy(), expected)


def test_input_is_not_modified(operation):
    for shape in ((3, 7, 3), (200, 4)):
        points = grid(shape)
        mask = np.random.default_rng(1).random(shape[:-1]) < 0.7
        before, mask_before = points.copy(), mask.copy()
        operation(points, mask=mask)
        np.testing.assert_array_equal(points, before)
        np.testing.assert_array_equal(mask, mask_before)


def test_empty_sets_in_any_memory(operation):
    for _ in range(50):  # whatever the memory held before
        assert np.size(operation(np.empty((40, 0, 2), np.float32))) in (0, 40)


# Without the operations that give one value for each set, empty ones included.
@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - FOR_EACH_SET))
def test_endless_empty_shapes_take_neither_time_nor_memory(name):
    for shape in ((2**40, 0, 3), (0, 2**31 - 1, 2)):
        assert OPERATIONS[name](np.empty(shape)).shape == shape_of_answer(name, shape)
    assert pp.hypervolume(np.empty((0, 2**31 - 1, 2)), 0.0).shape == (0,)


def test_broadcast_masks(operation):
    points = grid((3, 7, 2))
    mask = np.arange(7) < 5
    expected = operation(points, mask=np.tile(mask, (3, 1)))
    np.testing.assert_array_equal(operation(points, mask=mask), expected)
    np.testing.assert_array_equal(operation(points, mask=mask.tolist()), expected)


def test_one_array_shared_by_many_threads(operation):
    points = grid((50, 100, 4))
    expected = operation(points)
    results = []
    workers = [threading.Thread(target=lambda: results.append(operation(points))) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 8
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_an_array_that_is_written_meanwhile(operation):
    """Results are arbitrary then; the process lives."""
    points = grid((50, 100, 4))
    stop = threading.Event()

    def scribble():
        rng = np.random.default_rng()
        while not stop.is_set():
            points[...] = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], points.shape)

    writer = threading.Thread(target=scribble)
    writer.start()
    try:
        for _ in range(20):
            try:
                operation(points)
            except ValueError as error:
                assert "s must be " in str(error)  # noqa: PT017 (either is fine)
    finally:
        stop.set()
        writer.join()


def test_the_gil_is_released():
    points = large_set("sphere", 1500, 6)
    ticks = 0
    most = 0  # ticks of the other thread within one call
    done = threading.Event()

    def compute():
        nonlocal most
        for _ in range(100):  # on a busy machine no other thread may run during some of them
            before = ticks
            pp.hypervolume(points, -0.1)
            most = max(most, ticks - before)
            if most >= 3:
                break
        done.set()

    worker = threading.Thread(target=compute)
    worker.start()
    while not done.wait(0.001):
        ticks += 1
    worker.join()
    assert most >= 3


@pytest.mark.parametrize("special", [-np.inf, np.inf, np.nan])
@pytest.mark.parametrize("objectives", [2, 3, 4, 5, 6])
def test_volumes_of_inputs_that_crash_others(special, objectives):
    rng = np.random.default_rng(objectives)
    for points in (3, 40, 340):
        values = rng.integers(0, 4, (points, objectives)).astype(np.float64)
        values[rng.random(values.shape) < 0.1] = special
        values[0] = special
        if special == -np.inf:
            assert np.isfinite(pp.hypervolume(values, -1.0))
            assert np.isfinite(pp.hypervolume_contributions(values, -1.0)).all()
        else:
            with pytest.raises(ValueError, match=r"points\[0, 0\] is"):
                pp.hypervolume(values, -1.0)


def test_senses_may_be_an_array_or_a_tensor():
    torch = pytest.importorskip("torch")
    points, senses = grid((6, 3)), [True, False, True]
    expected = pp.pareto_rank(points, maximise=senses)
    for each in (np.array(senses), torch.tensor(senses), tuple(senses)):
        np.testing.assert_array_equal(pp.pareto_rank(points, maximise=each), expected)
    for wrong in (torch.tensor([1, 0, 1]), np.array(True)):
        with pytest.raises(TypeError, match="maximise must be a bool or"):
            pp.pareto_rank(points, maximise=wrong)
    with pytest.raises(ValueError, match="maximise must be a bool or"):
        pp.pareto_rank(points, maximise=[True])


def test_too_many_points_are_refused_before_allocation():
    endless = np.broadcast_to(np.float32(1.0), (2**31, 0 + 1))
    with pytest.raises(ValueError, match="at most 2147483647 points"):
        pp.pareto_rank(np.lib.stride_tricks.as_strided(endless[:0], (0, 2**31, 1)))


def test_flushed_subnormals_do_not_change_ranks():
    """A host program may set flush-to-zero for its thread; ranks do not change."""
    torch = pytest.importorskip("torch")
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU cannot flush subnormal numbers")
    torch.set_flush_denormal(False)
    sets = [np.arange(count).reshape(-1, 1) * 5e-324 for count in (4, 100)]
    torch.set_flush_denormal(True)
    try:
        for points in sets:
            ranks = pp.pareto_rank(points)
            np.testing.assert_array_equal(ranks, np.arange(len(points))[::-1])
    finally:
        torch.set_flush_denormal(False)


@given(one=SHAPES, other=SHAPES)
def test_shapes_broadcast_as_those_of_numpy(one, other):
    try:
        expected = np.broadcast_shapes(one, other)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            broadcast_shapes(one, other)
    else:
        assert broadcast_shapes(one, other) == expected
