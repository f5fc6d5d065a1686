"""Check the answer, then time it: a timing of a wrong answer is refused."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_LEAST_SAMPLE_S = 2e-3  # a sample of less repeats its call, so that the clock's own cost vanishes
_MOST_CALLS = 10_000
_SLOW_CALL_S = 1.0  # beyond, warming up is no matter, and the checked call is the only sample


class WrongAnswer(Exception):
    """A peer computed something else than the judge."""


class Skipped(Exception):
    """A peer is not measured, because it would take too much memory or time: the message says."""


@dataclass(frozen=True)
class Work:
    """A call to be timed.

    Attributes:
        run: computes the answer.
        fresh: called before every run, outside the clock, where a run changes its own input.
        finish: called after the calls of a sample, within the clock: waits for a GPU.
    """

    run: Callable[[], Any]
    fresh: Callable[[], object] | None = None
    finish: Callable[[], object] | None = None


@dataclass(frozen=True)
class Effort:
    """How long to measure one peer on one case: seconds in all, and samples."""

    budget_s: float = 0.3
    least: int = 3
    most: int = 25


@dataclass(frozen=True)
class Times:
    """Milliseconds per call: wall clock, and processor time of the whole process."""

    calls: int  # per sample
    repeats: int
    wall_median_ms: float
    wall_q1_ms: float
    wall_q3_ms: float
    wall_min_ms: float
    cpu_median_ms: float
    cpu_min_ms: float


def measure(
    works: Sequence[Work], check: Callable[[int, Any], str | None], effort: Effort
) -> Times:
    """Run once and check, then take samples until the budget is spent.

    Args:
        works: the calls to time, each on different data. A sample with room for several calls takes
            them in turn; otherwise only the first is used.
        check: gets the number of a call and its answer, returns how it is wrong, or None.
        effort: how many samples.

    Raises:
        WrongAnswer: ``check`` found something.
    """
    work = works[0]
    _prepare(work)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    answer = work.run()
    _finish(work)
    first, first_cpu = time.perf_counter() - begun, time.process_time() - begun_cpu
    _check(0, answer, check)
    del answer

    if first > _SLOW_CALL_S:  # it may have compiled: the next call tells
        _, first, first_cpu = _sample(works[:1], 1)
    rounds = 1
    if work.fresh is not None or first >= _LEAST_SAMPLE_S:
        works = works[:1]
    else:
        for number, work in enumerate(works):
            if number > 0:
                _check(number, work.run(), check)
        _, warm, _ = _sample(works, 1)  # the first call paid for caches and lazy imports
        longest = _MOST_CALLS // len(works)
        rounds = min(longest, max(1, round(_LEAST_SAMPLE_S / max(warm * len(works), 1e-7))))
    is_slow = first > _SLOW_CALL_S
    wall, cpu = ([first], [first_cpu]) if is_slow else ([], [])
    spent = 0.0
    while not is_slow and len(wall) < effort.most:
        if len(wall) >= effort.least and spent >= effort.budget_s:
            break
        whole, seconds, processor = _sample(works, rounds)
        spent += whole
        wall.append(seconds)
        cpu.append(processor)
    q1, median, q3 = _quartiles(wall)
    return Times(
        calls=rounds * len(works),
        repeats=len(wall),
        wall_median_ms=median * 1e3,
        wall_q1_ms=q1 * 1e3,
        wall_q3_ms=q3 * 1e3,
        wall_min_ms=min(wall) * 1e3,
        cpu_median_ms=statistics.median(cpu) * 1e3,
        cpu_min_ms=min(cpu) * 1e3,
    )


def _check(number: int, answer: Any, check: Callable[[int, Any], str | None]) -> None:
    error = check(number, answer)
    if error is not None:
        raise WrongAnswer(error)


def _sample(works: Sequence[Work], rounds: int) -> tuple[float, float, float]:
    """Seconds of the whole sample, wall seconds per call, processor seconds per call."""
    begin = time.perf_counter()
    _prepare(works[0])
    runs = [work.run for work in works] * rounds
    processor, start = time.process_time_ns(), time.perf_counter_ns()
    for run in runs:
        run()
    _finish(works[-1])
    wall, cpu = time.perf_counter_ns() - start, time.process_time_ns() - processor
    return time.perf_counter() - begin, wall / len(runs) * 1e-9, cpu / len(runs) * 1e-9


def _prepare(work: Work) -> None:
    if work.fresh is not None:
        work.fresh()


def _finish(work: Work) -> None:
    if work.finish is not None:
        work.finish()


def _quartiles(samples: list[float]) -> tuple[float, float, float]:
    if len(samples) == 1:
        return samples[0], samples[0], samples[0]
    q1, median, q3 = statistics.quantiles(samples, n=4, method="inclusive")
    return q1, median, q3
