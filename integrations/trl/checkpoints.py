"""Checkpoints that are complete or ignored.

The Hugging Face trainer writes a folder `checkpoint-<step>` file by file. Our state follows, and
the last action moves a marker file into place. A folder without the marker is unfinished: it is
ignored and removed. The last two complete checkpoints are kept, so one is always available, even
while another is written or removed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from paretopo.records.files import write_bytes

_MARKER = "complete"
_STATE = "paretopo.json"
_PREFIX = "checkpoint-"
_KEPT = 2


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: The folder of the trainer's `checkpoint-<step>` folders.
        kept: Number of complete checkpoints to keep; None leaves that to the trainer.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoints = Checkpoints(Path(folder))
        ...     for step in (1, 2, 3):
        ...         checkpoints.path(step).mkdir()
        ...         checkpoints.complete(step, {"answer": step})
        ...     checkpoints.path(4).mkdir()  # killed during this write
        ...     checkpoints.steps(), checkpoints.state(3)
        ([2, 3], {'answer': 3})
    """

    def __init__(self, folder: Path, kept: int | None = _KEPT) -> None:
        self.folder = folder
        self._kept = kept

    def path(self, step: int) -> Path:
        """Return the folder of a step's checkpoint, which may not exist."""
        return self.folder / f"{_PREFIX}{step}"

    def steps(self) -> list[int]:
        """Return the steps with a complete checkpoint, ascending."""
        return sorted(step for step, whole in self._find_all().items() if whole)

    def latest(self) -> int | None:
        """Return the step to resume from; None without a complete checkpoint."""
        return max(self.steps(), default=None)

    def complete(self, step: int, state: dict[str, Any]) -> None:
        """Add our state to a checkpoint, mark it as complete, and remove old checkpoints."""
        write_bytes(self.path(step) / _STATE, json.dumps(state, separators=(",", ":")).encode())
        write_bytes(self.path(step) / _MARKER, b"")
        for old in [] if self._kept is None else self.steps()[: -self._kept]:
            self._remove(old)

    def state(self, step: int) -> dict[str, Any]:
        """Return our state in the checkpoint of a step."""
        state: dict[str, Any] = json.loads((self.path(step) / _STATE).read_text(encoding="utf-8"))
        return state

    def has_unfinished(self) -> bool:
        """Return whether a folder is not complete: of a killed run, or of TRL."""
        return not all(self._find_all().values())

    def remove_unfinished(self) -> None:
        """Remove the folders that a killed run was writing or removing."""
        for step, whole in self._find_all().items():
            if not whole:
                self._remove(step)

    def _find_all(self) -> dict[int, bool]:
        """Map the step of every checkpoint folder to whether it is complete."""
        steps = {}
        for path in self.folder.glob(f"{_PREFIX}*"):
            number = path.name.removeprefix(_PREFIX)
            if number.isdecimal() and path.is_dir():
                steps[int(number)] = (path / _MARKER).is_file()
        return steps

    def _remove(self, step: int) -> None:
        (self.path(step) / _MARKER).unlink(missing_ok=True)  # first: then it is incomplete
        shutil.rmtree(self.path(step))
