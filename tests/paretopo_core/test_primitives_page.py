"""The pages on the primitives run, and docs/primitives.md names every public function."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import paretopo_core as pp

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {  # and their least number of examples
    "primitives": 6,
    "fronts": 15,
    "selection": 8,
    "archives": 15,
    "gradients": 18,
    "indicators": 12,
    "guarantees": 3,
}


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page):
    if page == "gradients":
        pytest.importorskip("torch")
    failed, attempted = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False)
    assert failed == 0
    assert attempted >= PAGES[page]


def test_every_public_function_is_named():
    text = (DOCS / "primitives.md").read_text(encoding="utf-8")
    for name in set(pp.__all__) - {"__version__", "get_isa"}:
        assert f"`{name}`" in text, name
