"""docs/training.md matches the code: keys, recipes and ablations; its examples run."""

from __future__ import annotations

import dataclasses
import re
import typing
from dataclasses import replace
from pathlib import Path

import pytest
from support.sessions import group, new_session, score

from paretopo.config import RECIPES, SECTIONS, Objective, RunConfig, loads
from paretopo.config.keys import Key, describe_values, keys
from paretopo.rollout import Segment

TEXT = (Path(__file__).parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
TOML = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def shown(field: dataclasses.Field, about: Key) -> str:
    if about.shown_default is not None:
        return about.shown_default
    value = field.default
    if isinstance(value, tuple):
        value = list(value)
    return f"`{value!r}`".replace("'", '"')


def key_table(section: type) -> str:
    """Keys, and after them the arguments of their values."""
    hints = typing.get_type_hints(section)
    rows = ["| key | takes | default | meaning |", "|---|---|---|---|"]
    further = ["| argument | of | takes | default | meaning |", "|---|---|---|---|---|"]
    for field in dataclasses.fields(section):
        about = field.metadata.get("key")
        if about is None or not about.in_file:
            continue
        takes = describe_values(hints[field.name], about)
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
        further.append(f"| `{field.name}` | {named} | {end}")
    return "\n".join([*rows, "", *further] if len(further) > 2 else rows)


@pytest.mark.parametrize("name", ["top", "objectives", *SECTIONS])
def test_every_key_is_in_the_documentation(name):
    section = {"top": RunConfig, "objectives": Objective, **SECTIONS}[name]
    heading = {"top": "### Top of the file", "objectives": "### `[[objectives]]`"}.get(
        name, f"### `[{name}]`"
    )
    assert heading in TEXT
    after = TEXT.split(heading + "\n", 1)[1].split("\n#", 1)[0]
    assert key_table(section) in after, f"write under {heading}:\n\n{key_table(section)}"


def test_the_recipes_stand_side_by_side():
    for section, switches in RECIPES["paper"].items():
        for switch, paper in switches.items():
            assert switch in keys(SECTIONS[section])
            recommended = RECIPES["recommended"][section][switch]
            assert f"| `{section}.{switch}` | `{paper}` | `{recommended}` |" in TEXT


@pytest.mark.parametrize("example", TOML)
def test_toml_examples_are_valid(example):
    loads(example)


@pytest.mark.parametrize("example", PYTHON)
def test_python_examples_run(example):
    exec(compile(example, "docs/training.md", "exec"), {})


def test_there_are_examples():
    assert len(TOML) >= 2
    assert len(PYTHON) >= 1


def test_every_entry_of_a_row_is_in_the_documentation(tmp_path):
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
    documented = TEXT.split("## The run folder", 1)[1].split("\n## ", 1)[0]
    assert {name for row in rows for name in row if f"`{name}`" not in documented} == set()
