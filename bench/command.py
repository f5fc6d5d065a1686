"""The steps of ``python -m bench``: measure, draw, and compare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench import builds, leads, machine, peers, rows
from bench.cases import GPU_OPERATIONS, HEADLINE_OPERATIONS, OPERATIONS
from bench.rows import Measurement
from bench.runner import Build, Plan, Runner
from bench.timing import Effort

RESULTS = Path(__file__).parent / "results"
QUICK = Plan(Effort(budget_s=0.03, least=3, most=7), limit_s=5.0)
AGAINST = Plan(Effort(budget_s=0.05, least=1, most=25), limit_s=60.0, names=(peers.OURS,), rounds=7)


def describe(device: str = "cpu") -> dict[str, object]:
    """Describe the machine that is measured, by "cpu" or "cuda".

    Raises:
        ValueError: there is no GPU, or this build cannot use it; the message says which.
    """
    if device == "cpu":
        return machine.describe_host()
    machine.require_gpu()
    return {**machine.describe_host(), **machine.describe_gpu()}


def choose_folder(description: dict[str, object], kind: str = "") -> Path:
    """Choose the folder of the results: ``bench/results/<machine>``, with a suffix for ``kind``."""
    return RESULTS / "-".join(filter(None, (machine.name_machine(description), kind)))


def measure(
    names: Sequence[str],
    folder: Path,
    description: dict[str, object],
    *,
    quick: bool = False,
    resume: bool = False,
) -> None:
    """Measure operations into CSV files in a folder; all operations if none is named.

    A GPU has operations of its own.

    Args:
        description: of the machine, by ``describe``.
        quick: small sizes and few samples, as a smoke test.
        resume: keep the results of an interrupted run.

    Raises:
        ValueError: an unknown operation.
    """
    on_gpu = "gpu" in description
    operations = GPU_OPERATIONS if on_gpu else OPERATIONS
    chosen = _check(names, operations)
    plan = QUICK if quick else Plan()
    if on_gpu:
        plan = Plan(plan.effort, limit_s=30.0, names=peers.ON_GPU)
    folder.mkdir(parents=True, exist_ok=True)
    with Runner(plan) as runner:
        here = {**description, "versions": {**runner.versions, "numpy": np.__version__}}
        for key, value in here.items():
            print(f"{key}: {value}")
        if runner.missing:
            print(f"not installed: {', '.join(runner.missing)}; pip install '.[bench]'")
        _write(folder, here)
        for name in chosen:
            print(f"\n{name}", flush=True)
            runner.run(operations[name](quick=quick), folder / f"{name}.csv", resume=resume)
    if on_gpu:
        _write(folder, {**here, "copy GB/s at the end": machine.measure_copy()})


def measure_against(
    build: Build,
    names: Sequence[str],
    folder: Path,
    description: dict[str, object],
    tolerance: float,
    *,
    quick: bool = False,
    resume: bool = False,
) -> bool:
    """Measure another build of this package and this one in turns; print the ratios.

    The arguments are those of ``measure``; "headline" is an operation here. ``against.md`` joins
    the CSV files. Returns True if no case is slower by more than ``tolerance``, a part of its time.

    Raises:
        ValueError: an unknown operation, or an interpreter without the package.
    """
    usual = GPU_OPERATIONS if "gpu" in description else OPERATIONS
    operations = {**usual, **HEADLINE_OPERATIONS}
    chosen = _check(names or [*usual], operations)
    compared = []
    with Runner(replace(AGAINST, other=build)) as runner:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder, {**description, "versions": runner.versions})
        for name in chosen:
            print(f"\n{name}", flush=True)
            path = folder / f"{name}.csv"
            cases = operations[name](quick=quick)
            compared += builds.run(runner, cases, path, build.label, tolerance, resume=resume)
    text = builds.render(compared, build.label, tolerance)
    (folder / "against.md").write_text(text, encoding="utf-8")
    print(f"\n{text}", end="")
    return not any(found.is_slower(tolerance) for found in compared)


def draw(names: Sequence[str], folder: Path) -> list[Path]:
    """Draw plots from the CSV files in a folder; return the files written.

    Raises:
        ValueError: there are none, or an unknown operation.
    """
    from bench import plots  # matplotlib takes a second to load

    return plots.draw(_read(names, folder), folder)


def render_leads(names: Sequence[str], folder: Path) -> str:
    """Render our smallest lead in each operation, from the CSV files in a folder.

    Raises:
        ValueError: there are none, or an unknown operation.
    """
    return leads.render(_read(names, folder))


def _write(folder: Path, description: dict[str, object]) -> None:
    text = json.dumps(description, indent=1) + "\n"
    (folder / "machine.json").write_text(text, encoding="utf-8")


def _read(names: Sequence[str], folder: Path) -> list[Measurement]:
    found = rows.read_all(folder, _check(names, {**OPERATIONS, **GPU_OPERATIONS}))
    if not found:
        raise ValueError(f"no results in {folder}: run python -m bench first")
    return found


def _check(names: Sequence[str], known: Mapping[str, object]) -> list[str]:
    """Each name once, all if there is none."""
    for name in names:
        if name not in known:
            raise ValueError(f"operation must be one of {', '.join(known)}, got {name!r}")
    return [*dict.fromkeys(names)] or [*known]
