"""The C library of this checkout, where a build made it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "csrc" / "c_api" / "paretopo.h"


def _find_library() -> Path | None:
    """Return the newest library that is not older than its header."""
    found = [
        path
        for folder in ("build/*", "build/editable/*")
        for ending in ("so", "dylib")
        for path in ROOT.glob(f"{folder}/libparetopo_c.{ending}")
    ]
    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None or newest.stat().st_mtime < HEADER.stat().st_mtime:
        return None
    return newest


LIBRARY = _find_library()
