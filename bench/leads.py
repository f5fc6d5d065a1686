"""The smallest lead of this package over the best peer in each operation, and the cases it loses.

A lead is the time of the best peer divided by ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.cases import Case
from bench.peers import OURS
from bench.rows import Measurement

_HEAD = ("operation", "cases", "smallest lead", "best peer", "case")


def render(rows: Sequence[Measurement]) -> str:
    """Write a table in Markdown, aligned so that it reads well in a terminal too, and the losses.

    Cases without a peer do not count. If we have no time for a case, the lead is 0.
    """
    found = sorted(_compare(rows), key=lambda pair: pair[0])
    lines = [_HEAD, ("-", "-:", "-:", "-", "-")]
    for operation in dict.fromkeys(row.operation for row in rows):
        some = [pair for pair in found if pair[2].operation == operation]
        if some:
            lead, peer, case = some[0]
            lines.append((operation, f"{len(some)}", f"{lead:.3g}", peer, str(case)))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [[f"{c:<{w}}" for c, w in zip(line, widths, strict=True)] for line in lines]
    table = "".join(f"| {' | '.join(line)} |\n" for line in padded)
    lost = [f"{lead:.2g} x {case}, {peer}" for lead, peer, case in found if lead < 1]
    listed = f": {'; '.join(lost)}" if lost else ""
    return f"{table}\nA peer is faster in {len(lost)} of {len(found)} cases{listed}.\n"


def _compare(rows: Sequence[Measurement]) -> Iterator[tuple[float, str, Case]]:
    """Yield the lead and the best peer in each case that a peer offers."""
    cases: dict[Case, dict[str, float]] = {}
    for row in rows:
        times = cases.setdefault(row.case, {})
        if row.is_timed:
            times[row.peer] = row.milliseconds
    for case, times in cases.items():
        theirs = {peer: time for peer, time in times.items() if not peer.startswith(OURS)}
        if theirs:
            best = min(theirs, key=theirs.__getitem__)
            yield theirs[best] / times[OURS] if OURS in times else 0.0, best, case
