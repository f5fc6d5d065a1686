"""Properties of every estimator, and the control."""

import inspect
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import vectors

from paretopo.config import EstimatorName, ParetoPOConfig
from paretopo.config.keys import keys
from paretopo.controller.estimators import ESTIMATORS, decoupled, ranked, scalarised, volume

WEIGHTS = (0.6, 0.4)


# They look at the batch as a whole.
WHITENED = {
    *("gdpo", "sa_mrpo", "gd2po", "saw", "saw_grpo", "d3po"),
    *("hypervolume_gd2po", "expected_tchebycheff"),
}


def test_the_configuration_knows_every_estimator():
    """Every function with the arguments of an estimator is registered under its own name."""
    written = {
        name
        for module in (ranked, volume, scalarised, decoupled)
        for name, method in inspect.getmembers(module, inspect.isfunction)
        if list(inspect.signature(method).parameters)[:3] == ["rewards", "weights", "mask"]
        and not name.startswith("_")
    }
    assert written == set(get_args(EstimatorName)) == set(ESTIMATORS)
    assert all(estimator.__name__ == name for name, estimator in ESTIMATORS.items())


def test_every_switch_of_an_estimator_is_one_of_the_configuration():
    switches = keys(ParetoPOConfig)
    for name, estimator in ESTIMATORS.items():
        assert estimator.switches <= switches.keys(), name
    assert ESTIMATORS["pareto"].switches == {"beta", "centre"}
    assert ESTIMATORS["grpo"].switches == set()


def test_unknown_switch_is_refused():
    with pytest.raises(
        TypeError, match="no estimator has a switch 'center'; did you mean 'centre'"
    ):
        ESTIMATORS["grpo"](np.zeros((1, 2, 2)), WEIGHTS, beta=0.5, center="mean")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_their_source(name):
    text = ESTIMATORS[name].__doc__
    assert text
    assert "Source: " in text or name == "constant"


@given(vectors, st.sampled_from(sorted(ESTIMATORS)), st.sampled_from(["mean", "none", "loo"]))
def test_every_estimator_keeps_shape_type_and_input(rewards, name, centre):
    kept = rewards.copy()
    values = ESTIMATORS[name](rewards, WEIGHTS, beta=0.5, centre=centre)
    assert values.dtype == np.float64
    assert values.shape == rewards.shape[:-1]
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(rewards, kept)


def ragged(several):
    longest = max(group.shape[1] for group in several)
    padded = np.full((len(several), longest, 2), np.nan)
    mask = np.zeros((len(several), longest), np.bool_)
    for number, group in enumerate(several):
        padded[number, : group.shape[1]] = group[0]
        mask[number, : group.shape[1]] = True
    return padded, mask


@given(
    st.lists(vectors, min_size=1, max_size=4),
    st.sampled_from(sorted(set(ESTIMATORS) - WHITENED)),
    st.data(),
)
def test_each_group_can_have_weights_of_its_own(several, name, data):
    padded, mask = ragged(several)
    drawn = [data.draw(st.floats(0.05, 0.95)) for _ in several]
    weights = np.array([[one, 1.0 - one] for one in drawn])
    values = ESTIMATORS[name](padded, weights, mask=mask)
    for number, group in enumerate(several):
        alone = ESTIMATORS[name](group, weights[number])[0]
        np.testing.assert_allclose(values[number, : len(alone)], alone, atol=1e-9)


@given(st.lists(vectors, min_size=1, max_size=4), st.sampled_from(sorted(ESTIMATORS)))
def test_equal_weights_for_each_group_are_the_weights_of_all(several, name):
    padded, mask = ragged(several)
    np.testing.assert_allclose(
        ESTIMATORS[name](padded, np.tile(WEIGHTS, (len(several), 1)), mask=mask),
        ESTIMATORS[name](padded, WEIGHTS, mask=mask),
        atol=1e-9,
    )


def test_weights_of_another_number_of_groups_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 2\): a row for all groups, or one for each"):
        ESTIMATORS["worth"](np.zeros((2, 4, 2)), np.full((3, 2), 0.5))


@given(st.lists(vectors, min_size=1, max_size=4), st.sampled_from(sorted(ESTIMATORS)))
def test_padding_changes_nothing(several, name):
    padded, mask = ragged(several)
    wider = np.full((len(several) + 1, mask.shape[1] + 2, 2), np.inf)
    wide_mask = np.zeros(wider.shape[:2], np.bool_)
    wider[:-1, 1:-1], wide_mask[:-1, 1:-1] = padded, mask
    values = ESTIMATORS[name](wider, WEIGHTS, mask=wide_mask)
    np.testing.assert_allclose(
        values[:-1, 1:-1], ESTIMATORS[name](padded, WEIGHTS, mask=mask), atol=1e-9
    )
    np.testing.assert_array_equal(values[~wide_mask], 0.0)


