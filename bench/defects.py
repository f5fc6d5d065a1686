"""Run the programs of bench/defects.md, which show wrong answers and crashes of other libraries.

``python -m bench.defects`` runs every program in a separate process and prints the outcome.
``--write`` also writes the outcomes and the versions into the page's table.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import peers

PAGE = Path(__file__).with_suffix(".md")
_ROW = re.compile(r"^\| \[\d+\]\(#[^)]*\) \| (\w+) [^|]+ \| ([^|]+) \| [^|]* \|$", re.MULTILINE)
_PROGRAM = re.compile(r"^## \d+\. [^\n]+\n\n```python\n(.*?)```", re.DOTALL | re.MULTILINE)
_LIMIT_S = 60.0
_WRONG = 3  # the exit code of a program that saw a wrong answer


@dataclass(frozen=True)
class Defect:
    """A defect of a peer, with a program that reproduces it.

    Attributes:
        peer: a name of ``peers.PEERS``.
        problem: a short description.
        program: Python, which sets ``got`` and ``right`` if it comes to its end.
    """

    peer: str
    problem: str
    program: str


@dataclass(frozen=True)
class Outcome:
    """The end of a program: "crashes", "hangs", "wrong", "right", "fails" or "not installed"."""

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def read_defects(text: str) -> list[Defect]:
    """Return the defects of a page. Its table and its programs have the same order."""
    rows, programs = _ROW.findall(text), _PROGRAM.findall(text)
    return [
        Defect(peer, problem, program)
        for (peer, problem), program in zip(rows, programs, strict=True)
    ]


def run(defect: Defect, limit_s: float = _LIMIT_S) -> Outcome:
    """Run the program of a defect.

    If the answer is wrong, the program prints it and exits with code 3.
    """
    if peers.find_version(defect.peer) is None:
        return Outcome("not installed")
    code = f"{defect.program}\nprint(got)\nraise SystemExit(0 if right else {_WRONG})\n"
    try:
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome("hangs", f"more than {limit_s:g} s")
    if done.returncode < 0:
        return Outcome("crashes", f"signal {-done.returncode}")
    last = (done.stdout.strip() or done.stderr.strip()).splitlines()[-1:]
    kind = {0: "right", _WRONG: "wrong"}.get(done.returncode, "fails")
    return Outcome(kind, "".join(last))


def write_outcomes(text: str, outcomes: Sequence[tuple[Defect, Outcome]]) -> str:
    """Return the page with other outcomes in its table; peers that are missing keep theirs."""
    system = f"{platform.system()} with Python {platform.python_version()}"
    text = re.sub(r"last updated on .*", f"last updated on {system}.", text, count=1)
    for number, (defect, outcome) in enumerate(outcomes, 1):
        version = peers.find_version(defect.peer)
        if version is not None:
            cells = f"{defect.peer} {version} | {defect.problem} | {outcome} |"
            row = re.compile(rf"^(\| \[{number}\]\(#{number}-[^)]*\) \| ).*$", re.MULTILINE)
            text = row.sub(r"\g<1>" + cells.replace("\\", r"\\"), text)
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all programs; return 0 whatever they show."""
    parser = argparse.ArgumentParser(prog="python -m bench.defects")
    parser.add_argument("--write", action="store_true", help=f"write the outcomes to {PAGE.name}")
    parsed = parser.parse_args(arguments)
    text = PAGE.read_text(encoding="utf-8")
    outcomes = []
    for defect in read_defects(text):
        outcomes.append((defect, run(defect)))
        version = peers.find_version(defect.peer) or ""
        print(f"{defect.peer} {version}: {defect.problem}\n    {outcomes[-1][1]}", flush=True)
    if parsed.write:
        PAGE.write_text(write_outcomes(text, outcomes), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
