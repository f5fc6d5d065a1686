"""Rollouts of the OpenRLHF adapter; neither OpenRLHF nor Ray is needed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from support.trainer_rollouts import make_experience

from paretopo.integrations.openrlhf.rollouts import (
    check_response,
    find_components,
    make_rollout,
    prompt_id,
    with_text,
)
from paretopo.rollout import BadRollout, Rollout, Segment


def test_prompts_are_called_by_their_label_or_a_digest():
    assert prompt_id("text", '{"id": 7}') == "7"
    assert prompt_id("text", "42") == prompt_id("text", "43") != prompt_id("other", "42")


@pytest.mark.parametrize(
    ("components", "complaint"),
    [
        (1.0, "'q' has 'reward_components' = 1.0, expected a mapping"),
        ({"correct": float("nan")}, "'q' has 'correct' = nan"),
        ({"correct": "yes"}, "'q' has 'correct' = 'yes'"),
        ({"calls": float("inf")}, "'q' has 'calls' = inf"),
        ({3: 1.0}, "'q' has 3 = '1.0'"),
    ],
)
def test_bad_components_name_prompt_and_key(components, complaint):
    response = {"prompt": "text", "label": '{"id": "q"}'}
    with pytest.raises(BadRollout, match=complaint):
        find_components(response, {"reward_components": components}, ())


@pytest.mark.parametrize("response", [None, "it is 42", {"prompt": "a", "reward": 1.0}])
def test_wrong_return_of_an_executor_is_explained(response):
    with pytest.raises(BadRollout, match=r"execute\(\) must return .* observation_tokens.* got "):
        check_response(response)


def test_a_rollout_has_its_objectives_first_and_the_label_of_its_prompt():
    label = '{"id": "q", "kind": "sum", "preference": "correct 1"}'
    experience = make_experience({"label": label, "own": [1, 0], "truncated": True})
    given = {"seconds": 0.1, "polite": None, "correct": 1.0}
    rollout = make_rollout(experience, given, ("correct", "polite"))
    said = {"kind": "sum", "preference": "correct 1", "tokens": 1, "truncated": True}
    assert rollout == Rollout("q", given, **said)
    assert list(rollout.reward_components) == ["correct", "polite", "seconds"]


def test_samples_become_text():
    # <prompt>, a call, its answer, the rest; the second row is shorter and padded on its right.
    texts = ["why?", "<call>{}</call>", "<tool>1</tool>", "so 42<end>"]
    pieces = dict(enumerate(["<pad>", *texts]))
    tokenizer = SimpleNamespace(
        decode=lambda tokens: "".join(pieces[token] for token in tokens), eos_token="<end>"
    )
    experience = make_experience(
        {"label": '{"answer": [4, 2]}', "response": [2, 3, 4], "own": [1, 0, 1]},
        {"label": "42", "response": [4], "own": [1], "truncated": True},
    )
    rollout = Rollout("q", {"correct": 1.0})
    whole, short = (with_text(rollout, experience, row, tokenizer) for row in (0, 1))
    segments = (
        Segment("call", "<call>{}</call>"),
        Segment("tool", "<tool>1</tool>"),
        Segment("model", "so 42"),
    )
    assert whole == replace(rollout, prompt="why?", answer="4 | 2", segments=segments)
    assert short == replace(rollout, prompt="why?", answer="42", segments=segments[2:])
