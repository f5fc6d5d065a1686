"""The same on a GPU: batches of groups, one large set, volumes; and what the device can do."""

from __future__ import annotations

import datetime
import importlib
import importlib.util
import subprocess
from collections.abc import Sequence
from functools import partial
from typing import Any

from bench.case import ON_GPU, Case
from paretopo_core import _core

OPERATION = "gpu"
_ADVANTAGES = ((4_096, 8, 2), (4_096, 16, 3), (1_000_000, 8, 2), (1_000_000, 16, 3))
_RANKS = ((4_096, 8, 2), (4_096, 64, 3), (1_000_000, 8, 2), (500_000, 16, 3))
_VOLUMES = ((100_000, 8, 2), (100_000, 16, 3), (2_000, 32, 4), (500, 32, 5), (132, 24, 8))
_COPIED = 2**30  # bytes: far more than a cache holds
_QUESTIONS = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit")


def cases(*, quick: bool = False) -> Sequence[Case]:
    """Uniform groups in float32, from one training step's to a million; one large set."""
    case = partial(Case, OPERATION, threads=ON_GPU, dtype="float32")
    many = 100 if quick else 1

    def batches(task: str, shapes: Sequence[tuple[int, int, int]]) -> list[Case]:
        return [
            case(task, "uniform", points, m, max(groups // many, 10))
            for groups, points, m in shapes
        ]

    return [
        *batches("pareto_advantage", _ADVANTAGES),
        *batches("hypervolume_advantage", _ADVANTAGES),
        *batches("pareto_rank", _RANKS),
        *batches("is_nondominated", _RANKS[:2]),
        *batches("hypervolume", _VOLUMES),
        *batches("hv_contributions", _VOLUMES[2:4]),
        *(
            case(task, workload, points // many, m)
            for task in ("pareto_rank", "is_nondominated")
            for workload in ("uniform", "concave")
            for points, m in ((10_000, 3), (100_000, 3), (100_000, 5))
        ),
        *(case("hypervolume", "concave", points // many, 3) for points in (10_000, 100_000)),
    ]


def why_not() -> str | None:
    """Why nothing can be measured on a GPU here; None if it can."""
    if not _core.cuda_is_compiled():
        return "this paretopo_core was built without CUDA: reinstall it with PARETOPO_CUDA=ON"
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed; run: pip install 'paretopo[bench]'"
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        return (
            f"torch {torch.__version__} finds no CUDA device: it takes a GPU, "
            f"{_core.cuda_driver_needed()}, and a torch built for CUDA"
        )
    return None


def surroundings() -> dict[str, object]:
    """The device as a reader needs to know it, and the copy bandwidth it reaches now."""
    torch: Any = importlib.import_module("torch")
    properties = torch.cuda.get_device_properties(0)
    command = ["nvidia-smi", f"--query-gpu={','.join(_QUESTIONS)}", "--format=csv,noheader,nounits"]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    return {
        **told_by_driver(told),
        "compute capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "memory GiB": round(properties.total_memory / 2**30, 1),
        "torch CUDA": str(torch.version.cuda),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "copy GB/s": round(copy_bandwidth(torch) / 1e9, 1),
    }


def told_by_driver(line: str) -> dict[str, object]:
    """The first device in what nvidia-smi prints: name, driver, clocks in MHz, limit in W."""
    values = [value.strip() for value in line.splitlines()[0].split(",")]
    names = ("gpu", "driver", "SM clock MHz", "most SM clock MHz", "memory clock MHz", "limit W")
    return dict(zip(names, values, strict=True))


def copy_bandwidth(torch: Any, repeats: int = 20) -> float:
    """Bytes read and written in a second by a copy within the device's memory."""
    source = torch.empty(_COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    return 2 * _COPIED * repeats / (float(begin.elapsed_time(end)) * 1e-3)
