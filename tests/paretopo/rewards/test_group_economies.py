"""Economies within a group: Arora and Zanette's, the length reward of Kimi k1.5, GR3's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.config import ConfigError, Objective
from paretopo.rewards.economy import (
    arora_zanette_economy,
    gr3_economy,
    kimi_economy,
    pass_rate_economy,
)
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout

answers_of = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.5, 3.0, 100.0]), st.booleans()), max_size=9
)
BOTH = {"arora_zanette": arora_zanette_economy, "kimi": kimi_economy}


def split(answers):
    return [cost for cost, _ in answers], [solved for _, solved in answers]


# ---- Arora and Zanette ---------------------------------------------------------------------------


@given(answers_of)
def test_arora_zanette_is_the_reward_of_the_paper(answers):
    """1[correct] (1 - alpha sigmoid(z)), with alpha the weight of the economy."""
    alpha = 0.4
    costs, solved = split(answers)
    right = [cost for cost, yes in answers if yes]
    mean = sum(right) / max(len(right), 1)
    std = math.sqrt(sum((one - mean) ** 2 for one in right) / max(len(right), 1))
    wanted = [
        (1 - alpha / (1 + math.exp(-(cost - mean) / std if max(right) > min(right) else 0)))
        if yes
        else 0.0
        for cost, yes in answers
    ]
    ours = (1 - alpha) * np.array(solved, float) + alpha * arora_zanette_economy(costs, solved)
    np.testing.assert_allclose(ours, wanted, atol=1e-12)
    assert all(
        value >= 1 - alpha if yes else value == 0.0 for value, yes in zip(ours, solved, strict=True)
    )


@pytest.mark.parametrize("huge", [1e-200, 1e200])
def test_arora_zanette_stays_a_number_at_the_ends(huge):
    plain = arora_zanette_economy([1, 2, 4], [True] * 3)
    scaled = arora_zanette_economy([huge, 2 * huge, 4 * huge], [True] * 3)
    np.testing.assert_allclose(scaled, plain, atol=1e-12)


# ---- Kimi k1.5 -----------------------------------------------------------------------------------


def test_kimi_by_hand():
    values = kimi_economy([1, 2, 3, 5, 1, 5], [True, True, True, True, False, False])
    assert values.tolist() == [0.5, 0.25, 0.0, -0.5, 0.0, -0.5]
    assert kimi_economy([3, 3], [True, False]).tolist() == [0.0, 0.0]
    assert kimi_economy([3], [True]).tolist() == [0.0]
    assert kimi_economy([], []).tolist() == []


# ---- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BOTH)
@given(st.integers(0, 1000))
def test_leading_axes_are_independent_groups(name, seed):
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 4, (2, 3, 5)) / 2
    solved = rng.random(costs.shape) < 0.5
    together = BOTH[name](costs, solved)
    for at in np.ndindex(2, 3):
        np.testing.assert_array_equal(together[at], BOTH[name](costs[at], solved[at]))


@pytest.mark.parametrize("name", BOTH)
def test_invalid_groups_are_refused(name):
    with pytest.raises(ValueError, match=r"finite numbers of shape \(\.\.\., points\), got \[inf"):
        BOTH[name]([math.inf, 1.0], [True, True])
    with pytest.raises(ValueError, match=r"successes must have the shape of costs, \(2,\), got"):
        BOTH[name]([1.0, 1.0], [True])
    with pytest.raises(ValueError, match="successes must be yes or no, got nan"):
        BOTH[name]([1.0, 1.0], [1.0, math.nan])


@pytest.mark.parametrize(("name", "left"), [(one, left) for one in BOTH for left in (False, True)])
def test_group_economies_apply_only_in_training(name, left):
    """A remaining budget is rewarded like the cost; a missing measure belongs to no group."""
    costs, solved = [1.0, 3.0, 6.0, 2.0], [True, True, False, True]
    economy = Objective("it", economy=name, better="more" if left else "fewer")
    scores = Scores((Objective("correct", gate=True), economy))

    def rollouts(held_out=False):
        values = [10.0 - cost if left else cost for cost in costs]
        return [
            Rollout("q", {"correct": float(yes), "it": it}, held_out=held_out, solved=yes)
            for it, yes in zip([*values, None], [*solved, True], strict=True)
        ]

    scores.learn(rollouts())
    wanted = [*BOTH[name](costs, solved), np.nan]
    np.testing.assert_allclose(scores.rewards_of(rollouts())[:, 1], wanted, atol=1e-12)
    raw = [(10.0 if left else 0.0) - cost for cost in costs]
    np.testing.assert_array_equal(scores.rewards_of(rollouts(held_out=True))[:, 1], [*raw, np.nan])
    assert economy.failure == "worst"
    assert (economy.best, economy.worst) == (None, None)


# ---- GR3 ----------------------------------------------------------------------------------------


def test_gr3_by_hand():
    assert gr3_economy([[1, 2, 3], [0, 0, 4], [0, 0, 0]]).tolist() == [
        [-0.5, -1.0, -1.5],
        [0.0, 0.0, -3.0],
        [0.0, 0.0, 0.0],
    ]
    assert gr3_economy([]).tolist() == []


@pytest.mark.parametrize("factor", [1e-300, 0.01, 7.0, 1e307])
def test_gr3_does_not_see_the_unit_of_a_cost(factor):
    costs = np.array([1.0, 2.0, 4.0, 9.0])
    np.testing.assert_allclose(gr3_economy(factor * costs), gr3_economy(costs), atol=1e-12)


def test_gr3_takes_costs_only():
    with pytest.raises(ValueError, match="costs must be finite numbers of at least 0, got"):
        gr3_economy([1.0, -1.0])
    with pytest.raises(ConfigError, match=r'it\.high must .* economy = "gr3"'):
        Objective("it", economy="gr3", better="more")
    with pytest.raises(ConfigError, match=r"it\.low must be at least 0 for a cost.*-1"):
        Objective("it", economy="gr3", better="fewer", low=-1.0)


def test_gr3_divides_by_the_budget_deficit():
    left = Objective("left", economy="gr3", better="more", high=10.0)
    scores = Scores((Objective("correct", gate=True), left))
    rollouts = [Rollout("q", {"correct": 1.0, "left": it}, solved=True) for it in (9.0, 8.0, 7.0)]
    assert scores.rewards_of(rollouts)[:, 1].tolist() == [-0.5, -1.0, -1.5]


# ---- prime-rl -----------------------------------------------------------------------------------


def test_pass_rate_by_hand():
    costs = [[10, 20, 30, 40], [10, 20, 30, 40], [0, 0, 0, 0]]
    right = [[True, True, True, False], [False] * 4, [True] * 4]
    assert pass_rate_economy(costs, right).tolist() == [
        [-0.1875, -0.375, -0.5625, -0.75],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0],
    ]
    assert pass_rate_economy([], []).tolist() == []
