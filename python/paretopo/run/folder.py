"""A folder of results: one process writes into it, and its manifest says how they came about."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paretopo.config import ConfigError
from paretopo.run import jsonl
from paretopo.run.jsonl import Row


class Folder:
    """What the folders of trainings and of evaluations share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other processes from writing into this folder; a killed process claims nothing.

        Raises:
            ConfigError: another process works here.
        """
        with (self.path / "claim").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ConfigError(
                    f"another process works in {self.path}: wait for its end, or end it first"
                ) from None
            except OSError:
                pass  # a file system without locks
            yield

    @property
    def manifest(self) -> Row:
        """``manifest.json`` as it is now; empty before it is written.

        Raises:
            ConfigError: it holds no JSON object.
        """
        path = self.path / "manifest.json"
        if not path.exists():
            return {}
        found = jsonl.loaded(path.read_bytes())
        if found is None:
            raise ConfigError(f"{path} is broken: it holds no JSON object; repair or remove it")
        return found

    def update_manifest(self, **entries: Any) -> None:
        """Set entries of ``manifest.json``; the file is replaced whole, never half written."""
        merged = self.manifest | entries
        replace_text(self.path / "manifest.json", json.dumps(jsonl.plain(merged), indent=2) + "\n")

    def finish(self, status: str = "finished") -> None:
        """Note the end of the work and how it came: "finished", "interrupted", "failed"."""
        self.update_manifest(ended=now(), status=status)


def replace_text(path: Path, text: str) -> None:
    """Write a file that is there whole or as it was before."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def now() -> str:
    """The time (UTC), to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
