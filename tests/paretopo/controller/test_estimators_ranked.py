"""Pareto, smooth and lexicographic ranks."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import reward_vectors, vectors

from paretopo.controller.estimators import ESTIMATORS

WEIGHTS = (0.6, 0.4)
# Fewest calls 1: right with 1, 2, 3 calls, wrong with 1, 2, 3.
MIXED = reward_vectors([(True, 1), (True, 2), (True, 3), (False, 1), (False, 2), (False, 3)])


# ---- Pareto ranks -------------------------------------------------------------------------------


# ---- smooth ranks -------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def soft_by_hand(group, weights, beta, sigma, margin):
    def wins(a, b):
        return math.prod(sigmoid((x - y + margin) / sigma) for x, y in zip(a, b, strict=True))

    def beats(a, b):
        return wins(a, b) * (1 - wins(b, a) if margin else 1)

    sums = [sum(w * x for w, x in zip(weights, point, strict=True)) for point in group]
    low, high = min(sums), max(sums)
    values = []
    for i, point in enumerate(group):
        rank = 1 + sum(beats(other, point) for j, other in enumerate(group) if j != i)
        q = (sums[i] - low) / (high - low) if high > low else 0.5
        values.append(len(group) + 1 - rank + beta * (q - 0.5))
    return values


@given(vectors, st.sampled_from([0.05, 0.3, 2.0]), st.sampled_from([0.0, 0.2]), st.floats(0.0, 1.0))
def test_soft_pareto_is_its_formula(rewards, sigma, margin, beta):
    values = ESTIMATORS["soft_pareto"](
        rewards, WEIGHTS, beta=beta, centre="none", sigma=sigma, margin=margin
    )[0]
    wanted = soft_by_hand(rewards[0].tolist(), WEIGHTS, beta, sigma, margin)
    np.testing.assert_allclose(values, wanted, atol=1e-9)


def test_soft_pareto_has_a_gradient():
    torch = pytest.importorskip("torch")
    rewards = torch.tensor(MIXED, requires_grad=True)
    values = ESTIMATORS["soft_pareto"](rewards, WEIGHTS, centre="none", sigma=0.3)
    values[0, 2].backward()
    assert torch.isfinite(rewards.grad).all()
    assert (rewards.grad[0, 2] > 0).all()  # better rewards, better advantage


# ---- lexicographic ------------------------------------------------------------------------------


@given(vectors)
def test_lexicographic_is_its_formula(rewards):
    levels = sorted({tuple(point) for point in rewards[0].tolist()})
    wanted = np.array([levels.index(tuple(point)) + 1 for point in rewards[0].tolist()])
    values = ESTIMATORS["lexicographic"](rewards, WEIGHTS, centre="none")
    np.testing.assert_array_equal(values, [wanted])
    values = ESTIMATORS["lexicographic"](rewards, WEIGHTS)
    np.testing.assert_allclose(values, [wanted - wanted.mean()], atol=1e-12)
