"""The threads of the core stay from call to call: through forks, beside each other, until exit."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np

import paretopo_core as pp

_BEGIN = """
import os, sys, threading
import numpy as np
import paretopo_core as pp

pp.set_num_threads(1)
sets = np.random.default_rng(0).random((5000, 24, 3))
expected = pp.hypervolume(sets, 0)
pp.set_num_threads(4)

def ask_a_child():
    child = os.fork()
    if child == 0:
        same = (pp.hypervolume(sets, 0) == expected).all()
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


def finishes(program):
    """In a process of its own, so that a deadlock is a failure and not the end of the tests."""
    command = [sys.executable, "-W", "ignore", "-c", _BEGIN + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_forked_child_has_threads_of_its_own():
    finishes("ask_a_child(); ask_a_child(); assert (pp.hypervolume(sets, 0) == expected).all()")


def test_a_fork_in_the_middle_of_threaded_calls():
    finishes("""
stop = threading.Event()
def compute():
    while not stop.is_set():
        pp.hypervolume(sets, 0)
worker = threading.Thread(target=compute, daemon=True)
worker.start()
for _ in range(20):
    ask_a_child()
stop.set()
worker.join()
""")


def test_the_process_ends_with_threads_asleep():
    finishes("pp.hypervolume(sets, 0)")


def test_many_threads_at_once_share_the_threads_of_the_core(threads):
    sets = np.random.default_rng(1).random((3000, 24, 3))
    threads(1)
    expected = pp.hypervolume(sets, 0)
    threads(3)
    wrong = []

    def compute():
        for _ in range(10):
            if (pp.hypervolume(sets, 0) != expected).any():
                wrong.append(1)

    callers = [threading.Thread(target=compute) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong


def test_signals_go_to_the_host_program():
    finishes("""
from pathlib import Path

def blocked():
    found = {}
    for task in Path("/proc/self/task").iterdir():
        found[task.name] = int((task / "status").read_text().split("SigBlk:")[1].split()[0], 16)
    return found

before = blocked()
pp.hypervolume(sets, 0)
started = [mask for name, mask in blocked().items() if name not in before]
SIGINT, SIGTERM = 1 << 1, 1 << 14
assert len(started) == 3, started
assert all(mask & SIGINT and mask & SIGTERM for mask in started), started
""")
