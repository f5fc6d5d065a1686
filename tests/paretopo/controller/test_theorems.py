"""The paper's theory: statements that hold, as properties; statements that fail, as examples.

Expectations are exact sums over small sample spaces, never Monte Carlo. Statements are those of
arXiv 2606.16111, section 3.3 and its appendix; K is the group size, s the score function.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import vectors

from paretopo.controller.estimators import ESTIMATORS
from paretopo_core import (
    pareto_advantage,
    pareto_rank,
    stochastic_dominance,
    stochastic_pareto_rank,
)

WEIGHTS = (0.6, 0.4)
GOOD, BAD = (1.0, 1.0), (0.0, 0.0)


def raw(rewards, beta=0.5):
    return pareto_advantage(rewards, weights=WEIGHTS, beta=beta, centre="none")


# ---- exact expectations over a softmax policy with a few actions ---------------------------------


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def every_group(logits, points):
    """All action tuples of a group, their probabilities and each action's score."""
    policy = softmax(logits)
    actions = np.array(list(itertools.product(range(len(policy)), repeat=points)))
    scores = np.eye(len(policy))[actions] - policy  # (groups, points, parameters)
    return actions, policy[actions].prod(axis=1), scores


outcomes = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=3, max_size=3).map(
    lambda pairs: np.array(pairs, np.float64) / 2
)
logits3 = st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array)


# ---- Bernoulli policy: good with probability p dominates bad -------------------------------------


def bernoulli(points, p):
    """Per number of good rollouts k: its probability, advantages of a good and of a bad one."""
    for k in range(points + 1):
        group = np.array([[GOOD] * k + [BAD] * (points - k)])
        advantages = raw(group)[0]
        probability = math.comb(points, k) * p**k * (1 - p) ** (points - k)
        yield k, probability, advantages


def mean_advantage(points, p):
    """W(p), the lemma's batch objective."""
    return sum(prob * a.mean() for _, prob, a in bernoulli(points, p))


def batch_gradient(points, p):
    """g = E[F sum_j s_j] in the parameter p."""
    return sum(
        prob * a.mean() * (k / p - (points - k) / (1 - p)) for k, prob, a in bernoulli(points, p)
    )


def per_trajectory_gradient(points, p):
    """g~ = E[mean_i A_i s_i] in the parameter p."""
    return sum(
        prob * (a[:k].sum() / p - a[k:].sum() / (1 - p)) / points
        for k, prob, a in bernoulli(points, p)
    )


# ==== Proposition "supported-hull coverage of stage 1" ============================================


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8),
    st.floats(0, 0.3),
    st.integers(1, 12),
    st.data(),
)
def test_support_gap_bound(points, slack, cells, data):
    """On a grid of weights; between its points both supports are 1-Lipschitz in this norm."""
    reachable = np.array(points)
    grid = np.linspace(0, 1, cells + 1)
    weights = np.stack([grid, 1 - grid], axis=-1)
    found = []
    for scores in weights @ reachable.T:
        near = np.flatnonzero(scores >= scores.max() - slack)
        found.append(reachable[data.draw(st.sampled_from(near.tolist()))])
    fine = np.linspace(0, 1, 101)
    everywhere = np.stack([fine, 1 - fine], axis=-1)
    gap = (everywhere @ reachable.T).max(axis=1) - (everywhere @ np.array(found).T).max(axis=1)
    assert (gap >= -1e-12).all()
    # Moving w along the simplex by d changes w.y by at most d for y in the unit box.
    assert (gap <= slack + 2 * (0.5 / cells) + 1e-12).all()


def test_fails_the_hulls_need_not_converge_in_hausdorff_distance():
    reachable, found = np.array([GOOD, BAD]), np.array([GOOD])
    fine = np.linspace(0, 1, 101)
    weights = np.stack([fine, 1 - fine], axis=-1)
    gap = (weights @ reachable.T).max(axis=1) - (weights @ found.T).max(axis=1)
    np.testing.assert_array_equal(gap, 0.0)
    hausdorff = max(np.linalg.norm(found - y, axis=1).min() for y in reachable)
    assert hausdorff == pytest.approx(math.sqrt(2))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8))
def test_fails_multiplier_visits_one_direction(points):
    """A positive factor on w.r leaves its maximisers as they are: no preference is explored."""
    scores = np.array(points) @ WEIGHTS
    for factor in (0.5, 1.0, 2.0):  # powers of two scale without rounding
        np.testing.assert_array_equal(
            factor * scores == (factor * scores).max(), scores == scores.max()
        )


def test_fails_other_supported_points_are_never_sought():
    """(0, 1) is supported by w = (0, 1), and no multiplier makes stage 1 with w prefer it."""
    rewards = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    for factor in (0.5, 1.0, 1.999):
        first, second = ESTIMATORS["grpo"](factor * rewards, WEIGHTS)[0]
        assert first > second


# ==== Definition "stochastic Pareto rank" =========================================================


