"""The estimators of the studies, through the door of the configuration."""

import numpy as np
import pytest
from support.vectors import check, is_ours, list_cases, pad, read_switches

from paretopo.config import ParetoPOConfig
from paretopo.controller.estimators import ESTIMATORS, find_estimators

EQUAL, WEIGHTS = (0.5, 0.5), (0.6, 0.4)
CASES = [one for one in list_cases() if is_ours(one) and read_switches(one)[0] not in ESTIMATORS]


def find(name, **given):
    arguments = ", ".join(f"{key}={value!r}" for key, value in given.items())
    call = f"({arguments})" if given else ""
    name = f"research.estimators:{name}{call}"
    return find_estimators(ParetoPOConfig(stage2_estimator=name))[name]


@pytest.mark.parametrize("name", sorted({case["estimator"] for case in CASES}))
def test_an_estimator_is_its_formula(name):
    for case in CASES:
        if case["estimator"] == name and "float64" in case.get("dtypes", ["float64"]):
            rewards, mask, places = pad(case)
            _, given = read_switches(case)
            found = find(name, **given)(rewards, case["weights"], mask=mask)
            check(found[places], case)


def some_batch():
    rng = np.random.default_rng(0)
    batch = rng.integers(0, 3, (4, 6, 2)) + rng.random((4, 6, 2)) / 8
    batch[1, :, 0] = 1.0  # an objective without differences
    return batch


def test_d3po_does_not_depend_on_units():
    batch = some_batch()
    values = find("d3po")(batch, EQUAL)
    other = find("d3po")(batch * [1.0, 1000.0] + [0.0, 7.0], EQUAL)
    np.testing.assert_allclose(other, values, atol=1e-6)


def test_saw_drops_learnt_objectives():
    """An objective that no longer varies over the batch takes no share of the advantage."""
    batch = some_batch()
    learnt = batch.copy()
    learnt[..., 0] = 1.0
    alone = find("saw")(learnt, EQUAL)
    np.testing.assert_allclose(alone, find("saw")(batch[..., 1:], [1.0]), atol=1e-3)


def test_dvao_is_never_larger_than_grpo():
    """Proposition 2: |A| <= |(s - mean) / std|, both with n, equal where objectives agree."""
    batch = np.random.default_rng(0).random((50, 6, 3))
    weights = np.array([0.5, 0.3, 0.2])
    for rewards, larger in ((batch, np.less), (batch[..., [0, 0, 0]], np.isclose)):
        sums = rewards @ weights
        grpo = (sums - sums.mean(1, keepdims=True)) / sums.std(1, keepdims=True)
        assert larger(np.abs(find("dvao")(rewards, weights)), np.abs(grpo)).all()


def test_d3po_does_not_shift_by_a_constant_in_large_units():
    rewards = np.array([[[1.0, 0.0]] * 5 + [[0.0, 0.0]] * 2])
    shifted = rewards + np.array([0.0, 123456789.123])
    both = [find("d3po")(one, [0.5, 0.5]) for one in (rewards, shifted)]
    np.testing.assert_array_equal(*both)


def test_constant_is_one_for_everybody():
    rewards = np.random.default_rng(1).random((3, 4, 2))
    np.testing.assert_array_equal(find("constant")(rewards, WEIGHTS), np.ones((3, 4)))
