"""The benchmark checks answers before it times them, survives its peers and compares builds."""

import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as cli
from bench import builds, command, defects, judge, peers, rows, timing
from bench.cases import OPERATIONS, TASKS, Case
from bench.defects import Defect
from bench.runner import Plan, Process
from bench.timing import Effort, Work

CHECKOUT = Path(__file__).parents[2]
EFFORT = Effort(budget_s=0.001, least=1, most=2)
PLAN = Plan(EFFORT, limit_s=60.0, names=("paretopo", "moocore"))
TINY = Case("fronts", "pareto_rank", "uniform", 30, 2)
PLANAR = ("exact_subset", "eafdiff", "weighted_hypervolume", "r2")


def write_worker(path, body, before=""):
    """Write a worker for one peer, whose call of pareto_rank evaluates `body`."""
    path.write_text(
        "import os, signal, sys, time\n"
        "from bench import peers, worker\n"
        f"{before}\n"
        "class Stranger:\n"
        "    def pareto_rank(self, case):\n"
        f"        return lambda: {body}\n"
        "peers.make = lambda name: Stranger()\n"
        "worker.main('stranger')\n",
        encoding="utf-8",
    )
    return path


def test_a_run_measures_resumes_and_prints_leads(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "QUICK", PLAN)
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [TINY])
    words = ["fronts", "--out", str(tmp_path / "out"), "--quick"]
    assert cli.main(words) == 0
    printed = capsys.readouterr().out
    assert "best peer moocore" in printed
    assert "| fronts    | 1 " in printed
    assert printed.rstrip().endswith("fronts.png")
    measured = rows.read(tmp_path / "out" / "fronts.csv")
    assert [(row.case, row.peer, row.status) for row in measured] == [
        (TINY, name, "ok") for name in PLAN.names
    ]
    assert cli.main([*words, "--resume"]) == 0
    assert "fronts.csv is complete" in capsys.readouterr().out
    assert cli.main(["cooking", "--out", str(tmp_path)]) == 2
    assert "operation must be one of fronts, filter" in capsys.readouterr().err


def test_a_record_counts_before_its_packed_copy(tmp_path):
    packed = CHECKOUT / "bench/results/amd-epyc-26-2-avx2/fronts.csv.xz"
    shutil.copy(packed, tmp_path)
    known = rows.read(packed)
    assert len(rows.read_all(tmp_path, ["fronts", "filter"])) == len(known) > 1
    rows.write(tmp_path / "fronts.csv", known[:1])
    assert [row.case for row in rows.read_all(tmp_path, ["fronts"])] == [known[0].case]


@pytest.mark.parametrize("column", ["avx512", "avx2"])
def test_the_page_quotes_the_leads_of_the_records(column, capsys):
    out = CHECKOUT / f"bench/results/amd-epyc-26-2-{column}"
    assert cli.main(["--leads", "--out", str(out)]) == 0
    table = [line.split("|")[1:5] for line in capsys.readouterr().out.splitlines() if "|" in line]
    printed = [[cell.strip() for cell in line] for line in table[2:]]
    page = (CHECKOUT / "bench/README.md").read_text(encoding="utf-8")
    quoted = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    at = 3 if column == "avx512" else 5
    assert printed == [
        [row[1].split("`")[1], *(row[i].strip() for i in (2, at, at + 1))]
        for row in quoted
        if row[1].split("`")[1] in OPERATIONS
    ]


def test_a_wrong_answer_is_refused_before_it_is_timed():
    right = judge.solve(TINY)
    calls = []

    def check(_, answer):
        return judge.find_error(TINY, answer, right)

    def wrong():
        calls.append(1)
        return right + (np.arange(len(right)) == 7)

    with pytest.raises(timing.WrongAnswer, match=r"1 of 30 differ, at \[7\]"):
        timing.measure([Work(wrong)], check, EFFORT)
    assert len(calls) == 1
    assert timing.measure([Work(lambda: right)], check, EFFORT).repeats >= 1


@pytest.mark.filterwarnings("ignore")  # of other libraries
@pytest.mark.parametrize("task", TASKS)
def test_every_task_knows_right_from_wrong(task):
    groups = 5 if task == "hypervolume_advantage" else 0
    case = Case("any", task, "concave", 12, 2 if task in PLANAR else 3, groups=groups)
    try:
        right = judge.solve(case)
    except judge.NoJudge as missing:
        pytest.skip(str(missing))
    work = peers.prepare(peers.make("paretopo"), case)
    if work.fresh is not None:
        work.fresh()
    answer = np.array(work.run())
    assert judge.find_error(case, answer, right) is None
    assert judge.find_error(case, answer[..., None], right).startswith("shape")
    worse = ~answer if answer.dtype == bool else answer * 1.001 + 1
    assert "differ" in judge.find_error(case, worse, right)
    if answer.dtype == float:
        assert "differ" in judge.find_error(case, answer * np.nan, right)


@pytest.mark.parametrize(
    ("body", "status", "note"),
    [
        ("case.data[:, 0]", "wrong", "differ"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", f"signal {int(signal.SIGSEGV)}"),
        ("[print('noise'), os.system('echo noise'), 1 / 0]", "error", "ZeroDivisionError"),
        ("time.sleep(60)", "too slow", "more than"),
    ],
)
def test_a_bad_peer_is_recorded_and_does_not_stop_the_run(tmp_path, body, status, note):
    process = Process("stranger", (str(write_worker(tmp_path / "stranger.py", body)),))
    truth = tmp_path / "truth.npy"
    np.save(truth, [judge.solve(case) for case in TINY.draws])
    request = {"case": TINY.as_dict(), "truth": str(truth), "effort": vars(EFFORT)}
    for _ in range(2):  # it restarts after a crash
        reply = process.ask(request, 0.5 if status == "too slow" else 60.0)
        assert reply["status"] == status
        assert note in reply["note"]
    process.stop()


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
    assert "| fronts | 1 |" in (tmp_path / "against.md").read_text(encoding="utf-8")
    assert cli.main([*words, "--against", "/bin/false"]) == 2
    assert "/bin/false cannot import paretopo_core: exit code 1" in capsys.readouterr().err


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


def test_a_defect_is_seen_in_a_process_of_its_own():
    programs = {
        "right": "got, right = 1, True",
        "wrong: 2": "got, right = 2, False",
        f"crashes: signal {int(signal.SIGKILL)}": "import os; os.kill(os.getpid(), 9)",
        "hangs: more than 0.5 s": "import time; time.sleep(60)",
    }
    for expected, program in programs.items():
        outcome = defects.run(Defect("moocore", "", program), 0.5 if "sleep" in program else 60)
        assert str(outcome).startswith(expected)


def test_outcomes_go_into_the_row_of_their_program():
    text = defects.PAGE.read_text(encoding="utf-8")
    found = defects.read_defects(text)
    assert len(found) == text.count("\n| [") == text.count("```python") > 10
    assert {one.peer for one in found} <= set(peers.PEERS)
    written = defects.write_outcomes(text, [(found[0], defects.Outcome("right", "x\\1"))])
    version = peers.find_version(found[0].peer)
    assert version is None or f"| {found[0].problem} | right: x\\1 |" in written
