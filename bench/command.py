"""``paretopo bench``: run, draw, and hold the numbers against the promises."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import paretopo_core
from bench import gpu, rivals, rows
from bench.operations import OPERATIONS
from bench.promises import markdown, promises
from bench.rows import Row
from bench.runner import Plan, Runner
from bench.timing import Effort
from paretopo.run.surroundings import machine

QUICK = Plan(Effort(budget_s=0.03, least=3, most=7), limit_s=5.0)


def results_folder(
    out: str | Path | None, *, quick: bool = False, device: str | None = None
) -> Path:
    """Where results go: ``bench/results/<machine>`` unless told otherwise.

    Args:
        out: told otherwise.
        quick: whether small sizes are measured.
        device: the name of the GPU, where one is measured.
    """
    if out is not None:
        return Path(out)
    if device is not None:
        name = rows.machine_name(device)
    else:
        name = rows.machine_name(str(machine()["processor"]), paretopo_core.get_isa())
    return Path("bench") / "results" / (f"{name}-quick" if quick else name)


def measure(
    operations: Sequence[str],
    folder: Path,
    *,
    quick: bool = False,
    resume: bool = False,
    plan: Plan | None = None,
) -> None:
    """Measure operations into CSV files.

    Args:
        operations: names of ``OPERATIONS``; all of them if empty.
        folder: where the files go.
        quick: small sizes and few samples, to see that everything works.
        resume: keep what a run before has finished.
        plan: how hard to measure, instead of the usual.

    Raises:
        ValueError: an unknown operation.
    """
    names = _known(operations)
    folder.mkdir(parents=True, exist_ok=True)
    here = surroundings()
    with Runner(plan or (QUICK if quick else Plan())) as runner:
        here["versions"] = {**runner.versions, "numpy": np.__version__}
        for name, value in here.items():
            print(f"{name}: {value}")
        if runner.missing:
            print(f"not installed: {', '.join(runner.missing)}; pip install 'paretopo[bench]'")
        (folder / "machine.json").write_text(json.dumps(here, indent=1) + "\n", encoding="utf-8")
        for name in names:
            print(f"\n{name}", flush=True)
            cases = OPERATIONS[name](quick=quick)
            runner.run(cases, folder / f"{name}.csv", resume=resume)


def measure_gpu(out: str | Path | None, *, quick: bool = False, resume: bool = False) -> Path:
    """Measure on a GPU, against the peers that run there; return the folder.

    Args:
        out: where the files go, ``bench/results/<gpu>`` by default.
        quick: small sizes and few samples, to see that everything works.
        resume: keep what a run before has finished.

    Raises:
        ValueError: there is no GPU, or this build cannot use it; the message says which.
    """
    reason = gpu.why_not()
    if reason is not None:
        raise ValueError(f"--device cuda: {reason}")
    effort = QUICK.effort if quick else Effort()
    plan = Plan(effort, limit_s=30.0, names=rivals.ON_GPU)
    device = gpu.surroundings()
    folder = results_folder(out, quick=quick, device=str(device["gpu"]))
    folder.mkdir(parents=True, exist_ok=True)
    with Runner(plan) as runner:
        here = {**surroundings(), **device}
        here["versions"] = {**runner.versions, "numpy": np.__version__}
        runner.run(gpu.cases(quick=quick), folder / f"{gpu.OPERATION}.csv", resume=resume)
    here["copy GB/s at the end"] = gpu.surroundings()["copy GB/s"]
    (folder / "machine.json").write_text(json.dumps(here, indent=1) + "\n", encoding="utf-8")
    return folder


def surroundings() -> dict[str, object]:
    """The machine as a reader needs to know it; no host, user or path."""
    here = machine()
    return {
        "processor": here["processor"],
        "cores": here["cores"],
        "instruction set": paretopo_core.get_isa(),
        "system": platform.system(),
        "python": platform.python_version(),
        "compiler": paretopo_core._core.COMPILER,
    }


def draw(operations: Sequence[str], folder: Path) -> list[Path]:
    """Draw pictures from the CSV files in a folder.

    Raises:
        ValueError: there are none, or an unknown operation.
    """
    from bench import plots

    on_gpu = folder / f"{gpu.OPERATION}.csv"
    measured = rows.read(on_gpu) if on_gpu.exists() else _measured(operations, folder)
    return plots.draw(measured, folder)


def promised(folder: Path) -> str:
    """The table of promises for the CSV files in a folder, also written to ``promises.md``.

    Raises:
        ValueError: there are none.
    """
    measured = _measured((), folder)
    there = folder / "machine.json"
    here = json.loads(there.read_text(encoding="utf-8")) if there.exists() else surroundings()
    text = markdown(promises(measured, str(here["instruction set"])))
    (folder / "promises.md").write_text(text, encoding="utf-8")
    return text


def _measured(operations: Sequence[str], folder: Path) -> list[Row]:
    found = rows.read_all(folder, _known(operations))
    if not found:
        raise ValueError(f"no results in {folder}: run paretopo bench first")
    return found


def _known(operations: Sequence[str]) -> list[str]:
    for operation in operations:
        if operation not in OPERATIONS:
            raise ValueError(f"operation must be one of {', '.join(OPERATIONS)}, got {operation!r}")
    return [*dict.fromkeys(operations)] or [*OPERATIONS]
