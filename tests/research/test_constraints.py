"""The study of limits: its trainings, and the numbers of its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from research import constraints
from research.tasks import TASKS

PAGE = (Path(__file__).parents[2] / "docs" / "constraints.md").read_text(encoding="utf-8")


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
