"""The pages on training list the keys, recipes, methods and records of the code."""

from __future__ import annotations

import re
import runpy
import typing
from dataclasses import replace
from pathlib import Path

import pytest
from support.sessions import group, new_session, score

from paretopo.config import METHODS, RECIPES
from paretopo.config.keys import keys
from paretopo.config.switches import EstimatorName
from paretopo.rollout import Segment

DOCS = Path(__file__).parents[3] / "docs"
PAGES = {
    name: (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in ("configuration", "methods", "run_folder", "own_loop", "training", "report")
}


def test_the_built_page_lists_every_key():
    page = runpy.run_path(str(DOCS / "key_tables.py"))
    built = page["add_key_tables"](PAGES["configuration"])
    for heading, section in page["HEADINGS"].items():
        part = built.split(heading + "\n", 1)[1].split("\n## ", 1)[0]
        listed = re.findall(r"^\| `(\w+)` \|", part, re.M)
        assert set(listed) == {name for name, about in keys(section).items() if about.in_file}
    seed = "| `seed` | integer from 0 to 4294967295 | `0` | Seed of all random numbers."
    share = "| `share` | `limit` a number | number > 0 and < 1 | none | Smallest share"
    assert seed in built
    assert share in built
    rules = built.split("## Rules between keys\n\n", 1)[1]
    assert "* model.heads must divide model.width\n" in rules
    assert "* objectives.NAME.low must be below high\n" in rules
    with pytest.raises(ValueError, match=r"must have the heading '## Top of the file', got none"):
        page["add_key_tables"]("# The configuration file")


def test_configuration_page_lists_every_estimator():
    text = PAGES["configuration"].split("## `[paretopo]`\n", 1)[1].split("|", 1)[0]
    assert set(re.findall(r"`(\w+)`", text)) == set(typing.get_args(EstimatorName))


def test_methods_page_lists_every_method():
    table = re.search(r"^\| methods \|.*?\n\n", PAGES["methods"], re.M | re.S)[0]
    listed = set(re.findall(r"`([\w]+)`", "".join(re.findall(r"^\|(.*?)\|", table, re.M))))
    assert listed >= set(METHODS)


def test_recipes_are_compared_switch_by_switch():
    for switch, paper in RECIPES["paper"].items():
        row = f"| `paretopo.{switch}` | `{paper}` | `{RECIPES['recommended'][switch]}` |"
        assert row in PAGES["methods"]


def test_run_folder_page_names_every_column(tmp_path):
    session = new_session(tmp_path)
    text = {"prompt": "why?", "segments": (Segment("model", "42"),)}
    for step in range(2):
        session.observe(step, group([2, 0], [1, 0]), seconds=1.0)
        given = [replace(one, **text) for one in score(session, group([1, 2], [1, 1]))]
        session.advantages([given])
        measured = dict.fromkeys(("loss", "grad_norm", "learning_rate", "seconds"), 1.0)
        session.record_step(step + 1, measured)
    run = session.run
    kept = next(run.trajectories()).to_row()
    rows = [*run.steps(), *run.evaluations(), kept, *kept["rollouts"]]
    documented = PAGES["run_folder"]
    assert {name for row in rows for name in row if f"`{name}`" not in documented} == set()
