"""Methods that normalise each objective by itself."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.controller.estimators import ESTIMATORS

EQUAL = (0.5, 0.5)


def mean(values):
    return sum(values) / len(values)


def std(values):
    middle = mean(values)
    return math.sqrt(sum((v - middle) ** 2 for v in values) / (len(values) - 1))


def z(values, epsilon):
    if max(values) - min(values) < 1e-12:
        return [0.0] * len(values)
    return [(v - mean(values)) / (std(values) + epsilon) for v in values]


def scores(batch, epsilon=1e-6):
    """[group][point][objective], by plain loops."""
    return [
        list(zip(*(z(column, epsilon) for column in zip(*group, strict=True)), strict=True))
        for group in batch
    ]


def whitened(values, among):
    middle, width = mean(among), std(among) if len(among) > 1 else 0.0
    return [(v - middle) / math.sqrt(width**2 + 1e-8) for v in values]


def some_batch(seed, objectives=2):
    rng = np.random.default_rng(seed)
    batch = rng.integers(0, 3, (4, 6, objectives)) + rng.random((4, 6, objectives)) / 8
    batch[1, :, 0] = 1.0  # an objective without differences
    return batch


# ---- MO-GRPO ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_mo_grpo_is_its_formula(seed):
    batch = some_batch(seed, objectives=3)
    wanted = [[sum(point) for point in group] for group in scores(batch.tolist(), epsilon=0.0)]
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](batch, [1, 0, 0]), wanted, atol=1e-12)


@pytest.mark.parametrize("huge", [1e-200, 1e150])
def test_mo_grpo_stays_a_number_at_the_ends(huge):
    rewards = np.array([[[0.0, 1.0], [huge, 0.0], [huge / 2, 0.5]]])
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](rewards, EQUAL), [[0.0, 0.0, 0.0]], atol=1e-12)


# ---- GDPO ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.6, 0.4), (1.0, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_gdpo_is_its_formula(seed, weights):
    batch = some_batch(seed)
    sums = [
        sum(w * one for w, one in zip(weights, point, strict=True))
        for group in scores(batch.tolist())
        for point in group
    ]
    values = ESTIMATORS["gdpo"](batch, weights)
    np.testing.assert_allclose(values.ravel(), whitened(sums, sums), atol=1e-12)


# ---- SA-MRPO ------------------------------------------------------------------------------------


def test_sa_mrpo_by_hand():
    """A solved objective loses weight: the sign of a rollout that has only this one turns.

    Correctness is right in 1 of 4 rollouts, the format in 3 of 4. The z-scores are (1.5, -0.5,
    -0.5, -0.5) and (0.5, 0.5, 0.5, -1.5), and the weights 0.4 * 0.75 and 0.6 * 0.25.
    """
    group = np.array([[[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]])
    weights = (0.4, 0.6)
    np.testing.assert_allclose(
        ESTIMATORS["sa_mrpo"](group, weights, saturation=1.0),
        [[1.390759, -0.198680, -0.198680, -0.993399]],  # (0.525, -0.075, -0.075, -0.375) / 0.377492
        atol=1e-5,
    )
    np.testing.assert_allclose(
        ESTIMATORS["gdpo"](group, weights),
        [[1.091410, 0.121268, 0.121268, -1.333946]],  # (0.9, 0.1, 0.1, -1.1) / 0.824621
        atol=1e-5,
    )


@pytest.mark.parametrize("saturation", [0.0, 0.5, 2.0])
def test_sa_mrpo_is_its_formula(saturation):
    """A mean beyond 0 or 1 counts as 0 or 1."""
    batch = some_batch(0, objectives=3) * [0.4, 1.0, 0.1] - [0.0, 3.0, 0.0]
    weights = (0.5, 0.3, 0.2)
    means = [mean(column) for column in batch.reshape(-1, 3).T.tolist()]
    assert means[1] < 0.0 < means[0] < 1.0
    factors = [
        w * (1.0 - min(max(m, 0.0), 1.0)) ** saturation for w, m in zip(weights, means, strict=True)
    ]
    sums = [
        sum(f * one for f, one in zip(factors, point, strict=True))
        for group in scores(batch.tolist())
        for point in group
    ]
    values = ESTIMATORS["sa_mrpo"](batch, weights, saturation=saturation)
    np.testing.assert_allclose(values.ravel(), whitened(sums, sums), atol=1e-9)


def test_sa_mrpo_without_a_rest_to_gain_is_zero():
    perfect = np.ones((2, 4, 2))
    perfect[0, 0, 1] = 1.5  # the mean counts as 1
    np.testing.assert_array_equal(ESTIMATORS["sa_mrpo"](perfect, EQUAL), np.zeros((2, 4)))


# ---- D3PO ---------------------------------------------------------------------------------------


def test_d3po_by_hand():
    """Two groups with a preference each: the weights come after the unit of the batch.

    The deviations are (1/2, -1/2 | 0, 0) and (-2, 2 | -1, 1), in units of sqrt(1/6) and
    sqrt(10/3).
    """
    batch = np.array([[[1.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [1.0, 2.0]]])
    weights = np.array([[0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(
        ESTIMATORS["d3po"](batch, weights),
        [[0.064650, -0.064650], [-0.410792, 0.410792]],
        atol=1e-6,
    )


def test_d3po_does_not_depend_on_units():
    batch = some_batch(0)
    values = ESTIMATORS["d3po"](batch, EQUAL)
    other = ESTIMATORS["d3po"](batch * [1.0, 1000.0] + [0.0, 7.0], EQUAL)
    np.testing.assert_allclose(other, values, atol=1e-6)


# ---- GD2PO --------------------------------------------------------------------------------------


@pytest.mark.parametrize("conflict", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_gd2po_is_its_formula(seed, conflict):
    """The sums of a group are scaled by its share before those that stayed are whitened."""
    batch = some_batch(seed, objectives=3)
    weights = (0.5, 0.3, 0.2)
    sums, stays = [], []
    for group in scores(batch.tolist()):
        parts = [[w * one for w, one in zip(weights, point, strict=True)] for point in group]
        agree = [abs(sum(point)) >= conflict * sum(map(abs, point)) for point in parts]
        sums += [sum(point) * mean(agree) for point in parts]
        stays += agree
    among = [value for value, stay in zip(sums, stays, strict=True) if stay]
    wanted = [
        value if stay else 0.0 for value, stay in zip(whitened(sums, among), stays, strict=True)
    ]
    values = ESTIMATORS["gd2po"](batch, weights, conflict=conflict)
    np.testing.assert_allclose(values.ravel(), wanted, atol=1e-12)


# ---- SAW ----------------------------------------------------------------------------------------


def variation(batch):
    columns = batch.reshape(-1, batch.shape[-1]).T.tolist()
    return [std(column) / abs(mean(column)) for column in columns]


@pytest.mark.parametrize("seed", range(3))
def test_saw_is_its_formula(seed):
    batch, weights = some_batch(seed), (0.6, 0.4)
    factors = [w * v for w, v in zip(weights, variation(batch), strict=True)]
    factors = [2 * one / sum(factors) for one in factors]
    sums = [factors[0] * a + factors[1] * b for group in scores(batch.tolist()) for a, b in group]
    values = ESTIMATORS["saw"](batch, weights)
    np.testing.assert_allclose(values.ravel(), whitened(sums, sums), atol=1e-6)
    wanted = [z([factors[0] * a + factors[1] * b for a, b in group], 1e-6) for group in batch]
    np.testing.assert_allclose(ESTIMATORS["saw_grpo"](batch, weights), wanted, atol=1e-6)


@pytest.mark.parametrize("name", ["saw", "saw_grpo"])
def test_saw_drops_learnt_objectives(name):
    """An objective that no longer varies over the batch takes no share of the advantage."""
    batch = some_batch(0)
    learnt = batch.copy()
    learnt[..., 0] = 1.0
    alone = ESTIMATORS[name](learnt, EQUAL)
    np.testing.assert_allclose(alone, ESTIMATORS[name](batch[..., 1:], [1.0]), atol=1e-3)


# ---- DVAO ---------------------------------------------------------------------------------------


@given(st.integers(0, 1000))
def test_dvao_is_its_formula_and_never_larger_than_grpo(seed):
    """Proposition 2: |A| <= |(s - mean) / std|, both with n, equal where objectives agree."""
    rng = np.random.default_rng(seed)
    batch, weights = rng.random((3, 6, 3)), rng.dirichlet(np.ones(3))
    values = ESTIMATORS["dvao"](batch, weights)
    for group, row in zip(batch, values, strict=True):
        deviations = group.std(axis=0)
        scores = (group - group.mean(axis=0)) / deviations
        shares = weights * deviations / (weights * deviations).sum()
        np.testing.assert_allclose(row, scores @ shares, atol=1e-9)
        scalar = group @ weights
        grpo = (scalar - scalar.mean()) / scalar.std()
        assert (np.abs(row) <= np.abs(grpo) + 1e-9).all()
    agreeing = np.stack([batch[..., 0]] * 3, axis=-1)
    scalar = batch[..., 0]
    wanted = (scalar - scalar.mean(axis=1, keepdims=True)) / scalar.std(axis=1, keepdims=True)
    np.testing.assert_allclose(ESTIMATORS["dvao"](agreeing, weights), wanted, atol=1e-9)


def test_dvao_of_a_constant_group_is_zero():
    flat = np.full((2, 4, 2), 0.3)
    flat[1, :, 0] = [0.1, 0.1, 0.1, 0.1 + 1e-14]
    np.testing.assert_array_equal(ESTIMATORS["dvao"](flat, EQUAL), np.zeros((2, 4)))
