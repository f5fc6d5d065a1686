"""Properties of every estimator, and the door for those of other modules."""

import inspect
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import vectors

from paretopo.config import ConfigError, ParetoPOConfig, dumps, loads
from paretopo.config.keys import keys
from paretopo.config.python_files import list_code
from paretopo.config.switches import EstimatorName
from paretopo.controller.estimators import ESTIMATORS, decoupled, ranked, scalarised, volume
from paretopo.controller.two_stages import ParetoPO

WEIGHTS = (0.6, 0.4)


# They look at the batch as a whole.
WHITENED = {
    *("gdpo", "gd2po", "hypervolume_gd2po"),
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
    assert "Source: " in text


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

    def advantages(*columns):
        rewards = np.stack(columns, axis=-1)[None]
        return ESTIMATORS[name](rewards, [0.5, 0.5], centre=centre)[0]

    exact, noisy = np.full(7, unit), unit * NOISE
    largest = np.abs(advantages(right, exact)).max()
    close = {"rtol": 0.0, "atol": 1e-7 + 1e-15 * largest}
    np.testing.assert_allclose(advantages(right, noisy), advantages(right, exact), **close)
    assert np.ptp(advantages(np.ones(7), noisy)) == 0.0


def test_ranks_of_large_groups_do_not_take_larger_steps():
    one_differs = np.zeros((1, 1024, 2))
    one_differs[0, 0] = 1.0
    in_a_row = np.linspace([0.0, 0.0], [1.0, 1.0], 1024)[None]
    for rewards in (one_differs, in_a_row):
        assert 0.0 < np.ptp(ESTIMATORS["pareto"](rewards, [0.5, 0.5])) <= 8.0 + 1e-9


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


# ---- of other modules ----------------------------------------------------------------------------


def first_reward(rewards, weights, mask, *, factor=1.0, beta=2.0):
    return factor * beta * rewards[..., 0]


def failing(rewards, weights, mask):
    return 1 / 0


def of_groups(rewards, weights, mask):
    return rewards.sum((1, 2))[:, None]


def undefined(rewards, weights, mask):
    return rewards[..., 0] * np.nan


@pytest.mark.parametrize(("call", "factor"), [("", 1.0), ("(factor=3)", 3.0)])
def test_a_function_of_another_module_is_an_estimator(call, factor):
    name = f"{__name__}:first_reward{call}"
    config = ParetoPOConfig(stage1_steps=0, stage2_estimator=name, gate="none", beta=0.5)
    found = ParetoPO(config).step([[[1.0, 0.5], [0.5, 0.5]]]).advantages
    np.testing.assert_allclose(found, [[2.0 * factor, factor]])  # no switch has its name


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("first", 'must be "pareto" or .* or "package.module:name", got'),
        ("no_such_module:first", "No module named 'no_such_module'; put .* PYTHONPATH=."),
        (f"{__name__}:first", "has no attribute 'first'"),
        (f"{__name__}:WHITENED", "cannot be called"),
        (f"{__name__}:first_reward(facto=2)", "unexpected keyword argument 'facto'"),
        (f"{__name__}:first_reward(2)", r'must be .* "package.module:name\(parameter=1\)"'),
        (f"{__name__}:ragged", r"must be f\(rewards, weights, mask, .* too many"),
        (f"{__name__}:failing", "fails for two small groups: ZeroDivisionError"),
        (f"{__name__}:of_groups", r"must return an array of shape .*, \(2, 3\), got"),
        (f"{__name__}:undefined", "must return finite advantages, got"),
    ],
)
@pytest.mark.parametrize("stage", ["stage1_estimator", "stage2_estimator"])
def test_other_names_are_refused_before_training(stage, name, message):
    with pytest.raises(ConfigError, match=rf"paretopo\.{stage} .*{message}"):
        ParetoPO(ParetoPOConfig(**{stage: name}))


def test_a_run_says_that_an_estimator_executes_code():
    config = loads('paretopo.stage2_estimator = "my_estimators:saw"')
    assert "the estimator 'my_estimators:saw'" in list_code(config)
    assert loads(dumps(config)) == config
