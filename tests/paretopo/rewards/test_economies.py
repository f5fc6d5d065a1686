"""Economies by hand and by the formulas of their papers, and their refusals."""

import math

import numpy as np
import pytest

from paretopo.config import ConfigError, Objective
from paretopo.rewards.economy import (
    arora_zanette_economy,
    gr3_economy,
    kimi_economy,
    laser_economy,
    otc_economy,
    pass_rate_economy,
    saving,
    tool_economy,
)

FALL = [1, 0.496585, 0.246597, 0.122456, 0.060810, 0.030197]  # exp(-0.7 n)
YES, NO, MANY = True, False, 1e200
# The right costs 1, 3, 3 have the mean 7/3 and the variance 8/9.
Z = [(cost - 7 / 3) / math.sqrt(8 / 9) for cost in (1, 3)]
LOW, HIGH = (1 / (1 + math.exp(z)) for z in Z)
BY_HAND = [
    (tool_economy, ([0, 1, 2, 3, 4, 5], 0), FALL),
    (tool_economy, ([5, 4, 3, 2, 1, 0], 5), FALL),
    (tool_economy, ([2.0, 0.0], 0.0, 0.5), [math.exp(-1.0), 1.0]),
    (tool_economy, ([[0, 10**15]], 0), [[1, 0]]),
    (tool_economy, ([0, 1, 2], None), [0, 0, 0]),
    (tool_economy, (np.zeros((2, 0)), 0), np.zeros((2, 0))),
    (otc_economy, ([0, 1, 2, 3], 0, 3), [1, math.cos(math.pi / 5), math.cos(2 * math.pi / 7), 0.5]),
    (otc_economy, ([0, 1, 2, 3], 1, 3), [0, 1, math.sin(2 * math.pi / 3), math.sqrt(0.5)]),
    (otc_economy, ([0, 1], None, 3), [0, 0]),
    (otc_economy, ([0, 0], 0, 0), [1, 1]),
    (saving, ([[0, 1], [4, 12]], 4.0), [[1, 0.75], [0, 4 / 12 - 1]]),
    (saving, ([0, 0, 5], None), [1, 1, -1]),
    (saving, ([[1, 3], [1, 3]], [[2], [0]]), [[0.5, 2 / 3 - 1], [-1, -1]]),
    (saving, ([], 1.0), []),
    (arora_zanette_economy, ([1, 3, 2, 0, 3], [YES, YES, NO, NO, YES]), [LOW, HIGH, 0, 0, HIGH]),
    (arora_zanette_economy, ([MANY, 3 * MANY, 3 * MANY], [YES] * 3), [LOW, HIGH, HIGH]),
    (arora_zanette_economy, ([1 / MANY, 3 / MANY, 3 / MANY], [YES] * 3), [LOW, HIGH, HIGH]),
    (arora_zanette_economy, ([2, 2, 9], [YES, YES, NO]), [0.5, 0.5, 0]),
    (arora_zanette_economy, ([2], [YES]), [0.5]),
    (arora_zanette_economy, ([], []), []),
    (kimi_economy, ([1, 2, 3, 5, 1, 5], [YES] * 4 + [NO] * 2), [0.5, 0.25, 0, -0.5, 0, -0.5]),
    (kimi_economy, ([3, 3], [YES, NO]), [0, 0]),
    (kimi_economy, ([], []), []),
    (gr3_economy, ([[1, 2, 3], [0, 0, 4]],), [[-0.5, -1, -1.5], [0, 0, -3]]),
    (gr3_economy, ([1e-300, 3e-300],), [-0.5, -1.5]),
    (gr3_economy, ([0.5e308, 1.5e308],), [-0.5, -1.5]),
    (gr3_economy, ([0, 0, 0],), [0, 0, 0]),
    (gr3_economy, ([],), []),
    (pass_rate_economy, ([10, 20, 30, 40], [YES] * 3 + [NO]), [-0.1875, -0.375, -0.5625, -0.75]),
    (pass_rate_economy, ([10, 20], [NO, NO]), [0, 0]),
    (pass_rate_economy, ([0, 0], [YES, YES]), [0, 0]),
    (pass_rate_economy, ([], []), []),
    (laser_economy, ([1, 2, 3, 1], [YES, YES, YES, NO], 2), [1, 1, 0, 0]),
    (laser_economy, ([[5, 0], [0.1, 0]], [[YES, YES]] * 2, [math.inf, 0]), [[1, 1], [0, 1]]),
    (laser_economy, ([], [], 1.0), []),
]


