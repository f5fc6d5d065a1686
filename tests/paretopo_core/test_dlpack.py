"""Arrays that other libraries hand over by DLPack, and results in their library."""

import numpy as np
import pytest
from support.device_arrays import DeviceArray
from support.operations import CALLS

import paretopo_core as pp

POINTS = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 1.0]])


class OnlyDLPack:
    """An array with nothing but DLPack."""

    def __init__(self, array, device=1):
        self.array = array
        self.device = device

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device, 0


class Standard(OnlyDLPack):
    """The same, from a library of the array API standard."""

    @property
    def shape(self):
        return self.array.shape

    def __array_namespace__(self, api_version=None):
        return Namespace


class Namespace:
    @staticmethod
    def asarray(values):
        return Standard(np.asarray(values))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int32])
def test_points_are_read_whatever_their_dtype(dtype):
    assert pp.hypervolume(OnlyDLPack(POINTS.astype(dtype)), ref=0) == 6.0


def test_other_arguments_are_read_too():
    ref, mask = OnlyDLPack(np.array([0.0, 0.0])), OnlyDLPack(np.array([True, True, True, False]))
    assert pp.hypervolume(OnlyDLPack(POINTS), ref=ref, mask=mask) == 6.0
    weights = OnlyDLPack(np.array([0.6, 0.4]))
    expected = pp.pareto_advantage(POINTS, weights=[0.6, 0.4])
    found = pp.pareto_advantage(OnlyDLPack(POINTS), weights=weights)
    np.testing.assert_array_equal(found, expected)


def test_results_of_a_library_without_namespace_are_of_numpy():
    assert isinstance(pp.pareto_rank(OnlyDLPack(POINTS)), np.ndarray)
    assert isinstance(pp.hypervolume(OnlyDLPack(POINTS), ref=0), np.float64)


@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_library_of_the_points(name):
    found = CALLS[name].run(Standard(POINTS), 0)
    assert type(found) is Standard
    np.testing.assert_array_equal(found.array, CALLS[name].run(POINTS, 0))


def test_results_in_several_parts_have_the_library_of_the_points():
    expected = pp.nondominated_boxes(POINTS, ref=0)
    found = pp.nondominated_boxes(Standard(POINTS), ref=0)
    assert type(found) is type(expected)
    for part, other in zip(found, expected, strict=True):
        assert type(part) is Standard
        np.testing.assert_array_equal(part.array, other)


def test_arrays_elsewhere_are_refused_by_name():
    with pytest.raises(TypeError, match="points is a OnlyDLPack outside host memory: copy it"):
        pp.pareto_rank(OnlyDLPack(POINTS, device=2))
    with pytest.raises(TypeError, match="ref is a OnlyDLPack outside host memory"):
        pp.hypervolume(POINTS, ref=OnlyDLPack(np.zeros(2), device=2))
    with pytest.raises(TypeError, match="ref is a DeviceArray outside host memory"):
        pp.hypervolume(POINTS, ref=DeviceArray(np.zeros(2)))
    with pytest.raises(TypeError, match="point is a DeviceArray outside host memory"):
        pp.ParetoArchive([0, 0]).add(DeviceArray(np.zeros(2)))


def test_dtypes_that_numpy_does_not_have_are_refused_by_name():
    class Strange(OnlyDLPack):
        def __dlpack__(self, **options):
            raise BufferError("bfloat16 is not supported")

    with pytest.raises(TypeError, match=r"points must be real numbers .*bfloat16 is not"):
        pp.pareto_rank(Strange(POINTS))


def test_jax_arrays_come_back_as_jax_arrays():
    jax = pytest.importorskip("jax")
    points = jax.numpy.asarray(POINTS)
    ranks = pp.pareto_rank(points)
    assert isinstance(ranks, jax.Array)
    assert ranks.tolist() == [0, 0, 0, 1]
    volume = pp.hypervolume(points, ref=jax.numpy.zeros(2))
    assert isinstance(volume, jax.Array)
    assert float(volume) == 6.0


def test_the_strict_array_api_comes_back():
    strict = pytest.importorskip("array_api_strict")
    ranks = pp.pareto_rank(strict.asarray(POINTS))
    assert type(ranks) is type(strict.asarray([1]))
    assert np.from_dlpack(ranks).tolist() == [0, 0, 0, 1]
