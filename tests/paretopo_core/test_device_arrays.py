"""Arrays with ``__cuda_array_interface__``: accepted inputs, outputs and errors."""

import sys

import numpy as np
import pytest
from support import device_arrays
from support.device_arrays import DeviceArray

import paretopo_core as pp
from paretopo_core import _core
from paretopo_core._machinery.arrays import Batch

pytestmark = pytest.mark.emulated


@pytest.fixture(autouse=True)
def _device():
    with device_arrays.emulate("warp"):
        yield


def grid(shape=(3, 7, 3), seed=0):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float64)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int32", "uint64", "bool"])
def test_dtypes_are_widened(dtype):
    points = np.abs(grid()) % 2
    ranks = pp.pareto_rank(DeviceArray(points.astype(dtype)))
    assert isinstance(ranks, DeviceArray)
    np.testing.assert_array_equal(ranks.host, pp.pareto_rank(points))


def test_layout_and_read_only_memory_do_not_matter():
    points = grid()
    expected = pp.pareto_rank(points)
    strided = np.repeat(points, 2, axis=1)[:, ::2]
    frozen = points.copy()
    frozen.flags.writeable = False
    for array in (np.asfortranarray(points), strided, frozen):
        np.testing.assert_array_equal(pp.pareto_rank(DeviceArray(array)).host, expected)
    assert DeviceArray(frozen).__cuda_array_interface__["data"][1]


def test_masks_may_live_on_either_side():
    points, mask = grid(), np.arange(7) < 5
    expected = pp.pareto_rank(points, mask=mask)
    for given in (mask, mask.tolist(), DeviceArray(mask), DeviceArray(np.tile(mask, (3, 1)))):
        ranks = pp.pareto_rank(DeviceArray(points), mask=given)
        np.testing.assert_array_equal(ranks.host, expected)
    with pytest.raises(TypeError, match="mask must be of dtype bool, got int64"):
        pp.pareto_rank(DeviceArray(points), mask=np.ones(7, np.int64))
    with pytest.raises(ValueError, match=r"mask must have shape \(3, 7\).*got \(7, 3\)"):
        pp.pareto_rank(DeviceArray(points), mask=np.ones((7, 3), bool))


def test_work_is_queued_on_the_stream_of_the_array():
    for given, expected in ((7, 7), (2, 2), (1, 1), (None, 1)):
        assert Batch.of(DeviceArray(grid(), stream=given)).stream == expected


def test_wrong_arguments_are_named_as_for_numpy():
    with pytest.raises(ValueError, match=r"\(\.\.\., points, objectives\), got \(4,\)"):
        pp.pareto_rank(DeviceArray(np.ones(4)))
    with pytest.raises(ValueError, match=r"has no objectives: shape \(4, 0\)"):
        pp.hypervolume(DeviceArray(np.ones((4, 0))), 0)
    with pytest.raises(TypeError, match=r"must be real numbers.*complex128"):
        pp.crowding_distance(DeviceArray(np.ones((4, 2), complex)))
    with pytest.raises(TypeError, match="byte order"):
        pp.pareto_rank(DeviceArray(np.ones((4, 2), ">f8")))
    with pytest.raises(ValueError, match=r"ref must be a number or have shape \(2,\)"):
        pp.hypervolume(DeviceArray(np.ones((4, 2))), [0, 0, 0])


def test_masked_arrays_are_refused():
    class Masked(DeviceArray):
        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, "mask": self}

    Masked.__module__ = DeviceArray.__module__
    with pytest.raises(TypeError, match="masked array"):
        pp.pareto_rank(Masked(grid()))


def test_unknown_array_packages_are_refused(monkeypatch):
    class Foreign(DeviceArray):
        pass

    Foreign.__module__ = "elsewhere.arrays"
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
        monkeypatch.delitem(sys.modules, "torch")
    with pytest.raises(TypeError, match=r"points is a Foreign on a GPU.*cupy\.asarray"):
        pp.pareto_rank(Foreign(grid()))


@pytest.mark.cuda
def test_memory_that_is_not_on_a_device_is_refused(monkeypatch):
    monkeypatch.undo()
    with pytest.raises(ValueError, match="its memory does not"):
        _core.cuda_device_of(_core.address(np.ones(3)))


@pytest.mark.cuda
def test_cupy_arrays_go_in_and_come_out():
    cupy = pytest.importorskip("cupy")
    points = grid()
    ranks = pp.pareto_rank(cupy.asarray(points))
    assert isinstance(ranks, cupy.ndarray)
    np.testing.assert_array_equal(ranks.get(), pp.pareto_rank(points))
