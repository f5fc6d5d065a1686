"""Recompute the multipliers and learning rates of a run from its records, as the pages say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest


def expect_multipliers(limit: float, held: Sequence[Mapping[str, float]]) -> list[list[float]]:
    """Return the multiplier and the unit of each step.

    Args:
        limit: On the mean cost.
        held: The `mean` and the `deviation` of each step.
    """
    gap = variance = integral = multiplier = 0.0
    unit, expected = limit, []
    for before, row in enumerate(held):
        expected.append([multiplier, unit])
        mean, deviation = row["mean"], row["deviation"]
        gap += max(0.2, 1.0 / (before + 1)) * (mean - limit - gap)
        variance += max(0.05, 1.0 / (before + 1)) * (deviation**2 - variance)
        last_unit, unit = unit, min(max(math.sqrt(variance), 0.01 * limit), limit)
        integral *= unit / last_unit
        average, last = (min(max(one / unit, -1.0), 0.4) for one in (gap, mean - limit))
        aim = integral + 6.0 * average
        if not (aim >= 10.0 and average > 0.0) and not (aim <= 0.0 and last < 0.0):
            integral = min(max(integral + 0.05 * average, 0.0), 10.0)
        multiplier = min(max(integral + 6.0 * min(average, last), 0.0), 10.0)
    return expected


def check_limit(
    rows: Sequence[Mapping[str, Any]], name: str, limit: float, weights: Mapping[str, float]
) -> None:
    """Check means, multipliers and weights of a run's steps, in which no group was dropped.

    Args:
        rows: All rows of `steps.jsonl`.
        name: The limited objective.
        limit: Its limit.
        weights: Those of the other objectives, which sum to 1.
    """
    held = [row["limits"][name] for row in rows]
    means = [one["mean"] for one in held]
    assert means == pytest.approx([row["measured"][name] for row in rows])
    found = [one["multiplier"] for one in held]
    recomputed = [multiplier for multiplier, _ in expect_multipliers(limit, held)]
    assert found == pytest.approx(recomputed, rel=1e-9, abs=1e-12)
    assert any(found), "the limit had no effect"
    for row, multiplier in zip(rows, found, strict=True):
        shares = {**weights, name: multiplier}
        expected = {one: share / (1.0 + multiplier) for one, share in shares.items()}
        assert row["weight"] == pytest.approx(expected)


def check_cosine(rows: Sequence[Mapping[str, Any]], rate: float) -> None:
    """Check that the learning rates of all steps fall to 0 along half a cosine.

    Args:
        rows: All rows of `steps.jsonl`. Their framework reads the rate after the update, where the
            next step's stands.
        rate: That of the first step.
    """
    expected = [rate * 0.5 * (1.0 + math.cos(math.pi * row["step"] / len(rows))) for row in rows]
    assert [row["learning_rate"] for row in rows] == pytest.approx(expected, abs=1e-6 * rate)
