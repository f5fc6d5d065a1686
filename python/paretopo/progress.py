"""Progress: a bar on a terminal, plain lines in a file."""

from __future__ import annotations

import sys
import time
from typing import Any

from tqdm import tqdm

_SECONDS = 30.0  # between two lines
_LINE = "{desc}: {n_fmt}/{total_fmt}, {elapsed}{postfix}"


def make_bar(**options: Any) -> tqdm[Any]:
    """Make a bar of tqdm with its options; for a file or a pipe, one that writes lines.

    A line comes at the start, at the end, and at most every 30 seconds in between.
    """
    return tqdm(**options) if sys.stderr.isatty() else _Lines(**options)


class _Lines(tqdm):  # type: ignore[misc]
    """Writes no carriage return."""

    def __init__(self, **options: Any) -> None:
        self._last = -_SECONDS
        self._at = -1
        # Enabled whatever TQDM_DISABLE says: that variable is for the bars of other packages.
        super().__init__(
            **{"bar_format": _LINE, "disable": False, "file": _Nothing(), "leave": True, **options}
        )

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Write a line if it is time for one."""
        del msg
        now = time.monotonic()
        is_over = pos == 0 or self.n == self.total
        if self.n != self._at and (is_over or now - self._last >= _SECONDS):
            self._last, self._at = now, self.n
            print(str(self).strip(), file=sys.stderr, flush=True)


class _Nothing:
    """Drops the text with which tqdm clears its line."""

    def write(self, _: str) -> None:
        """Drop it."""

    def flush(self) -> None:
        """Do nothing."""
