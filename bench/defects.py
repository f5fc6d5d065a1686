"""Wrong answers and crashes of the peers, each with a short program that shows it.

``python -m bench.defects`` runs every program in a process of its own and prints
what happened; with ``--write docs/peers.md`` it writes the table of the documentation. Only what
was seen is listed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import rivals
from bench.defect_list import DEFECTS, Defect

_LIMIT_S = 60.0
_WRONG = 3  # the exit code of a program that saw a wrong answer
_HEADER = """\
# Peers: wrong answers and crashes

What the benchmark and the tests met on the way, with versions and a program that shows it. Peers
change: `python -m bench.defects` runs every program again, each in a process of its
own, and says what it sees. This page is what it wrote on {system}.

None of this makes a peer a bad library: moocore, pygmo and the WFG authors' code are the yardstick
of this one. It is a list of inputs to be careful with. A program sets `got`, and `right` to
whether that is right; one that crashes or hangs does not come so far.
"""


@dataclass(frozen=True)
class Outcome:
    """What a program did: "crashes", "hangs", "wrong", "right", "fails" or "not installed"."""

    kind: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def show(defect: Defect, limit_s: float = _LIMIT_S) -> Outcome:
    """Run the program of a defect.

    The program exits with code 3, after printing what it got, if the answer is wrong.
    """
    if rivals.version(defect.peer) is None:
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all programs; return 0 whatever they show."""
    parser = argparse.ArgumentParser(prog="python -m bench.defects")
    parser.add_argument("--write", metavar="FILE", help="write the table as Markdown")
    parsed = parser.parse_args(arguments)
    outcomes = {}
    for defect in DEFECTS:
        outcomes[defect] = show(defect)
        version = rivals.version(defect.peer) or ""
        print(f"{defect.peer} {version}: {defect.what}\n    {outcomes[defect]}", flush=True)
    if parsed.write is not None:
        Path(parsed.write).write_text(_markdown(outcomes), encoding="utf-8")
    return 0


def _markdown(outcomes: dict[Defect, Outcome]) -> str:
    seen = {
        defect: outcome
        for defect, outcome in outcomes.items()
        if outcome.kind in ("crashes", "hangs", "wrong")
    }
    lines = [
        _HEADER.format(system=f"{sys.platform}, Python {sys.version.split()[0]}"),
        "| | peer | what happens | seen |",
        "|---|---|---|---|",
    ]
    for number, (defect, outcome) in enumerate(seen.items(), 1):
        version = rivals.version(defect.peer)
        lines.append(
            f"| [{number}](#{number}) | {defect.peer} {version} | {defect.what} | {outcome} |"
        )
    for number, defect in enumerate(seen, 1):
        lines += ["", f"### {number}", "", f"{defect.peer}: {defect.what}.", ""]
        lines += ["```python", defect.program.strip(), "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
