"""GRPO, Dr. GRPO, RLOO, worth, GR3: methods that make one number of each vector."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.rollout_groups import groups, reward_vectors

from paretopo.config import ConfigError, with_method
from paretopo.controller.estimators import ESTIMATORS
from paretopo.rewards.economy import gr3_economy, saving
from paretopo.rewards.learnt_costs import SuccessPrice

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


def test_grpo_follows_the_objective_of_larger_weighted_spread():
    """Uncorrelated, with deviations in the ratio 1 to 3: .6 / sqrt(.36 + 1.44), 1.2 over the same.

    The weights count: equal ones would say .3162 and .9487. Correlated objectives go otherwise.
    """
    rewards = np.array([[[0.0, 0.0], [0.0, 3.0], [1.0, 0.0], [1.0, 3.0]]])
    advantages = ESTIMATORS["grpo"](rewards, WEIGHTS)[0]
    seen = [np.corrcoef(rewards[0, :, one], advantages)[0, 1] for one in range(2)]
    np.testing.assert_allclose(seen, [0.4472136, 0.8944272], atol=1e-6)
    equal = ESTIMATORS["grpo"](rewards, (0.5, 0.5))[0]
    seen = [np.corrcoef(rewards[0, :, one], equal)[0, 1] for one in range(2)]
    np.testing.assert_allclose(seen, [0.3162278, 0.9486833], atol=1e-6)
    together = rewards.copy()
    together[..., 1] = 3 * together[..., 0]
    advantages = ESTIMATORS["grpo"](together, WEIGHTS)[0]
    assert np.corrcoef(together[0, :, 0], advantages)[0, 1] == pytest.approx(1.0)


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
def test_grpo_is_scale_invariant_up_to_epsilon(rollouts, factor):
    rewards = reward_vectors(rollouts)
    deviation = (rewards @ WEIGHTS).std(ddof=1)
    assume(deviation > 1e-9)
    plain = ESTIMATORS["grpo"](rewards, WEIGHTS)
    scaled = ESTIMATORS["grpo"](factor * rewards, WEIGHTS)
    bound = np.abs(plain) * (1e-6 / deviation) * abs(1 / factor - 1) * 1.01 + 1e-12
    assert (np.abs(scaled - plain) <= bound).all()


@pytest.mark.parametrize("factor", [0.5, 1.19, 2.0])
def test_reward_scale_matters_without_standardisation(factor):
    rewards = reward_vectors([(True, 1), (True, 2), (False, 1)])
    plain = ESTIMATORS["dr_grpo"](rewards, WEIGHTS)
    scaled = ESTIMATORS["dr_grpo"](factor * rewards, WEIGHTS)
    np.testing.assert_allclose(scaled, factor * plain, atol=1e-12)
    assert np.abs(scaled - plain).max() > 0.01


# ---- RLOO ---------------------------------------------------------------------------------------


@given(groups(min_points=2))
def test_rloo_is_its_formula(rollouts):
    scalar = (reward_vectors(rollouts) @ WEIGHTS)[0]
    others = [(scalar.sum() - one) / (len(scalar) - 1) for one in scalar]
    values = ESTIMATORS["rloo"](reward_vectors(rollouts), WEIGHTS)[0]
    np.testing.assert_allclose(values, scalar - others, atol=1e-12)


def test_rloo_of_one_rollout_is_zero():
    np.testing.assert_array_equal(ESTIMATORS["rloo"](np.ones((2, 1, 2)), WEIGHTS), [[0.0], [0.0]])


def expected_gradient(name, points):
    """E[mean of A * score] of a softmax over three outcomes, by all groups there can be."""
    outcomes = np.array([[1.0, 0.2], [1.0, 1.0], [0.0, 0.7]])
    policy = np.array([0.5, 0.2, 0.3])
    gradient = np.zeros(3)
    for group in itertools.product(range(3), repeat=points):
        advantages = ESTIMATORS[name](outcomes[list(group)][None], WEIGHTS)[0]
        for one, advantage in zip(group, advantages, strict=True):
            score = (np.arange(3) == one) - policy
            gradient += policy[list(group)].prod() * advantage * score / points
    scalar = outcomes @ WEIGHTS
    return gradient, policy * (scalar - policy @ scalar)


@pytest.mark.parametrize("points", [2, 3, 4])
def test_rloo_is_an_unbiased_gradient_and_the_others_are_not(points):
    gradient, true = expected_gradient("rloo", points)
    np.testing.assert_allclose(gradient, true, atol=1e-12)
    shrunk, _ = expected_gradient("dr_grpo", points)
    np.testing.assert_allclose(shrunk, true * (points - 1) / points, atol=1e-12)
    standardised, _ = expected_gradient("grpo", points)
    direction = standardised / np.linalg.norm(standardised)
    assert np.abs(direction - true / np.linalg.norm(true)).max() > 1e-3


@pytest.mark.parametrize("divisor", ["constant", "batch", "rollout"])
def test_a_mean_over_tokens_is_no_unbiased_gradient(divisor):
    """Three answers of 1, 2 and 9 tokens, all groups of two, the loss divided as trainers do."""
    values, lengths = np.array([1.0, 0.2, 0.6]), np.array([1.0, 2.0, 9.0])
    policy = np.array([0.5, 0.3, 0.2])
    gradient = np.zeros(3)
    for group in itertools.product(range(3), repeat=2):
        chosen = list(group)
        advantages = ESTIMATORS["rloo"](values[chosen][None, :, None], [1.0])[0]
        weights = {
            "constant": np.ones(2) / 2,
            "batch": np.ones(2) / lengths[chosen].sum(),
            "rollout": 1.0 / lengths[chosen] / 2,
        }[divisor]
        scores = np.eye(3)[chosen] - policy
        gradient += policy[chosen].prod() * (weights * advantages) @ scores
    true = policy * (values - policy @ values)
    cosine = gradient @ true / np.linalg.norm(gradient) / np.linalg.norm(true)
    assert (cosine > 1 - 1e-12) == (divisor == "constant")
    if divisor == "constant":
        np.testing.assert_allclose(gradient, true, atol=1e-12)


# ---- worth --------------------------------------------------------------------------------------


def test_worth_by_hand():
    """Right answers that save all, half, none, and pay thrice as much; a wrong one that is free."""
    group = [[1.0, 1.0], [1.0, 0.5], [1.0, 0.0], [1.0, -2.0], [0.0, 1.0]]
    values = np.array([1.0, 0.8, 0.6, 0.0, 0.0])
    wanted = [one - (values.sum() - one) / 4 for one in values]
    np.testing.assert_allclose(
        ESTIMATORS["worth"](np.array([group]), WEIGHTS), [wanted], atol=1e-15
    )


def test_no_right_answer_is_worth_less_than_a_wrong_one():
    """With w_0 at least w_1 and savings that end at -1, however dear the answer is."""
    saved = saving([0.0, 1.0, 2.0, 1e9, 0.0], 1.0)
    group = np.stack([[1.0, 1.0, 1.0, 1.0, 0.0], saved], axis=-1)[None]
    for right, values in ((0.5, [1.0, 0.5, 0.25, 0.5e-9, 0.0]), (0.6, [1.0, 0.6, 0.4, 0.2, 0.0])):
        wanted = against_others(values)
        given = ESTIMATORS["worth"](group, (right, 1.0 - right))
        np.testing.assert_allclose(given, [wanted], atol=1e-9)
        assert (np.diff(given[0]) < 0.0).all()


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


def test_worth_is_the_gradient_of_the_expected_value():
    """All groups of three of a policy over three ways, against E[value] differentiated by hand."""
    outcomes = np.array([[1.0, 0.2, 0.9], [1.0, -4.0, 1.0], [0.0, 1.0, 1.0]])
    weights = (0.5, 0.3, 0.2)
    values = np.array([0.5 + 0.3 * 0.2 + 0.2 * 0.9, 0.0, 0.0])
    policy = np.array([0.5, 0.2, 0.3])
    gradient = np.zeros(3)
    for group in itertools.product(range(3), repeat=3):
        advantages = ESTIMATORS["worth"](outcomes[list(group)][None], weights)[0]
        for one, advantage in zip(group, advantages, strict=True):
            gradient += (
                policy[list(group)].prod() * advantage * ((np.arange(3) == one) - policy) / 3
            )
    np.testing.assert_allclose(gradient, policy * (values - policy @ values), atol=1e-12)


@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_worth_does_not_see_the_unit_of_a_cost(seed, factor):
    rng = np.random.default_rng(seed)
    costs, right = rng.lognormal(size=(4, 6)), rng.random((4, 6)) < 0.5

    def advantages(paid):
        price = SuccessPrice()
        price.update(paid, right)
        saved = saving(paid, price.of_groups(paid, right)[..., None])
        return ESTIMATORS["worth"](np.stack([right, saved], axis=-1), WEIGHTS)

    np.testing.assert_allclose(advantages(factor * costs), advantages(costs), atol=1e-9)


def test_worth_is_aware_of_size():
    """A saving of 1 % is worth 1 % of a full saving."""
    small = np.array([[[1.0, 0.01], [1.0, 0.0]]])
    large = np.array([[[1.0, 1.0], [1.0, 0.0]]])
    np.testing.assert_allclose(
        100 * ESTIMATORS["worth"](small, WEIGHTS), ESTIMATORS["worth"](large, WEIGHTS), atol=1e-12
    )


@pytest.mark.parametrize("vector", [[1.0, 0.3], [1.0, -7.0], [0.0, 0.3]])
def test_of_answers_that_are_all_alike_worth_says_nothing(vector):
    values = ESTIMATORS["worth"](np.full((2, 7, 2), vector), WEIGHTS)
    np.testing.assert_allclose(values, 0.0, atol=1e-15)


def test_failures_say_nothing_to_worth_whatever_they_save():
    failures = np.array([[[0.0, 1.0], [0.0, -5.0], [0.0, 0.2]]])
    np.testing.assert_array_equal(ESTIMATORS["worth"](failures, WEIGHTS), np.zeros((1, 3)))


def test_worth_ignores_masked_rollouts():
    group = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 0.0], [1.0, np.nan]]])
    mask = np.array([[True, True, True, False]])
    alone = ESTIMATORS["worth"](group[:, :3], WEIGHTS)
    values = ESTIMATORS["worth"](group, WEIGHTS, mask=mask)
    np.testing.assert_array_equal(values[:, :3], alone)
    assert values[0, 3] == 0.0


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


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_tchebycheff_prefers_a_compromise(smoothing):
    """Which no weights of a sum say of these three."""
    group = np.array([[[1.0, 0.0], [0.4, 0.4], [0.0, 1.0]]])
    values = ESTIMATORS["tchebycheff"](group, (0.5, 0.5), smoothing=smoothing)[0]
    assert values.argmax() == 1


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_tchebycheff_is_the_gradient_of_the_expected_value(smoothing):
    outcomes = np.array([[1.0, 0.2], [1.0, -4.0], [0.0, 1.0]])
    distances = np.array(WEIGHTS) * (1.0 - outcomes)
    values = -distances.max(axis=1)
    if smoothing:
        values = -smoothing * np.log(np.exp(distances / smoothing).sum(axis=1))
    policy = np.array([0.5, 0.2, 0.3])
    gradient = np.zeros(3)
    for group in itertools.product(range(3), repeat=3):
        advantages = ESTIMATORS["tchebycheff"](
            outcomes[list(group)][None], WEIGHTS, smoothing=smoothing
        )[0]
        for one, advantage in zip(group, advantages, strict=True):
            gradient += (
                policy[list(group)].prod() * advantage * ((np.arange(3) == one) - policy) / 3
            )
    np.testing.assert_allclose(gradient, policy * (values - policy @ values), atol=1e-12)


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


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_expected_tchebycheff_climbs_tchebycheff_of_the_means(smoothing):
    """With a batch of every outcome as often as the policy has it the mean is the expectation."""
    outcomes = np.array([[1.0, 0.1], [0.2, 0.9], [0.0, 1.0], [1.0, 0.6]])

    def value(policy):
        distances = np.array(WEIGHTS) * (1.0 - policy @ outcomes)
        if not smoothing:
            return -distances.max()
        return -smoothing * np.log(np.exp(distances / smoothing).sum())

    policy = np.array([4, 3, 2, 1]) / 10
    batch = np.repeat(outcomes, [4, 3, 2, 1], axis=0)[None]
    chosen = np.repeat(np.arange(4), [4, 3, 2, 1])
    advantages = ESTIMATORS["expected_tchebycheff"](batch, WEIGHTS, smoothing=smoothing)[0]
    advantages = advantages * 9 / 10  # against the mean of all, which is the expectation, too
    gradient = np.array([advantages[chosen == one].sum() / 10 for one in range(4)])
    for one in range(4):
        moved = np.exp(np.log(policy) + 1e-6 * (np.arange(4) == one))
        slope = (value(moved / moved.sum()) - value(policy)) / 1e-6
        assert gradient[one] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("name", ["tchebycheff", "expected_tchebycheff"])
def test_tchebycheff_needs_rewards_that_end_at_one(name):
    files = {"objectives": [{"name": "correct"}, {"name": "calls", "economy": "raw"}]}
    with pytest.raises(ConfigError, match=r"distance to 1, .* objectives\.calls does not end"):
        with_method(files, "grpo", {"paretopo.stage2_estimator": name})
