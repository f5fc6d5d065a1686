"""The examples in docstrings run."""

from __future__ import annotations

import doctest
import glob
import importlib
from pathlib import Path

import pytest

import paretopo

ROOT = Path(paretopo.__file__).parent
NEED_THE_SANDBOX = ("protocols.torl", "rewards.mathematics", "tools.python_interpreter")


def modules_with_examples():
    # Unlike Path.rglob before Python 3.13, this follows links.
    for path in sorted(glob.glob("**/*.py", root_dir=ROOT, recursive=True)):  # noqa: PTH207
        text = (ROOT / path).read_text(encoding="utf-8")
        if not path.startswith("integrations") and ">>> " in text:
            name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            marks = pytest.mark.sandbox if name in NEED_THE_SANDBOX else ()
            yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(f"paretopo.{name}")).failed == 0


def test_there_are_examples():
    names = {parameter.values[0] for parameter in modules_with_examples()}
    assert len(names) > 40
    assert {*NEED_THE_SANDBOX} <= names
