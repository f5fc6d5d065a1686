"""Checkpoints that are whole or do not count.

The Hugging Face trainer writes a folder `checkpoint-<step>` file by file; our state joins it, and
last of all a marker file is moved into place. A folder without the marker is an unfinished one: it
is ignored and removed. The last two whole checkpoints are kept, so that at any moment, also while
one is being written or removed, a whole one is there.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from paretopo.run.files import write_bytes

_MARKER = "complete"
_STATE = "paretopo.json"
_PREFIX = "checkpoint-"
_KEPT = 2


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: Where the trainer writes its `checkpoint-<step>` folders.
        kept: How many whole ones are kept; None leaves that to the trainer.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(Path(folder))
        ...     for step in (1, 2, 3):
        ...         checkpoints.path(step).mkdir()
        ...         checkpoints.complete(step, {"answer": step})
        ...     checkpoints.path(4).mkdir()  # killed while this one was written
        ...     checkpoints.steps(), checkpoints.state(3)
        ([2, 3], {'answer': 3})
    """

    def __init__(self, folder: Path, kept: int | None = _KEPT) -> None:
        self.folder = folder
        self._kept = kept

    def path(self, step: int) -> Path:
        """The folder of a step's checkpoint, whether it exists or not."""
        return self.folder / f"{_PREFIX}{step}"

    def steps(self) -> list[int]:
        """Steps with a whole checkpoint, ascending."""
        return sorted(step for step, whole in self._find_all().items() if whole)

    def latest(self) -> int | None:
        """The step to continue from, None without a whole checkpoint."""
        return max(self.steps(), default=None)

    def complete(self, step: int, state: dict[str, Any]) -> None:
        """Add our state to a checkpoint, mark it as whole, and remove what is too old."""
        write_bytes(self.path(step) / _STATE, json.dumps(state, separators=(",", ":")).encode())
        write_bytes(self.path(step) / _MARKER, b"")
        for old in [] if self._kept is None else self.steps()[: -self._kept]:
            self._remove(old)

    def state(self, step: int) -> dict[str, Any]:
        """Our state in the checkpoint of a step."""
        state: dict[str, Any] = json.loads((self.path(step) / _STATE).read_text(encoding="utf-8"))
        return state

    def remove_unfinished(self) -> None:
        """Remove the folders that were being written, or removed, when a run was killed."""
        for step, whole in self._find_all().items():
            if not whole:
                self._remove(step)

    def _find_all(self) -> dict[int, bool]:
        """Step of every checkpoint folder → is it whole?"""
        steps = {}
        for path in self.folder.glob(f"{_PREFIX}*"):
            number = path.name.removeprefix(_PREFIX)
            if number.isdecimal() and path.is_dir():
                steps[int(number)] = (path / _MARKER).is_file()
        return steps

    def _remove(self, step: int) -> None:
        (self.path(step) / _MARKER).unlink(missing_ok=True)  # first: half removed is not whole
        shutil.rmtree(self.path(step))
