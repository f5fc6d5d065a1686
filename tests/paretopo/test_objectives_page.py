"""The commands of the pages on objectives run."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from paretopo.cli import main
from paretopo.config import load, with_method

ROOT = Path(__file__).parents[2]
PAGES = {
    name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("objectives", "rewards", "scripts")
}


def blocks(language):
    return [
        found
        for text in PAGES.values()
        for found in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    ]


COMMANDS = [
    shlex.split(line.partition("#")[0])
    for block in blocks("sh")
    for line in block.splitlines()
    if line.strip()
]
# The commands as they stand, at a size for tests.
EVERYWHERE = {
    "model.layers": 1,
    "model.width": 32,
    "model.heads": 2,
    "optimiser.steps": 2,
    "optimiser.prompts_per_step": 4,
    "optimiser.group_size": 4,
    "evaluation.every": 2,
    "run.checkpoint_every": 2,
}
SMALL = {
    "examples/three_objectives.toml": EVERYWHERE
    | {"warmup.steps": 20, "task.prompts": 16, "task.facts": 8, "evaluation.prompts": 12},
    "examples/own_rewards/train.toml": EVERYWHERE
    | {"warmup.steps": 60, "warmup.learning_rate": 5e-3, "evaluation.prompts": 8}
    | {"optimiser.max_completion_tokens": 24},
}


@pytest.mark.long
def test_every_command_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("trl")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    ran = []
    for command in COMMANDS:
        if command[0] == "python":
            # tests/integrations/trl/test_script.py runs it.
            assert (ROOT / command[1]).is_file()
            continue
        if command[0] != "paretopo":
            continue  # the next test's
        words = [
            str(path)
            for word in command[1:]
            for path in (sorted(Path().glob(word)) if "*" in word else [word])
        ]
        assert len(words) >= len(command) - 1, f"{command} names no folder"
        if words[0] == "train":
            again = shlex.join(words)
            if again in ran:
                continue  # the page begins with an example that it explains later
            ran.append(again)
            words += [
                word
                for name, value in SMALL[words[1]].items()
                for word in ("--set", f"{name}={value}")
            ]
        assert main(words) == 0, command
    out = capsys.readouterr().out
    assert "report:" in out or "report.md" in out
    assert len(list(Path("runs").glob("questions-recommended-*"))) == 2
    assert len(list(Path("runs").glob("questions-gdpo-*"))) == 1
    [run] = Path("runs").glob("calculator-*")
    rows = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    assert [list(row["measured"]) for row in rows] == [["correct", "calls", "dollars"]] * 2


def test_the_rehearsal_is_planned_from_the_same_file(monkeypatch):
    """The run itself needs OpenRLHF's own environment: scripts/test_openrlhf_cpu.sh."""
    pytest.importorskip("torch")
    from paretopo.integrations.openrlhf.rehearsal.plan import plan_rehearsal

    [command] = [one for one in COMMANDS if one[0].startswith(".venv-openrlhf")]
    assert command[1] == "train"
    assert command[3:] == ["--backend", "openrlhf", "--rehearse"]
    monkeypatch.chdir(ROOT)
    trained = load(command[2])
    planned = plan_rehearsal(load(command[2], {"backend": "openrlhf"}))
    assert planned.objectives == trained.objectives
    assert planned.rewards == trained.rewards
    assert (planned.task, planned.optimiser.steps) == (trained.task, 4)


@pytest.mark.parametrize("method", ["gdpo", "hypervolume", "paper", "grpo", "mo_grpo"])
def test_the_examples_take_the_methods(method, monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in SMALL:
        assert len(with_method(name, method).objectives) >= 3
