"""The core keeps its threads from call to call; concurrent calls share them."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import paretopo_core as pp


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


def large_sets():
    """Sets larger than the chunk of one thread, 65,536 points."""
    rng = np.random.default_rng(2)
    x = rng.random(300_000)
    front = np.stack([x, 1 - x], axis=1)
    steps = rng.integers(0, 300, 300_000).astype(float)
    columns = np.stack([steps, 300 - steps], axis=1)
    columns[rng.random(len(columns)) < 0.4] = 150  # one of them longer than a chunk
    skewed = np.stack([10 ** -(x * 300), x], axis=1)
    unknown = front.copy()
    unknown[rng.random(unknown.shape) < 0.1] = np.nan
    return {
        "a front": front,
        "a front in float32": front.astype(np.float32),
        "a sorted front": front[np.argsort(x)],
        "columns": columns,
        "skewed": skewed,
        "unknown": unknown,
        "one point among others": np.stack([x + 0.5 * (x > 0.1), x * x], axis=1),
    }


@pytest.mark.parametrize("kind", large_sets())
def test_threads_share_one_large_set(threads, kind):
    points = large_sets()[kind]
    mask = np.random.default_rng(3).random(len(points)) < 0.8

    def compute():
        return {
            "filter": pp.is_nondominated(points),
            "one of equal points": pp.is_nondominated(points, duplicates="first"),
            "some points": pp.is_nondominated(points, maximise=[False, True], mask=mask),
            "strict": pp.is_nondominated(points, dominance="strict", mask=mask),
            "strict, one of equal points": pp.is_nondominated(
                points, maximise=[False, True], duplicates="first", dominance="strict"
            ),
            "ranks": pp.pareto_rank(points, maximise=[False, True], mask=mask),
            "volume": pp.hypervolume(np.nan_to_num(points), -1.0, mask=mask),
        }

    threads(1)
    expected = compute()
    threads(3)
    found = compute()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    np.testing.assert_array_equal(found["some points"], found["ranks"] == 0)
    ranks = pp.pareto_rank(points, dominance="strict", n_below=1, mask=mask)
    np.testing.assert_array_equal(found["strict"], ranks == 0)


_SIGNALS = """
from pathlib import Path
import numpy as np
import paretopo_core as pp

def blocked():
    found = {}
    for task in Path("/proc/self/task").iterdir():
        found[task.name] = int((task / "status").read_text().split("SigBlk:")[1].split()[0], 16)
    return found

pp.threads(4)
before = blocked()
pp.hypervolume(np.random.default_rng(0).random((5000, 24, 3)), 0)
started = [mask for name, mask in blocked().items() if name not in before]
SIGINT, SIGTERM = 1 << 1, 1 << 14
assert len(started) == 3, started
assert all(mask & SIGINT and mask & SIGTERM for mask in started), started
"""


def test_signals_go_to_the_host_program():
    command = [sys.executable, "-W", "ignore", "-c", _SIGNALS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
