"""`paretopo evaluate RUN` evaluates a trained model on its task, with its tool and rewards."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from paretopo.cli import main
from paretopo.config import load
from paretopo.integrations.trl.train import train
from paretopo.run.folder import RunFolder

SIZES = """
[model]
layers = 1
width = 32
heads = 2
mlp_width = 32
[optimiser]
steps = 1
prompts_per_step = 2
group_size = 2
max_completion_tokens = {tokens}
[evaluation]
prompts = {prompts}
[run]
device = "cpu"
"""
CALCULATOR = """
[task]
prompts = 8
facts = 4
kinds = [0.5, 0.5, 0.0]
[warmup]
steps = 60
batch_size = 16
learning_rate = 1e-2
"""
OWN = """
[[objectives]]
name = "correct"
[[objectives]]
name = "words"
better = "fewer"
[[objectives]]
name = "polite"
high = 1
[rewards]
file = "{folder}/my_rewards.py"
timeout = 600
[task]
name = "questions"
train = "{folder}/train.jsonl"
held_out = "{folder}/held_out.jsonl"
[warmup]
steps = 60
batch_size = 16
learning_rate = 1e-2
"""
REWARDS = """
def words(completions, **_):
    return [len(text.split()) for text in completions]

def polite(completions, asked_kindly):
    both = zip(completions, asked_kindly)
    return [float("please" in text) if kindly else None for text, kindly in both]
"""


def trained(folder, text, **sizes):
    (folder / "config.toml").write_text(text + SIZES.format(**sizes), encoding="utf-8")
    config = load(folder / "config.toml")
    run = RunFolder.create(folder / "runs", config)
    train(config, run)
    return run


@pytest.fixture(scope="module")
def calculator(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("calculator"), CALCULATOR, tokens=48, prompts=6)


def colours(path, *names):
    rows = [
        {"prompt": f"Say {one}", "id": one, "answer": one, "asked_kindly": at % 2 == 0}
        for at, one in enumerate(names)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    colours(folder / "train.jsonl", "red", "blue", "green", "pink")
    colours(folder / "held_out.jsonl", "white", "black", "brown", "grey")
    (folder / "my_rewards.py").write_text(REWARDS, encoding="utf-8")
    return trained(folder, OWN.format(folder=folder), tokens=8, prompts=4)


@pytest.mark.parametrize("name", ["calculator", "own"])
def test_the_runs_own_task_is_asked_as_in_the_training(name, request, tmp_path, capsys):
    run = request.getfixturevalue(name)
    out = tmp_path / "again"
    assert main(["evaluate", str(run.path), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    folder = RunFolder.open(out)
    [row] = folder.evaluations()
    last = run.evaluations()[-1]
    for part in ("solved", "measured", "response_tokens", "truncated", "by_kind"):
        if part == "by_kind":
            assert {kind: one["measured"] for kind, one in row[part].items()} == {
                kind: one["measured"] for kind, one in last[part].items()
            }
        else:
            assert row[part] == last[part], part
    for objective in row["measured"]:
        assert f"\n| {objective} " in told
    assert folder.manifest["status"] == "finished"
    assert folder.manifest["evaluated"] == str(run.path.resolve())
    assert len(list(folder.trajectories())) == run.config.evaluation.prompts  # all of them
    assert main(["show", str(out)]) == 0
    assert main(["report", str(out)]) == 0


def test_other_questions_are_scored_by_the_runs_rewards(own, tmp_path, capsys):
    asked = colours(tmp_path / "test.jsonl", "mauve", "teal", "ochre")
    out = tmp_path / "e"
    words = ["evaluate", str(own.path), "--tool", "task", "--data", str(asked), "--out", str(out)]
    assert main(words) == 0
    [row] = RunFolder.open(out).evaluations()
    assert set(row["measured"]) == {"correct", "words", "polite"}
    assert {group.id for group in RunFolder.open(out).trajectories()} == {"mauve", "teal", "ochre"}
    assert main([*words, "--limit", "2", "--temperature", "1"]) == 0  # next to the first
    again = RunFolder.open(tmp_path / "e-2")
    assert len(list(again.trajectories())) == 2
    assert again.config.evaluation.temperature == 1.0


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
