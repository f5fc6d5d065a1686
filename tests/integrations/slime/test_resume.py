"""A job that is killed goes on from slime's checkpoint as if nothing had been."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.sessions import THREE_OBJECTIVES

from paretopo.run.folder import RunFolder

TESTS = Path(__file__).parents[2]
CONFIG = (
    THREE_OBJECTIVES
    + """economy = "paretopo"
[paretopo]
stage1_steps = 3
stage2_estimator = "gd2po"
[rewards]
evaluation_n_opt = "recompute"
"""
)
# A job of its own, which kills itself where it is told to, and prints what each rollout trained on.
JOB = f"""
import json, os, signal, sys
from support import slime_parts as slime

folder, config, load, start, ahead, fatal = json.loads(sys.argv[1])
slime.install()
slime.RolloutDataSourceWithBuffer.prompts = slime.prompts("abcdef")
args = slime.arguments(
    folder, paretopo_config=config, num_rollout=6, save_interval=2, load=load,
    start_rollout_id=start,
    dynamic_sampling_filter_path=slime.HOOKS + ".keep_informative",
)

def die(what, rollout_id):
    if [what, rollout_id] == fatal:
        os.kill(os.getpid(), {int(signal.SIGKILL)})

manager = slime.RolloutManager(args, policy=slime.made_up, held_out=slime.prompts("uvwxyz"))
print(json.dumps(slime.train(manager, ahead=ahead, after=die)))
"""


def run_job(folder, *, load=None, start=0, ahead=False, fatal=None):
    config = folder.parent / "objectives.toml"
    config.write_text(CONFIG)
    words = json.dumps([str(folder), str(config), load, start, ahead, fatal])
    return subprocess.run(
        [sys.executable, "-c", JOB, words],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )


def records(folder):
    run = RunFolder.open(folder)
    rows = [run.steps(), run.evaluations()]
    for row in [*rows[0], *rows[1]]:
        row.pop("seconds", None)
    return *rows, run.outcomes(), list(run.trajectories())


def test_a_killed_job_goes_on_as_if_nothing_had_been(tmp_path):
    whole = run_job(tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    trained = json.loads(whole.stdout)
    assert all(any(advantages) for advantages in trained.values())
    steps, evaluations, _, _ = records(tmp_path / "whole")
    assert [row["stage"] for row in steps] == [1, 1, 1, 2, 2, 2]
    assert [row["step"] for row in evaluations] == [0, 1, 2, 3, 4, 5, 6]
    assert any(row["kept"] < 1 for row in steps)

    folder = tmp_path / "killed"
    killed = run_job(folder, fatal=["train", 3])  # behind the checkpoint of rollout 1
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert [len(rows) for rows in records(folder)[:2]] == [4, 4]
    resumed = run_job(folder, load=str(folder), start=2)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == {at: trained[at] for at in ("2", "3", "4", "5")}
    assert records(folder) == records(tmp_path / "whole")
    states = [
        json.loads((one / "rollout" / "paretopo_5.json").read_text())
        for one in (folder, tmp_path / "whole")
    ]
    assert states[0] == states[1]
    manifest = RunFolder.open(folder).manifest
    assert manifest["status"] == "finished"
    assert [one["from_step"] for one in manifest["resumed"]] == [2]


@pytest.mark.parametrize("fatal", [["save", 1], ["eval", 1]])
def test_killed_between_a_checkpoint_and_its_evaluation(tmp_path, fatal):
    """slime does not evaluate again: what was evaluated before the kill is not lost."""
    folder = tmp_path / "killed"
    assert run_job(folder, fatal=fatal).returncode == -signal.SIGKILL
    assert run_job(folder, load=str(folder), start=2).returncode == 0
    found = [row["step"] for row in records(folder)[1]]
    assert found == ([0, 1, 3, 4, 5, 6] if fatal[0] == "save" else [0, 1, 2, 3, 4, 5, 6])


def test_a_killed_job_that_generates_ahead_goes_on(tmp_path):
    folder = tmp_path / "killed"
    assert run_job(folder, ahead=True, fatal=["train", 3]).returncode == -signal.SIGKILL
    assert [row["step"] for row in records(folder)[0]] == [1, 2, 3, 4, 5]
    resumed = run_job(folder, load=str(folder), start=2, ahead=True)
    assert resumed.returncode == 0, resumed.stderr
    steps, evaluations, _, _ = records(folder)
    assert [row["step"] for row in steps] == [1, 2, 3, 4, 5, 6]
    assert [row["stage"] for row in steps] == [1, 1, 1, 2, 2, 2]
    # That of step 2 came behind its checkpoint, and the state there was of before.
    assert [row["step"] for row in evaluations] == [1, 3, 4, 5, 6]
