"""The bonus for the choice between tools: its places, its size and its effect."""

import json

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from trl import GRPOTrainer

from paretopo.config import ConfigError, loads
from paretopo.integrations.huggingface.tiny_model import make_tokenizer
from paretopo.integrations.trl.choices import Choices, Place, compute_entropies
from paretopo.integrations.trl.task_trainer import TaskTrainer
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder

TOOLS = '''
def catalogue(part: str) -> str:
    """Ask the catalogue.

    Args:
        part: Of which part.
    """
    return "7"

def shop(part: str) -> str:
    """Ask the shop.

    Args:
        part: Of which part.
    """
    return "7"

catalogue.dollars = 0.0
shop.dollars = 1.0
'''
WARMUP = """
def demonstrate(random, part, answer, **_):
    tool = "shop" if random.random() < 0.9 else "catalogue"
    call = {"type": "function", "function": {"name": tool, "arguments": {"part": part}}}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": tool, "content": answer},
        {"role": "assistant", "content": answer},
    ]
"""
# All answers are right and dollars have no weight, so that only the bonus can teach.
CONFIG = """
objectives = [{ name = "correct", weight = 1.0 }, { name = "dollars", weight = 0.0 }]
model = { layers = 1, width = 32, heads = 2 }
evaluation = { every = 15, prompts = 64, temperature = 1.0 }
run = { checkpoint_every = 0 }
[task]
name = "questions"
train = "FOLDER/train.jsonl"
held_out = "FOLDER/held_out.jsonl"
tools = "FOLDER/tools.py"
[warmup]
steps = 200
batch_size = 16
learning_rate = 1e-2
file = "FOLDER/warmup.py"
shared = "FOLDER/warmups"
[optimiser]
steps = 15
prompts_per_step = 4
group_size = 4
max_completion_tokens = 32
max_tool_calls = 1
learning_rate = 2e-3
decision_entropy = 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    (folder / "tools.py").write_text(TOOLS, encoding="utf-8")
    (folder / "warmup.py").write_text(WARMUP, encoding="utf-8")
    rows = [{"prompt": f"Price of {at}?", "part": str(at), "answer": "7"} for at in range(100, 172)]
    for name, some in (("train", rows[:8]), ("held_out", rows[8:])):
        text = "".join(json.dumps(row) + "\n" for row in some)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def look_up(word: str):
    """Look a word up."""


def look_at(page: str):
    """Look at a page."""


def shop(part: str):
    """Ask the shop."""


def test_places_are_the_tokens_in_which_the_tools_differ():
    call = '<call>{{"name": "{}", "arguments": {{"word": "it"}}}}</call>'
    texts = ["I look it up", *map(call.format, ("look_up", "look_at", "shop", "page", "part"))]
    tokenizer = make_tokenizer(texts)
    choices = Choices(tokenizer, [look_up, look_at, shop])

    def find(text):
        tokens = tokenizer(text, add_special_tokens=False)["input_ids"]
        words = tokenizer.convert_ids_to_tokens
        found = list(choices.find(3, tokens))
        assert all(place.row == 3 and tokens[place.token] in place.among for place in found)
        return [sorted(words(list(place.among))) for place in found]

    assert find(call.format("look_up")) == [["look", "shop"], ["at", "up"]]
    assert find("I look it up " + call.format("shop")) == [["look", "shop"]]
    assert find(call.format("page")) == find("I look it up") == []


def test_entropies_are_those_among_the_tools():
    head = torch.nn.Linear(8, 20)
    hidden = torch.randn(2, 5, 8, requires_grad=True)
    places = [Place(0, 3, (4, 7)), Place(1, 0, (4, 7, 9))]
    found = compute_entropies(places, hidden, head, 0.5)
    for entropy, (row, token, among) in zip(found, places, strict=True):
        shares = (head(hidden[row, token]) / 0.5)[list(among)].softmax(-1)
        assert torch.allclose(entropy, torch.distributions.Categorical(shares).entropy())
    found.sum().backward()
    moved = hidden.grad.abs().sum(-1) > 0
    assert moved.nonzero().tolist() == [[0, 3], [1, 0]]


@pytest.mark.long
def test_the_bonus_brings_both_tools_back(folder, tmp_path):
    run = RunFolder.create(tmp_path, loads(CONFIG.replace("FOLDER", str(folder))))
    train(run.config, run)
    before, after = (row["measured"] for row in run.evaluations())
    assert min(before["correct"], after["correct"]) > 0.8
    assert before["dollars"] > 0.75
    assert after["dollars"] < 0.65
    assert all(0.0 <= row["mixed"] <= 1.0 for row in run.steps())


def test_the_bonus_is_averaged_like_every_loss(folder, tmp_path, monkeypatch):
    compared = []

    def compare(self, model, inputs):
        given = {**inputs, "advantages": torch.ones_like(inputs["advantages"])}
        ones = torch.ones(given["completion_mask"].shape)
        for self.loss_type in ("dapo", "grpo", "dr_grpo", "bnpo"):
            theirs = GRPOTrainer._compute_loss(self, model, given)
            compared.append((-theirs.item(), self._average_tokens(ones, given).item()))
        return theirs

    monkeypatch.setattr(TaskTrainer, "_compute_loss", compare)
    changed = {"optimiser.steps": 1, "optimiser.micro_batch": 8, "warmup.steps": 2}
    run = RunFolder.create(tmp_path, loads(CONFIG.replace("FOLDER", str(folder)), changed))
    train(run.config, run)
    assert len(compared) == 8  # of two micro-batches
    for theirs, ours in compared:
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_a_bonus_without_a_choice_is_refused():
    tokenizer = make_tokenizer(["shop"])
    with pytest.raises(ConfigError, match="choice between tools, got a task with 1: shop"):
        Choices(tokenizer, [shop])
    tokenizer.chat_template = "{% for one in messages %}{{ one.content }}{% endfor %}"
    with pytest.raises(ConfigError, match="the calls of shop, look_up are equal"):
        Choices(tokenizer, [shop, look_up])
