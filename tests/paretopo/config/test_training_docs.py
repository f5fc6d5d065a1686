"""docs/training.md says what the code says: keys, recipes, ablations, and examples that run."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import re
import typing
from pathlib import Path

import pytest

import paretopo
from paretopo.config import RECIPES, SECTIONS, RunConfig, loads
from paretopo.config.keys import Key, describe_values, keys
from paretopo.integrations.trl import recording
from paretopo.run import outcomes
from paretopo.run.trajectories import Group, Rollout

TEXT = (Path(__file__).parents[3] / "docs" / "training.md").read_text(encoding="utf-8")
TOML = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
PACKAGE = Path(paretopo.__file__).parent
MODULES = sorted(
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if path.stem != "__main__" and path.relative_to(PACKAGE).parts[0] != "integrations"
)
MODULES.remove("paretopo.rewards.mathematics")  # it starts a jail, whose tests have a marker


def shown(field: dataclasses.Field, about: Key) -> str:
    if about.shown_default is not None:
        return about.shown_default
    value = field.default
    if isinstance(value, tuple):
        value = list(value)
    return f"`{value!r}`".replace("'", '"')


def key_table(section: type) -> str:
    hints = typing.get_type_hints(section)
    rows = ["| key | takes | default | meaning |", "|---|---|---|---|"]
    for field in dataclasses.fields(section):
        about = field.metadata.get("key")
        if about is not None and about.in_file:
            takes = describe_values(hints[field.name], about)
            rows.append(f"| `{field.name}` | {takes} | {shown(field, about)} | {about.doc} |")
    return "\n".join(rows)


@pytest.mark.parametrize("name", ["top", *SECTIONS])
def test_every_key_is_in_the_documentation(name):
    section = RunConfig if name == "top" else SECTIONS[name]
    heading = "### Top of the file" if name == "top" else f"### `[{name}]`"
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


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_run(module):
    found = doctest.testmod(importlib.import_module(module))
    assert found.failed == 0


def test_every_entry_of_a_row_is_in_the_documentation():
    named = [
        name
        for module in (recording, outcomes)
        for name in re.findall(
            r'^ {8,20}"(\w+)": ', Path(module.__file__).read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert len(named) > 20
    rows = TEXT.split("## The run folder", 1)[1].split("\n## ", 1)[0]
    kept = [field.name for kind in (Group, Rollout) for field in dataclasses.fields(kind)]
    assert [name for name in [*named, *kept] if f"`{name}`" not in rows] == []
