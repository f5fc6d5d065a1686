"""The language models' tasks: questions, demonstrations, tools and rewards under research/."""

import hashlib
import json
import random
import runpy
from collections import Counter
from pathlib import Path

import pytest

from paretopo.config import load
from paretopo.tasks.choice import make_task
from paretopo.tasks.environment import open_environment
from paretopo_lab.study import plan as plans
from research import questions
from research.grid import TABLES

ROOT = Path(__file__).parents[2]
HERE = ROOT / "research"
DIGESTS = {  # of the questions that models.toml's records are about
    "choice/train.jsonl": "009ec767115f",
    "choice/held_out.jsonl": "55bc2a0ec714",
    "parts/held_out.jsonl": "a556271fb08b",
    "routing/train.jsonl": "4f49b3579193",
    "routing/held_out.jsonl": "4cc0dfb9e178",
}


def functions(name):
    return runpy.run_path(str(HERE / name))


def rows(name):
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(autouse=True)
def written():
    questions.write_missing()


def test_larger_models_answer_more_requests():
    """The scores of models.toml's routing follow from these requests."""
    asked, judge = rows("routing/held_out.jsonl"), functions("routing/rewards.py")
    answers, kinds = ([row[name] for row in asked] for name in ("answer", "kind"))
    section = plans.load(HERE / "models.toml", tables=TABLES).tasks["routing"]
    most = [section.most_by_kind[kind] for kind in kinds]
    for model, best in zip(("small", "medium", "large"), section.best, strict=True):
        said = [f" {model} "] * len(asked)
        right, paid = judge["correct"](said, answers), judge["dollars"](said, kinds)
        shares = [one / whole for one, whole in zip(paid, most, strict=True)]
        assert sum(right) / len(right) == pytest.approx(best[0], abs=1e-4)
        assert shares == pytest.approx([best[1]] * len(asked))
    assert section.cheapest_accuracy == section.best[0][0]
    assert {*kinds} == section.most_by_kind.keys()
    assert max(most) == 100 * min(most)
    assert judge["correct"](["", "none", "small medium"], ["small"] * 3) == [0.0] * 3
    assert judge["dollars"](["", "none", "small medium"], ["book"] * 3) == [0.0] * 3
    shown = {functions("routing/warmup.py")["demonstrate"](random.Random(at)) for at in range(20)}
    assert shown == {"small", "medium", "large"}


def test_questions_repeat_and_are_not_overwritten(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "train.jsonl").write_text("mine")
    questions.write_missing(tmp_path)
    assert (tmp_path / "parts" / "train.jsonl").read_text() == "mine"
    digests = {
        name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:12] for name in DIGESTS
    }
    assert digests == DIGESTS
    assert len(rows("parts/held_out.jsonl")) == 512


def test_working_is_right_and_guesses_are_right_once_in_three():
    demonstrate = functions("choice/warmup.py")["demonstrate"]
    correct = functions("choice/rewards.py")["correct"]
    rng, asked = random.Random(0), rows("choice/held_out.jsonl")
    shown = [demonstrate(rng, **row) for row in asked]
    right = correct(shown, [row["answer"] for row in asked])
    guessed = [is_right for text, is_right in zip(shown, right, strict=True) if len(text) == 1]
    assert set(map(len, shown)) == {1, 5, 11, 23}
    assert all(is_right for text, is_right in zip(shown, right, strict=True) if len(text) > 1)
    assert sum(guessed) / len(guessed) == pytest.approx(1 / 3, abs=0.06)
    assert Counter(row["answer"] for row in asked).keys() == {"0", "1", "2"}
    assert correct(["", " 12 ", "1"], ["1", "2", "2"]) == [0.0, 1.0, 0.0]


def test_the_cheap_tool_is_right_three_times_in_four(at_root):
    tools, asked = functions("parts/tools.py"), rows("parts/held_out.jsonl")
    assert all(tools["shop"](row["part"]) == row["answer"] for row in asked)
    right = [tools["catalogue"](row["part"]) == row["answer"] for row in asked]
    section = plans.load(HERE / "models.toml", tables=TABLES).tasks["parts"]
    assert sum(right) / len(right) == pytest.approx(section.best[0][0], abs=1e-4)
    with open_environment(load(HERE / "parts.toml")) as environment:
        assert environment.prices == {"catalogue": 0.02, "shop": 0.04}
        assert environment.new_episode is None


@pytest.mark.parametrize("name", ["choice", "parts", "routing"])
def test_demonstrations_match_the_prompts(name, at_root):
    task = make_task(load(HERE / f"{name}.toml"))
    traces = task.traces(3, 64, 0, 0.0)
    assert traces == task.traces(3, 64, 0, 0.0) != task.traces(4, 64, 0, 0.0)
    trained = {question.text for question in task.training}
    assert all(trace[0]["role"] == "user" and trace[0]["content"] in trained for trace in traces)
    called = {message["name"] for trace in traces for message in trace if message["role"] == "tool"}
    assert called == {tool.__name__ for tool in task.functions}
