"""The benchmark checks before it times, survives its peers, and draws from its files."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as cli
from bench import beside, command, defects, judge, machine, peers, plots, rows, timing, worker
from bench.cases import DRAWN, GPU_OPERATIONS, NEWCOMERS, OPERATIONS, TASKS, VALID, Case
from bench.defects import Defect
from bench.promises import check_promises, render
from bench.runner import Plan, Process, Runner
from bench.timing import Effort, Work
from bench.workloads import SHAPES, make_points
from paretopo_core import reference

EFFORT = Effort(budget_s=0.001, least=1, most=2)
CHECKOUT = Path(__file__).parents[2]
PLAN = Plan(EFFORT, limit_s=60.0, names=("paretopo", "moocore"))
TINY = Case("fronts", "pareto_rank", "uniform", 30, 2)


def a_row(**changes):
    row = rows.Measurement(
        **TINY.as_dict(), peer="paretopo", version="1", status="ok", cpu_median_ms=2.0
    )
    return replace(row, **changes)


def test_a_wrong_answer_is_refused_before_it_is_timed():
    right = judge.solve(TINY)
    check = partial(judge.find_error, TINY, right=right)
    calls = []

    def wrong():
        calls.append(1)
        return right + (np.arange(len(right)) == 7)

    with pytest.raises(timing.WrongAnswer, match=r"1 of 30 differ, at \[7\]"):
        timing.measure(Work(wrong), check, EFFORT)
    assert len(calls) == 1
    assert timing.measure(Work(lambda: right), check, EFFORT).repeats >= 1


@pytest.mark.parametrize("task", TASKS)
def test_every_task_knows_right_from_wrong(task):
    case = Case("any", task, "concave", 12, 3)
    right = judge.solve(case)
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


@pytest.mark.parametrize("points", [3, 4, 6])
def test_the_judge_of_advantages_agrees_with_their_definition(points):
    case = Case("any", "hypervolume_advantage", "uniform", points, 2, groups=3)
    expected = reference.hypervolume_advantage(-case.doubles, -case.ref, k=min(DRAWN, points))
    np.testing.assert_allclose(judge.solve(case), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("objectives", [2, 3])
def test_the_judge_of_gradients_agrees_with_their_definition(objectives):
    case = Case("any", "hypervolume_gradient", "uniform", 9, objectives)
    expected = reference.hypervolume_gradient(case.doubles, case.ref, maximise=False)
    np.testing.assert_allclose(judge.solve(case), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("workload", ["uniform", "concave"])
def test_the_judge_of_crowding_agrees_with_its_definition(workload):
    case = Case("any", "crowding_distance", workload, 20, 3)
    np.testing.assert_allclose(judge.solve(case), reference.crowding_distance(-case.doubles))


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_the_judge_of_archives_agrees_with_hypervolumes(objectives):
    case = Case("any", "archive_add", "concave", 20, objectives)
    sets = [case.doubles[: 20 + i] for i in range(NEWCOMERS + 1)]
    moocore = pytest.importorskip("moocore")
    gains = np.diff([moocore.hypervolume(points, ref=case.ref) for points in sets])
    np.testing.assert_allclose(judge.solve(case), gains, atol=1e-14)


@pytest.mark.parametrize(
    ("name", "task", "objectives"),
    [
        *(
            ("numpy", task, 2)
            for task in (
                "is_nondominated",
                "hypervolume",
                "hv_contributions",
                "hypervolume_gradient",
                "crowding_distance",
            )
        ),
        ("numpy", "crowding_distance", 3),
        *(("paretopo", "hypervolume_gradient_of_few", objectives) for objectives in (2, 3)),
        *(("paretopo ranks", task, 3) for task in ("is_nondominated", "crowding_distance")),
        *(
            (f"paretopo {form}", task, 2)
            for form in ("list", "tensor")
            for task in ("pareto_rank", "hv_contributions", "pareto_advantage")
        ),
    ],
)
def test_what_users_write_is_right_on_a_front(name, task, objectives):
    case = Case("any", task, "concave", 40, objectives)
    answer = peers.prepare(peers.make(name), case).run()
    assert judge.find_error(case, answer, judge.solve(case)) is None


def test_what_holds_on_a_front_alone_is_not_asked_elsewhere():
    for task in ("hypervolume", "hv_contributions", "hypervolume_gradient"):
        case = Case("any", task, "uniform", 40, 2)
        assert peers.prepare(peers.make("numpy"), case) is None
    case = Case("any", "crowding_distance", "uniform", 40, 2)
    assert peers.prepare(peers.make("paretopo ranks"), case) is None


@pytest.mark.parametrize("task", ["pareto_rank", "hypervolume"])
def test_of_a_padded_group_the_first_points_count(task):
    case = Case("any", task, "padded", 9, 3, groups=20)
    alone = judge.solve(Case("any", task, "uniform", 9, 3, groups=20))
    right = judge.solve(case)
    assert case.mask.sum(axis=1).tolist() == [VALID] * 20
    assert right.shape == alone.shape
    assert (right != alone).any()
    answer = peers.prepare(peers.make("paretopo"), case).run()
    assert judge.find_error(case, answer, right) is None
    loop = peers.prepare(peers.make("moocore"), case)
    assert loop is None or judge.find_error(case, loop.run(), right) is None


def test_peers_are_asked_where_they_say_something():
    asked = {
        operation: {name for name in peers.ON_CPU if peers.is_asked(name, operation)}
        for operation in OPERATIONS
    }
    assert asked["threads"] == {"paretopo"}
    assert asked["bounds"] == {"paretopo", "moocore", "moocore C"}
    assert "paretopo ranks" in asked["filter"] & asked["crowding"]
    assert {"paretopo list", "paretopo tensor"} <= asked["overhead"]
    assert not any(name.startswith("paretopo ") for name in asked["hypervolume"])


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_has_cases_of_known_workloads(operation):
    small, large = (OPERATIONS[operation](quick=quick) for quick in (True, False))
    for cases in (small, large):
        assert len(set(cases)) == len(cases)
        assert {case.operation for case in cases} == {operation}
        assert {case.task for case in cases} <= set(TASKS)
        assert {case.workload for case in cases} <= {*SHAPES, "ragged", "padded"}
    sizes = [sum(case.points * max(case.groups, 1) for case in cases) for cases in (small, large)]
    assert sizes[0] <= sizes[1]


@pytest.mark.parametrize("workload", SHAPES)
def test_a_workload_is_the_same_every_time(workload):
    points = make_points(workload, 50, 4)
    assert points.shape == (50, 4)
    assert points.min() >= 0
    assert points.max() <= 1
    np.testing.assert_array_equal(points, make_points(workload, 50, 4))
    fronts = {"chain": 50, "equal": 1, **dict.fromkeys(("linear", "convex", "degenerate"), 1)}
    ranks = judge.solve(Case("any", "pareto_rank", workload, 50, 4))
    assert ranks.max() + 1 == fronts.get(workload, ranks.max() + 1)


def test_an_unknown_workload_is_named():
    with pytest.raises(ValueError, match=r"workload must be one of uniform, .*, got 'cubic'"):
        make_points("cubic", 3, 2)


@pytest.mark.parametrize("workload", ["uniform", "ragged"])
def test_groups_are_judged_and_done_like_single_sets(workload):
    task = "pareto_rank" if workload == "uniform" else "hypervolume"
    case = Case("batches", task, workload, 9, 3, groups=20)
    right = judge.solve(case)
    for name in ("paretopo", "moocore"):
        answer = peers.prepare(peers.make(name), case).run()
        assert judge.find_error(case, answer, right) is None


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
    with pytest.raises(ValueError, match=r"fronts\.csv is no result of this benchmark"):
        rows.read(path)


def test_a_machine_gets_a_plain_name():
    names = {
        ("AMD EPYC", "avx512"): "amd-epyc-avx512",
        ("Intel(R) Core(TM) i7-1165G7 CPU @ 2.80GHz", "avx2"): "intel-core-i7-1165g7-avx2",
    }
    for (processor, isa), name in names.items():
        here = {"processor": processor, "instruction set": isa}
        assert machine.name_machine(here) == name
        assert command.choose_folder(here, "quick") == CHECKOUT / f"bench/results/{name}-quick"


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
    equal, slower, new, broken = found = beside.compare(measured, "old")
    assert (equal.speed, equal.rounds) == (1.0, 3)
    assert slower.speed == pytest.approx(1 / 1.1)
    assert (new.speed, new.rounds) == (math.inf, 0)
    assert broken.speed == 0
    assert "paretopo: wrong, 1 of 40 differ" in broken.note
    assert [one.is_slower(0.05) for one in found] == [False, True, False, True]
    assert [one.is_slower(0.2) for one in found] == [False, False, False, True]
    table = beside.render(found, "old", 0.05)
    mean = math.sqrt(1 / 1.1)
    assert f"| fronts | 2 | {mean:.3f} | 0.909 (pareto_rank uniform 20 x 2) | 2 | 1 |" in table
    assert "| pareto_rank uniform 40 x 2 | 0.000 | 0 | paretopo: wrong" in table


def test_a_build_is_compared_with_itself(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [TINY])
    monkeypatch.setattr(command, "BESIDE", replace(command.BESIDE, effort=EFFORT, rounds=3))
    words = ["fronts", "--out", str(tmp_path), "--tolerance", "1e9"]
    assert cli.main([*words, "--beside", f"{sys.executable}=same"]) == 0
    measured = rows.read(tmp_path / "fronts.csv")
    assert [row.peer for row in measured] == [
        "paretopo", "same", "same", "paretopo", "paretopo", "same",
    ]  # fmt: skip
    assert {row.status for row in measured} == {"ok"}
    assert "| fronts | 1 |" in capsys.readouterr().out
    assert "| fronts | 1 |" in (tmp_path / "beside.md").read_text(encoding="utf-8")


def test_what_is_slower_than_another_build_is_measured_again_and_told(tmp_path, monkeypatch):
    """The other build answers at once, from a file."""
    case = Case("fronts", "pareto_rank", "uniform", 300, 5)
    np.save(tmp_path / "right.npy", judge.solve(case))
    (tmp_path / "worker.py").write_text(
        "import sys\n"
        "import numpy as np\n"
        "from bench import peers, worker\n"
        "class Known:\n"
        "    def pareto_rank(self, case):\n"
        f"        right = np.load({str(tmp_path / 'right.npy')!r})\n"
        "        return lambda: right\n"
        "peers.make = lambda name: Known()\n"
        "worker.main('known')\n",
        encoding="utf-8",
    )
    python = tmp_path / "python"
    python.write_text(
        f"#!/bin/sh\n"
        f'if [ "$1" = -c ]; then exec {sys.executable} "$@"; fi\n'
        f"exec {sys.executable} {tmp_path / 'worker.py'}\n",
        encoding="utf-8",
    )
    python.chmod(0o755)
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [case])
    monkeypatch.setattr(command, "BESIDE", replace(command.BESIDE, effort=EFFORT, rounds=1))
    assert cli.main(["fronts", "--out", str(tmp_path), "--beside", f"{python}=known"]) == 1
    assert len(rows.read(tmp_path / "fronts.csv")) == 2 * (1 + beside.REPEATS)
    assert "| 0.0" in (tmp_path / "beside.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--beside", "/no/such/python"], "/no/such/python does not start"),
        (["--beside", "/bin/false"], "/bin/false cannot import paretopo_core: exit code 1"),
        (["--beside", f"{sys.executable}=moocore"], "'moocore' is a peer"),
        (["--beside", sys.executable, "--tolerance", "-1"], "--tolerance must be 0 or more"),
    ],
)
def test_another_build_that_cannot_be_asked_is_refused(words, reason, tmp_path, capsys):
    assert cli.main(["fronts", "--out", str(tmp_path / "out"), *words]) == 2
    assert reason in one_line(capsys)
    assert not (tmp_path / "out").exists()


def test_a_first_call_that_compiles_does_not_count(monkeypatch):
    monkeypatch.setattr(timing, "_SLOW_CALL_S", 0.05)
    pauses = iter([0.1])
    work = Work(lambda: time.sleep(next(pauses, 0.0)))
    times = timing.measure(work, lambda _: None, EFFORT)
    assert times.wall_min_ms < 50


@pytest.fixture
def stranger(monkeypatch):
    """A peer of the test's making, in a worker that finds it."""

    def register(body, tmp_path):
        (tmp_path / "stranger.py").write_text(
            "import os, signal, time\n"
            "from bench import peers, worker\n"
            "class Stranger:\n"
            f"    def pareto_rank(self, case):\n        return lambda: {body}\n"
            "peers.make = lambda name: Stranger()\n"
            "worker.main('stranger')\n",
            encoding="utf-8",
        )
        process = Process("stranger", (str(tmp_path / "stranger.py"),))
        truth = tmp_path / "truth.npy"
        np.save(truth, judge.solve(TINY))
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
    for _ in range(2):  # after a crash it is started anew
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


