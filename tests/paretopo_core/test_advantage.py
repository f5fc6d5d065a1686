"""pareto_advantage: golden vectors of the paper's formula, bounds, invariances."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import masked_batches

import paretopo_core as pp
from paretopo_core import definitions

CENTRES = ("mean", "none", "std", "loo")
weight_values = st.floats(0, 1, width=32)


@st.composite
def advantage_cases(draw, **keywords):
    rewards, mask = draw(masked_batches(**keywords))
    count = rewards.shape[-1]
    weights = draw(st.lists(weight_values, min_size=count, max_size=count))
    beta = draw(st.floats(0, 1, width=32))
    return rewards, mask, weights, beta, draw(st.sampled_from(CENTRES))


@given(case=advantage_cases())
def test_it_equals_its_definition_bit_for_bit(backend, case):
    rewards, mask, weights, beta, centre = case
    advantages, ranks = pp.pareto_advantage(
        backend.send(rewards),
        weights=weights,
        beta=beta,
        centre=centre,
        mask=backend.send(mask),
        return_ranks=True,
    )
    expected = definitions.pareto_advantage(
        rewards, weights=weights, beta=beta, centre=centre, mask=mask
    )
    np.testing.assert_array_equal(backend.fetch(advantages), expected)
    assert backend.fetch(advantages).dtype == rewards.dtype
    np.testing.assert_array_equal(backend.fetch(ranks), definitions.pareto_rank(rewards, mask=mask))
    assert np.isfinite(expected).all()  # whatever the rewards are


@given(case=advantage_cases(), seed=st.integers(0, 99))
def test_each_group_has_the_weights_that_are_given_to_it(backend, case, seed):
    rewards, mask, weights, beta, centre = case
    drawn = np.random.default_rng(seed).normal(size=(len(rewards), len(weights))) ** 5
    drawn[::3] = weights
    keywords = {"beta": beta, "centre": centre}
    ours = pp.pareto_advantage(
        backend.send(rewards), weights=drawn, mask=backend.send(mask), **keywords
    )
    expected = definitions.pareto_advantage(rewards, weights=drawn, mask=mask, **keywords)
    np.testing.assert_array_equal(backend.fetch(ours), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("points", "objectives"), [(4, 2), (8, 2), (16, 3), (24, 2), (1, 256)])
def test_many_groups_have_weights_of_their_own(each_isa, dtype, points, objectives):
    rng = np.random.default_rng(points)
    rewards = rng.integers(0, 4, (301, points, objectives)).astype(dtype)
    weights = rng.normal(size=(301, objectives)) * 10.0 ** rng.integers(-40, 40, (301, 1))
    for mask in (None, rng.random(rewards.shape[:-1]) < 0.8, rng.random(rewards.shape[:-1]) < 0.1):
        np.testing.assert_array_equal(
            each_isa(partial(pp.pareto_advantage, rewards, weights=weights, mask=mask)),
            definitions.pareto_advantage(rewards, weights=weights, mask=mask),
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [-1070, -160, 160, 1020])
def test_only_the_proportions_of_the_weights_matter(dtype, power):
    weights = np.array([1.0, 3.0, -0.5])
    for points in (8, 100):
        rewards = np.random.default_rng(0).random((4, points, 3)).astype(dtype)
        expected = pp.pareto_advantage(rewards, weights=weights)
        scaled = np.ldexp(weights, power)
        np.testing.assert_array_equal(pp.pareto_advantage(rewards, weights=scaled), expected)
        np.testing.assert_array_equal(
            definitions.pareto_advantage(rewards, weights=scaled), expected
        )