@pytest.mark.parametrize(("economy", "given", "wanted"), BY_HAND)
def test_an_economy_is_its_formula(economy, given, wanted):
    found = economy(*given)
    assert found.shape == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6)


OF_A_GROUP = [
    arora_zanette_economy,
    kimi_economy,
    pass_rate_economy,
    lambda costs, _: gr3_economy(costs),
]


@pytest.mark.parametrize("economy", OF_A_GROUP)
def test_leading_axes_are_independent_groups(economy):
    rng = np.random.default_rng(0)
    costs = rng.integers(0, 4, (40, 3, 5)) / 2
    solved = rng.random(costs.shape) < 0.5
    together = economy(costs, solved)
    for at in np.ndindex(40, 3):
        np.testing.assert_array_equal(together[at], economy(costs[at], solved[at]))


FROM_0, CHEAPEST = "finite numbers of at least 0", "so that the cheapest possible answer costs 0"
COSTS = {"name": "it", "better": "fewer"}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tool_economy([1], 1, 0), "alpha must be a positive number, got 0"),
        (lambda: tool_economy(["a"], 1), f"costs must be {FROM_0}"),
        (lambda: tool_economy([-1.0], 1), CHEAPEST),
        (lambda: otc_economy([math.inf], 0, 3), f"costs must be {FROM_0}, got .inf"),
        (lambda: saving([1.0, 1.0], [1.0, -1.0]), f"price must be {FROM_0} or None"),
        (lambda: saving([1.0], math.nan), f"price must be {FROM_0} or None"),
        (lambda: saving([-1.0], 3.0), CHEAPEST),
        (lambda: kimi_economy([math.inf, 1], [1, 1]), r"of shape \(\.\.\., points\), got \[inf"),
        (lambda: kimi_economy(1.0, True), r"of shape \(\.\.\., points\)"),
        (lambda: kimi_economy([1, 1], [1]), r"must have the shape of costs, \(2,\), got \(1,"),
        (lambda: kimi_economy([1, 1], [1.0, math.nan]), "successes must be yes or no, got nan"),
        (lambda: arora_zanette_economy([math.nan, 1], [1, 1]), r"of shape \(\.\.\., points\)"),
        (lambda: gr3_economy([1.0, -1.0]), CHEAPEST),
        (lambda: pass_rate_economy([1.0, -1.0], [1, 1]), CHEAPEST),
        (lambda: laser_economy([1.0], [True], math.nan), "target must be numbers of at least 0"),
        (lambda: laser_economy([1.0], [True], -1.0), "target must be numbers of at least 0"),
        (lambda: Objective("left", economy="saving"), "left.high must be given for an economy"),
        (lambda: Objective("it", economy="gr3", better="more"), r"it\.high must be given for"),
        (lambda: Objective(**COSTS, economy="gr3", low=-1.0), r"it\.low must be at least 0 for"),
        (lambda: Objective(**COSTS, economy="saving", low=-1.0), CHEAPEST),
        (lambda: Objective("calls", economy="saving", failure=0.0), "could give a failed roll"),
        (
            lambda: Objective("calls", economy="saving", reference=1.0),
            "must be worse than the",
        ),
        (
            lambda: Objective("left", economy="saving", high=1.0, gate=True),
            'other than "raw": .* got .* economy = "saving"',
        ),
    ],
)
def test_values_without_a_sense_are_refused(call, message):
    with pytest.raises((ValueError, ConfigError), match=message):
        call()


def test_a_saving_has_the_bounds_of_its_curve():
    calls = Objective("calls", economy="saving")
    assert (calls.best, calls.worst, calls.failure, calls.floor) == (1.0, None, "worst", "worst")
    assert calls.low == Objective("words", better="fewer", economy="saving").low == 0.0
    assert calls.reference_reward("zero") == 0.0
    assert calls.reference_reward("initial") is None
    assert Objective("calls", economy="saving", reference=-0.5).reference_reward("zero") == -0.5
    for name in ("arora_zanette", "kimi"):
        economy = Objective(**COSTS, economy=name)
        assert (economy.failure, economy.best, economy.worst) == ("worst", None, None)