def test_plots_are_drawn_from_the_files_alone(tmp_path):
    sizes = [a_row(points=points, peer=name) for points in (10, 100, 1000) for name in PLAN.names]
    rows.write(tmp_path / "fronts.csv", [*sizes, a_row(workload="chain"), a_row(status="wrong")])
    drawn = command.draw((), tmp_path)
    assert [path.name for path in drawn] == ["fronts-uniform.png", "fronts.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    with pytest.raises(ValueError, match="no results in"):
        command.draw(("filter",), tmp_path)


def test_promises_are_held_against_the_rows():
    case = {"workload": "uniform", "points": 100_000, "objectives": 2}
    ours, theirs = a_row(**case), a_row(**case, peer="moocore", cpu_median_ms=7.0)
    first = "sort 100,000 uniform, 2 objectives, against moocore"
    (kept,) = (line for line in check_promises([ours, theirs], "avx512") if line.what == first)
    assert kept.cells == (
        first, "3.5 x (uniform 100000 x 2, moocore)", "at least 3 x", "1.17", "yes",
    )  # fmt: skip
    (late,) = (
        line
        for line in check_promises([replace(ours, status="too slow"), theirs], "avx512")
        if line.what == first
    )
    assert late.cells[-2:] == ("0.00", "NO")
    chain = a_row(workload="chain", points=20_000, objectives=3, cpu_median_ms=30.0)
    table = render(check_promises([chain], "avx2"))
    assert "| 30 ms (3 objectives)" in table
    assert table.count("not measured") == len(table.splitlines()) - 3


def promise_of(what, measured):
    (line,) = (line for line in check_promises(measured, "avx512") if line.what == what)
    return line.cells[1:]


def test_a_cliff_counts_upwards_and_downwards():
    what = "pareto_rank of groups, both sides of a bound, against the trend"
    case = {"operation": "bounds", "groups": 200, "objectives": 2}
    pairs = (65 / 64) ** 2
    for factor, is_met in ((1.0, "yes"), (1.6, "NO"), (1 / 1.6, "NO")):
        sides = [
            a_row(**case, points=64, cpu_median_ms=3.0),
            a_row(**case, points=65, cpu_median_ms=3.0 * pairs * factor),
        ]
        measured, target, _, met = promise_of(what, sides)
        assert measured == f"{max(factor, 1 / factor):.3g} x the time (64 to 65 x 2)"
        assert (target, met) == ("at most 1.5 x the time", is_met)


def test_promises_hold_our_own_times_against_each_other():
    padded = a_row(operation="batches", workload="padded", points=64, groups=100, objectives=3)
    alone = replace(padded, workload="uniform", points=VALID, cpu_median_ms=1.0)
    what = f"pareto_rank of 100 groups with {VALID} of 64 points, against these points alone"
    assert promise_of(what, [padded, alone])[0] == "2 x the time"
    front = a_row(operation="crowding", task="crowding_distance", workload="concave")
    others = [
        replace(front, peer="paretopo ranks", cpu_median_ms=0.5),
        replace(front, peer="numpy", cpu_median_ms=3.0),
    ]
    what = "crowding of one front, known to be one, against pygmo and NumPy"
    assert promise_of(what, [front, *others])[0].startswith("6 x (concave 30 x 2, numpy)")
    tiny = [
        a_row(operation="overhead", points=8, peer=name, cpu_median_ms=us * 1e-3)
        for name, us in (("paretopo", 1), ("paretopo list", 2), ("paretopo tensor", 3))
    ]
    for form, us in (("array", 1), ("list", 2), ("tensor", 3)):
        what = f"one call on one tiny {form}, the slowest of five tasks"
        assert promise_of(what, tiny)[0] == f"{us} us (pareto_rank)"


def test_other_calls_of_ours_are_no_peers_unless_named():
    front = a_row(
        operation="filter", task="is_nondominated", workload="concave", points=1_000
    )  # 2 ms
    others = [
        replace(front, peer="paretopo ranks", cpu_median_ms=1.0),
        replace(front, peer="numpy", cpu_median_ms=6.0),
    ]
    what = "filter 1,000 and more concave, 2 objectives, "
    measured = [front, *others]
    assert promise_of(what + "every peer", measured)[0] == "3 x (concave 1000 x 2, numpy)"
    assert promise_of(what + "against our own ranks", measured)[0].startswith("0.5 x")


def test_every_promise_can_be_measured_by_the_full_cases():
    """What no case measures would stay "not measured" for ever."""
    measured = [
        rows.Measurement(**case.as_dict(), peer=peer, version="1", status="ok", cpu_median_ms=1.0,
                         wall_median_ms=1.0)
        for make_cases in OPERATIONS.values()
        for case in make_cases()
        for peer in peers.ON_CPU
    ]  # fmt: skip
    promised = check_promises(measured, "avx512")
    assert [promise.what for promise in promised if promise.measured is None] == []
    assert len({promise.what for promise in promised}) == len(promised)


def test_the_command_line_measures_draws_and_promises(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "QUICK", PLAN)
    monkeypatch.setitem(OPERATIONS, "fronts", lambda *, quick: [TINY])
    out = str(tmp_path / "results")
    assert cli.main(["fronts", "--quick", "--out", out]) == 0
    text = capsys.readouterr().out
    assert "best peer moocore" in text
    assert text.rstrip().endswith("fronts.png")
    assert cli.main(["--promises", "--out", out]) == 0
    assert "| promise " in capsys.readouterr().out
    assert str(os.sep) not in (tmp_path / "results" / "fronts.csv").read_text(encoding="utf-8")
    assert cli.main(["cooking", "--out", out]) == 2
    assert "operation must be one of fronts, filter" in one_line(capsys)


def one_line(capsys):
    told = capsys.readouterr().err
    assert told.startswith("bench: ")
    assert told.count("\n") == 1
    return told


def test_the_help_names_every_operation_and_what_to_install(capsys):
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    told = capsys.readouterr().out
    assert all(f"\n  {name} " in told for name in OPERATIONS)
    assert 'pip install ".[bench]"' in told


def test_ctrl_c_ends_with_how_to_go_on(monkeypatch, capsys):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "measure", interrupt)
    for words in (["fronts", "--quick"], ["fronts", "--quick", "--resume"]):
        assert cli.main(words) == 130
        told = capsys.readouterr().err
        assert told.endswith("go on with: python -m bench fronts --quick --resume\n")


