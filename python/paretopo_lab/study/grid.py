"""The grid of a study: every cell once, on all cores, from where it was left.

A study that was killed, or whose file has grown, runs the cells that have no record yet.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import traceback
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from paretopo.config import ConfigError
from paretopo.records.files import Row
from paretopo_lab.study.cells import die_with_parent, run_cell
from paretopo_lab.study.plan import Cell, Plan
from paretopo_lab.study.records import (
    append_record,
    check_starts,
    claim_records,
    read_records,
)

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run(
    plan: Plan,
    out: Path,
    *,
    workers: int | None = None,
    on_end: Callable[[Cell, str | None], None] | None = None,
) -> dict[Cell, str]:
    """Run every cell that has no record yet.

    Args:
        plan: The study.
        out: Folder of the records.
        workers: Trainings at a time; None takes the cores.
        on_end: Called when a cell has ended, with its error, or None.

    Returns:
        The cells that failed, and their errors; the others went on.

    Raises:
        ConfigError: the records are broken, another study writes them, or see `check_starts` and
            `find_missing`.
        KeyboardInterrupt: Ctrl-C came; the cells that had ended are kept.
    """
    out.mkdir(parents=True, exist_ok=True)
    with claim_records(out):
        known = read_records(plan, out)
        missing = find_missing(plan, known)
        failures: dict[Cell, str] = {}
        for cell, row, failure in _run_here(plan, missing, out, workers):
            if row is not None:
                known[cell] = row
                check_starts(plan, known)
                append_record(out, row)
            else:
                failures[cell] = str(failure)
            if on_end is not None:
                on_end(cell, failure)
    return failures


def find_missing(plan: Plan, records: Container[Cell]) -> list[Cell]:
    """Return the cells that have no record.

    Raises:
        ConfigError: one of them would train a language model, and the plan has study.preferences.
    """
    missing = [cell for cell in plan.cells() if cell not in records]
    for cell in missing:
        if plan.study.preferences is not None and plan.tasks[cell.task].config is not None:
            raise ConfigError(
                f"study.preferences trains tables only, and tasks.{cell.task} has a configuration: "
                'train one policy with paretopo train and paretopo.preference = "given"'
            )
    return missing


Ended = tuple[Cell, Row | None, str | None]


def _attempt(plan: Plan, cell: Cell, runs: Path) -> Ended:
    try:
        return cell, run_cell(plan, cell, runs), None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return cell, None, f"{type(error).__name__}: {error} ({where})"


def _run_here(plan: Plan, cells: Sequence[Cell], out: Path, workers: int | None) -> Iterator[Ended]:
    if not cells:
        return
    count = min(workers or len(os.sched_getaffinity(0)), len(cells))
    context = multiprocessing.get_context("spawn")  # threads of a library do not survive a fork
    with (
        _limit_threads(),
        ProcessPoolExecutor(count, mp_context=context, initializer=die_with_parent) as pool,
    ):
        # Long trainings first: a long one that begins last would keep only one worker busy.
        ordered = sorted(cells, key=lambda cell: plan.tasks[cell.task].config is None)
        futures = [pool.submit(_attempt, plan, cell, out / "runs") for cell in ordered]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            raise


@contextlib.contextmanager
def _limit_threads() -> Iterator[None]:
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
