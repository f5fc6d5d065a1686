"""docs/own_loop.md returns advantages; docs/trainers.md points to a page for each trainer."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_function_returns_advantages_and_state():
    text = (DOCS / "own_loop.md").read_text(encoding="utf-8")
    given = {}
    exec(compile(re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0], "docs", "exec"), given)
    assert given["advantages"].shape == (4,)
    assert given["advantages"][1] > given["advantages"][0]  # right with fewer calls
    assert given["state"]["step"] == 2


def test_each_trainer_has_its_page():
    text = (DOCS / "trainers.md").read_text(encoding="utf-8")
    table = text.split("|---|---|---|\n", 1)[1].split("\n\n", 1)[0]
    linked = dict(re.findall(r"^\| \[([\w ]+)\]\((\w+\.md)\)", table, re.MULTILINE))
    assert set(linked) == {"TRL", "OpenRLHF", "verl", "any other"}
    assert all((DOCS / page).is_file() for page in linked.values())
