"""A user's own questions and rewards, trained on TRL by the command's own path."""

import itertools
import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from paretopo.config import load
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout

CONFIG = """
objectives = [
  { name = "correct", weight = 0.6 },
  { name = "words", better = "fewer", economy = "raw", weight = 0.2 },
  { name = "polite", low = 0, high = 1, failure = "keeps", weight = 0.2 },
]
paretopo = { stage2_estimator = "gd2po" }
rewards = { file = "FOLDER/my_rewards.py", timeout = 600 }
task = { name = "questions", train = "FOLDER/train.jsonl", held_out = "FOLDER/held_out.jsonl" }
model = { layers = 1, width = 32, heads = 2 }
warmup = { steps = 120, batch_size = 16, learning_rate = 1e-2, shared = "FOLDER/warmups" }
optimiser = { steps = 3, prompts_per_step = 2, group_size = 4, max_completion_tokens = 12 }
evaluation = { prompts = 4 }
run = { trajectories = 4 }
"""
REWARDS = """
import time
from pathlib import Path

def words(prompts, completions, **columns):
    assert all(prompt.startswith("Say") for prompt in prompts)
    return [len(text.split()) for text in completions]

async def polite(completions, asked_kindly):
    trouble = Path(__file__).with_name("trouble")
    if trouble.exists() and any(asked_kindly) and len(completions) == 8:
        return eval(trouble.read_text())
    return [
        float("please" in text) if kindly else None
        for text, kindly in zip(completions, asked_kindly)
    ]
"""


def write_colours(path, *names):
    """Write a question for each colour; every other one is asked kindly."""
    rows = [
        {
            "prompt": f"Say {one}",
            "id": one,
            "answer": [f"{one} please", one],
            "asked_kindly": kindly,
        }
        for one, kindly in zip(names, itertools.cycle([True, False]))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_files(folder):
    """Write the questions, the rewards and the configuration of a training to a folder."""
    write_colours(folder / "train.jsonl", "red", "blue", "green", "pink")
    write_colours(folder / "held_out.jsonl", "white", "black", "brown", "grey")
    (folder / "my_rewards.py").write_text(REWARDS, encoding="utf-8")
    (folder / "config.toml").write_text(CONFIG.replace("FOLDER", str(folder)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("colours"))


def test_three_own_rewards_are_trained_on_and_recorded(folder):
    config = load(folder / "config.toml")
    run = RunFolder.create(folder / "runs", config)
    train(config, run)
    assert run.manifest["status"] == "finished"
    steps, evaluations = run.steps(), run.evaluations()
    assert [len(steps), len(evaluations)] == [3, 4]
    for row in [*steps, *evaluations]:
        assert list(row["measured"]) == ["correct", "words", "polite"]
        assert row["rewards"]["words"] == -row["measured"]["words"]
    # Two of four held-out questions were asked kindly; the others have no politeness.
    held_out = [one for group in run.trajectories() if group.held_out for one in group.rollouts]
    assert {one.reward_components["polite"] is None for one in held_out} == {True, False}
    assert any(row["solved"] > 0 for row in steps), "the warm-up taught nothing"


def test_broken_reward_stops_the_run_without_losing_records(folder):
    """test_script_refusals.py has the other ways to break."""
    config = load(folder / "config.toml")
    run = RunFolder.create(folder / "runs", config)
    appended = run.append_step

    def break_after_the_first(row):
        appended(row)
        (folder / "trouble").write_text("1 / 0", encoding="utf-8")

    run.append_step = break_after_the_first
    message = r"'polite' failed on prompt '\w+' and 1 more: ZeroDivisionError"
    with pytest.raises(BadRollout, match=message):
        train(config, run)
    kept = run.steps(), run.evaluations()
    assert [row["step"] for row in kept[0]] in ([1], [1, 2])  # a step may have no kind question
    (folder / "trouble").unlink()
    del run.append_step
    train(config, run, resume=True)
    assert [row["step"] for row in run.steps()] == [1, 2, 3]
    done = len(kept[0])
    assert run.steps()[: done - 1] == kept[0][: done - 1]
    assert run.manifest["status"] == "finished"


def test_response_has_at_least_one_token():
    from types import SimpleNamespace

    from paretopo.integrations.huggingface.generation import _trim_piece

    tokenizer = SimpleNamespace(pad_token_id=0, decode=lambda ids, **_: "".join(map(str, ids)))
    for row, tokens, finish in (
        ([0, 5, 0], [0], "length"),
        ([5, 6, 0], [5, 6], "length"),
        ([9, 0, 0], [9], "end"),
        ([5, 9, 0], [5, 9], "end"),
    ):
        piece = _trim_piece(row, tokenizer, [9], ())
        assert (piece.tokens, piece.finish) == (tokens, finish)
