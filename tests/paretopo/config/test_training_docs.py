"""The pages on training list the keys, recipes, methods and records of the code."""

from __future__ import annotations

import dataclasses
import re
import typing
from dataclasses import replace
from pathlib import Path

import pytest
from support.sessions import group, new_session, score

from paretopo.config import METHODS, RECIPES, SECTIONS, Objective, RunConfig
from paretopo.config.keys import Key, describe_values, keys
from paretopo.config.paretopo import EstimatorName
from paretopo.rollout import Segment

DOCS = Path(__file__).parents[3] / "docs"
PAGES = {
    name: (DOCS / f"{name}.md").read_text(encoding="utf-8")
    for name in ("configuration", "methods", "run_folder", "own_loop", "training", "report")
}


def shown(field: dataclasses.Field, about: Key) -> str:
    if about.shown_default is not None:
        return about.shown_default
    value = field.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"  # as TOML writes it
    if isinstance(value, tuple):
        value = list(value)
    return f"`{value!r}`".replace("'", '"')


def shorten(values: str) -> str:
    """Write the allowed values for a table: ``an integer of at least 1`` as ``integer ≥ 1``."""
    values = re.sub(r"\ban? (?=integer|number|string|list)", "", values)
    for words, sign in (
        ("of at least", "≥"),
        ("greater than", ">"),
        ("at most", "≤"),
        ("less than", "<"),
    ):
        values = values.replace(words, sign)
    return values.replace('" or "', '", "')


def key_table(section: type) -> str:
    """Keys, and after them the arguments of their values."""
    hints = typing.get_type_hints(section)
    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    further = ["| argument | used with | values | default | meaning |", "|---|---|---|---|---|"]
    for field in dataclasses.fields(section):
        about = field.metadata.get("key")
        if about is None or not about.in_file:
            continue
        takes = (
            "an estimator"
            if about.in_module
            else shorten(describe_values(hints[field.name], about))
        )
        end = f"{takes} | {shown(field, about)} | {about.doc} |"
        if not about.of:
            rows.append(f"| `{field.name}` | {end}")
            continue
        owners: dict[tuple[str, ...], list[str]] = {}
        for owner, values in about.of.items():
            owners.setdefault(values, []).append(f"`{owner}`")
        named = "; ".join(
            f"{' and '.join(keys_)} {', '.join(values)}" for values, keys_ in owners.items()
        )
        for words, short in (
            ("`stage2_estimator` and `stage1_estimator`", "estimator"),
            ("`limit` a number", "a number as `limit`"),
        ):
            named = named.replace(words, short)
        further.append(f"| `{field.name}` | {named} | {end}")
    return "\n".join([*rows, "", *further] if len(further) > 2 else rows)


@pytest.mark.parametrize("name", ["top", "objectives", *SECTIONS])
def test_configuration_page_lists_every_key(name):
    section = {"top": RunConfig, "objectives": Objective, **SECTIONS}[name]
    heading = {"top": "## Top of the file", "objectives": "## `[[objectives]]`"}.get(
        name, f"## `[{name}]`"
    )
    text = PAGES["configuration"]
    assert heading in text
    after = text.split(heading + "\n", 1)[1].split("\n## ", 1)[0]
    assert key_table(section) in after, f"write under {heading}:\n\n{key_table(section)}"


def test_configuration_page_lists_every_estimator():
    text = PAGES["configuration"].split("## `[paretopo]`\n", 1)[1].split("|", 1)[0]
    assert set(re.findall(r"`(\w+)`", text)) == set(typing.get_args(EstimatorName))


def test_methods_page_lists_every_method():
    table = re.search(r"^\| methods \|.*?\n\n", PAGES["methods"], re.M | re.S)[0]
    listed = set(re.findall(r"`([\w]+)`", "".join(re.findall(r"^\|(.*?)\|", table, re.M))))
    assert listed >= set(METHODS)


def test_recipes_are_compared_switch_by_switch():
    for section, switches in RECIPES["paper"].items():
        for switch, paper in switches.items():
            assert switch in keys(SECTIONS[section])
            recommended = RECIPES["recommended"][section][switch]
            row = f"| `{section}.{switch}` | `{paper}` | `{recommended}` |"
            assert row in PAGES["methods"]


def test_run_folder_page_names_every_column(tmp_path):
    session = new_session(tmp_path, objectives__calls__economy="paretopo")
    text = {"prompt": "why?", "segments": (Segment("model", "42"),)}
    for step, correct in enumerate(([1, 0], [1, 1])):  # the second finds fewer calls
        held_out = group([2 - step, 0], correct)
        session.observe(step, held_out, seconds=1.0)
        given = [replace(one, **text) for one in score(session, group([1, 2], [1, 1]))]
        session.advantages([given])
        measured = dict.fromkeys(("loss", "grad_norm", "learning_rate", "seconds"), 1.0)
        session.record_step(step + 1, measured)
    run = session.run
    kept = next(run.trajectories()).to_row()
    assert [row["rescored"] for row in run.evaluations()] == [False, True]
    rows = [*run.steps(), *run.evaluations(), kept, *kept["rollouts"]]
    documented = PAGES["run_folder"]
    assert {name for row in rows for name in row if f"`{name}`" not in documented} == set()
