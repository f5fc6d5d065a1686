"""Write docs/notebooks/*.ipynb from the tutorials.

    python scripts/make_notebooks.py

Text becomes Markdown cells and each Python block a code cell. A block of `>>>` lines is split after
every line that prints, so that a notebook shows each result. A file has one line for each cell, and
no outputs; tests/test_notebooks.py runs the notebooks and fails if one differs from its page.
"""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
FOLDER = DOCS / "notebooks"
PAGES = ("tutorial_optimisation", "tutorial_training")

_BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?:|#)")
# Imports from examples/ need the folder of the clone.
_SETUP = {"tutorial_training": "import sys\n\nsys.path.insert(0, '../..')"}


def make_notebook(page: str) -> str:
    """Convert a page of docs/ to the text of a notebook."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    pieces = [("markdown", f"*Made from [{page}.md]({page}.md) by scripts/make_notebooks.py.*")]
    if page in _SETUP:
        pieces.append(("code", _SETUP[page]))
    pieces += _split(text)
    cells = [_make_cell(number, *piece) for number, piece in enumerate(pieces)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    lines = ",\n".join(json.dumps(cell, ensure_ascii=False) for cell in cells)
    end = f'"metadata": {json.dumps(metadata)}, "nbformat": 4, "nbformat_minor": 5'
    return f'{{"cells": [\n{lines}\n],\n{end}}}\n'


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the source of each cell."""
    for number, piece in enumerate(_BLOCK.split(text)):
        if number % 2 == 0:
            if piece.strip():
                yield "markdown", piece.strip()
        elif ">>>" not in piece:
            yield "code", piece.strip()
        else:
            lines = ""
            for example in doctest.DocTestParser().get_examples(piece):
                lines += re.sub(r" *# doctest:.*", "", example.source)
                if example.want:
                    yield "code", lines.strip()
                    lines = ""
            if lines:
                yield "code", lines.strip()


def _make_cell(number: int, kind: str, source: str) -> dict[str, Any]:
    if kind == "markdown":
        source = _LINK.sub("](../", source)
    cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return {**cell, "source": source}


def main() -> None:
    """Write every notebook."""
    FOLDER.mkdir(exist_ok=True)
    for page in PAGES:
        (FOLDER / f"{page}.ipynb").write_text(make_notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()
