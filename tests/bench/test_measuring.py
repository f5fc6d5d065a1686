"""A run checks before it times, survives its peers, and goes on where it stopped."""

import math
import signal
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support.benchmarks import EFFORT, PLAN, TINY, a_row, write_worker

from bench import judge, rows, timing
from bench.cases import TURNS
from bench.runner import Process, Runner
from bench.timing import Work


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


def test_small_sets_are_checked_and_measured_in_turn(monkeypatch):
    monkeypatch.setattr(timing, "_LEAST_SAMPLE_S", 60.0)  # quick, however busy the machine is
    monkeypatch.setattr(timing, "_MOST_CALLS", 6)
    calls, checked = [], []
    works = [Work(partial(calls.append, draw)) for draw in range(3)]
    times = timing.measure(works, lambda draw, _: checked.append(draw), EFFORT)
    assert checked == [0, 1, 2]
    assert times.calls == 6
    assert calls[-6:] == [0, 1, 2, 0, 1, 2]
    with pytest.raises(timing.WrongAnswer, match="the third"):
        timing.measure(works, lambda draw, _: "the third" if draw == 2 else None, EFFORT)


def test_one_long_call_fills_a_sample(monkeypatch):
    monkeypatch.setattr(timing, "_LEAST_SAMPLE_S", 0.0)
    calls = []
    works = [Work(partial(calls.append, draw)) for draw in range(3)]
    assert timing.measure(works, lambda *_: None, EFFORT).calls == 1
    assert set(calls) == {0}


def test_only_small_sets_are_redrawn():
    draws = TINY.draws
    assert len({case.data.tobytes() for case in draws}) == len(draws) == TURNS
    assert draws[0] == TINY
    for alone in (
        replace(TINY, points=1_001),
        replace(TINY, groups=5),
        replace(TINY, objectives=6),
    ):
        assert alone.draws == [alone]


def test_a_first_call_that_compiles_does_not_count(monkeypatch):
    monkeypatch.setattr(timing, "_SLOW_CALL_S", 0.05)
    pauses = iter([0.1])
    work = Work(lambda: time.sleep(next(pauses, 0.0)))
    times = timing.measure([work], lambda *_: None, EFFORT)
    assert times.wall_min_ms < 50


def test_rows_come_back_from_the_csv(tmp_path):
    path = tmp_path / "fronts.csv"
    written = [a_row(), a_row(peer="a, b", status="crashed", cpu_median_ms=math.nan)]
    rows.write(path, written[:1])
    rows.write(path, written[1:], append=True)
    back = rows.read(path)
    assert [row.peer for row in back] == ["paretopo", "a, b"]
    assert [row.is_timed for row in back] == [True, False]
    assert back[0].case == TINY
    assert back[0].milliseconds == 2.0
    assert math.isnan(back[1].milliseconds)


def test_a_foreign_csv_is_refused(tmp_path):
    path = tmp_path / "fronts.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"fronts\.csv is not a result of this version"):
        rows.read(path)


def test_a_run_measures_checks_and_resumes(tmp_path):
    path, told = tmp_path / "fronts.csv", []
    cases = [TINY, replace(TINY, workload="equal")]
    with Runner(PLAN, told.append) as runner:
        runner.run(cases[:1], path)
        path.rename(path.with_suffix(".csv.part"))
        runner.run(cases, path, resume=True)
        measured = rows.read(path)
        runner.run(cases, path, resume=True)
    assert [(row.case, row.peer, row.status) for row in measured] == [
        (case, name, "ok") for case in cases for name in PLAN.names
    ]
    assert all(row.wall_min_ms <= row.wall_median_ms for row in measured)
    assert [line.split()[1] for line in told] == ["uniform", "equal", "is"]


@pytest.fixture
def stranger(monkeypatch):
    """A peer of the test's making, in a worker that finds it."""

    def register(body, tmp_path):
        process = Process("stranger", (str(write_worker(tmp_path / "stranger.py", body)),))
        truth = tmp_path / "truth.npy"
        np.save(truth, [judge.solve(case) for case in TINY.draws])
        request = {"case": TINY.as_dict(), "truth": str(truth), "effort": vars(EFFORT)}
        return process, request

    return register


@pytest.mark.parametrize(
    ("body", "status", "note"),
    [
        ("case.data[:, 0]", "wrong", "differ"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", f"signal {int(signal.SIGSEGV)}"),
        ("1 / 0", "error", "ZeroDivisionError"),
        ("[print('noise'), os.system('echo noise'), 1 / 0]", "error", "ZeroDivisionError"),
    ],
)
def test_a_bad_peer_is_recorded_and_does_not_stop_the_run(stranger, tmp_path, body, status, note):
    process, request = stranger(body, tmp_path)
    for _ in range(2):  # it restarts after a crash
        reply = process.ask(request, 60.0)
        assert reply["status"] == status
        assert note in reply["note"]
    process.stop()


def test_a_slow_peer_is_stopped(stranger, tmp_path):
    process, request = stranger("time.sleep(60)", tmp_path)
    assert process.ask({**request, "case": replace(TINY, task="hypervolume").as_dict()}, 60.0) == {
        "status": "not offered"
    }
    assert process.ask(request, 0.2)["status"] == "too slow"
