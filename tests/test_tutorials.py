"""Examples for NumPy run; docs/coming_from.md compares calls correctly."""

import importlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"
PEERS = ("moocore", "pymoo", "botorch", "pygmo")


def blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


# Coming from a peer


def section(peer):
    """Return the imports of a peer and the rows of its table: its call, ours, and the comment."""
    page = (DOCS / "coming_from.md").read_text(encoding="utf-8")
    text = page.split("## Call our functions")[1]
    intro, *sections = re.split(r"^###? ", text, flags=re.MULTILINE)
    [own] = [one for one in sections if one.lower().startswith(peer)]
    rows = re.findall(r"^\| `([^`|]+)` \| `([^`|]+)` \| ([^|]+) \|$", own, re.MULTILINE)
    assert len(rows) == own.count("\n| ") - 1  # none is written in a form that is not seen
    return blocks(intro), blocks(own), rows


@pytest.mark.parametrize("peer", PEERS)
def test_our_calls_run(peer):
    named, theirs, rows = section(peer)
    names = {}
    for block in named:
        exec(block, names)
    if peer == "botorch":
        names["torch"] = pytest.importorskip("torch")
        for line in theirs[0].splitlines():
            if re.match(r"(y|low) = ", line):
                exec(line, names)
    assert len(rows) >= 5
    for _, ours, _ in rows:
        eval(ours, names)


@pytest.mark.parametrize("peer", PEERS)
def test_calls_listed_as_equal_agree(peer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's own
        try:
            importlib.import_module(peer)
        except ImportError:
            pytest.skip(f"{peer} is not installed")
        named, theirs, rows = section(peer)
        names = {}
        for block in [*named, *theirs]:
            exec(block, names)
        compared = 0
        for call, ours, answers in rows:
            got, expected = eval(call, names), eval(ours, names)
            if answers.startswith("equal"):
                same = np.allclose(np.asarray(got, float), np.asarray(expected, float))
                assert same, call
                compared += 1
    assert compared >= 3
