"""Processes as /proc shows them, and an interpreter that must be as it was."""

import contextlib
from pathlib import Path

SECRET = "a-secret-of-the-parent"


def assert_unharmed(python):
    """The next program runs as if nothing had been."""
    result = python.run("print(6 * 7)")
    assert (result.stdout, result.stderr, result.returncode, result.limit) == ("42\n", "", 0, None)


def alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def descendants(pid):
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    below = {pid}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(below - {pid})


def resident(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0])
