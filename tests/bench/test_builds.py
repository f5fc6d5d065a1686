"""Two builds are compared round by round."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.benchmarks import EFFORT, TINY, a_row, one_line, write_worker

from bench import __main__ as cli
from bench import builds, command, judge, rows
from bench.cases import OPERATIONS, Case


def test_of_two_builds_the_median_round_counts():
    def rounds(case, ours, theirs):
        rows_of = {"paretopo": ours, "old": theirs}
        return [
            replace(a_row(**case, peer=peer), cpu_min_ms=time)
            for peer, times in rows_of.items()
            for time in times
        ]

    measured = [
        *rounds({"points": 10}, (2.0, 20.0, 2.0), (2.0, 19.0, 9.0)),  # the machine was busy once
        *rounds({"points": 20}, (1.1, 1.1), (1.0, 1.0)),
        a_row(points=30, cpu_min_ms=1.0),
        a_row(points=30, peer="old", status="error", note="no such operation"),
        a_row(points=40, status="wrong", note="1 of 40 differ"),
        a_row(points=40, peer="old", cpu_min_ms=1.0),
    ]
    equal, slower, new, broken = found = builds.compare(measured, "old")
    assert (equal.speed, equal.rounds) == (1.0, 3)
    assert slower.speed == pytest.approx(1 / 1.1)
    assert (new.speed, new.rounds) == (math.inf, 0)
    assert broken.speed == 0
    assert "paretopo: wrong, 1 of 40 differ" in broken.note
    assert [one.is_slower(0.05) for one in found] == [False, True, False, True]
    assert [one.is_slower(0.2) for one in found] == [False, False, False, True]
    table = builds.render(found, "old", 0.05)
    mean = math.sqrt(1 / 1.1)
    assert f"| fronts | 2 | {mean:.3f} | 0.909 (pareto_rank uniform 20 x 2) | 2 | 1 |" in table
    assert "| pareto_rank uniform 40 x 2 | 0.000 | 0 | paretopo: wrong" in table


def test_a_build_is_compared_with_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [TINY])
    monkeypatch.setattr(command, "AGAINST", replace(command.AGAINST, effort=EFFORT, rounds=3))
    words = ["fronts", "--out", str(tmp_path), "--tolerance", "1e9"]
    assert cli.main([*words, "--against", f"{sys.executable}=same"]) == 0
    measured = rows.read(tmp_path / "fronts.csv")
    assert [row.peer for row in measured] == [
        "paretopo", "same", "same", "paretopo", "paretopo", "same",
    ]  # fmt: skip
    assert {row.status for row in measured} == {"ok"}
    assert "| fronts | 1 |" in capsys.readouterr().out
    assert "| fronts | 1 |" in (tmp_path / "against.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_slowdown_is_measured_again_and_reported(tmp_path, monkeypatch):
    """The other build answers at once, from a file."""
    case = Case("fronts", "pareto_rank", "uniform", 300, 6)
    np.save(tmp_path / "right.npy", judge.solve(case))
    known = f"import numpy; known = numpy.load({str(tmp_path / 'right.npy')!r})"
    write_worker(tmp_path / "worker.py", "known", known)
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\n"
        f'if [ "$1" = -c ]; then exec {sys.executable} "$@"; fi\n'
        f"exec {sys.executable} {tmp_path / 'worker.py'}\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [case])
    monkeypatch.setattr(command, "AGAINST", replace(command.AGAINST, effort=EFFORT, rounds=1))
    assert cli.main(["fronts", "--out", str(tmp_path), "--against", f"{python}=known"]) == 1
    assert len(rows.read(tmp_path / "fronts.csv")) == 2 * (1 + builds.REPEATS)
    assert "| 0.0" in (tmp_path / "against.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--against", "/no/such/python"], "/no/such/python does not start"),
        (["--against", "/bin/false"], "/bin/false cannot import paretopo_core: exit code 1"),
        (["--against", f"{sys.executable}=moocore"], "'moocore' is a peer"),
        (["--against", sys.executable, "--tolerance", "-1"], "--tolerance must be 0 or more"),
    ],
)
def test_another_build_that_cannot_be_asked_is_refused(words, reason, tmp_path, capsys):
    assert cli.main(["fronts", "--out", str(tmp_path / "out"), *words]) == 2
    assert reason in one_line(capsys)
    assert not (tmp_path / "out").exists()
