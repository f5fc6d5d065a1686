"""The path of a CUDA tensor to the kernels, on an emulated device.

A call may be recorded into a graph if it allocates only with torch's own allocator, queues on the
current stream, and never waits for the device; test_cuda.py records some if there is a device.
"""

import ctypes

import numpy as np
import pytest
from support import device_arrays
from support.operations import ON_GPU, calls

import paretopo_core as pp
from paretopo_core import _core
from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.arrays import Batch

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode, resolve_name

from paretopo_core._machinery import torch_calls

STREAM = 0x5EED
MASK = [[True, False, True], [True, True, False]]
OPERATIONS = calls(set(ON_GPU) - {"pareto_advantage"}) | {
    "pareto_advantage": lambda x: pp.pareto_advantage(
        x, weights=[0.3, 0.3, 0.4], return_ranks=True
    ),
}
# Neither looks at the numbers of a tensor nor moves them.
HARMLESS = {
    "torch.empty",
    "torch.Tensor.contiguous",
    "torch.Tensor.data_ptr",
    "torch.Tensor.detach",
    "torch.Tensor.dim",
    "torch.Tensor.is_neg",
    "torch.Tensor.numel",
    "torch.Tensor.resolve_neg",
    "torch.Tensor.reshape",
    "torch.Tensor.storage_offset",
    "torch.Tensor.stride",
    "torch.Tensor.untyped_storage",
    "torch.Tensor.view",
}


class Recorder(TorchFunctionMode):
    """Every function of torch that is called, but for attributes."""

    def __init__(self):
        super().__init__()
        self.called = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = resolve_name(function) or repr(function)
        if not name.endswith((".__get__", ".__len__")):
            self.called.append(name)
        return function(*args, **(kwargs or {}))


@pytest.fixture(params=[True, False], ids=["short way", "checked way"])
def is_short(request):
    return request.param


@pytest.fixture
def hosts():
    """The addresses of tensors that stay on the host."""
    return set()


@pytest.fixture(params=device_arrays.ON_EACH)
def places(request, is_short, hosts, monkeypatch):
    """CPU tensors that count as tensors on the emulated device; the places that the core got."""
    export = torch_calls._to_dlpack

    def export_from_device(tensor):
        if not is_short:
            raise BufferError("on a device")
        capsule = export(tensor)
        if tensor.data_ptr() in hosts:
            return capsule
        ctypes.c_int32.from_address(_data_of(capsule, b"dltensor") + _DEVICE_TYPE).value = _CUDA
        return capsule

    seen = []
    place = (_core.EMULATED - device_arrays.MAPPINGS.index(request.param), STREAM)
    on_host = torch_arrays.allocator_on(torch.device("cpu"))
    monkeypatch.setattr(torch_calls, "_to_dlpack", export_from_device)
    monkeypatch.setattr(torch_calls, "_allocator_on", lambda index: on_host)
    for name in ("place_of", "place_on"):
        monkeypatch.setattr(torch_arrays, name, lambda _: seen.append(place) or place)
    return seen


_data_of = ctypes.pythonapi.PyCapsule_GetPointer
_data_of.restype, _data_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_DEVICE_TYPE = ctypes.sizeof(ctypes.c_void_p)  # its place in a DLTensor, after the address
_CUDA = 2


@pytest.fixture
def checks(monkeypatch):
    """The points that Python has checked."""
    seen, check = [], Batch.of
    monkeypatch.setattr(Batch, "of", lambda x, **named: seen.append(x) or check(x, **named))
    return seen


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("points", [6, 80])
def test_a_call_only_allocates_and_launches(places, name, points):
    if name in ("hypervolume_gradient", "hypervolume_contributions"):
        points = min(points, 20)  # slow, lane after lane
    x = torch.from_numpy(np.random.default_rng(3).random((4, points, 3)))
    with Recorder() as recorder:
        found = OPERATIONS[name](x)
    assert set(recorder.called) <= HARMLESS
    assert "torch.empty" in recorder.called
    assert places, "the tensor took the way of the CPU"
    expected = OPERATIONS[name](x.numpy())
    found, expected = (a if isinstance(a, tuple) else (a,) for a in (found, expected))
    for ours, theirs in zip(found, expected, strict=True):
        assert isinstance(ours, torch.Tensor)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("is_short", [True], indirect=True)
