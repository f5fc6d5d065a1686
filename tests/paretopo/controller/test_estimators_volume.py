"""HV@k as an estimator: subsets enumerated, and the methods that it contains."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import groups, reward_vectors

import paretopo_core
from paretopo.config import ConfigError, ParetoPOConfig, loads
from paretopo.controller.estimators import ESTIMATORS

WEIGHTS = (0.6, 0.4)
hypervolume = ESTIMATORS["hypervolume"]


def area(points, reference):
    """Return the volume of a union of boxes by inclusion and exclusion."""
    total = 0.0
    for size in range(1, len(points) + 1):
        for some in itertools.combinations(points, size):
            sides = [
                max(min(p[m] for p in some) - reference[m], 0.0) for m in range(len(reference))
            ]
            total -= (-1) ** size * math.prod(sides)
    return total


def expected(points, reference, k):
    if k == 0:
        return 0.0
    return float(np.mean([area(some, reference) for some in itertools.combinations(points, k)]))


def by_hand(group, reference, k):
    values = []
    for i, point in enumerate(group):
        others = [other for j, other in enumerate(group) if j != i]
        marginal = np.mean(
            [
                area([*some, point], reference) - area(some, reference)
                for some in itertools.combinations(others, k - 1)
            ]
        )
        one_more = 0.0
        if k < len(group):
            one_more = expected(others, reference, k) - expected(others, reference, k - 1)
        values.append(float(marginal) - one_more)
    return values


@given(
    groups(min_points=3, max_points=5),
    st.integers(1, 3),
    st.sampled_from([(0.0, -1.5), (0.0, 0.0)]),
)
def test_hypervolume_is_its_formula(rollouts, k, reference):
    rewards = reward_vectors(rollouts)
    values = hypervolume(rewards, WEIGHTS, k=k, hypervolume_reference=reference)
    wanted = by_hand(rewards[0].tolist(), reference, k)
    np.testing.assert_allclose(values, [wanted], atol=1e-12)


@pytest.mark.parametrize("centre", ["exact", "mean", "none", "std", "loo"])
@given(groups(min_points=3), st.integers(1, 3))
def test_centres_are_those_of_the_core(centre, rollouts, k):
    rewards, reference = reward_vectors(rollouts), (0.0, -1.5)
    np.testing.assert_array_equal(
        hypervolume(rewards, WEIGHTS, k=k, centre=centre, hypervolume_reference=reference),
        paretopo_core.hypervolume_advantage(rewards, reference, k=k, centre=centre),
    )


@given(groups(min_points=2))
def test_hv_1_by_the_weights_is_a_gated_weighted_sum(rollouts):
    """Its volume, r_task (economy + w_task / w_tool), is (w · r) / w_tool for a success, else 0."""
    rewards = reward_vectors(rollouts)
    gated = rewards * [[1.0, 0.0]] + rewards[..., :1] * rewards * [[0.0, 1.0]]
    np.testing.assert_allclose(
        hypervolume(rewards, WEIGHTS, k=1),
        ESTIMATORS["rloo"](gated, WEIGHTS) / WEIGHTS[1],
        atol=1e-12,
    )


@pytest.mark.parametrize("unit", [1.0, 3600.0, 1e-4])
def test_the_range_of_the_group_takes_units_away(unit):
    seconds = -np.array([[[0.0, 9.0], [0.0, 1.0], [0.0, 4.0], [0.0, 2.0]]]) * unit
    seconds[0, :, 0] = [1.0, 1.0, 1.0, 0.0]
    scaled = np.array([[[1.0, 0.0], [1.0, 1.0], [1.0, 0.625], [0.0, 0.0]]])
    np.testing.assert_allclose(
        hypervolume(seconds, WEIGHTS, k=2, hypervolume_unit="range"),
        hypervolume(scaled, WEIGHTS, k=2),
        atol=1e-12,
    )


def test_a_single_success_has_the_best_economy_of_its_group():
    rewards = np.array([[[1.0, -7.0], [0.0, -1.0], [0.0, -2.0]]])
    values = hypervolume(rewards, WEIGHTS, k=1, hypervolume_unit="range")
    np.testing.assert_allclose(values, [[2.5, -1.25, -1.25]], atol=1e-12)


# ---- its switches -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "k = 0",
            r'k must be "archive" or an integer of at least 1 or a list of integers of at least 1',
        ),
        ("k = [4, 0]", r"paretopo.k must be .*, got \[4, 0\]"),
        ("k = [4.0]", r"paretopo.k must be .*, got \[4.0\]"),
        ("k = 9", r"paretopo.k must be at most optimiser.group_size, 8, got 9"),
        ("weighting = 'first alone'", r"needs weights above 0 after the first, got \[1.0, 0.0\]"),
        (
            "hypervolume_reference = 'archive'\nreference = 'initial'",
            "needs a reference that is known before training",
        ),
    ],
)
def test_switches_that_cannot_be(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(f"[paretopo]\nstage2_estimator = 'hypervolume'\n{text}")


def test_hypervolume_switches_bind_only_hypervolume():
    loads('[paretopo]\nweighting = "first alone"\nstage2_estimator = "grpo"')
    grpo = {"stage2_estimator": "grpo"}
    assert ParetoPOConfig(weights=(1.0, 0.0), **grpo).max_k == 0
    assert ParetoPOConfig(stage2_estimator="hypervolume", k=(2, 8, 1)).max_k == 8
    assert ParetoPOConfig(stage1_estimator="hypervolume", k="archive").max_k == 4
