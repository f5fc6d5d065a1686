"""The grid of a study: every cell once, on all cores, from where it was left.

What is done is in `records.jsonl`, a line for each training, written when it ends. A study that was
killed, or whose file has grown, runs what is missing.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from paretopo.run import jsonl
from paretopo.run.jsonl import Row
from paretopo.study.cells import fingerprint, run_cell
from paretopo.study.plan import Cell, Plan

RECORDS = "records.jsonl"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def records(plan: Plan, out: Path) -> dict[Cell, Row]:
    """The trainings that are done, in the order of the plan; what is out of date is not among them.

    Raises:
        ConfigError: a line of the records is broken.
    """
    found: dict[Cell, Row] = {}
    for row in jsonl.rows(out / RECORDS):
        found[Cell(row["task"], row["method"], row["seed"])] = row
    return {
        cell: found[cell]
        for cell in plan.cells()
        if cell in found and found[cell]["fingerprint"] == fingerprint(plan, cell)
    }


def run(
    plan: Plan,
    out: Path,
    *,
    workers: int | None = None,
    ray: str | None = None,
    done: Callable[[Cell, str | None], None] | None = None,
) -> dict[Cell, str]:
    """Run every cell that has no record yet.

    Args:
        plan: The study.
        out: Folder of the records.
        workers: Trainings at a time; None takes the cores.
        ray: Address of a Ray cluster ("auto", "local" or host and port) that runs the cells
            instead; `out` is then a folder that all of its nodes see.
        done: Called when a cell has ended, with what it failed with, or None.

    Returns:
        The cells that failed, and how; the others went on.

    Raises:
        ConfigError: the records are broken.
        KeyboardInterrupt: Ctrl-C came; what had ended is kept.
    """
    out.mkdir(parents=True, exist_ok=True)
    known = records(plan, out)
    missing = [cell for cell in plan.cells() if cell not in known]
    failures: dict[Cell, str] = {}
    over_ray = ray is not None
    ended = (
        _on_ray(plan, missing, out, str(ray)) if over_ray else _here(plan, missing, out, workers)
    )
    for cell, row, failure in ended:
        if row is not None:
            jsonl.append(out / RECORDS, row)
        else:
            failures[cell] = str(failure)
        if done is not None:
            done(cell, failure)
    return failures


Ended = tuple[Cell, Row | None, str | None]


def _attempt(plan: Plan, cell: Cell, runs: Path) -> Ended:
    try:
        return cell, run_cell(plan, cell, runs), None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return cell, None, f"{type(error).__name__}: {error} ({where})"


def _here(plan: Plan, cells: Sequence[Cell], out: Path, workers: int | None) -> Iterator[Ended]:
    if not cells:
        return
    count = min(workers or len(os.sched_getaffinity(0)), len(cells))
    context = multiprocessing.get_context("spawn")  # threads of a library do not survive a fork
    with _one_thread_each(), ProcessPoolExecutor(count, mp_context=context) as pool:
        # Long trainings first: a long one that begins last would run alone.
        ordered = sorted(cells, key=lambda cell: plan.tasks[cell.task].config is None)
        futures = [pool.submit(_attempt, plan, cell, out / "runs") for cell in ordered]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


def _on_ray(plan: Plan, cells: Sequence[Cell], out: Path, address: str) -> Iterator[Ended]:
    import ray

    began: Any = ray.init(address=None if address == "local" else address, log_to_driver=False)
    try:
        attempt = ray.remote(num_cpus=1, max_retries=0)(_attempt)
        shared = ray.put(plan)
        names = {attempt.remote(shared, cell, out.resolve() / "runs"): cell for cell in cells}
        waiting = list(names)
        while waiting:
            (ended, *_), waiting = ray.wait(waiting, num_returns=1)
            try:
                yield ray.get(ended)
            except ray.exceptions.RayError as error:  # the worker died, not the training
                yield names[ended], None, f"{type(error).__name__}: {error}"
    finally:
        del began
        ray.shutdown()


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Workers are as many as cores: threads of their own would only stand in each other's way."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
