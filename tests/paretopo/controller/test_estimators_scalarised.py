"""GRPO, Dr. GRPO, RLOO, worth, GR3: methods that make one number of each vector."""

import numpy as np
import pytest
from hypothesis import assume, given
from support.rollout_groups import groups, reward_vectors

from paretopo.config import ConfigError, with_method
from paretopo.controller.estimators import ESTIMATORS
from paretopo.rewards.economy import gr3_economy

WEIGHTS = (0.6, 0.4)


def against_others(values):
    return [one - (sum(values) - one) / (len(values) - 1) for one in values]


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


# ---- RLOO ---------------------------------------------------------------------------------------


@given(groups(min_points=2))
def test_rloo_is_its_formula(rollouts):
    scalar = (reward_vectors(rollouts) @ WEIGHTS)[0]
    others = [(scalar.sum() - one) / (len(scalar) - 1) for one in scalar]
    values = ESTIMATORS["rloo"](reward_vectors(rollouts), WEIGHTS)[0]
    np.testing.assert_allclose(values, scalar - others, atol=1e-12)


def test_rloo_of_one_rollout_is_zero():
    np.testing.assert_array_equal(ESTIMATORS["rloo"](np.ones((2, 1, 2)), WEIGHTS), [[0.0], [0.0]])


# ---- worth --------------------------------------------------------------------------------------


def test_worth_by_hand():
    """Right answers that save all, half, none, and pay thrice as much; a wrong one that is free."""
    group = [[1.0, 1.0], [1.0, 0.5], [1.0, 0.0], [1.0, -2.0], [0.0, 1.0]]
    values = np.array([1.0, 0.8, 0.6, 0.0, 0.0])
    wanted = [one - (values.sum() - one) / 4 for one in values]
    np.testing.assert_allclose(
        ESTIMATORS["worth"](np.array([group]), WEIGHTS), [wanted], atol=1e-15
    )


def test_of_several_economies_each_counts_with_its_weight():
    group = np.array([[[1.0, 0.9, 0.2], [1.0, 0.5, 0.5], [0.0, 1.0, 1.0]]])
    wanted = against_others([0.5 + 0.4 * 0.9 + 0.1 * 0.2, 0.5 + 0.5 * 0.5, 0.0])
    np.testing.assert_allclose(ESTIMATORS["worth"](group, (0.5, 0.4, 0.1)), [wanted], atol=1e-15)


def test_worth_without_an_economy():
    group = np.array([[[1.0], [0.0], [0.0]]])
    np.testing.assert_allclose(ESTIMATORS["worth"](group, [0.6]), [[0.6, -0.3, -0.3]], atol=1e-15)


@given(groups(min_points=2))
def test_worth_equals_the_gated_sum_of_savings(rollouts):
    rewards = reward_vectors(rollouts)
    gated = rewards.copy()
    gated[..., 1] *= gated[..., 0]
    np.testing.assert_allclose(
        ESTIMATORS["worth"](rewards, WEIGHTS), ESTIMATORS["rloo"](gated, WEIGHTS), atol=1e-12
    )


# ---- GR3 ----------------------------------------------------------------------------------------


def test_gr3_by_hand():
    """Lengths 10, 20, 10 are .75, 1.5, .75 of their mean; less the mean these are prime-rl's."""
    rewards = np.stack([[1.0, 0.5, 0.8], gr3_economy([10, 20, 10])], axis=-1)[None]
    values = np.array([1 / 1.2475, 0.5 / 1.495, 0.8 / 1.2475])
    centred = [0.20915856, -0.25799648, 0.04883792]
    np.testing.assert_allclose(values - values.mean(), centred, atol=1e-8)
    wanted = (values - values.mean()) / (values.std(ddof=1) + 1e-6)
    weights = (1 / 1.33, 0.33 / 1.33)
    np.testing.assert_allclose(ESTIMATORS["gr3"](rewards, weights), [wanted], atol=1e-12)


