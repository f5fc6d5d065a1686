"""The reward functions that users bring along, through the adapter of every trainer."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.trainer_rollouts import make_experience

from paretopo.config import from_table
from paretopo.integrations.openrlhf.rollouts import ROLLOUTS, make_rollout
from paretopo.integrations.openrlhf.rollouts import measure_own as measure_on_openrlhf
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.rewards.calls import Limits
from paretopo.rewards.own import OwnRewards
from paretopo.rollout import BadRollout

REWARDS = """
from __future__ import annotations

from dataclasses import dataclass

from math_verify import parse, verify
from neighbour import count
from trl.rewards import think_format_reward


@dataclass
class _Weights:
    word: float = 2.0


_WEIGHTS = _Weights()


def words(completions, completion_ids, source, trainer_state, log_metric, log_extra, **columns):
    assert columns["answer"] and columns["id"] and columns["kind"] and trainer_state == "state"
    log_metric("seen", float(len(completion_ids[0])))
    log_extra("seen", completion_ids)
    own = [[m["content"] for m in one if m["role"] == "assistant"] for one in completions]
    return [_WEIGHTS.word * sum(map(count, texts)) for texts in own]


def verified(completions, solution, **_):
    # its limits are alarms of the process
    return [
        float(verify(parse(right), parse(one[-1]["content"])))
        for one, right in zip(completions, solution)
    ]


def down(completions, **_):
    raise ConnectionError("503")


"""
OF_TEXTS = """
def words(prompts, completions, **_):
    return [float(len((prompt + " " + text).split())) for prompt, text in zip(prompts, completions)]
"""
PACKAGE = """
def make(parameter):
    def called(prompts, completions, **columns):
        assert [message["role"] for message in prompts[0]] == ["user"]
        return [{"packaged": parameter, "other": None} for _ in completions]
    return called
"""
EXPECTED = {
    "words": 4.0,
    "verified": 1.0,
    "down": None,
    "packaged": 5,
    "other": None,
    "think_format_reward": 0.0,
}
NAMES = tuple(EXPECTED)
CHAT = [{"role": "user", "content": "why?"}]
TOKENS, MASK = [2, 4, 3], [1, 0, 1]  # the policy does not write the tool's token
TURNS = [("assistant", 2), ("tool", 4), ("assistant", 3)]
TOKENIZER = SimpleNamespace(
    decode=lambda ids, **_: "".join(["", "why?", "so ", "$4$", "a tool "][i] for i in ids)
)
COLUMNS = {"source": "X", "solution": "$4$"}
FURTHER = {
    "trainer_state": "state",
    "log_metric": lambda *_: None,
    "log_extra": lambda *_: None,
}


def on_trl(own, prompt=CHAT):
    rewards = SessionRewards(lambda texts, _: [1.0] * len(texts), own)
    rewards.measure(
        [[{"role": role, "content": TOKENIZER.decode([token])} for role, token in TURNS]],
        ["42"], ["q"], ["all"], [False],
        columns=[json.dumps({**COLUMNS, "prompt": prompt})], prompts=[CHAT],
        completion_ids=[TOKENS], **FURTHER,
    )  # fmt: skip
    return rewards.rollouts[0].reward_components


def on_openrlhf(own, prompt=CHAT):
    label = {"id": "q", "answer": "42", "columns": {**COLUMNS, "prompt": prompt}}
    experience = make_experience({"label": json.dumps(label), "response": TOKENS, "own": MASK})
    experience.info[ROLLOUTS] = [make_rollout(experience, {}, NAMES)]
    measure_on_openrlhf(own, [experience], TOKENIZER, NAMES, FURTHER)
    return experience.info[ROLLOUTS][0].reward_components


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return ``f(failing)``: the rewards of the files above."""
    (tmp_path / "neighbour.py").write_text(
        "def count(text):\n    return len(text.split())\n", encoding="utf-8"
    )
    (tmp_path / "packaged_rewards.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Limits, "wait_before", lambda *_: 0.0)
    packaged = "packaged_rewards:make(parameter=5)"
    functions = {name: {"function": packaged} for name in ("packaged", "other")}

    def build(failing="skip", text=REWARDS, names=NAMES):
        (tmp_path / "rewards.py").write_text(text, encoding="utf-8")
        tables = [{"name": name, **functions.get(name, {})} for name in names]
        rewards = {"file": str(tmp_path / "rewards.py"), "retries": 1, "failing": failing}
        switches = {"stage2_estimator": "gdpo", "gate": "none"}
        return OwnRewards(
            from_table({"objectives": tables, "rewards": rewards, "paretopo": switches})
        )

    return build


@pytest.mark.parametrize("adapter", [on_trl, on_openrlhf])
def test_every_adapter_calls_functions_with_all_they_ask_for(make, adapter):
    own = make()
    measured = adapter(own)
    assert {name: measured.get(name) for name in NAMES} == EXPECTED
    with pytest.raises(BadRollout, match="'down' failed on prompt 'q': ConnectionError: 503"):
        adapter(make(failing="stop"))


@pytest.mark.parametrize("adapter", [on_trl, on_openrlhf])
def test_the_response_to_a_text_is_a_text(make, adapter):
    assert adapter(make(text=OF_TEXTS, names=["words"]), "so far")["words"] == 4.0
