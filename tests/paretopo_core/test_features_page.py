"""docs/features.md names our functions and tests, and functions of installed libraries."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import paretopo_core as pp
from paretopo_core.compat import moocore

PAGE = Path(__file__).parents[2] / "docs" / "features.md"
TEXT = PAGE.read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)]+)\)")
LIBRARIES = ("moocore", "pymoo", "pygmo", "botorch", "optuna", "evotorch")
NOTHING = "–"  # noqa: RUF001


def rows(text):
    """The rows of the first table as lists of cells, without its header."""
    table = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()][
        2:
    ]


ROWS = rows(TEXT)
NAMES = {
    section.split()[0].lower(): {row[0]: CODE.findall(row[1]) for row in rows(section)}
    for section in TEXT.split("\n### ")[1:]
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_ours_exists_and_its_test_names_it(row):
    names = CODE.findall(row[1])
    assert names  # every row names a function of ours
    tests = [(PAGE.parent / path).resolve() for path in LINK.findall(row[1])]
    assert tests
    text = "".join(test.read_text(encoding="utf-8") for test in tests)
    for name, option in (re.fullmatch(r"(\w+)(?:\((\w+)=\))?", each).groups() for each in names):
        home = pp if name in pp.__all__ else moocore
        assert name in home.__all__
        assert re.search(rf"\b{name}\b", text)
        if option:
            assert option in inspect.signature(getattr(home, name)).parameters
            assert option in text


def find(library, name):
    """A dotted name below a library: modules as far as there are any, then attributes."""
    parts = [library, *name.split(".")]
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(library)


@pytest.mark.filterwarnings("ignore")  # of other libraries
@pytest.mark.parametrize("library", LIBRARIES)
def test_names_of_others_exist(library):
    marked = {row[0] for row in ROWS if row[2 + LIBRARIES.index(library)] != NOTHING}
    assert set(NAMES[library]) == marked
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    for names in NAMES[library].values():
        assert names
        for name in names:
            assert callable(find(library, name)), f"{library}: {name}"


def test_all_public_functions_are_in_the_table():
    listed = {re.match(r"\w+", name)[0] for row in ROWS for name in CODE.findall(row[1])}
    kinds = {name for name in pp.__all__ if inspect.isclass(getattr(pp, name))}
    machine = {"__version__", "get_isa", "set_isa", "get_num_threads", "set_num_threads"}
    assert {*pp.__all__} - kinds - machine - listed == {"stochastic_dominance"}