@given(vectors, st.sampled_from(sorted(ESTIMATORS)), st.randoms())
def test_the_order_of_the_rollouts_does_not_matter(rewards, name, random):
    order = random.sample(range(rewards.shape[1]), rewards.shape[1])
    np.testing.assert_allclose(
        ESTIMATORS[name](rewards[:, order], WEIGHTS),
        ESTIMATORS[name](rewards, WEIGHTS)[:, order],
        atol=1e-9,
    )


NOISE = 1.0 + np.array([0, 2, -3, 1, 4, -2, 0]) * 2.0**-52


@pytest.mark.parametrize("centre", ["mean", "none", "std", "loo"])
@pytest.mark.parametrize("unit", [1.0, -0.7, 123456789.123, 1e15])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_constant_objective_teaches_nothing_whatever_its_rounding(name, unit, centre):
    right = np.repeat([1.0, 0.0], [5, 2])

    def advantages(*columns, kind=np.asarray):
        rewards = kind(np.stack(columns, axis=-1)[None])
        return np.asarray(ESTIMATORS[name](rewards, [0.5, 0.5], centre=centre))[0]

    exact, noisy = np.full(7, unit), unit * NOISE
    largest = np.abs(advantages(right, exact)).max()
    close = {"rtol": 0.0, "atol": 1e-7 + 1e-15 * largest}
    np.testing.assert_allclose(advantages(right, noisy), advantages(right, exact), **close)
    assert np.ptp(advantages(np.ones(7), noisy)) == 0.0
    on_torch = advantages(right, noisy, kind=pytest.importorskip("torch").as_tensor)
    np.testing.assert_allclose(on_torch, advantages(right, noisy), **close)


def test_d3po_does_not_shift_by_a_constant_in_large_units():
    rewards = np.array([[[1.0, 0.0]] * 5 + [[0.0, 0.0]] * 2])
    shifted = rewards + np.array([0.0, 123456789.123])
    both = [ESTIMATORS["d3po"](one, [0.5, 0.5]) for one in (rewards, shifted)]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize("name", ["pareto", "soft_pareto", "lexicographic"])
def test_ranks_of_large_groups_do_not_take_larger_steps(name):
    one_differs = np.zeros((1, 1024, 2))
    one_differs[0, 0] = 1.0
    in_a_row = np.linspace([0.0, 0.0], [1.0, 1.0], 1024)[None]
    for rewards in (one_differs, in_a_row):
        assert 0.0 < np.ptp(ESTIMATORS[name](rewards, [0.5, 0.5])) <= 8.0 + 1e-9


@pytest.mark.parametrize("name", ESTIMATORS)
def test_nothing_in_nothing_out(name):
    for shape in [(0, 4, 2), (3, 0, 2), (0, 0, 2)]:
        assert ESTIMATORS[name](np.zeros(shape), WEIGHTS).shape == shape[:2]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("broken", [np.nan, np.inf, -np.inf])
def test_a_broken_reward_is_refused_by_name(name, broken):
    rewards = np.zeros((3, 4, 2))
    rewards[2, 1, 0] = broken
    said = rf"rollout 1 of group 2 has {broken} in objective 0 \(1 such values\)"
    with pytest.raises(ValueError, match=said):
        ESTIMATORS[name](rewards, WEIGHTS)
    inside = np.ones((3, 4), np.bool_)
    inside[2, 1] = False  # padding may hold anything
    assert np.isfinite(ESTIMATORS[name](rewards, WEIGHTS, mask=inside)).all()
    with pytest.raises(ValueError, match=said):
        ESTIMATORS[name](pytest.importorskip("torch").tensor(rewards), WEIGHTS)


def test_wrong_shapes_are_refused():
    grpo = ESTIMATORS["grpo"]
    with pytest.raises(ValueError, match=r"\(groups, points, objectives\).* got \(4, 2\)"):
        grpo(np.zeros((4, 2)), WEIGHTS)
    with pytest.raises(ValueError, match=r"one weight per objective, got .* shape \(3,\)"):
        grpo(np.zeros((1, 4, 2)), [1.0, 1.0, 1.0])
    with pytest.raises(
        ValueError, match=r"mask must be bool of shape \(1, 4\), got int64 \(1, 4\)"
    ):
        grpo(np.zeros((1, 4, 2)), WEIGHTS, mask=np.ones((1, 4), np.int64))
    with pytest.raises(ValueError, match=r"mask must be bool of shape \(1, 4\), got bool \(4,\)"):
        grpo(np.zeros((1, 4, 2)), WEIGHTS, mask=np.ones(4, np.bool_))


# ---- the constant control ----------------------------------------------------------------------


def test_constant_is_one_for_everybody():
    rewards = np.random.default_rng(1).random((3, 4, 2))
    np.testing.assert_array_equal(ESTIMATORS["constant"](rewards, WEIGHTS), np.ones((3, 4)))
