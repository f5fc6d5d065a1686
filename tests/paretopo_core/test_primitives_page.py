"""docs/primitives.md says nothing that does not run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import paretopo_core as pp

PAGE = Path(__file__).parents[2] / "docs" / "primitives.md"


def test_every_example_runs():
    pytest.importorskip("torch")
    failed, attempted = doctest.testfile(str(PAGE), module_relative=False)
    assert failed == 0
    assert attempted >= 40


def test_every_public_function_is_named():
    text = PAGE.read_text()
    for name in set(pp.__all__) - {"__version__", "get_isa"}:
        assert f"`{name}`" in text or f"`{name}(" in text, name
