from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import rollout

from paretopo.rewards.economy import tool_economy
from paretopo.rewards.held_out import HeldOut

NAMES = ["a", "b", "c"]
evaluation = st.lists(rollout, min_size=3, max_size=3)


def new() -> HeldOut:
    return HeldOut({"calls": tool_economy})


def add(held_out, answers, names=NAMES):
    return held_out.add(names, [[count] for _, count in answers], [solved for solved, _ in answers])


@given(st.lists(evaluation, min_size=1, max_size=5))
def test_evaluations_share_the_fewest_calls(history):
    held_out = new()
    for answers in history:
        add(held_out, answers)
    assert held_out.economies().shape == (len(history), 3, 1)
    assert len(held_out) == len(history)
    for question in range(3):
        answers = [evaluation[question] for evaluation in history]
        fewest = min((count for solved, count in answers if solved), default=None)
        economy = tool_economy([count for _, count in answers], fewest)
        solved = held_out.solved()[:, question]
        np.testing.assert_array_equal(solved, [solved for solved, _ in answers])
        np.testing.assert_array_equal(held_out.economies()[:, question, 0], economy)
        np.testing.assert_array_equal(held_out.economies(latest=1)[0, question, 0], economy[-1])


def test_answers_are_compact_and_outside_the_state():
    held_out, prompts = new(), [f"question {i}" for i in range(200)]
    sizes = []
    for number in range(50):
        add(held_out, [(number % 2 == 0, number % 5)] * 200, prompts)
        text = json.dumps(held_out.latest(), separators=(",", ":"))
        assert len(text) < 3 * 200 + 50
        sizes.append(len(json.dumps(held_out.state_dict())))
    assert max(sizes) - min(sizes) <= 1  # the digits of a number


@given(st.lists(st.lists(st.floats(0.0, 1e9) | st.none(), min_size=3, max_size=3), min_size=1))
def test_real_costs_are_stored_compactly_without_loss(history):
    costs = [np.array(row, np.float64)[:, None] for row in history]
    first, second, answers = new(), new(), []
    for row in costs:
        first.add(["a", "b", "c"], row, [True, False, True])
        answers.append(json.loads(json.dumps(first.latest())))
        assert all(len(json.dumps(one)) <= 12 for one in answers[-1]["costs"]["calls"])
    second.load_state_dict(first.state_dict(), answers)
    np.testing.assert_array_equal(first.economies(), second.economies())
    assert second.latest() == first.latest()
    kept = np.array([one["costs"]["calls"] for one in answers], np.float64)
    np.testing.assert_allclose(kept, np.array(costs)[..., 0], rtol=1e-5, atol=1e-37)


def test_missing_answers_are_reported():
    held_out = new()
    add(held_out, [(True, 2)] * 3)
    with pytest.raises(ValueError, match=r"has 1 evaluations, but only 0 have saved answers"):
        new().load_state_dict(held_out.state_dict(), [])


def test_nothing_yet_is_an_empty_array():
    assert new().economies().shape == (0, 0, 1)


@pytest.mark.parametrize("names", [["a", "x"], ["a", "b"], ["c", "b", "a"]])
def test_other_questions_are_refused_whole(names):
    held_out = new()
    add(held_out, [(True, 2)] * 3)
    before = held_out.state_dict(), held_out.latest()
    with pytest.raises(ValueError, match=r"the same questions in the same order; these differ"):
        add(held_out, [(True, 1)] * len(names), names)
    assert (held_out.state_dict(), held_out.latest()) == before
