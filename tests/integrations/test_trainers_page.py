"""docs/trainers.md: its example runs, and the pages that it points to are there."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "trainers.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_function_returns_advantages_and_state():
    given = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, "docs/trainers.md", "exec"), given)
    assert given["advantages"].shape == (4,)
    assert given["advantages"][1] > given["advantages"][0]  # right with fewer calls
    assert given["state"]["step"] == 2


def test_each_trainer_has_its_page():
    table = TEXT.split("|---|---|---|---|---|\n", 1)[1].split("\n\n", 1)[0]
    linked = dict(re.findall(r"^\| \[(\w+)\]\((\w+\.md)\)", table, re.MULTILINE))
    assert set(linked) == {"TRL", "OpenRLHF", "verl"}
    assert all((PAGE.parent / page).is_file() for page in linked.values())
