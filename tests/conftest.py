"""Backends: every property of the core holds on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import paretopo_core as pp

settings.register_profile(
    "paretopo", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("paretopo")


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


@pytest.fixture(scope="session", params=["numpy", "torch_cpu"])
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every backend that implements every operation."""
    return _numpy_backend() if request.param == "numpy" else _torch_backend("cpu")


@pytest.fixture(scope="session", params=["numpy", "torch_cpu", "torch_cuda"])
def rank_backend(request: pytest.FixtureRequest) -> Backend:
    """The backends of `pareto_rank` and `pareto_advantage`: also the GPU."""
    if request.param == "numpy":
        return _numpy_backend()
    return _torch_backend(request.param.removeprefix("torch_"))


def available_isas() -> list[str]:
    """The instruction sets of this machine."""
    return ["portable", "avx2", "avx512"][: pp._core.best_isa() + 1]


@pytest.fixture(scope="session", params=["portable", "avx2", "avx512"])
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
