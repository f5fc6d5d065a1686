"""pareto_advantage: golden vectors of the paper's formula, bounds, invariances."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import masked_batches

import paretopo_core as pp
from paretopo_core import definitions


@given(batch=masked_batches(), centre=st.sampled_from(("mean", "none", "std", "loo")))
def test_advantages_of_any_rewards_are_finite(batch, centre):
    rewards, mask = batch
    weights = np.ones(rewards.shape[-1])
    found = pp.pareto_advantage(rewards, weights=weights, centre=centre, mask=mask)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("points", "objectives"), [(4, 2), (8, 2), (16, 3), (24, 2), (1, 256)])
def test_many_groups_have_weights_of_their_own(each_isa, dtype, points, objectives):
    rng = np.random.default_rng(points)
    rewards = rng.integers(0, 4, (67, points, objectives)).astype(dtype)
    weights = rng.normal(size=(67, objectives)) * 10.0 ** rng.integers(-40, 40, (67, 1))
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
