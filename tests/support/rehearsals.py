"""Rehearsals on the real OpenRLHF: to start, end, kill and read them. Needs psutil."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from paretopo.records.folder import RunFolder

RUN_SECONDS = 540  # on two busy cores; one or two minutes on quiet ones
GONE_SECONDS = 180
SMALL = """
backend = "openrlhf"
seed = 3
model = { layers = 2, width = 64, heads = 2 }
task = { prompts = 24, facts = 4, kinds = [0.5, 0.5, 0.0] }
warmup = { steps = 120, batch_size = 16, learning_rate = 5e-3 }
paretopo = { stage1_steps = 2 }
evaluation = { every = 2, prompts = 16, temperature = 1.0 }
run = { checkpoint_every = 1 }
[optimiser]
steps = 4
prompts_per_step = 4
group_size = 4
learning_rate = 1e-3
max_completion_tokens = 48
[openrlhf]
nodes = 1
gpus_per_node = 1
engines = 1
colocate = false
correction = "token"
"""
TRAIN = (
    "import sys; from paretopo.records.folder import RunFolder\n"
    "from paretopo.integrations.openrlhf.train import train\n"
    "run = RunFolder.open(sys.argv[1])\n"
    "train(run.config, run, resume=sys.argv[2] == 'True', options=sys.argv[3:])\n"
)
PREPARE = (
    "import sys; from paretopo.records.folder import RunFolder\n"
    "from paretopo.integrations.openrlhf.prepare import prepare\n"
    "run = RunFolder.open(sys.argv[1]); prepare(run.config, run, lambda: False)\n"
)


def environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def start(run: RunFolder, *options: str, resume: bool = False) -> subprocess.Popen[str]:
    """Train in a separate process; its output goes to a file in the run folder."""
    command = [sys.executable, "-c", TRAIN, str(run.path), str(resume), *options]
    with (run.path / "log").open("a", encoding="utf-8") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, text=True, env=environment()
        )


def output(run: RunFolder) -> str:
    return (run.path / "log").read_text(encoding="utf-8")


def end_of(run: RunFolder, *options: str, resume: bool = False) -> int:
    """Train until the process ends; returns its exit code."""
    process = start(run, *options, resume=resume)
    try:
        return process.wait(RUN_SECONDS)
    finally:
        kill_all(process)


def finish(run: RunFolder, *options: str, resume: bool = False) -> str:
    """Train to the end; the rehearsal's own checks hold everything together."""
    assert end_of(run, *options, resume=resume) == 0, output(run)[-6000:]
    printed = output(run)
    assert "weights of " in printed
    assert "replay buffers got the controller's advantages" in printed
    assert "Exception ignored" not in printed
    return printed


def kill_all(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Kill a process and its descendants with SIGKILL; return the descendants."""
    try:
        below = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        below = []
    for one in [process, *below]:
        try:
            one.send_signal(signal.SIGKILL)
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
    process.wait(GONE_SECONDS)
    return below


def wait_for(condition, process, run, seconds=RUN_SECONDS):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, output(run)[-6000:]
        assert time.monotonic() < end, "waited too long\n" + output(run)[-6000:]
        time.sleep(0.2)


def exchanges(run: RunFolder) -> list[dict]:
    path = run.path / "rehearsal" / "advantages.jsonl"
    if not path.exists():
        return []
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def make_steerable_questions(folder: Path) -> list[str]:
    """Write the questions of examples/steerable.toml; return the options that other trainers need.

    They name the files, and leave out the bonus that only TRL has.
    """
    example = Path(__file__).parents[2] / "examples" / "steerable" / "make_questions.py"
    runpy.run_path(str(example))["main"](folder)
    files = {name: folder / f"{name}.jsonl" for name in ("train", "held_out")}
    settings = [f"task.{name}={file}" for name, file in files.items()]
    settings.append("optimiser.decision_entropy=0")
    return [word for one in settings for word in ("--set", one)]


def command(folder: Path, module: str, *words: str) -> str:
    """Run a command to its end and return its output."""
    log = folder / "log"
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdout=file,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        )
    try:
        code = process.wait(2 * RUN_SECONDS)
    finally:
        kill_all(process)
    printed = log.read_text(encoding="utf-8")
    assert code == 0, printed[-6000:]
    return printed
