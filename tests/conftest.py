"""Backends: every property of the core holds on each of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import device_arrays
import numpy as np
import pytest
from browsers import CHROMIUM
from hypothesis import HealthCheck, settings

import paretopo_core as pp

settings.register_profile(
    "paretopo", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.register_profile("few", settings.get_profile("paretopo"), max_examples=5)
settings.load_profile("paretopo")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without bubblewrap, what needs a jail is skipped, and counted; .ci/run installs it.

    So is what needs a browser, without Chromium.
    """
    if shutil.which("bwrap") is None:
        skip = pytest.mark.skip(reason="needs bubblewrap: apt-get install bubblewrap")
        for item in items:
            if item.get_closest_marker("jail") is not None:
                item.add_marker(skip)
    if CHROMIUM is None:
        skip = pytest.mark.skip(reason="needs Chromium: apt-get install chromium")
        for item in items:
            if item.get_closest_marker("browser") is not None:
                item.add_marker(skip)


@dataclass(frozen=True)
class Backend:
    """How to hand an array to a library and take the answer back."""

    name: str
    send: Callable[[np.ndarray], Any]
    fetch: Callable[[Any], np.ndarray]


def _torch_backend(device: str) -> Backend:
    torch = pytest.importorskip("torch")
    if device == "cuda" and not (torch.cuda.is_available() and pp._core.cuda_is_compiled()):
        pytest.skip("no CUDA device, or a build without CUDA")

    def send(array: np.ndarray) -> Any:
        return torch.from_numpy(np.array(array)).to(device)

    def fetch(tensor: Any) -> np.ndarray:
        assert isinstance(tensor, torch.Tensor), f"a tensor went in, {type(tensor)} came out"
        assert tensor.device.type == device
        return tensor.cpu().numpy()

    return Backend(f"torch_{device}", send, fetch)


def _numpy_backend() -> Backend:
    def fetch(array: Any) -> np.ndarray:
        assert isinstance(array, (np.ndarray, np.generic))
        return np.asarray(array)

    return Backend("numpy", lambda array: array, fetch)


def _device_array_backend(name: str) -> Backend:
    def fetch(array: Any) -> np.ndarray:
        assert isinstance(array, device_arrays.DeviceArray)
        return array.host

    return Backend(name, lambda array: device_arrays.DeviceArray(np.array(array)), fetch)


_EMULATED = [f"emulated_{mapping}" for mapping in device_arrays.MAPPINGS]


@pytest.fixture(scope="session", params=["numpy", "torch_cpu", *_EMULATED, "torch_cuda"])
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    """Every backend; all of them implement every operation.

    The emulated ones run the kernels of the GPU on the CPU, lane after lane, each with another
    choice of who does small sets.
    """
    library, _, kind = request.param.partition("_")
    if library == "numpy":
        yield _numpy_backend()
    elif library == "torch":
        yield _torch_backend(kind)
    else:
        with device_arrays.emulate(kind):
            yield _device_array_backend(request.param)


def available_isas() -> list[str]:
    """The instruction sets of this machine."""
    return list(pp._core.ISAS[: pp._core.best_isa() + 1])


@pytest.fixture(scope="session", params=pp._core.ISAS)
def each_isa(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run a test on every instruction set; those the machine lacks are skipped, and counted."""
    before = pp.get_isa()
    if request.param not in available_isas():
        pytest.skip(f"this machine has no {request.param}")
    pp.set_isa(request.param)
    yield request.param
    pp.set_isa(before)


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Set the number of threads for one test."""
    before = pp.get_num_threads()
    yield pp.set_num_threads
    pp.set_num_threads(before)
