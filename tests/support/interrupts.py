"""Ctrl-C during a training on TRL in this process."""

import pytest

from paretopo.integrations.trl.train import train


class StopsAfter:
    """Stands in for `Interrupt`: comes once a run has a step and has asked so many more times."""

    def __init__(self, run, step, more):
        self._run, self._step, self._left = run, step, more

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    @property
    def came(self):
        if len(self._run.steps()) < self._step:
            return False
        self._left -= 1
        return self._left < 0


def train_until(run, step, monkeypatch, more=0):
    """Train until a step is recorded; with `more`, stop at that many tokens after it."""
    with monkeypatch.context() as patched:
        patched.setattr(
            "paretopo.integrations.trl.train.Interrupt", lambda: StopsAfter(run, step, more)
        )
        with pytest.raises(KeyboardInterrupt):
            train(run.config, run)
