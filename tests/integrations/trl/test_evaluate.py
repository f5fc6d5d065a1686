"""`paretopo evaluate RUN` evaluates a trained model on its task, with its tool and rewards."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from paretopo.cli import main
from paretopo.config import load
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo_lab.training.report import write_report

from .test_own_rewards import write_colours, write_files

CALCULATOR = """
model = { layers = 1, width = 32, heads = 2 }
task = { prompts = 8, facts = 4, kinds = [0.5, 0.5, 0.0] }
warmup = { steps = 60, batch_size = 16, learning_rate = 1e-2 }
optimiser = { prompts_per_step = 2, group_size = 2, max_completion_tokens = 48 }
evaluation = { prompts = 6 }
"""


def trained(folder, **overrides):
    config = load(folder / "config.toml", {"optimiser.steps": 1, **overrides})
    run = RunFolder.create(folder / "runs", config)
    train(config, run)
    return run


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calculator")
    (folder / "config.toml").write_text(CALCULATOR, encoding="utf-8")
    return trained(folder)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    return trained(write_files(tmp_path_factory.mktemp("own")), **{"warmup.steps": 60})


@pytest.mark.parametrize("name", ["calculator", "own"])
def test_the_runs_own_task_is_asked_as_in_the_training(name, request, tmp_path, capsys):
    run = request.getfixturevalue(name)
    out = tmp_path / "again"
    assert main(["evaluate", str(run.path), "--trust", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    folder = RunFolder.open(out)
    [row] = folder.evaluations()
    last = run.evaluations()[-1]
    for part in ("solved", "measured", "response_tokens", "truncated"):
        assert row[part] == last[part], part
    asked, before = (
        {kind: row["measured"] for kind, row in one["by_kind"].items()} for one in (row, last)
    )
    assert asked == before
    for objective in row["measured"]:
        assert f"\n| {objective} " in printed
    assert folder.manifest["status"] == "finished"
    assert list(run.checkpoints.glob("checkpoint-*"))
    assert not list(run.checkpoints.rglob("README.md"))  # TRL's model card
    assert folder.manifest["evaluated"] == str(run.path.resolve())
    assert len(list(folder.trajectories())) == run.config.evaluation.prompts  # all of them
    assert main(["show", str(out)]) == 0
    assert main(["report", str(out)]) == 0


def test_other_questions_are_scored_by_the_runs_rewards_and_reported(own, tmp_path, capsys):
    asked = write_colours(tmp_path / "test.jsonl", "mauve", "teal", "ochre")
    out = tmp_path / "e"
    words = ["evaluate", str(own.path), "--trust", "--tool", "task"]
    words += ["--data", str(asked), "--out", str(out)]
    assert main(words) == 0
    [row] = RunFolder.open(out).evaluations()
    assert set(row["measured"]) == {"correct", "words", "polite"}
    assert {group.id for group in RunFolder.open(out).trajectories()} == {"mauve", "teal", "ochre"}
    path = write_report([RunFolder.open(out)])
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# Evaluation report")
    assert "| objective | better | unit | answers | result |" in text
    assert main(["report", str(own.path), str(out)]) == 2
    assert "is an evaluation" in capsys.readouterr().err
    assert main([*words, "--limit", "2", "--temperature", "1"]) == 2
    assert "is not an empty folder: give another --out" in capsys.readouterr().err
    assert main([*words[:-1], f"{out}-2", "--limit", "2", "--temperature", "1"]) == 0
    again = RunFolder.open(tmp_path / "e-2")
    assert len(list(again.trajectories())) == 2
    assert again.config.evaluation.temperature == 1.0


def test_every_evaluation_has_a_folder_of_its_own(own, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["evaluate", str(own.path), "--trust", "--limit", "2"]
    assert main(words) == 0
    first, err = capsys.readouterr()
    assert "evaluation: 0/2" in err
    assert "evaluation: 2/2" in err
    assert main(words) == 0
    name = f"{own.path.name}-task"
    assert capsys.readouterr().out == first.replace(name, f"{name}-2")
    assert {one.name for one in Path("evaluations").iterdir()} == {name, f"{name}-2"}


def test_wrong_questions_fail_in_one_line(calculator, tmp_path, capsys):
    run = str(calculator.path)
    refused = [
        ([run, "--tool", "python"], "--tool python needs questions: --data FILE"),
        ([run, "--samples", "4"], "--samples is not for --tool task"),
        ([run, "--data", "a", "b", "--tool", "task"], "takes one data file, got 2"),
        ([run, "--data", "a", "--tool", "task"], "must both be files"),
        ([str(calculator.model)], "is not a run folder with a task"),
    ]
    for words, complaint in refused:
        assert main(["evaluate", *words, "--out", str(tmp_path / "e")]) == 2
        error = capsys.readouterr().err
        assert complaint in error
        assert error.count("\n") == 1
    assert not (tmp_path / "e").exists()
