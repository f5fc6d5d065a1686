"""The archive's gain on held-out questions, smoothed, and the multiplier made of it."""

from __future__ import annotations

import math

import pytest

from paretopo.config import ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO


def controller(**switches) -> ParetoPO:
    return ParetoPO(ParetoPOConfig(**{"stage1_steps": 2} | switches))


@pytest.mark.parametrize(
    ("reference", "bounds", "expected"),
    [
        ((0.0, 0.0), (math.nan, -8.0), (0.0, -8.0)),
        ((0.0, 0.0), (math.nan, 3.0), (0.0, 0.0)),
        ((0.0, "initial"), (math.nan, -8.0), (0.0, -8.0)),
        ((0.0, "initial"), (math.nan, math.nan), (0.0, -5.0)),
    ],
)
def test_bounds_of_the_first_evaluation_lower_the_reference(reference, bounds, expected):
    method = controller(references=reference)
    first = method.observe([0.5, -5.0], bounds=bounds)
    assert tuple(method.reference) == expected
    assert first.hypervolume == pytest.approx(0.5 * max(-5.0 - expected[1], 0.0))
    again = controller(references=reference)
    again.load_state_dict(method.state_dict())
    for one in (method, again):
        one.observe([0.5, -4.0], bounds=(math.nan, -99.0))
        assert tuple(one.reference) == expected


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        ([0.1], r"outcome must have shape \(2,\), a mean per weight, got \(1,\)"),
        ([[0.1, 0.2]], r"got \(1, 2\)"),
        ([0.1, math.nan], r"outcome must be finite, got \[0.1, nan\]"),
    ],
)
def test_a_wrong_outcome_is_named(outcome, message):
    with pytest.raises(ValueError, match=message):
        controller().observe(outcome)
