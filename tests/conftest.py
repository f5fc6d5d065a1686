"""Backends: every property of the core holds on each of them."""

from __future__ import annotations

import functools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from support import c_library, device_arrays, ptx_machine
from support.browsers import CHROMIUM

import paretopo_core as pp

# Examples are the same in every run, so that a failure can be reproduced on another machine. CI
# takes "many"; "random" draws new ones each time.
settings.register_profile(
    "paretopo",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=20,
    derandomize=True,
)
settings.register_profile("many", settings.get_profile("paretopo"), max_examples=60)
settings.register_profile(
    "random", settings.get_profile("paretopo"), max_examples=300, derandomize=False
)
settings.register_profile("few", settings.get_profile("paretopo"), max_examples=5)
settings.load_profile("paretopo")


# Workers of pytest-xdist share the cores: each computes on one, and so do programs that it starts.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

_MAX_WORKERS = 8  # each imports torch: about 1 GiB of memory

_LEFT_OUT = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers that `-n auto` starts."""
    return min(len(os.sched_getaffinity(0)), _MAX_WORKERS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a worker whole files, so that module fixtures are made once, in the order of collection.

    Trainings are collected before the many short tests of the core, which then even out the load.
    """
    from xdist.scheduler import LoadFileScheduling

    config.option.loadscopereorder = False
    return LoadFileScheduling(config, log)


@functools.cache
def _without_cuda() -> str | None:
    """Return the reason why tests cannot use a CUDA device, or None if they can."""
    if not pp._core.cuda_is_compiled():
        return "a build without CUDA"
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return None if torch.cuda.is_available() else "no CUDA device"


def _missing(item: pytest.Item) -> str | None:
    """Return the requirement of a test that this machine lacks, with a remedy if there is one."""
    if item.get_closest_marker("sandbox") and shutil.which("bwrap") is None:
        return "in the sandbox: apt-get install bubblewrap"
    if item.get_closest_marker("browser") and CHROMIUM is None:
        return "in a browser: apt-get install chromium"
    if item.get_closest_marker("ptx") and not ptx_machine.IS_HERE:
        return "on the PTX machine: scripts/run_ptx.sh"
    if item.get_closest_marker("emulated") and not device_arrays.HAS_EMULATION:
        return "on an emulated GPU: a build with PARETOPO_EMULATED=ON"
    if item.get_closest_marker("c_library") and c_library.LIBRARY is None:
        return "of the C library: a build with PARETOPO_C_API=ON"
    if item.get_closest_marker("cuda") and _without_cuda():
        return f"on a CUDA device: {_without_cuda()}"
    return None


def pytest_report_header() -> str:
    """Name the instruction sets that are tested."""
    return f"instruction sets: {', '.join(pp._core.ISAS)}"


# Last, so that it does not count tests that -m and -k have deselected.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests for which this machine lacks something, and count them by reason."""
    reasons = {item: reason for item in items if (reason := _missing(item)) is not None}
    left_out = config.stash[_LEFT_OUT] = Counter(reasons.values())
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = dict(left_out)
    if reasons:
        config.hook.pytest_deselected(items=list(reasons))
        items[:] = [item for item in items if item not in reasons]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the counts of a worker; all workers collect the same tests."""
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left_out", {}))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say how many tests were left out and why, a line for each reason."""
    for reason, count in sorted(config.stash.get(_LEFT_OUT, Counter()).items()):
        terminalreporter.line(f"LEFT OUT [{count}] {reason}", yellow=True)


@dataclass(frozen=True)
class Backend:
    """How to hand an array to a library and take the answer back."""

    name: str
    send: Callable[[np.ndarray], Any]
    fetch: Callable[[Any], np.ndarray]


def _torch_backend(device: str) -> Backend:
    torch = pytest.importorskip("torch")

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


@pytest.fixture(autouse=ptx_machine.IS_HERE)
def _nothing_found() -> Iterator[None]:
    """Fail a test in which the PTX machine found an error."""
    ptx_machine.forget()
    yield
    assert not ptx_machine.findings()


_EMULATED = [
    pytest.param(f"emulated_{mapping}", marks=pytest.mark.emulated)
    for mapping in device_arrays.MAPPINGS
]


_ON_CUDA = pytest.param("torch_cuda", marks=pytest.mark.cuda)


@pytest.fixture(scope="session", params=["numpy", "torch_cpu", *_EMULATED, _ON_CUDA])
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


@pytest.fixture(scope="session")
def cpu_backends() -> list[Backend]:
    """NumPy's arrays and, if torch is installed, its tensors."""
    return [_numpy_backend(), *([_torch_backend("cpu")] if find_spec("torch") else [])]


@pytest.fixture(scope="session", params=["numpy", "torch"])
def send(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Hand an array, or None, to a library whose arrays live on the CPU."""
    if request.param == "numpy":
        return lambda array: array
    torch = pytest.importorskip("torch")
    return lambda array: None if array is None else torch.from_numpy(np.array(array))


@pytest.fixture(scope="session")
def each_isa() -> Callable[[Callable[[], Any]], Any]:
    """Call a function on every instruction set of this machine; all give the same bits."""

    def compute_on_each(compute: Callable[[], Any]) -> Any:
        results = []
        for name in pp._core.ISAS:
            with pp.isa(name):
                results.append(compute())
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])
        return results[0]

    return compute_on_each


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    """Set the number of threads for one test."""
    with pp.threads(pp.get_threads()):
        yield pp.threads
