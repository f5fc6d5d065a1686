"""MO-GRPO, GDPO, GD2PO, SAW: methods that normalise each objective by itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import vectors

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


def test_mo_grpo_by_hand():
    """(0, 0, 1, 1) and a constant: the z-scores of the first, no NaN."""
    rewards = np.array([[[0, 7], [0, 7], [1, 7], [1, 7]]], np.float64)
    one = 0.5 / math.sqrt(1 / 3)
    np.testing.assert_allclose(
        ESTIMATORS["mo_grpo"](rewards, EQUAL), [[-one, -one, one, one]], atol=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_mo_grpo_is_its_formula(seed):
    batch = some_batch(seed, objectives=3)
    wanted = [[sum(point) for point in group] for group in scores(batch.tolist(), epsilon=0.0)]
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](batch, [1, 0, 0]), wanted, atol=1e-12)


@given(vectors, st.floats(-30, 30), st.floats(-5, 5))
def test_mo_grpo_does_not_see_units(rewards, power, shift):
    plain = ESTIMATORS["mo_grpo"](rewards, EQUAL)
    scaled = rewards.copy()
    scaled[..., 1] *= 10.0**power
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](scaled, EQUAL), plain, atol=1e-9)
    shifted = rewards.copy()
    shifted[..., 0] = 3.0 * shifted[..., 0] + shift
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](shifted, EQUAL), plain, atol=1e-9)


@pytest.mark.parametrize("huge", [1e-200, 1e150])
def test_mo_grpo_stays_a_number_at_the_ends(huge):
    rewards = np.array([[[0.0, 1.0], [huge, 0.0], [huge / 2, 0.5]]])
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](rewards, EQUAL), [[0.0, 0.0, 0.0]], atol=1e-12)


def correlation(a, b):
    return float(np.corrcoef(a.ravel(), b.ravel())[0, 1])


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_every_objective_correlates_alike_with_mo_grpo(objectives):
    """The theorem: 1 / sqrt(K) for each of K independent rewards, whatever their variances.

    Under GRPO it is sigma_k / sigma: the reward of the largest variance takes all.
    """
    rng = np.random.default_rng(1)
    scale = 10.0 ** np.arange(objectives)
    rewards = rng.normal(size=(1, 40_000, objectives)) * scale
    ours = ESTIMATORS["mo_grpo"](rewards, np.ones(objectives))
    theirs = ESTIMATORS["grpo"](rewards, np.ones(objectives))
    for k in range(objectives):
        share = correlation(rewards[..., k], ours)
        assert share == pytest.approx(1 / math.sqrt(objectives), abs=0.02)
        share = correlation(rewards[..., k], theirs)
        assert share == pytest.approx(scale[k] / np.linalg.norm(scale), abs=0.02)


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


def distinct(values):
    return len(np.unique(np.round(values, 6)))


def test_gdpo_separates_advantages_that_grpo_merges():
    """The paper's example: two binary rewards, of two rollouts the sums are (0, 1) or (0, 2)."""
    pairs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    groups = np.array([[a, b] for a in pairs for b in pairs], np.float64)
    merged = ESTIMATORS["grpo"](groups, EQUAL)
    apart = ESTIMATORS["gdpo"](groups, EQUAL)
    one = next(i for i, group in enumerate(groups) if group.tolist() == [[0, 0], [0, 1]])
    both = next(i for i, group in enumerate(groups) if group.tolist() == [[0, 0], [1, 1]])
    np.testing.assert_allclose(merged[one], merged[both], atol=1e-5)
    assert apart[both, 1] > apart[one, 1] + 0.1
    assert distinct(apart) > distinct(np.round(merged, 4))


def test_gdpo_has_unit_spread_whatever_the_number_of_rewards():
    rng = np.random.default_rng(0)
    for objectives in (1, 2, 5):
        values = ESTIMATORS["gdpo"](rng.random((64, 8, objectives)), np.ones(objectives))
        assert values.std(ddof=1) == pytest.approx(1.0, abs=1e-3)
        assert values.mean() == pytest.approx(0.0, abs=1e-12)


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


def test_gd2po_scales_before_it_whitens():
    """One group keeps all rollouts, one keeps half: spread 1 again, ratio 2 to 1."""
    all_agree = [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    half = [[1.0, 1.0], [0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    values = ESTIMATORS["gd2po"](np.array([all_agree, half]), EQUAL, conflict=1.0)
    assert (values[1, 2:] == 0.0).all()
    stayed = np.array([*values[0], *values[1, :2]])
    assert stayed.std(ddof=1) == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(values[1, :2], values[0, [0, 2]] / 2, atol=1e-12)


@given(vectors)
def test_gd2po_without_conflicts_is_gdpo(rewards):
    np.testing.assert_allclose(
        ESTIMATORS["gd2po"](rewards, EQUAL, conflict=0.0),
        ESTIMATORS["gdpo"](rewards, EQUAL),
        atol=1e-12,
    )


@given(vectors)
def test_gd2po_hard_trains_on_no_rollout_whose_objectives_disagree(rewards):
    values = ESTIMATORS["gd2po"](rewards, EQUAL, conflict=1.0)[0]
    for value, point in zip(values, scores(rewards.tolist())[0], strict=True):
        if min(point) < -1e-9 and max(point) > 1e-9:
            assert value == 0.0


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


def test_the_weights_of_saw_do_not_see_a_factor():
    batch = some_batch(1)
    scaled = batch * [1.0, 1000.0]
    np.testing.assert_allclose(
        ESTIMATORS["saw"](scaled, EQUAL), ESTIMATORS["saw"](batch, EQUAL), atol=1e-4
    )


# ---- methods without an estimator of their own --------------------------------------------------


def test_gapo_of_two_objectives_is_an_equal_sum_of_scores():
    """MGDA's weights of two directions of one length are halves, whatever the angle.

    On the level of rewards the directions are the vectors of advantages; GAPO brings them to unit
    length, so nothing is left to weigh.
    """
    rng = np.random.default_rng(3)
    for _ in range(20):
        first, second = rng.normal(size=(2, 8))
        first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
        share = (second - first) @ second / ((first - second) @ (first - second))
        assert share == pytest.approx(0.5)


# ---- DVAO ---------------------------------------------------------------------------------------


def test_dvao_by_hand():
    """Deviations 1/2 and 1/4, so weights 2/3 and 1/3 of the z-scores (1, 1, -1, -1), (1, -1, ...).

    Objectives that agree make one of them, and opposites cancel by their deviations.
    """
    group = np.array([[[1.0, 0.75], [1.0, 0.25], [0.0, 0.75], [0.0, 0.25]]])
    np.testing.assert_allclose(
        ESTIMATORS["dvao"](group, (0.5, 0.5)), [[1.0, 1 / 3, -1 / 3, -1.0]], atol=1e-12
    )
    weights = (0.2, 0.8)  # 0.1 and 0.2 times the z-scores, over 0.3
    np.testing.assert_allclose(
        ESTIMATORS["dvao"](group, weights), [[1.0, -1 / 3, 1 / 3, -1.0]], atol=1e-12
    )
    against = np.array([[[1.0, 0.25], [0.0, 0.75]]])
    np.testing.assert_allclose(ESTIMATORS["dvao"](against, EQUAL), [[1 / 3, -1 / 3]], atol=1e-12)


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