def test_without_the_package_the_command_says_what_to_install():
    # -S leaves out what is installed; NumPy is looked for first.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "bench"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "paretopo_core, matplotlib, moocore not installed" in done.stderr
    assert "pip install '.[bench]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_of_the_training_package_is_imported():
    code = "import sys; from bench import command, plots, defects, worker; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "paretopo_core" in loaded
    assert "paretopo" not in loaded


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


def test_a_peer_is_left_out_where_it_is_not_installed(monkeypatch):
    monkeypatch.setitem(peers.PEERS, "moocore", (("no-such-package",), "in_numpy:Moocore"))
    runner = Runner(PLAN)
    assert runner.missing == ["moocore"]
    assert list(runner.versions) == ["paretopo"]
    assert worker.JUDGE not in peers.PEERS
    assert {name: plots._style(name)["color"] for name in peers.PEERS}


def test_a_gpu_is_waited_for_within_the_clock(monkeypatch):
    monkeypatch.setattr(timing, "_LEAST_SAMPLE_S", 60.0)  # quick, however busy the machine is
    monkeypatch.setattr(timing, "_MOST_CALLS", 2)
    events = []
    work = Work(lambda: events.append("run"), finish=lambda: events.append("wait"))
    timing.measure(work, lambda _: None, Effort(budget_s=0.0, least=1, most=1))
    assert events[:2] == ["run", "wait"]
    assert events[-1] == "wait"
    assert events.count("wait") == 3  # the checked call, the one that warms up, the sample


