from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import rollout

from paretopo.rewards.held_out import HeldOut
from paretopo.rewards.tool_calls import tool_economy

NAMES = ["a", "b", "c"]
evaluation = st.lists(rollout, min_size=3, max_size=3)


def add(held_out, answers, order=(0, 1, 2)):
    held_out.add(
        [NAMES[at] for at in order],
        [answers[at][1] for at in order],
        [answers[at][0] for at in order],
    )


@given(st.lists(evaluation, min_size=1, max_size=5))
def test_every_evaluation_is_scored_by_the_fewest_calls_of_all(history):
    held_out = HeldOut()
    for answers in history:
        add(held_out, answers)
    vectors = held_out.vectors()
    assert vectors.shape == (len(history), 3, 2)
    assert len(held_out) == len(history)
    for question in range(3):
        answers = [evaluation[question] for evaluation in history]
        fewest = min((calls for solved, calls in answers if solved), default=None)
        economy = tool_economy([calls for _, calls in answers], fewest)
        np.testing.assert_array_equal(vectors[:, question, 0], [solved for solved, _ in answers])
        np.testing.assert_array_equal(vectors[:, question, 1], economy)


@given(st.lists(evaluation, min_size=1, max_size=5), st.permutations([0, 1, 2]))
def test_the_order_of_the_questions_does_not_matter(history, order):
    plain, shuffled = HeldOut(), HeldOut()
    for number, answers in enumerate(history):
        add(plain, answers)
        add(shuffled, answers, (0, 1, 2) if number == 0 else order)
    np.testing.assert_array_equal(plain.vectors(), shuffled.vectors())


@given(st.lists(evaluation, min_size=2, max_size=5))
def test_state_goes_through_json(history):
    whole, first, second = HeldOut(), HeldOut(), HeldOut()
    for answers in history:
        add(whole, answers)
    add(first, history[0])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    for answers in history[1:]:
        add(second, answers)
    assert second.state_dict() == whole.state_dict()
    np.testing.assert_array_equal(second.vectors(), whole.vectors())


def test_an_evaluation_that_was_dominated_can_dominate_later():
    """Why the state keeps every evaluation: a lower optimum makes a question weigh less."""
    held_out = HeldOut()
    held_out.add(["a", "b"], calls=[4, 3], solved=[True, True])
    held_out.add(["a", "b"], calls=[5, 1], solved=[True, True])
    first, second = held_out.vectors()[..., 1].mean(axis=1)
    assert first < second
    held_out.add(["a", "b"], calls=[9, 0], solved=[False, True])
    first, second, _ = held_out.vectors()[..., 1].mean(axis=1)
    assert first > second


def test_the_state_takes_few_characters_per_answer():
    held_out, prompts = HeldOut(), [f"question {i}" for i in range(200)]
    for calls in range(50):
        held_out.add(prompts, [calls % 5] * 200, [calls % 2 == 0] * 200)
    text = json.dumps(held_out.state_dict(), separators=(",", ":"))
    assert len(text) < 3 * 50 * 200 + 20 * 200


def test_nothing_yet_is_an_empty_array():
    assert HeldOut().vectors().shape == (0, 0, 2)


@pytest.mark.parametrize(
    ("prompts", "calls", "solved", "message"),
    [
        (["a"], [1, 2], [True], r"one entry per question, \(1,\), got \(2,\) and \(1,\)"),
        (["a", "a"], [1, 2], [True, True], r"must differ, got one twice"),
        (["a", "x"], [1, 2], [True, True], r"same questions; these differ: \['b', 'c', 'x'\]"),
        (["a", "b", "c"], [1, -1, 0], [True] * 3, r"prompt 'b': calls must be integers"),
    ],
)
def test_bad_evaluations_are_refused_whole(prompts, calls, solved, message):
    held_out = HeldOut()
    add(held_out, [(True, 2)] * 3)
    before = held_out.state_dict()
    with pytest.raises(ValueError, match=message):
        held_out.add(prompts, calls, solved)
    assert held_out.state_dict() == before
