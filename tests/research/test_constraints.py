"""The study of limits: its linear programs, its trainings, and the numbers of its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from research import constraints
from research.tables import Unit
from research.tasks import TASKS

PAGE = (Path(__file__).parents[2] / "docs" / "constraints.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["seconds", "offset", "four_objectives", "trade_off"])
def test_expected_charges_are_means_of_draws(name):
    task, rng = TASKS[name], np.random.default_rng(0)
    unit: Unit = task.units[0]
    drawn = np.mean([unit.draw(task.costs, rng) for _ in range(4000)], axis=0)
    expected = constraints.expected_charges(task, 0)
    np.testing.assert_allclose(drawn, expected, rtol=0.05, atol=0.01 * expected.max())


def test_the_program_finds_the_best_mixture_of_one_kind():
    pytest.importorskip("scipy")
    task = TASKS["trade_off"]
    charge = constraints.expected_charges(task, 0)
    for limit in constraints.place_limits(task, charge):
        best = constraints.solve(task, charge, limit)
        assert best.costs == pytest.approx(limit)
        assert best.policy.sum(axis=1) == pytest.approx(1.0)
        # No mixture of deterministic policies, drawn at random, is better.
        rng = np.random.default_rng(0)
        for _ in range(300):
            weights = rng.dirichlet(np.full(task.ways, 0.2), len(task.success))
            paid = (weights * charge[..., 0]).sum(axis=1).mean()
            if paid <= limit:
                assert (weights * task.success).sum(axis=1).mean() <= best.value + 1e-9
        # The multiplier is the price of the limit.
        more = constraints.solve(task, charge, limit * 1.001)
        assert best.multipliers[0] == pytest.approx((more.value - best.value) * 1e3, rel=0.02)


def test_a_short_training_records_every_seed_and_level(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setattr(constraints, "STEPS", 3)
    for name in ("limit", "clipped dual 0.01", "exact penalty", "prime_rl 0.1"):
        rows = list(constraints.train(TASKS["deep_knees"], name, [0, 1]))
        assert [(row["seed"], row["level"]) for row in rows] == [
            (seed, level) for seed in (0, 1) for level in constraints.LEVELS
        ]
        assert all(row["cost"] > 0.0 and row["value"] > 0.0 for row in rows)


def test_the_page_has_the_numbers_of_the_records():
    rows = constraints.read_records()
    counted = {name: sum(row["method"] == name for row in rows) for name in constraints.METHODS}
    runs = len(constraints.JUDGED) * len(constraints.LEVELS)
    assert counted == {name: runs * seeds for name, seeds in constraints.METHODS.items()}
    for table in constraints.make_tables(rows):
        assert "\n".join(table) in PAGE, "\n".join(table)
