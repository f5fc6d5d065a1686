"""No way to leave or to fork a process ends badly, whichever operation is at work."""

import itertools
import os
import subprocess
import sys

import pytest
from support import operations

from paretopo_core._machinery.registry import OPERATIONS

_BEGIN = """
import os, random, signal, sys, threading, time
import numpy as np
import paretopo_core as pp
from support.operations import CALLS

rng = np.random.default_rng(0)
large, some = rng.random((20_000, 4)), rng.random((200, 4))
archive = pp.ParetoArchive({archive})

def draw():  # without `rng`, whose lock a fork would copy while the other thread holds it
    return [random.random() for _ in range(4)]

def work():
    {call}

def work_for_ever():
    while True:
        work()

def send():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

worker = threading.Thread(target=work_for_ever, daemon=True)
worker.start()
"""

# Calls of all operations of the core, of functions without one, and of methods of an archive.
_OF_THE_CORE = {operation.core.name for operation in OPERATIONS} | {"generational_distance"}
CALLS = {
    name: f"CALLS[{name!r}].run(some{'[:, :2]' * ('few' in call.flags)}, 0)"
    for name, call in operations.CALLS.items()
    if name in _OF_THE_CORE
} | {
    "is_nondominated, large": "pp.is_nondominated(large)",
    "hypervolume_hessian": "pp.hypervolume_hessian(large[:, :3], 0)",
    "attainment_surfaces": "pp.attainment_surfaces(large[:4_000, :3], np.arange(4_000) % 20)",
    "reference_directions": "pp.reference_directions(5, 12)",
    "ParetoArchive": "archive.extend(large)",
    "ParetoArchive, payloads": "archive.extend(large, [object() for _ in large])",
    "ParetoArchive, add": "for _ in range(900): archive.add(draw(), object())",
    "ParetoArchive, gain": "archive.extend(some); archive.gain(large)",
    "ParetoArchive, bounded": "pp.ParetoArchive([0.0] * 4, capacity=20).extend(some, [*some])",
}


def run(call, program, archive="[0.0] * 4"):
    """In a process of its own, so that neither a crash nor a deadlock is the end of the tests."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _BEGIN.format(call=call, archive=archive) + program],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PARETOPO_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.returncode, done.stderr


WAYS = {
    "an exception": ("raise SystemExit(3)", 3),
    "a signal": ("signal.signal(15, lambda *_: sys.exit(4)); os.kill(os.getpid(), 15)", 4),
    "a signal in a call": (
        "signal.signal(14, lambda *_: sys.exit(5)); signal.setitimer(0, 0.2); work_for_ever()",
        5,
    ),
    "work after the end": ("import atexit; atexit.register(work)", 0),
    "os._exit": ("os._exit(6)", 6),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals the POSIX way")
@pytest.mark.parametrize(
    ("way", "name"), [*zip(WAYS, itertools.cycle(["hypervolume", "ParetoArchive, payloads"]))]
)
def test_process_ends_by_any_way(way, name):
    program, status = WAYS[way]
    found, errors = run(CALLS[name], "time.sleep(0.05)\n" + program)
    assert (found, errors) == (status, "")


_FORKS = """
def leave_by(program, status):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is killed
        threading.Thread(target=work_for_ever, daemon=True).start()
        time.sleep(0.02)
        exec(program)
        sys.exit()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status, program

def fork(check):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a child that hangs is killed
        try:
            check()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


# One for each kind of work; with all calls, it is a long test.
OFTEN = ("pareto_rank", "hypervolume", "is_nondominated, large", "ParetoArchive, payloads")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name not in OFTEN)) for name in CALLS]
)
def test_process_forks_and_ends_by_any_way_while_a_daemon_thread_works(name):
    """Each way to end is that of a child, because a process has only one end; two ways a call."""
    ways, at = [*WAYS.values()], [*CALLS].index(name)
    chosen = [ways[(at + step) % len(ways)] for step in (0, 2)]
    forks = f"""{_FORKS}
sets = rng.random((500, 24, 3))
expected = pp.hypervolume(sets, 0)
def work_right():
    work()
    assert (pp.hypervolume(sets, 0) == expected).all()
for _ in range(3): time.sleep(0.02); fork(work_right)
work_right()
for program, status in {chosen}: leave_by(program, status)
"""
    program = (forks if hasattr(os, "fork") else "") + "time.sleep(0.02)"
    assert run(CALLS[name], program) == (0, "")


@needs_fork
@pytest.mark.parametrize(
    ("objectives", "bounds"),
    [(2, ""), (4, "capacity=30"), (2, "epsilon=0.1"), (4, "keep_history=True")],
)
def test_a_child_of_fork_finds_archives_between_two_additions(objectives, bounds):
    """The members, their payloads and the volume fit together, wherever the fork met the parent."""
    call = """
    for row in rng.random((500, archive.ref.size)):
        archive.add(row, payload=row.tolist())
    for row in archive.points[::3]:
        archive.remove(row)
    archive.load_state_dict(archive.state_dict())"""
    program = (
        _FORKS
        + """
def check():
    members = archive.points
    assert archive.payloads == members.tolist()
    assert abs(archive.hypervolume - archive.recomputed_hypervolume()) < 1e-9
    assert pp.is_nondominated(members).all()
    state = archive.state_dict()
    assert state["history"] is None or len(state["history"]) == state["additions"]
    archive.extend(np.ones((3, archive.ref.size)))
    assert len(archive) == 1

for _ in range(40):
    time.sleep(0.003)
    fork(check)
"""
    )
    assert run(call, program, f"[0.0] * {objectives}, {bounds}") == (0, "")


# The setup, the call in which the handler forks, and a condition that holds in the child after it.
FORKED = {
    "a call": (
        "expected = pp.pareto_rank(large.reshape(-1, 20, 4)); sets = rng.random((4_000, 60, 7))",
        "pp.hypervolume(sets, 0)",
        "(pp.pareto_rank(large.reshape(-1, 20, 4)) == expected).all()",
    ),
    "an addition": (
        "archive = pp.ParetoArchive([-0.1] * 5); rows = rng.random((20_000, 5))",
        "archive.extend(next(parts))",
        "abs(archive.hypervolume - archive.recomputed_hypervolume()) < 1e-9",
    ),
}


@needs_fork
@pytest.mark.parametrize("where", FORKED)
def test_a_handler_that_forks_leaves_no_child_waiting_and_keeps_the_turn(where):
    """The child has no threads to share the work of its call, which may end in an error."""
    setup, call, holds = FORKED[where]
    program = f"""
import itertools
{setup}
statuses, children = [], []
parts = itertools.cycle(np.split(rows, 20)) if {where == "an addition"} else None

def split(*_):
    child = os.fork()
    if child == 0:
        children.append(1)
        signal.alarm(60)
        return
    statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

signal.signal(signal.SIGUSR1, split)
threading.Timer(0.3, send).start()
until = time.monotonic() + 60
while time.monotonic() < until and not statuses:
    try:
        {call}
    except RuntimeError as error:
        assert {where == "a call"} and children and "forked" in str(error)
    if children:
        assert {holds}
        os._exit(0)
assert statuses == [0], statuses
"""
    assert run("time.sleep(1)", program) == (0, "")
