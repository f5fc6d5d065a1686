"""Write the files of a report: Markdown, page and pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from paretopo.records.files import write_text
from paretopo_lab.document.charts import Front
from paretopo_lab.document.page import render_report
from paretopo_lab.document.pictures import draw_front
from paretopo_lab.document.report import Report


def write_files(report: Report, out: Path, stem: str, name: str = "", plain: Any = None) -> Path:
    """Write ``STEM.md``, ``STEM.html``, ``STEM.json`` and a picture of the front.

    Args:
        report: The report.
        out: The folder, made if it is missing.
        stem: Of the files' names.
        name: Of the page's window; "" for the report's title.
        plain: Values for JSON; None for no such file.

    Returns:
        The path of the Markdown.
    """
    out.mkdir(parents=True, exist_ok=True)
    (out / "front.png").unlink(missing_ok=True)  # of a report before this one
    for part in report.parts:
        if isinstance(part, Front):
            draw_front(part, out / part.file)
    write_text(out / f"{stem}.html", render_report(report, name))
    if plain is not None:
        write_text(out / f"{stem}.json", json.dumps(plain, indent=1, ensure_ascii=False) + "\n")
    path = out / f"{stem}.md"
    write_text(path, report.write())
    return path
