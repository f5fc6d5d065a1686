"""The path of a CUDA tensor to the kernels, on an emulated device.

A call may be recorded into a graph if it allocates only with torch's own allocator, queues on the
current stream, and never waits for the device; test_cuda.py records some if there is a device.
"""

import numpy as np
import pytest
from support import device_arrays
from support.operations import ON_GPU, calls

import paretopo_core as pp
from paretopo_core import _core
from paretopo_core._machinery import torch_arrays

torch = pytest.importorskip("torch")

from torch.overrides import TorchFunctionMode, resolve_name

from paretopo_core._machinery import torch_calls

STREAM = 0x5EED
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


@pytest.fixture(params=device_arrays.ON_EACH)
def places(request, monkeypatch):
    """CPU tensors that count as tensors on the emulated device: no short way for them."""

    def refuse(tensor):
        raise BufferError("on a device")

    seen = []
    place = (_core.EMULATED - device_arrays.MAPPINGS.index(request.param), STREAM)
    monkeypatch.setattr(torch_calls, "_to_dlpack", refuse)
    monkeypatch.setattr(torch_arrays, "place_of", lambda values: seen.append(place) or place)
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


def test_the_core_gets_the_current_stream(places, monkeypatch):
    views = []
    view_of = _core.Points
    monkeypatch.setattr(_core, "Points", lambda **view: views.append(view) or view_of(**view))
    pp.pareto_rank(torch.rand(4, 6, 3, dtype=torch.float64))
    assert [(view["device"], view["stream"]) for view in views] == places


def test_the_current_stream_is_asked_of_torch(monkeypatch):
    class Stream:
        cuda_stream = STREAM

    class Tensor:
        device = torch.device("cuda", 3)

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream)
    assert torch_arrays.place_of(Tensor) == (3, STREAM)


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
