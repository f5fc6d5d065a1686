"""A study that is killed leaves no process behind, neither its workers nor their trainings."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STUDY = """
from pathlib import Path
from types import SimpleNamespace

from paretopo_lab.study import cells, grid, plan

# In the workers, too, which read this file.
cells.sys = SimpleNamespace(executable={python!r}, platform="linux")

if __name__ == "__main__":
    table = {{"study": {{"seeds": 1}}, "tasks": {{"sums": {{"config": "sums.toml"}}}}}}
    grid.run(plan.from_table(table), Path("out"), workers=2)
"""
# In the place of a training: says who it is, and stays.
TRAINING = """
import os, sys, time
from pathlib import Path
Path(f"pid-{os.getpid()}").write_text(str(os.getppid()))
time.sleep(300)
"""


def is_alive(process):
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def wait_for(condition):
    for _ in range(1200):
        if condition():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.skipif(sys.platform != "linux", reason="on Linux only")
def test_its_processes_die_with_it(tmp_path):
    (tmp_path / "sums.toml").write_text("")
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\nexec {sys.executable} training.py\n")
    stand_in.chmod(0o755)
    (tmp_path / "training.py").write_text(TRAINING)
    (tmp_path / "study.py").write_text(STUDY.format(python=str(stand_in)))
    study = subprocess.Popen([sys.executable, "study.py"], cwd=tmp_path)
    try:
        assert wait_for(lambda: len(list(tmp_path.glob("pid-*"))) == 2)
        assert wait_for(lambda: all(one.read_text() for one in tmp_path.glob("pid-*")))
        started = {int(one.name[4:]) for one in tmp_path.glob("pid-*")}
        workers = {int(one.read_text()) for one in tmp_path.glob("pid-*")}
        assert all(map(is_alive, started | workers))
    finally:
        study.send_signal(signal.SIGKILL)
        study.wait()
    assert wait_for(lambda: not any(map(is_alive, started | workers)))
