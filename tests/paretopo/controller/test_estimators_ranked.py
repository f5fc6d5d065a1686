"""Pareto, smooth and lexicographic ranks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import reward_vectors, vectors

import paretopo_core
from paretopo.controller.estimators import ESTIMATORS

WEIGHTS = (0.6, 0.4)
# Fewest calls 1: right with 1, 2, 3 calls, wrong with 1, 2, 3.
MIXED = reward_vectors([(True, 1), (True, 2), (True, 3), (False, 1), (False, 2), (False, 3)])


def dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(
        x > y for x, y in zip(a, b, strict=True)
    )


# ---- Pareto ranks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("centre", "wanted"),
    [
        ("none", [4, 3.25, 2.25, 2.75, 1.75, 1]),
        ("mean", [1.5, 0.75, -0.25, 0.25, -0.75, -1.5]),
        ("loo", [1.8, 0.9, -0.3, 0.3, -0.9, -1.8]),
        ("std", [1.3988, 0.6994, -0.2331, 0.2331, -0.6994, -1.3988]),
    ],
)
def test_pareto_by_hand(centre, wanted):
    values = ESTIMATORS["pareto"](MIXED, WEIGHTS, centre=centre)
    np.testing.assert_allclose(values, [wanted], atol=5e-4 if centre == "std" else 1e-12)


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


def test_soft_pareto_of_two():
    """p(i over j) = 0.367671 and p(j over i) as sigmoids say, at sigma = 0.3."""
    rewards = np.array([[[1.0, 0.5], [0.4, 0.6]]])
    values = ESTIMATORS["soft_pareto"](rewards, WEIGHTS, beta=0.0, centre="none", sigma=0.3)[0]
    reverse = sigmoid(-0.6 / 0.3) * sigmoid(0.1 / 0.3)
    np.testing.assert_allclose(values, [2 - reverse, 2 - 0.367671], atol=1e-6)


@given(
    vectors,
    st.sampled_from([0.05, 0.1, 0.5, 5.0]),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(["mean", "none", "loo"]),
)
def test_the_order_of_dominance_is_kept_for_every_sigma(rewards, sigma, margin, centre):
    values = ESTIMATORS["soft_pareto"](rewards, WEIGHTS, centre=centre, sigma=sigma, margin=margin)[
        0
    ]
    for i, a in enumerate(rewards[0]):
        for j, b in enumerate(rewards[0]):
            if dominates(a, b):
                assert values[i] > values[j]


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


def test_lexicographic_never_prefers_a_wrong_answer():
    values = ESTIMATORS["lexicographic"](MIXED, WEIGHTS, centre="none")
    np.testing.assert_array_equal(values, [[6, 5, 4, 3, 2, 1]])
    ranked = paretopo_core.pareto_advantage(MIXED, WEIGHTS, centre="none")
    assert ranked[0, 3] > ranked[0, 2]  # as Pareto ranks do, ungated


@given(vectors, st.sampled_from(["pareto", "lexicographic"]), st.sampled_from(["mean", "std"]))
def test_ranks_depend_only_on_order(rewards, name, centre):
    """Any strictly increasing change of units: cubes, other prices, seconds for hours."""
    other = rewards.copy()
    other[..., 1] = 1000.0 * other[..., 1] ** 3 - 5.0
    other[..., 0] *= 0.25
    np.testing.assert_allclose(
        ESTIMATORS[name](rewards, WEIGHTS, beta=0.0, centre=centre),
        ESTIMATORS[name](other, WEIGHTS, beta=0.0, centre=centre),
        atol=1e-12,
    )
