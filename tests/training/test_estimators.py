from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rollout_groups import groups, reward_vectors, vectors

import paretopo_core
from paretopo_core.training.estimators import ESTIMATORS

WEIGHTS = (0.6, 0.4)


def test_the_table_is_complete():
    assert set(ESTIMATORS) == {"pareto", "grpo", "dr_grpo", "constant"}


@given(vectors, st.sampled_from(sorted(ESTIMATORS)), st.sampled_from(["mean", "none", "loo"]))
def test_every_estimator_keeps_shape_type_and_input(rewards, name, center):
    kept = rewards.copy()
    values = ESTIMATORS[name](rewards, WEIGHTS, beta=0.5, center=center)
    assert values.dtype == np.float64
    assert values.shape == rewards.shape[:-1]
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(rewards, kept)


@given(st.lists(vectors, min_size=1, max_size=4), st.sampled_from(sorted(ESTIMATORS)))
def test_a_ragged_batch_equals_its_groups_alone(several, name):
    longest = max(group.shape[1] for group in several)
    padded = np.full((len(several), longest, 2), 7.0)
    mask = np.zeros((len(several), longest), np.bool_)
    for number, group in enumerate(several):
        padded[number, : group.shape[1]] = group[0]
        mask[number, : group.shape[1]] = True
    values = ESTIMATORS[name](padded, WEIGHTS, mask=mask)
    np.testing.assert_array_equal(values[~mask], 0.0)
    for number, group in enumerate(several):
        alone = ESTIMATORS[name](group, WEIGHTS)[0]
        np.testing.assert_allclose(values[number, : len(alone)], alone, atol=1e-9)


@given(vectors, st.sampled_from(sorted(ESTIMATORS)), st.randoms())
def test_the_order_of_the_rollouts_does_not_matter(rewards, name, random):
    order = random.sample(range(rewards.shape[1]), rewards.shape[1])
    np.testing.assert_allclose(
        ESTIMATORS[name](rewards[:, order], WEIGHTS),
        ESTIMATORS[name](rewards, WEIGHTS)[:, order],
        atol=1e-9,
    )


def test_pareto_is_the_core():
    rewards = np.random.default_rng(0).integers(0, 3, (4, 8, 2)).astype(np.float64)
    np.testing.assert_array_equal(
        ESTIMATORS["pareto"](rewards, WEIGHTS, beta=0.3, center="none"),
        paretopo_core.pareto_advantage(rewards, WEIGHTS, beta=0.3, center="none"),
    )


@given(groups(min_points=2))
def test_grpo_is_its_formula(rollouts):
    scalar = reward_vectors(rollouts) @ WEIGHTS
    assume(np.ptp(scalar) > 1e-12)
    expected = (scalar - scalar.mean()) / (scalar.std(ddof=1) + 1e-6)
    values = ESTIMATORS["grpo"](reward_vectors(rollouts), WEIGHTS)
    np.testing.assert_allclose(values, expected, atol=1e-12)


def test_grpo_does_not_blow_up_rounding_noise():
    rewards = np.full((1, 8, 2), 0.1)
    rewards[0, 3, 0] += 1e-13
    np.testing.assert_array_equal(ESTIMATORS["grpo"](rewards, WEIGHTS), np.zeros((1, 8)))
    np.testing.assert_array_equal(ESTIMATORS["grpo"](rewards[:, :1], WEIGHTS), [[0.0]])


@given(groups(min_points=2))
def test_dr_grpo_is_its_formula(rollouts):
    scalar = reward_vectors(rollouts) @ WEIGHTS
    values = ESTIMATORS["dr_grpo"](reward_vectors(rollouts), WEIGHTS)
    np.testing.assert_allclose(values, scalar - scalar.mean(), atol=1e-12)


# ---- the multiplier on the reward -------------------------------------------------------------


@pytest.mark.parametrize("factor", [0.5, 1.19, 2.0])
def test_a_factor_on_the_reward_cancels_in_grpo(factor):
    """With the group's standard deviation below the line, only epsilon notices the factor."""
    rewards = reward_vectors([(True, 1), (True, 2), (True, 3), (False, 1), (False, 2)])
    plain = ESTIMATORS["grpo"](rewards, WEIGHTS)
    np.testing.assert_allclose(ESTIMATORS["grpo"](factor * rewards, WEIGHTS), plain, atol=2e-5)


@given(groups(min_points=2), st.floats(0.5, 2.0))
def test_what_is_left_of_the_factor_is_epsilon(rollouts, factor):
    rewards = reward_vectors(rollouts)
    deviation = (rewards @ WEIGHTS).std(ddof=1)
    assume(deviation > 1e-9)
    plain = ESTIMATORS["grpo"](rewards, WEIGHTS)
    scaled = ESTIMATORS["grpo"](factor * rewards, WEIGHTS)
    bound = np.abs(plain) * (1e-6 / deviation) * abs(1 / factor - 1) * 1.01 + 1e-12
    assert (np.abs(scaled - plain) <= bound).all()


@pytest.mark.parametrize("factor", [0.5, 1.19, 2.0])
def test_a_factor_on_the_reward_survives_without_the_deviation(factor):
    rewards = reward_vectors([(True, 1), (True, 2), (False, 1)])
    plain = ESTIMATORS["dr_grpo"](rewards, WEIGHTS)
    scaled = ESTIMATORS["dr_grpo"](factor * rewards, WEIGHTS)
    np.testing.assert_allclose(scaled, factor * plain, atol=1e-12)
    assert np.abs(scaled - plain).max() > 0.01


# ---- the constant control ----------------------------------------------------------------------


def test_constant_is_one_for_everybody():
    rewards = np.random.default_rng(1).random((3, 4, 2))
    np.testing.assert_array_equal(ESTIMATORS["constant"](rewards, WEIGHTS), np.ones((3, 4)))


def expected_gradient(logits, lengths, advantage):
    """Exact policy gradient of a softmax over responses, losses averaged within the response."""
    policy = np.exp(logits) / np.exp(logits).sum()
    per_response = policy * advantage / lengths
    return per_response - policy * per_response.sum()


@pytest.mark.parametrize(("advantage", "drifts"), [(1.0, True), (0.0, False)])
def test_an_uncentred_constant_shortens_responses_without_any_reward(advantage, drifts):
    """Why the control run and centring are there: A = 1 alone drives calls to 0."""
    calls = np.arange(4)
    lengths = 10.0 + 12.0 * calls
    same = np.zeros((1, 4, 2))  # no reward information at all
    values = ESTIMATORS["pareto"](same, WEIGHTS, center="none" if advantage else "mean")[0]
    np.testing.assert_array_equal(values, np.full(4, advantage))
    if advantage:
        np.testing.assert_array_equal(values, ESTIMATORS["constant"](same, WEIGHTS)[0])
    logits = np.zeros(4)
    for _ in range(4000):
        logits = logits + expected_gradient(logits, lengths, values)
    policy = np.exp(logits) / np.exp(logits).sum()
    assert (policy @ calls < 0.1) == drifts
    if not drifts:
        np.testing.assert_array_equal(policy, np.full(4, 0.25))
