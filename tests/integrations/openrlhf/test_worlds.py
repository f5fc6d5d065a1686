"""The made-up worlds on the real OpenRLHF: agents with real tools, both stages, on a CPU."""

from pathlib import Path

import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)
pytest.importorskip("psutil")

from support.rehearsals import command

from paretopo.config import dumps, load
from paretopo.records.folder import RunFolder

EXAMPLES = Path(__file__).parents[3] / "examples"
WORLDS = [pytest.param("math", marks=pytest.mark.sandbox), "multihop"]
pytestmark = pytest.mark.usefixtures("without_cuda")


@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", WORLDS)
def test_a_world_is_rehearsed_with_its_real_tool(name, tmp_path):
    """The example's cluster and tools with a small world that has only facts."""
    small = {
        "backend": "openrlhf",
        "task.prompts": 32,
        "task.facts": 4,
        "task.kinds": [1.0, 0.0, 0.0],
        "warmup.steps": 120,
        "warmup.batch_size": 16,
        "warmup.learning_rate": 5e-3,
        "paretopo.stage1_steps": "epoch",
        "optimiser.prompts_per_step": 4,
        "evaluation.prompts": 16,
    }
    config = load(EXAMPLES / f"made_up_{name}.toml", small)
    (tmp_path / "small.toml").write_text(dumps(config), encoding="utf-8")
    words = ["train", str(tmp_path / "small.toml"), "--rehearse"]
    printed = command(tmp_path, "paretopo", *words, "--out", str(tmp_path / "runs"))
    assert "Proved here" in printed
    assert "replay buffers got the controller's advantages" in printed
    (folder,) = (tmp_path / "runs").iterdir()
    run = RunFolder.open(folder)
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2]
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert run.evaluations()[0]["solved"] > 0.5
    assert any(row["measured"]["calls"] > 0 for row in run.steps()), "no tool was called"


@pytest.mark.slow
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("name", WORLDS)
def test_forty_steps_raise_accuracy_while_calls_fall(name, tmp_path):
    example = str(EXAMPLES / f"made_up_{name}.toml")
    words = ["train", example, "--backend", "openrlhf", "--rehearse", "--steps", "40"]
    printed = command(tmp_path, "paretopo", *words, "--out", str(tmp_path / "runs"))
    assert "40 steps" in printed
    (folder,) = (tmp_path / "runs").iterdir()
    rows = RunFolder.open(folder).evaluations()
    assert rows[-1]["solved"] > rows[0]["solved"]
    assert rows[-1]["measured"]["calls"] < rows[0]["measured"]["calls"]