def test_several_costs_of_gr3_add_up():
    group = np.array([[[1.0, -0.5, -2.0], [1.0, -1.5, 0.0], [0.0, -1.0, -1.0]]])
    values = np.array([1 / (1 + 0.6 * 0.5 + 0.4 * 2.0), 1 / (1 + 0.6 * 1.5), 0.0])
    wanted = (values - values.mean()) / (values.std(ddof=1) + 1e-6)
    np.testing.assert_allclose(ESTIMATORS["gr3"](group, (0.5, 0.3, 0.2)), [wanted], atol=1e-12)


def test_gr3_needs_success_and_its_weight():
    failures = np.array([[[0.0, -1.5], [0.0, -0.5]]])
    np.testing.assert_array_equal(ESTIMATORS["gr3"](failures, WEIGHTS), [[0.0, 0.0]])
    mixed = np.array([[[1.0, 0.0], [1.0, -2.0], [0.0, -1.0]]])
    np.testing.assert_array_equal(ESTIMATORS["gr3"](mixed, (0.0, 1.0)), [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(
        ESTIMATORS["gr3"](mixed, (1.0, 0.0)), ESTIMATORS["grpo"](mixed, (1.0, 0.0))
    )


# ---- Tchebycheff --------------------------------------------------------------------------------


def test_tchebycheff_by_hand():
    """Distances (.6, 0), (0, .4 * .5), (0, .4 * 3), (.6, .4): the worst counts."""
    group = np.array([[[0.0, 1.0], [1.0, 0.5], [1.0, -2.0], [0.0, 0.0]]])
    wanted = against_others([-0.6, -0.2, -1.2, -0.6])
    np.testing.assert_allclose(ESTIMATORS["tchebycheff"](group, WEIGHTS), [wanted], atol=1e-12)
    mu = 0.2
    smooth = [
        -mu * np.log(np.exp(one / mu) + np.exp(other / mu))
        for one, other in [(0.6, 0.0), (0.0, 0.2), (0.0, 1.2), (0.6, 0.4)]
    ]
    values = ESTIMATORS["tchebycheff"](group, WEIGHTS, smoothing=mu)
    np.testing.assert_allclose(values, [against_others(smooth)], atol=1e-12)


def test_smooth_maximum_converges_without_overflow():
    group = np.array([[[0.0, 1.0], [1.0, 0.5], [1.0, -2000.0], [0.0, 0.0]]])
    hard = ESTIMATORS["tchebycheff"](group, WEIGHTS)
    near = ESTIMATORS["tchebycheff"](group, WEIGHTS, smoothing=1e-3)
    np.testing.assert_allclose(near, hard, atol=2e-3)


def test_expected_tchebycheff_by_hand():
    """Two groups of mean rewards (.75, .25): distances .6 * .25 = .15 and .4 * .75 = .3."""
    batch = np.array([[[1.0, 0.0], [1.0, 0.5]], [[0.0, 0.5], [1.0, 0.0]]])
    savings = [[-0.5, 0.5], [0.5, -0.5]]
    np.testing.assert_allclose(
        ESTIMATORS["expected_tchebycheff"](batch, WEIGHTS), 0.4 * np.array(savings), atol=1e-12
    )
    share = 1 / (1 + np.exp((0.3 - 0.15) / 0.1))
    wanted = share * 0.6 * np.array([[0.0, 0.0], [-1.0, 1.0]]) + (1 - share) * 0.4 * np.array(
        savings
    )
    np.testing.assert_allclose(
        ESTIMATORS["expected_tchebycheff"](batch, WEIGHTS, smoothing=0.1), wanted, atol=1e-12
    )


def test_expected_tchebycheff_keeps_weights_at_ties():
    batch = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    values = ESTIMATORS["expected_tchebycheff"](batch, (0.5, 0.5))
    np.testing.assert_allclose(values, [[0.0, 0.0]], atol=1e-15)


@pytest.mark.parametrize("name", ["tchebycheff", "expected_tchebycheff"])
def test_tchebycheff_needs_rewards_that_end_at_one(name):
    files = {"objectives": [{"name": "correct"}, {"name": "calls", "economy": "raw"}]}
    with pytest.raises(ConfigError, match=r"distance to 1, .* objectives\.calls does not end"):
        with_method(files, "grpo", {"paretopo.stage2_estimator": name})
