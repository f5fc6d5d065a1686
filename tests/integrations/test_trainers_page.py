"""docs/trainers.md: its examples run, and what is theirs is told apart from what was run."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

TEXT = (Path(__file__).parents[2] / "docs" / "trainers.md").read_text(encoding="utf-8")


def test_the_function_and_the_hook_give_equal_advantages():
    given = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(compile(block, "docs/trainers.md", "exec"), given)
    samples = [
        SimpleNamespace(reward={"correct": right, "calls": -minus}, group_index=group)
        for (right, minus), group in zip(given["vectors"], given["groups"], strict=True)
    ]
    raw, advantages = given["post_process"](None, samples)
    assert raw == [1.0, 1.0, 0.0, 0.0]
    assert advantages == given["advantages"].tolist()
    assert advantages[1] > advantages[0]
    given["post_process"](None, samples)
    assert given["STATE"]["step"] == 2
