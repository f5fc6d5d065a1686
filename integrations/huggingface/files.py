"""Locate a model: a name on the Hub, a folder, or a file in llama.cpp's format, GGUF."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretopo.config import ConfigError

_GGUF = ".gguf"


@dataclass(frozen=True)
class ModelFiles:
    """The arguments of `from_pretrained` that load a model.

    Attributes:
        name: A name on the Hub, or a folder.
        gguf: The weight file in that folder; None for a checkpoint of transformers itself.
    """

    name: str
    gguf: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of `from_pretrained`."""
        return {} if self.gguf is None else {"gguf_file": self.gguf}


def find_model_files(path: str) -> ModelFiles:
    """Find the model that `model.path` names.

    Args:
        path: A Hub name, a folder of transformers, a folder with one .gguf file, or a .gguf file.

    Raises:
        ConfigError: The file is missing, the folder holds no model or several .gguf files, or the
            package `gguf` is missing.

    >>> find_model_files("Qwen/Qwen3-0.6B")
    ModelFiles(name='Qwen/Qwen3-0.6B', gguf=None)
    """
    place = Path(path)
    if place.suffix == _GGUF:
        if not place.is_file():
            raise ConfigError(f"model.path: there is no file {path}")
        return _with_gguf(place)
    if not place.is_dir() or (place / "config.json").is_file():
        return ModelFiles(path)
    found = sorted(place.glob(f"*{_GGUF}"))
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise ConfigError(
            f"model.path: {path} holds several .gguf files, name one of them: {names}"
        )
    if not found and any(place.glob("tokenizer*.json")):
        return ModelFiles(path)  # a folder with only a tokenizer
    if not found:
        raise ConfigError(
            f"model.path: {path} holds no model: neither a config.json nor a .gguf file"
        )
    return _with_gguf(found[0])


def _with_gguf(file: Path) -> ModelFiles:
    if importlib.util.find_spec("gguf") is None:
        raise ConfigError(f"model.path: {file} needs the package gguf: pip install gguf")
    return ModelFiles(str(file.parent), file.name)


def link_or_copy(file: Path, target: Path) -> None:
    """Copy a file; a hard link saves the second copy on the disk if possible."""
    try:
        os.link(file, target)
    except OSError:  # a file system without links
        shutil.copyfile(file, target)
