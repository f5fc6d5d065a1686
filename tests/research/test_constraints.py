"""The study of limits: its linear programs, its trainings, and the numbers of its page."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("name", ["lucky", "seconds", "tokens", "four_objectives"])
def test_exceeding_shares_are_shares_of_draws(name):
    task, rng = TASKS[name], np.random.default_rng(0)
    value = constraints.expected_charges(task, 0).mean(axis=(0, 1))
    drawn = np.mean([task.units[0].draw(task.costs, rng) > value for _ in range(4000)], axis=0)
    expected = constraints.exceeding_shares(task, 0, value)
    np.testing.assert_allclose(drawn, expected, atol=0.04)
    assert 0.1 < expected.mean() < 0.9


@pytest.mark.parametrize(
    ("name", "shares"), [("concave", (0.5, 0.9, 0.95)), ("hard", (0.9, 0.95)), ("free", (0.5,))]
)
def test_the_shares_of_a_task_have_one_value_and_all_matter(name, shares):
    pytest.importorskip("scipy")
    goals = constraints.place_goals(TASKS[name], 0, shares=True)
    assert {goal.at for goal in goals} >= set(shares)
    for goal in goals:
        assert goal.bound.tolist() == goals[0].bound.tolist()
        # The best policy exceeds the value as often as the share allows.
        assert goal.best.costs.max() == pytest.approx(1.0 - goal.at)
        assert goal.best.multipliers.max() > 0.0
    assert goals == sorted(goals, key=lambda goal: -goal.best.value)


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


def test_a_compromise_on_concave_is_worth_little_less_than_the_best_policy():
    pytest.importorskip("scipy")
    task = TASKS["concave"]
    for goal in constraints.place_goals(task, 0, shares=False):
        prices = (goal.measured / goal.bound * goal.best.multipliers).sum(axis=-1)
        worth = task.success - prices
        assert worth[0].max() - worth[0, 2] == pytest.approx(0.014, abs=5e-4)
        assert goal.best.policy[:, 2] == pytest.approx(0.0)


def test_a_short_training_records_every_seed_and_level(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setattr(constraints, "STEPS", 3)
    monkeypatch.setattr(constraints, "EARLY", range(1, 3))
    for name in (
        "limit",
        "limit with schedule",
        "limit with schedule, more answers and steps",
        "LACONIC",
        "clipped dual 0.01",
        "exact penalty",
        "prime_rl 0.1",
    ):
        rows = list(constraints.train(TASKS["deep_knees"], name, [0, 1]))
        assert [(row["seed"], row["level"]) for row in rows] == [
            (seed, level) for seed in (0, 1) for level in constraints.LEVELS
        ]
        assert all(row["cost"] > 0.0 and row["value"] > 0.0 for row in rows)


def test_a_short_training_records_the_shares_that_count_in_the_unit_of_each_seed(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setattr(constraints, "STEPS", 3)
    monkeypatch.setattr(constraints, "EARLY", range(1, 3))
    for name in constraints.SHARE_METHODS:
        rows = list(constraints.train(TASKS["any_unit"], name, [0, 1], shares=True))
        asked = [(0, 0.5), (0, 0.9), (0, 0.95), (1, 0.9), (1, 0.95)]
        assert [(row["seed"], row["share"]) for row in rows] == asked
        assert all(0.0 < row["kept"] < 1.0 and row["value"] > 0.0 for row in rows)


def test_laconic_bounds_the_multiplier_and_the_penalty():
    limits = np.full((1, 1), 100.0)
    method = constraints.make_method("LACONIC", limits, limits, limits)
    multipliers = method.first
    for _ in range(200):
        multipliers = method.update(np.full((1, 1, 1, 1, 1), 200.0))
    assert multipliers.item() == pytest.approx(0.1)
    charges = np.array([50.0, 100.0, 250.0, 1000.0]).reshape(1, 1, 1, 4, 1)
    rewards = method.reward(charges, charges[..., 0], limits).ravel()
    assert (multipliers.item() * rewards).tolist() == pytest.approx([0.0, 0.0, -0.15, -0.4])


def test_the_page_has_the_numbers_of_the_records():
    rows = constraints.read_records()
    limited = [row for row in rows if "share" in row]
    rows = [row for row in rows if "level" in row]
    counted = {name: sum(row["method"] == name for row in rows) for name in constraints.METHODS}
    runs = len(constraints.JUDGED) * len(constraints.LEVELS)
    assert counted == {name: runs * seeds for name, seeds in constraints.METHODS.items()}
    cells = {
        name: [(row["task"], row["seed"], row["share"]) for row in limited if row["method"] == name]
        for name in constraints.SHARE_METHODS
    }
    every = {(task, seed) for task in constraints.JUDGED for seed in range(12)}
    assert {cell[:2] for cell in cells["limit"]} == every
    for name, seeds in constraints.SHARE_METHODS.items():
        assert sorted(cells[name]) == sorted(cell for cell in cells["limit"] if cell[1] < seeds)
    printed = {line for table in constraints.make_tables([*rows, *limited]) for line in table}
    numbers = PAGE.split("## How well training keeps limits")[1].split("## Limits on a language")[0]
    quoted = [line for line in numbers.splitlines() if line.startswith("|")]
    assert len(quoted) == 7
    assert [line for line in quoted if line not in printed] == []
    assert "all last policies keep the share within 1 point, and 75 %" in numbers
    scheduled = re.compile(r"\| limit with schedule \|.* 100\.0 \| 75\.\d \|")
    assert any(scheduled.fullmatch(line) for line in printed)
