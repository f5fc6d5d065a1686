"""Properties of single estimators; the test vectors have their formulas."""

import numpy as np
import pytest

from paretopo.config import ConfigError, ParetoPOConfig, loads, with_method
from paretopo.controller.estimators import ESTIMATORS

EQUAL = (0.5, 0.5)
WEIGHTS = (0.6, 0.4)
hypervolume = ESTIMATORS["hypervolume"]


def test_gr3_needs_success_and_its_weight():
    failures = np.array([[[0.0, -1.5], [0.0, -0.5]]])
    np.testing.assert_array_equal(ESTIMATORS["gr3"](failures, WEIGHTS), [[0.0, 0.0]])
    mixed = np.array([[[1.0, 0.0], [1.0, -2.0], [0.0, -1.0]]])
    np.testing.assert_array_equal(ESTIMATORS["gr3"](mixed, (0.0, 1.0)), [[0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(
        ESTIMATORS["gr3"](mixed, (1.0, 0.0)), ESTIMATORS["grpo"](mixed, (1.0, 0.0))
    )


def test_tchebycheff_needs_rewards_that_end_at_one():
    files = {"objectives": [{"name": "correct"}, {"name": "calls", "economy": "raw"}]}
    with pytest.raises(ConfigError, match=r"distance to 1, .* got objectives\.calls"):
        with_method(files, "grpo", {"paretopo.stage2_estimator": "tchebycheff"})


@pytest.mark.parametrize("huge", [1e-200, 1e150])
def test_mo_grpo_stays_a_number_at_the_ends(huge):
    rewards = np.array([[[0.0, 1.0], [huge, 0.0], [huge / 2, 0.5]]])
    np.testing.assert_allclose(ESTIMATORS["mo_grpo"](rewards, EQUAL), [[0.0, 0.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k = 0", "k must be an integer of at least 1 or a list of integers of at least 1"),
        ("k = [4, 0]", r"paretopo.k must be .*, got \[4, 0\]"),
        ("k = [4.0]", r"paretopo.k must be .*, got \[4.0\]"),
        ("k = 9", r"paretopo.k must be at most optimiser.group_size, got paretopo.k = 9 .* = 8"),
        ("weighting = 'first alone'", r"above 0 after the first, got weights = \(1.0, 0.0\)"),
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
    assert ParetoPOConfig(stage1_estimator="hypervolume", k=4).max_k == 4