@pytest.mark.parametrize(
    "call",
    [
        pp.pareto_rank,
        pp.is_nondominated,
        lambda x, **mask: pp.pareto_advantage(x, weights=[0.5, 0.5], **mask),
        lambda x, **mask: pp.hypervolume(x, 0.0, **mask),
        lambda x, **mask: pp.hypervolume_advantage(x, 0.0, k=2, **mask),
    ],
)
def test_python_checks_no_plain_tensor(places, checks, call):
    x, mask = torch.rand(5, 6, 2), torch.rand(5, 6) < 0.7
    for keywords in ({}, {"mask": mask}):
        found = call(x, **keywords)
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found, call(x.numpy(), **keywords), rtol=1e-6)
    assert places
    assert [type(points) for points in checks] == [np.ndarray]  # with a tensor as its mask


@pytest.mark.parametrize("is_short", [True], indirect=True)
@pytest.mark.parametrize(
    "mask",
    [
        np.array(MASK),
        MASK,
        torch.tensor(MASK),
    ],
)
def test_masks_in_other_memory_than_the_points_are_checked(places, hosts, checks, mask):
    if isinstance(mask, torch.Tensor):
        hosts.add(mask.data_ptr())
    assert pp.pareto_rank(torch.rand(2, 3, 2), mask=mask).ge(0).tolist() == MASK
    assert len(checks) == 1


def test_a_mask_of_whole_numbers_is_refused(places):
    with pytest.raises(TypeError, match="mask must be of dtype bool"):
        pp.pareto_rank(torch.rand(2, 3, 2), mask=torch.ones(2, 3, dtype=torch.int8))


def test_operations_of_the_cpu_refuse_a_device(places):
    with pytest.raises(ValueError, match="points are on a GPU"):
        pp.hypervolume_approx(torch.rand(2, 3, 2), 0.0)


def test_an_error_of_the_device_is_raised_once(places, is_short, monkeypatch):
    tried = []

    def allocate(shape, dtype):
        tried.append(shape)
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch_calls, "_allocator_on", lambda index: allocate)
    monkeypatch.setattr(torch_arrays, "allocator_on", lambda device: allocate)
    with pytest.raises(torch.OutOfMemoryError):
        pp.pareto_rank(torch.rand(2, 3, 2))
    assert len(tried) == 1


@pytest.mark.parametrize("is_short", [False], indirect=True)
def test_the_core_gets_the_current_stream(places, monkeypatch):
    views = []
    view_of = _core.Points
    monkeypatch.setattr(_core, "Points", lambda **view: views.append(view) or view_of(**view))
    pp.pareto_rank(torch.rand(4, 6, 3, dtype=torch.float64))
    assert [(view["device"], view["stream"]) for view in views] == places


def test_the_current_stream_is_asked_of_torch(monkeypatch):
    class Tensor:
        device = torch.device("cuda", 3)

    streams = {3: STREAM}
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", streams.get, raising=False)
    assert torch_arrays.place_of(Tensor) == torch_calls._place_on(3)[:2] == (3, STREAM)


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
@pytest.mark.parametrize("objectives", [2, 3])
def test_second_derivatives_match_differences_and_are_nan_for_a_refused_set(places, objectives):
    rng = np.random.default_rng(0)
    x, along = rng.random((2, 3, 5, objectives))
    step = 1e-4 * along  # the gradient is a polynomial of degree 2, so that only rounding remains
    above, below = (pp.hypervolume_gradient(x + way * step, 0.0) for way in (1, -1))
    expected = (above - below) / 2e-4
    assert not places
    x[1, 2, 0], expected[1] = np.nan, np.nan
    slope = torch.func.grad(lambda y: pp.hypervolume(y, 0.0).sum())
    found = torch.func.jvp(slope, (torch.from_numpy(x),), (torch.from_numpy(along),))[1]
    assert places
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-10)
