"""The configurations of the trainings of SmolLM2 load."""

from pathlib import Path

import pytest

from paretopo.config import load

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "steps"), [("limit", 240), ("steerable", 60)])
def test_configuration_loads(name, steps, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert load(f"research/smollm2/{name}.toml").optimiser.steps == steps