def test_cases_on_a_gpu_are_of_known_tasks():
    ((name, make_cases),) = GPU_OPERATIONS.items()
    small, large = make_cases(quick=True), make_cases()
    for cases in (small, large):
        assert len(set(cases)) == len(cases)
        assert all(case.is_on_gpu and case.operation == name for case in cases)
        assert {case.task for case in cases} <= set(TASKS)
    assert any(case.groups == 1_000_000 for case in large)
    assert str(large[0]).endswith("on the GPU")
    assert set(peers.ON_CPU) | set(peers.ON_GPU) == set(peers.PEERS)
    assert a_row(threads=0, wall_median_ms=7.0).milliseconds == 7.0


def test_a_device_is_described_as_its_driver_tells():
    told = "NVIDIA H200, 580.65.06, 1980, 1980, 3201, 700.00\nNVIDIA H200, 0, 0, 0, 0, 0\n"
    found = machine.parse_driver(told)
    assert found["gpu"] == "NVIDIA H200"
    assert found["driver"] == "580.65.06"
    assert machine.name_machine(found) == "nvidia-h200"


def test_compiled_one_liners_answer_like_eager_ones(monkeypatch):
    monkeypatch.setattr("torch.compile", lambda run: run)  # what compiles is torch's matter
    compiled = peers.make("torch compiled")
    for task in ("pareto_rank", "is_nondominated", "hypervolume", "pareto_advantage"):
        case = Case("any", task, "uniform", 9, 2, groups=20)
        answer = peers.prepare(compiled, case).run()
        assert judge.find_error(case, answer, judge.solve(case)) is None
    assert peers.prepare(peers.make("paretopo graph"), case) is None


