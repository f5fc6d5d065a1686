"""The files of a comparison: page, picture, tables and plain values."""

from __future__ import annotations

import json
from pathlib import Path

from paretopo.records.files import write_text
from paretopo_lab.compare.analysis import Analysis
from paretopo_lab.compare.page import render_page
from paretopo_lab.compare.plots import draw_models
from paretopo_lab.compare.report import describe, to_plain
from paretopo_lab.document.report import Picture, Report


def write_files(analysis: Analysis, out: Path) -> Path:
    """Write ``compare.html``, ``compare.md``, ``compare.json`` and ``front.png`` to a folder.

    Returns:
        The path of the page.
    """
    out.mkdir(parents=True, exist_ok=True)
    draw_models(analysis, out / "front.png")
    report = describe(analysis)
    picture = Picture("The models and their front", "front.png")
    write_text(out / "compare.md", Report(report.title, [*report.parts, picture]).write())
    plain = json.dumps(to_plain(analysis), indent=1, ensure_ascii=False)
    write_text(out / "compare.json", plain + "\n")
    page = out / "compare.html"
    write_text(page, render_page(analysis))
    return page
