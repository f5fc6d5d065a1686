"""examples/own_script.py: ten lines on top of a plain script; a killed run goes on."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from safetensors.torch import load_file
from support.sessions import read_records

from paretopo.records.folder import RunFolder

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_script.py"


def shorten(text, steps):
    """The example at a few steps."""
    for old, new in (
        ("max_steps=", f"max_steps={steps}"),
        ("eval_steps=", "eval_steps=2"),
        ("save_steps=", "save_steps=2"),
    ):
        text, count = re.subn(rf"{old}\d+", new, text)
        assert count == 1
    return text


def run_script(path, folder):
    return subprocess.Popen(
        [sys.executable, str(path), str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def finish(process):
    out, errors = process.communicate()
    assert process.returncode == 0, errors[-3000:]
    return out


@pytest.mark.long
def test_killed_example_resumes_unchanged(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(shorten(EXAMPLE.read_text(encoding="utf-8"), steps=6), encoding="utf-8")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    printed = finish(run_script(script, whole))
    assert f"report: {whole / 'report' / 'report.md'}" in printed

    process = run_script(script, killed)
    deadline = time.monotonic() + 300
    while not (killed / "checkpoint-2" / "complete").exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    finish(run_script(script, killed))

    mine, theirs = RunFolder.open(killed), RunFolder.open(whole)
    assert mine.manifest["resumed"][0]["from_step"] >= 2
    assert mine.manifest["status"] == theirs.manifest["status"] == "finished"
    assert len(theirs.steps()) == 6
    rows = [read_records(path) for path in (killed, whole)]
    for row in rows[0]["steps"] + rows[1]["steps"]:
        del row["measured"], row["rewards"]  # which have seconds, too
    assert rows[0]["evaluations"] == rows[1]["evaluations"]
    assert rows[0]["steps"] == rows[1]["steps"]
    tensors = [load_file(path / "checkpoint-6" / "model.safetensors") for path in (killed, whole)]
    for name, tensor in tensors[0].items():
        assert torch.equal(tensor, tensors[1][name]), name