@pytest.mark.parametrize(
    ("is_compiled", "reason"), [(False, "PARETOPO_CUDA=ON"), (True, "finds no CUDA device")]
)
def test_without_a_gpu_the_reason_is_told(is_compiled, reason, capsys, monkeypatch):
    monkeypatch.setattr(machine._core, "cuda_is_compiled", lambda: is_compiled)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert cli.main(["--device", "cuda"]) == 2
    told = one_line(capsys)
    assert "--device cuda: " in told
    assert reason in told


def test_a_gpu_has_operations_of_its_own(tmp_path):
    with pytest.raises(ValueError, match="operation must be one of gpu, got 'fronts'"):
        command.measure(["fronts"], tmp_path, {"gpu": "NVIDIA H200"})


def test_results_of_a_gpu_keep_its_bandwidth_before_and_after(tmp_path, monkeypatch):
    monkeypatch.setitem(GPU_OPERATIONS, "gpu", lambda *, quick: [TINY])
    monkeypatch.setattr(machine, "measure_copy", lambda: 4000.0)
    command.measure([], tmp_path, {"gpu": "NVIDIA H200", "copy GB/s": 4001.0}, plan=PLAN)
    assert [row.peer for row in rows.read(tmp_path / "gpu.csv")] == [*PLAN.names]
    here = json.loads((tmp_path / "machine.json").read_text(encoding="utf-8"))
    assert (here["copy GB/s"], here["copy GB/s at the end"]) == (4001.0, 4000.0)
