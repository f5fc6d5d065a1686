"""The machine as a reader of results needs to know it; no host, user or path."""

from __future__ import annotations

import datetime
import importlib
import importlib.util
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import paretopo_core
from paretopo_core import _core

_COPIED = 2**30  # bytes: far more than a cache holds
_QUESTIONS = ("name", "driver_version", "clocks.sm", "clocks.max.sm", "clocks.mem", "power.limit")


def describe_host() -> dict[str, object]:
    """Describe processor, cores this process may use, instruction set, and compiler."""
    return {
        "processor": _ask_processor("model name") or platform.processor() or platform.machine(),
        # A hypervisor calls all generations of a processor by one name.
        "family": _ask_processor("cpu family"),
        "model": _ask_processor("model"),
        # A container can make them fewer than the machine has.
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "instruction set": paretopo_core.get_isa(),
        "system": platform.system(),
        "python": platform.python_version(),
        "compiler": _core.COMPILER,
    }


def describe_gpu() -> dict[str, object]:
    """Describe the device, and the copy bandwidth it reaches now."""
    torch: Any = importlib.import_module("torch")
    properties = torch.cuda.get_device_properties(0)
    command = ["nvidia-smi", f"--query-gpu={','.join(_QUESTIONS)}", "--format=csv,noheader,nounits"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    return {
        **parse_driver(done.stdout),
        "compute capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "memory GiB": round(properties.total_memory / 2**30, 1),
        "torch CUDA": str(torch.version.cuda),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "copy GB/s": measure_copy(),
    }


def parse_driver(lines: str) -> dict[str, object]:
    """Read the first device in the output of nvidia-smi: driver, clocks in MHz, limit in W."""
    values = [value.strip() for value in lines.splitlines()[0].split(",")]
    names = ("gpu", "driver", "SM clock MHz", "most SM clock MHz", "memory clock MHz", "limit W")
    return dict(zip(names, values, strict=True))


def measure_copy(repeats: int = 20) -> float:
    """Measure GB read and written in a second by a copy within the device's memory."""
    torch: Any = importlib.import_module("torch")
    source = torch.empty(_COPIED, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    target.copy_(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        target.copy_(source)
    end.record()
    torch.cuda.synchronize()
    seconds = float(begin.elapsed_time(end)) * 1e-3
    return round(2 * _COPIED * repeats / seconds / 1e9, 1)


def require_gpu() -> None:
    """Check that something can be measured on a GPU here.

    Raises:
        ValueError: there is no GPU, or this build cannot use it; the message says which.
    """
    if not _core.cuda_is_compiled():
        raise ValueError(
            "--device cuda: this paretopo_core was built without CUDA: "
            "reinstall it with PARETOPO_CUDA=ON"
        )
    if importlib.util.find_spec("torch") is None:
        raise ValueError("--device cuda: torch is not installed; run: pip install '.[bench]'")
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise ValueError(
            f"--device cuda: torch {torch.__version__} finds no CUDA device: it takes a GPU, "
            f"{_core.cuda_driver_needed()}, and a torch built for CUDA"
        )


def name_machine(description: dict[str, object]) -> str:
    """Name the folder of a machine's results: "amd-epyc-26-2-avx512", with family and model.

    The folder of a GPU has only the name of the GPU, such as "nvidia-h200".
    """
    if "gpu" in description:
        return _plain(str(description["gpu"]))
    parts = (
        _plain(str(description["processor"])),
        description.get("family"),
        description.get("model"),
    )
    return "-".join(str(part) for part in (*parts, description["instruction set"]) if part)


def _plain(text: str) -> str:
    words = re.sub(r"\((r|tm)\)|\bcpu\b|@.*$|processor|\d+-core", " ", text.lower())
    return "-".join(re.findall(r"[a-z0-9]+", words))


def _ask_processor(question: str) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return ""
    answers = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in answers if key.strip() == question), "")
