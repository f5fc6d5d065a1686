"""HV@k gives exact policy gradients and has the properties that docs/hvk.md states."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import paretopo_core as pp

OUTCOMES = np.array([[0.0, 0.9], [1.0, 0.2], [0.5, 0.6], [1.0, 0.2]])  # rewards of four actions
REF = np.array([-0.25, 0.0])
values = st.integers(-2, 8).map(lambda x: x / 4)
groups = arrays(np.float64, st.tuples(st.integers(2, 7), st.integers(1, 3)), elements=values)


def policy(logits):
    odds = np.exp(logits - logits.max())
    return odds / odds.sum()


def objective(logits, k):
    """The expected hypervolume of k independent rollouts, by every sequence of k actions."""
    chances = policy(logits)
    sequences = np.array(list(product(range(4), repeat=k)))
    return float(chances[sequences].prod(axis=1) @ pp.hypervolume(OUTCOMES[sequences], REF))


def exact_gradient(logits, k, step=1e-5):
    """By central differences in each logit, of fourth order."""
    slopes = []
    for unit in np.eye(len(logits)):
        at = {s: objective(logits + s * step * unit, k) for s in (-2, -1, 1, 2)}
        slopes.append((8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * step))
    return np.array(slopes)


@pytest.mark.parametrize("centre", ["exact", "none"])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (4, 1), (4, 2), (4, 3), (4, 4), (5, 3)])
def test_the_expected_update_is_the_gradient(n, k, centre):
    """Over every group of n rollouts of a tabular policy, each with its probability."""
    logits = np.array([0.3, -0.4, 0.1, 0.8])
    chances = policy(logits)
    sequences = np.array(list(product(range(4), repeat=n)))
    weight = chances[sequences].prod(axis=1)
    score = np.eye(4)[sequences] - chances  # gradient of log pi at each rollout
    advantages = pp.hypervolume_advantage(OUTCOMES[sequences], REF, k=k, centre=centre)
    update = k / n * np.einsum("g,gi,gia->a", weight, advantages, score)
    np.testing.assert_allclose(update, exact_gradient(logits, k), rtol=1e-7, atol=1e-10)
    drawn = weight @ pp.expected_hypervolume(OUTCOMES[sequences], REF, k=k)
    assert drawn == pytest.approx(objective(logits, k), rel=1e-12)


@pytest.mark.parametrize("centre", ["mean", "loo"])
def test_other_centres_are_biased_beyond_one_draw(centre):
    logits = np.array([0.3, -0.4, 0.1, 0.8])
    chances = policy(logits)
    sequences = np.array(list(product(range(4), repeat=4)))
    weight = chances[sequences].prod(axis=1)
    score = np.eye(4)[sequences] - chances
    gaps = []
    for k in (1, 3):
        advantages = pp.hypervolume_advantage(OUTCOMES[sequences], REF, k=k, centre=centre)
        update = k / 4 * np.einsum("g,gi,gia->a", weight, advantages, score)
        exact = exact_gradient(logits, k)
        scale = (update @ exact) / (update @ update)  # a factor is left to the learning rate
        gaps.append(np.abs(scale * update - exact).max() / np.abs(exact).max())
    assert gaps[0] < 1e-7
    assert gaps[1] > 1e-3


@given(rewards=groups, k=st.integers(1, 7))
def test_an_advantage_is_a_mean_over_swaps(rewards, k):
    n = len(rewards)
    assume(k < n)
    own = pp.hypervolume_advantage(rewards, -0.5, k=k)
    for i in range(n):
        swaps = []
        for j in (j for j in range(n) if j != i):
            others = [p for p in range(n) if p not in (i, j)]
            for s in combinations(others, k - 1):
                pair = pp.hypervolume(rewards[[[*s, i], [*s, j]]], -0.5)
                swaps.append(pair[0] - pair[1])
        assert own[i] == pytest.approx(np.mean(swaps), rel=1e-9, abs=1e-9)


@given(rewards=groups, k=st.integers(1, 7), i=st.integers(0, 6), steps=st.data())
def test_a_dominating_rollout_never_has_the_lower_advantage(rewards, k, i, steps):
    n, objectives = rewards.shape
    k, i = min(k, n), i % n
    better = rewards.copy()
    better[i] += steps.draw(arrays(np.float64, objectives, elements=st.sampled_from([0, 0.25, 1])))
    for centre in ("exact", "none"):
        before, after = (
            pp.hypervolume_advantage(x, -0.5, k=k, centre=centre)[i] for x in (rewards, better)
        )
        assert after >= before - 1e-9
        if k == 1 and (better[i] > -0.5).all() and (better[i] > rewards[i]).any():
            assert after > before
