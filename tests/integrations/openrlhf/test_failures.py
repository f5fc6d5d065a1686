"""Failures of the real pipeline end in a clear error, never in a hang.

Skipped where OpenRLHF is not installed; see `test_openrlhf_run.py`.
"""

import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)
psutil = pytest.importorskip("psutil")

from support.rehearsals import (
    GONE_SECONDS,
    RUN_SECONDS,
    end_of,
    environment,
    kill_all,
    output,
    start,
    wait_for,
)

pytestmark = pytest.mark.timeout(1500)


def test_a_killed_engine_ends_the_run_and_leaves_no_process(new_run):
    run = new_run(optimiser__steps=50)
    process = start(run)
    below = []
    try:
        wait_for(lambda: len(run.steps()) >= 1, process, run)
        below = psutil.Process(process.pid).children(recursive=True)
        (engine,) = [one for one in below if "CpuEngine" in " ".join(one.cmdline())]
        engine.send_signal(signal.SIGKILL)
        code = process.wait(GONE_SECONDS)
    finally:
        kill_all(process)
    assert code != 0
    assert "a rollout engine" in output(run)
    end = time.monotonic() + GONE_SECONDS
    while any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in below):
        assert time.monotonic() < end, [one for one in below if one.is_running()]
        time.sleep(0.5)


AGENT = """
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.integrations.openrlhf.agent import ToolAgentExecutor
class Agent(ToolAgent):
    async def turn(self, text):
        {turn}
    @property
    def measured(self):
        measured = super().measured
        {then}
        return measured
class AgentExecutor(ToolAgentExecutor):
    agent = Agent
    turn_timeout = 20.0
"""


@pytest.mark.parametrize(
    ("turn", "then", "complaint"),
    [
        ("raise ZeroDivisionError('my tool broke')", "pass", "ZeroDivisionError: my tool broke"),
        ("import time; time.sleep(9**9)", "pass", "turn_timeout = 20 seconds; set a"),
        (
            "return Turn(done=True, reward_components={'correct': 1.0})",
            "del measured['calls']",
            "no rollout measures the objective 'calls'",
        ),
    ],
)
def test_bad_agent_is_reported_with_its_prompt(new_run, tmp_path, turn, then, complaint):
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(turn=turn, then=then), encoding="utf-8")
    run = new_run()
    assert end_of(run, "--train.agent_func_path", str(agent)) != 0
    last = output(run).strip().splitlines()[-1]
    assert complaint in last
    assert "prompt '" in last


def test_an_engine_that_dies_while_it_starts_ends_the_run(new_run, tmp_path):
    agent = tmp_path / "agent.py"
    agent.write_text(AGENT.format(turn="pass", then="pass") + BROKEN_EXECUTOR, encoding="utf-8")
    run = new_run()
    assert end_of(run, "--train.agent_func_path", str(agent)) != 0
    last_line = output(run).strip().splitlines()[-1]
    assert "a rollout engine could not start: OSError: no licence here" in last_line


BROKEN_EXECUTOR = """
    def __init__(self):
        raise OSError("no licence here")
"""


def test_sigterm_marks_the_run_and_prints_the_resume_command(new_run):
    run = new_run(optimiser__steps=50)
    words = [sys.executable, "-m", "paretopo", "train", "--resume", str(run.path), "--trust"]
    with (run.path / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, env=environment())
    try:
        wait_for(lambda: len(run.steps()) >= 1, process, run)
        process.send_signal(signal.SIGTERM)
        assert process.wait(RUN_SECONDS) == 130
    finally:
        kill_all(process)
    assert run.manifest["status"] == "interrupted"
    assert f"resume with: paretopo train --resume {run.path}" in output(run)


def test_missing_gpus_are_refused_at_once(new_run):
    run = new_run()
    run.update_manifest(rehearsal=[])  # for real, then
    assert end_of(run) != 0
    assert "the run needs 2 GPUs, and Ray knows of " in output(run)
