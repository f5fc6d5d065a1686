"""Measure the speed of `MathGrader`: one or many comparisons at a time, and cold processes.

    python scripts/measure_grading.py [--pairs N]

All ways must give the same verdicts; otherwise the script fails. "Cold" starts a fresh process for
each pair, forked from one that has imported math-verify but parsed nothing. Processor time covers
all processes of the sandbox, which has one worker; compare it if other programs disturb the clock.
Needs bubblewrap and `pip install ".[train]"`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path

from paretopo.rewards.mathematics import MathGrader
from paretopo.rewards.notation import to_latex, write_as_sets
from paretopo.tools.python_interpreter import PythonInterpreter

Pair = tuple[str, str]  # given, right answer


def make_pairs(count: int) -> list[Pair]:
    """Make answers in unfamiliar forms: four for each question, one of them correct."""
    rng = random.Random(0)
    pairs: list[Pair] = []
    while len(pairs) < count:
        kind, a, b, c = rng.randrange(8), *(rng.randint(2, 99) for _ in range(3))
        for off in range(4):
            answer, given = _write(a, b, c, off)[kind]
            pairs.append((given, answer))
    return list(dict.fromkeys(pairs))


def _write(a: int, b: int, c: int, off: int) -> list[Pair]:
    """Write an answer and another form of it that differs by `off`, for each kind of question."""
    return [
        (rf"\sqrt{{{a * a * b}}}", rf"{a + off}\sqrt{{{b}}}"),
        (f"x+{a}/{b}", rf"\frac{{{a + off}}}{{{b}}}+x"),
        (f"x^2+{a + b}x+{a * b}", f"(x+{a})(x+{b + off})"),
        (rf"\left({a},{b}/{c}\right)", rf"({a}, \frac{{{b + off}}}{{{c}}})"),
        (rf"\{{{c},{a},{b}\}}", rf"\{{{a},{b},{c + off}\}}"),
        (rf"{a} \le x < {a + b}", f"[{a}, {a + b + off})"),
        (rf"{a}\pi/{b}", rf"\frac{{{a + off}\pi}}{{{b}}}"),
        (f"y={b}+{a}x", f"y={a + off}x+{b}"),
    ]


def compare_cold(pairs: Sequence[Pair]) -> list[bool]:
    """Compare each pair in a new process, forked from one that has parsed nothing."""
    reader = resources.files("paretopo.rewards").joinpath("latex_reader.py").read_text("utf-8")
    verdicts = []
    with PythonInterpreter(preload=("math_verify",), workers=1, timeout=600.0) as python:
        python.run("")
        watch = Watch()
        for given, answer in pairs:
            sides = write_as_sets(to_latex(answer), to_latex(given))
            program = f"{reader}\nimport json\ncompare_all([json.loads({json.dumps(sides)!r})])\n"
            verdicts.append(python.run(program).stdout == "True\n")
        watch.show("cold, one at a time", len(pairs))
        watch = Watch()
        for _ in pairs:
            python.run("")
        watch.show("an empty program", len(pairs))
    return verdicts


def _by_callers(grader: MathGrader, pairs: Sequence[Pair]) -> list[bool | None]:
    with ThreadPoolExecutor(64) as callers:
        return list(callers.map(grader.are_equal, *zip(*pairs, strict=True)))


class Watch:
    """Time by the clock, and processor time of all processes below this one."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), _processor_seconds()

    def show(self, name: str, pairs: int) -> None:
        """Print a row of the table."""
        clock = (time.perf_counter() - self._started[0]) / pairs
        processor = (_processor_seconds() - self._started[1]) / pairs
        cells = (
            f"{1000 * clock:.1f} | {1000 * processor:.1f} | {1 / clock:.0f} | {1 / processor:.0f}"
        )
        print(f"| {name} | {pairs} | {cells} |", flush=True)


def _processor_seconds() -> float:
    """Return the processor time of all descendants, including those that have ended."""
    parents, ticks = {}, {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(process.name)] = int(fields[1])
        ticks[int(process.name)] = sum(map(int, fields[11:15]))
    below = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(ticks[one] for one in below - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure, and return 1 if verdicts differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=480, help="compared in all; %(default)s")
    pairs = make_pairs(parser.parse_args().pairs)
    few = pairs[: len(pairs) // 8]
    print("| way | comparisons | ms | ms of a processor | a second | a second of a processor |")
    print("|---|---:|---:|---:|---:|---:|")
    cold = compare_cold(few)
    ways: dict[str, Callable[[MathGrader], list[bool | None]]] = {
        "warm, one at a time": lambda grader: [grader.are_equal(*pair) for pair in few],
        "warm, 64 callers at a time": lambda grader: _by_callers(grader, pairs),
        "warm, all by one call": lambda grader: grader.compare_all(pairs),
    }
    differ = 0
    for name, compare in ways.items():
        with MathGrader(workers=1) as grader:
            watch = Watch()
            verdicts = compare(grader)
            watch.show(name, len(verdicts))
        differ += verdicts[: len(few)] != cold
    if differ or not 0 < sum(cold) < len(cold):
        print("the verdicts differ, or are all alike", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