@pytest.mark.parametrize(
    ("sigma", "probability"), [(1.0, 0.306700), (0.3, 0.367671), (0.1, 0.268276)]
)
def test_holds_the_dominance_probability_has_a_closed_form(sigma, probability):
    points = np.array([[1.0, 0.5], [0.4, 0.6]])
    assert stochastic_dominance(points, sigma=sigma)[0, 1] == pytest.approx(probability, abs=1e-6)


@given(vectors, st.floats(0.1, 5))
def test_holds_the_surrogate_is_order_consistent_for_every_sigma(rewards, sigma):
    """The paper claims it for sigma to 0 and with probability approaching 1."""
    points = rewards[0]
    surrogate = stochastic_pareto_rank(points, sigma=sigma)
    assert ((surrogate >= 1) & (surrogate <= len(points))).all()
    for i, j in itertools.permutations(range(len(points)), 2):
        if (points[i] >= points[j]).all() and (points[i] > points[j]).any():
            assert surrogate[i] < surrogate[j]


def test_fails_the_limit_of_the_surrogate_is_not_the_front():
    points = np.array([[1, 1], [1, 1], [1, 1], [0, 1], [1, 0.5]])
    limit = stochastic_pareto_rank(points, sigma=1e-6)
    np.testing.assert_allclose(limit, [1.5, 1.5, 1.5, 2.5, 2.5], atol=1e-6)
    np.testing.assert_array_equal(pareto_rank(points) + 1, [1, 1, 1, 2, 2])


def test_fails_the_limit_counts_dominators_even_without_ties():
    points = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9], [0.0, 0.0]])
    np.testing.assert_allclose(stochastic_pareto_rank(points, sigma=1e-6), [1, 1, 1, 4], atol=1e-6)
    np.testing.assert_array_equal(pareto_rank(points) + 1, [1, 1, 1, 2])


def test_holds_with_a_margin_the_limit_is_one_plus_the_dominators():
    points = np.array([[1, 1], [1, 1], [1, 1], [0, 1], [1, 0.5]])
    sigma = 1e-6
    limit = stochastic_pareto_rank(points, sigma=sigma, margin=math.sqrt(sigma))
    np.testing.assert_allclose(limit, [1, 1, 1, 4, 4], atol=1e-6)


# ==== Lemma "expected batch gradient as a Pareto-ascent direction" ================================


@given(outcomes, logits3, st.floats(0, 1))
def test_holds_the_score_function_identity(table, logits, beta):
    """grad W = E[F sum_j s_j], for the batch objective W = E[F]."""
    actions, _, _ = every_group(logits, 3)
    batch = raw(table[actions], beta).mean(axis=1)

    def objective(at):
        return every_group(at, 3)[1] @ batch

    _, probability, scores = every_group(logits, 3)
    identity = np.einsum("g,g,gip->p", probability, batch, scores)
    step = 1e-5 * np.eye(3)
    differences = [(objective(logits + d) - objective(logits - d)) / 2e-5 for d in step]
    np.testing.assert_allclose(identity, differences, atol=1e-7)


@pytest.mark.parametrize(("points", "p"), [(8, 0.9), (8, 0.8), (4, 0.7), (16, 0.9)])
def test_fails_the_batch_gradient_can_descend_both_objectives(points, p):
    """J_1 = J_2 = p rise with p, and yet W'(p) = 1 - K p^(K-1) < 0."""
    assert mean_advantage(points, p) == pytest.approx(1 + p - p**points)
    gradient = batch_gradient(points, p)
    assert gradient == pytest.approx(1 - points * p ** (points - 1))
    assert gradient < 0


@pytest.mark.parametrize("p", [0.1, 0.3, 0.45])
def test_fails_for_the_smoothed_rank_too(p):
    """With Phi = -R_sigma and sigma to 0: W'(p) = -(K-1)(1-2p)/2, negative below one half."""
    points = 6

    def objective(at):
        total = 0.0
        for k in range(points + 1):
            group = np.array([GOOD] * k + [BAD] * (points - k))
            probability = math.comb(points, k) * at**k * (1 - at) ** (points - k)
            total -= probability * stochastic_pareto_rank(group, sigma=1e-6).mean()
        return total

    derivative = (objective(p + 1e-5) - objective(p - 1e-5)) / 2e-5
    assert derivative == pytest.approx(-(points - 1) * (1 - 2 * p) / 2, abs=1e-4)
    assert derivative < 0


@pytest.mark.parametrize(("points", "p"), [(8, 0.9), (8, 0.5), (4, 0.7), (16, 0.99)])
def test_holds_per_trajectory_gradient_ascends(points, p):
    gradient = per_trajectory_gradient(points, p)
    assert gradient == pytest.approx(1 - p ** (points - 1))
    assert gradient > 0


@given(outcomes, logits3)
def test_holds_the_expected_advantage_of_an_outcome_is_monotone(table, logits):
    """Q(tau) = E[A_1 | tau_1 = tau] respects dominance for beta = 0."""
    actions, probability, _ = every_group(logits, 3)
    advantages = raw(table[actions], beta=0.0)[:, 0]
    policy = softmax(logits)
    value = [
        (probability * advantages)[actions[:, 0] == action].sum() / policy[action]
        for action in range(3)
    ]
    for i, j in itertools.permutations(range(3), 2):
        if (table[i] >= table[j]).all():
            assert value[i] >= value[j] - 1e-9


