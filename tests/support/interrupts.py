"""Ctrl-C during a training on TRL in this process, and the comparison of two runs."""

import pytest
import torch
from safetensors.torch import load_file
from support.curves import read_curves

from paretopo.integrations.trl.train import train


class StopsAfter:
    """Stands in for `Interrupt`: comes once a run has a step."""

    def __init__(self, run, step):
        self._run, self._step = run, step

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    @property
    def came(self):
        return len(self._run.steps()) >= self._step


def train_until(run, step, monkeypatch):
    """Train until a step is recorded."""
    with monkeypatch.context() as patched:
        patched.setattr("paretopo.integrations.trl.train.Interrupt", lambda: StopsAfter(run, step))
        with pytest.raises(KeyboardInterrupt):
            train(run.config, run)


def without_time(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def assert_same_result(run, other):
    """Records, curves and weights are equal, bit for bit."""
    assert without_time(run.steps()) == without_time(other.steps())
    assert without_time(run.evaluations()) == without_time(other.evaluations())
    assert list(run.trajectories()) == list(other.trajectories())
    if run.config.run.tensorboard:
        assert steps_of(read_curves(run)) == steps_of(read_curves(other))
    mine, theirs = (load_file(one.model / "model.safetensors") for one in (run, other))
    assert mine.keys() == theirs.keys()
    for name, tensor in mine.items():
        assert torch.equal(tensor, theirs[name]), name


def steps_of(curves):
    return {tag: [step for step, _ in curve] for tag, curve in curves.items()}
