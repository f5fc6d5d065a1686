"""Stage-2 advantages on the paper's rewards: golden groups and structure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.rollout_groups import groups, reward_vectors, vectors

from paretopo.config import ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO
from paretopo_core import pareto_advantage, pareto_rank

WEIGHTS = (0.6, 0.4)
GROUP_A = [(True, 1), (True, 2), (True, 3), (False, 1), (False, 2), (False, 3)]
weights = st.floats(0, 1).map(lambda task: (task, 1 - task))
betas = st.floats(0, 1)


def stage_2(rollouts, *, history=None, **switches):
    paper = {"stage2_estimator": "pareto", "gate": "none", "centre": "none"}
    config = ParetoPOConfig(stage1_steps=0, group_filter="off", **(paper | switches))
    return ParetoPO(config).step(reward_vectors(rollouts, history=history)).advantages[0]


# ---- golden groups -----------------------------------------------------------------------------


def test_group_a():
    rewards = reward_vectors(GROUP_A)
    np.testing.assert_array_equal(pareto_rank(rewards)[0] + 1, [1, 2, 3, 2, 3, 4])
    golden = [1, 0.798634, 0.698639, 0.4, 0.198634, 0.098639]
    np.testing.assert_allclose(rewards[0] @ WEIGHTS, golden, atol=1e-6)
    np.testing.assert_allclose(stage_2(GROUP_A), [4, 3.25, 2.25, 2.75, 1.75, 1])
    centred = stage_2(GROUP_A, centre="mean")
    np.testing.assert_allclose(centred, [1.5, 0.75, -0.25, 0.25, -0.75, -1.5])


def test_group_a_gated():
    assert stage_2(GROUP_A, gate="success").tolist() == [4, 3, 2, 1, 1, 1]


def test_group_b_with_a_lean_history():
    rollouts = [(True, 1), (True, 2), (True, 3), (False, 0)]
    ranks = pareto_rank(reward_vectors(rollouts, history=0))[0] + 1
    np.testing.assert_array_equal(ranks, [1, 2, 3, 1])
    np.testing.assert_allclose(stage_2(rollouts, history=0), [3.25, 2, 1, 2.75])


def test_group_c():
    rollouts = [(True, 3), (False, 0), (False, 1), (False, 2), (False, 3)]
    np.testing.assert_array_equal(pareto_rank(reward_vectors(rollouts))[0] + 1, [1, 5, 4, 3, 2])
    np.testing.assert_allclose(stage_2(rollouts), [5, 1, 2, 3, 4])


@pytest.mark.parametrize(("centre", "value"), [("none", 1.0), ("mean", 0.0), ("std", 0.0)])
def test_group_d_of_equals(centre, value):
    assert stage_2([(True, 2)] * 8, centre=centre).tolist() == [value] * 8


# ---- structure ---------------------------------------------------------------------------------


@given(vectors, weights, betas)
def test_bounds_and_separation_of_fronts(rewards, w, beta):
    advantages, ranks = pareto_advantage(rewards, w, beta=beta, centre="none", return_ranks=True)
    advantages, ranks = advantages[0], ranks[0]
    fronts = ranks.max() + 1
    slack = 1e-12
    assert (advantages >= 1 - beta / 2 - slack).all()
    assert (advantages <= fronts + beta / 2 + slack).all()
    for rank in range(fronts - 1):
        worst, best = advantages[ranks == rank].min(), advantages[ranks == rank + 1].max()
        assert worst - best >= 1 - beta - slack


@given(groups())
def test_a_front_holds_at_most_two_kinds(rollouts):
    rewards = reward_vectors(rollouts)
    ranks = pareto_rank(rewards)[0]
    for rank in range(ranks.max() + 1):
        kinds = {tuple(vector) for vector in rewards[0][ranks == rank]}
        assert len(kinds) <= 2
        if len(kinds) == 2:
            (wrong, lean), (right, lavish) = sorted(kinds)
            assert (wrong, right) == (0, 1)
            assert lean > lavish


@given(groups())
def test_scores_within_a_front(rollouts):
    advantages = stage_2(rollouts)
    assert set(np.round((advantages % 1) * 4, 9)) <= {0.0, 1.0, 3.0}


@given(groups(), st.none() | st.integers(0, 5))
def test_only_optimal_success_ranks_first(rollouts, history):
    rewards = reward_vectors(rollouts, history=history)[0]
    assume((rewards == [1, 1]).all(axis=1).any())
    top = rewards[pareto_rank(rewards[None])[0] == 0]
    np.testing.assert_array_equal(top, np.ones_like(top))


@given(groups(max_points=12), st.none() | st.integers(0, 5))
def test_few_levels_of_economy_make_few_fronts(rollouts, history):
    rewards = reward_vectors(rollouts, history=history)
    levels = len(np.unique(rewards[..., 1]))
    assert pareto_rank(rewards).max() + 1 <= levels + 1


@given(vectors, weights, weights)
def test_ranks_ignore_the_weights(rewards, w, other):
    first = pareto_advantage(rewards, w, return_ranks=True)[1]
    np.testing.assert_array_equal(first, pareto_advantage(rewards, other, return_ranks=True)[1])


@pytest.mark.parametrize(
    ("w", "extra_right", "extra_wrong", "to_the_wrong"),
    [
        ((0.5, 0.5), 5, 0, False),
        ((0.6, 0.4), 5, 0, False),
        ((0.4, 0.6), 1, 0, False),
        ((0.4, 0.6), 2, 0, True),
        ((0.2, 0.8), 1, 0, True),
        ((0.2, 0.8), 2, 1, False),
        ((0.2, 0.8), 3, 1, True),
    ],
)
def test_whom_the_boost_inside_a_front_goes_to(w, extra_right, extra_wrong, to_the_wrong):
    """To the wrong member iff w_task < w_tool (b - a): never with w_task of at least one half."""
    right, wrong = np.exp(-0.7 * np.array([extra_right, extra_wrong]))
    rewards = np.array([[[1.0, right], [0.0, wrong]]])
    advantages = pareto_advantage(rewards, w, centre="none")[0]
    assert (advantages[1] > advantages[0]) == to_the_wrong
    assert to_the_wrong == (w[0] < w[1] * (wrong - right))


@given(groups(min_points=2), st.floats(0.5, 1))
def test_half_the_weight_prefers_successes_within_a_front(rollouts, task):
    rewards = reward_vectors(rollouts)
    advantages, ranks = pareto_advantage(
        rewards, (task, 1 - task), centre="none", return_ranks=True
    )
    solved = rewards[0, :, 0] == 1
    for rank in range(ranks.max() + 1):
        front = ranks[0] == rank
        if (front & solved).any() and (front & ~solved).any():
            right, wrong = advantages[0][front & solved], advantages[0][front & ~solved]
            assert right.min() >= wrong.max() - 1e-12


@given(vectors, st.data())
def test_becoming_better_never_costs_with_beta_0(rewards, data):
    moved, better = improve(rewards, data)
    before = pareto_advantage(rewards, WEIGHTS, beta=0.0, centre="none")[0, moved]
    after = pareto_advantage(better, WEIGHTS, beta=0.0, centre="none")[0, moved]
    assert after >= before


def test_becoming_better_can_cost_with_beta_one_half():
    """A rollout moves up into a front in which its weighted sum is lower: 0.3 against 0.4."""
    worse = np.array([[[0.0, 0.0], [0.0, 1.0]]])
    better = np.array([[[0.5, 0.0], [0.0, 1.0]]])
    assert pareto_advantage(worse, WEIGHTS, centre="none")[0, 0] == 1.0
    assert pareto_advantage(better, WEIGHTS, centre="none")[0, 0] == 0.75


@given(vectors, weights, betas)
def test_centring_keeps_order_and_gaps_and_takes_the_mean(rewards, w, beta):
    raw = pareto_advantage(rewards, w, beta=beta, centre="none")[0]
    centred = pareto_advantage(rewards, w, beta=beta, centre="mean")[0]
    np.testing.assert_allclose(centred, raw - raw.mean(), atol=1e-12)
    fronts = pareto_rank(rewards).max() + 1
    assert np.abs(centred).max() <= fronts - 1 + beta + 1e-12


def improve(rewards, data):
    """One rollout's vector replaced by one that is at least as good."""
    moved = data.draw(st.integers(0, rewards.shape[1] - 1))
    gain = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    better = rewards.copy()
    better[0, moved] = better[0, moved] + np.array(gain) / 3
    return moved, better