# ==== Lemma "batch-to-per-trajectory approximation" ===============================================


@pytest.mark.parametrize(
    ("points", "p", "difference", "claimed"),
    [(16, 0.9, 3.0883, 2.8125), (32, 31 / 32, 11.5858, 4.5)],
)
def test_fails_the_constant_of_the_difference_is_too_small(points, p, difference, claimed):
    """|g - g~| = (K-1) p^(K-1), above 2 A_max G_max / K."""
    seen = abs(batch_gradient(points, p) - per_trajectory_gradient(points, p))
    assert seen == pytest.approx((points - 1) * p ** (points - 1))
    assert seen == pytest.approx(difference, abs=1e-3)
    largest_advantage, largest_score = 2 + 0.5 / 2, max(1 / p, 1 / (1 - p))
    bound = 2 * largest_advantage * largest_score / points
    assert bound == pytest.approx(claimed, abs=1e-3)
    assert seen > bound


def test_fails_one_over_k_with_any_constant():
    """For p = 1 - 1/K the difference grows with K, like K/e, and the claimed bound stays."""
    for points in (10, 100, 1000):
        p = 1 - 1 / points
        seen = abs(batch_gradient(points, p) - per_trajectory_gradient(points, p))
        assert seen > 0.9 * (points - 1) / math.e
        assert 2 * 2.25 * max(1 / p, 1 / (1 - p)) / points == pytest.approx(4.5)


# ==== Theorem "bounded second moment" =============================================================


@given(vectors, st.floats(0, 1))
def test_holds_the_bound_on_the_advantage(rewards, beta):
    fronts = pareto_rank(rewards).max() + 1
    assert np.abs(raw(rewards, beta)).max() <= fronts + beta / 2 + 1e-12


@given(outcomes, logits3, st.floats(0, 1))
def test_holds_the_second_moment_inequality(table, logits, beta):
    """With the group size for the random number of ranks, which a constant needs."""
    actions, probability, scores = every_group(logits, 3)
    squared = (scores**2).sum(axis=-1)[:, 0]
    advantages = raw(table[actions], beta)[:, 0]
    left = probability @ (advantages**2 * squared)
    assert left <= (3 + beta / 2) ** 2 * (probability @ squared) + 1e-9


@given(vectors, st.sampled_from([2.0**-10, 1.0, 2.0**20]))
def test_holds_the_bound_does_not_depend_on_the_scale_of_rewards(rewards, scale):
    """Powers of two scale without rounding, so that even ties inside a front stay ties."""
    np.testing.assert_array_equal(raw(scale * rewards), raw(rewards))


@given(vectors)
def test_fails_bound_is_not_better_than_grpos(rewards):
    """|A| <= (g-1)/sqrt(g) for GRPO whatever the scale: 6.1 against 68.1 in C for g = 8."""
    points = rewards.shape[1]
    advantages = ESTIMATORS["grpo"](rewards, WEIGHTS)
    assert np.abs(advantages).max() <= (points - 1) / math.sqrt(points) + 1e-9
    of_grpo, of_the_theorem = ((8 - 1) / math.sqrt(8)) ** 2, (8 + 0.5 / 2) ** 2
    assert (of_grpo, of_the_theorem) == pytest.approx((6.125, 68.0625))


# ==== Theorem "convergence to Pareto-ascent stationarity" =========================================


def test_fails_stationary_points_need_not_be_pareto_stationary():
    """At p* = K^(-1/(K-1)) the batch gradient is 0 while both objectives still rise with p."""
    points = 8
    stationary = points ** (-1 / (points - 1))
    assert stationary == pytest.approx(0.743, abs=1e-3)
    assert batch_gradient(points, stationary) == pytest.approx(0, abs=1e-9)
    assert mean_advantage(points, stationary) > mean_advantage(points, 0.999)
    rises = 1.0  # dJ_m/dp for both objectives
    assert rises > 0


def test_holds_the_expected_update_is_the_gradient_of_no_objective():
    """The Jacobian of a gradient would be symmetric: docs/hvk.md."""
    table = np.array([GOOD, (0.5, 0.5), BAD])

    def update(logits):
        actions, probability, scores = every_group(logits, 3)
        return np.einsum("g,gi,gip->p", probability, raw(table[actions], 0.0), scores) / 3

    logits, step = np.array([0.3, -0.4, 0.5]), 1e-5 * np.eye(3)
    jacobian = np.array([(update(logits + d) - update(logits - d)) / 2e-5 for d in step])
    assert np.abs(jacobian - jacobian.T).max() > 0.01


# ==== Claims in the text ==========================================================================


@given(vectors)
def test_fails_literal_advantages_are_always_positive(rewards):
    assert raw(rewards).min() > 0


def test_holds_uncentred_advantages_imitate_equal_failures():
    failures = np.array([[[0.0, 1.0]] * 8])
    np.testing.assert_array_equal(raw(failures), 1.0)
    np.testing.assert_array_equal(pareto_advantage(failures, weights=WEIGHTS), 0.0)
