"""Archives in files: NumPy's npz or JSON, never pickle."""

from __future__ import annotations

import io
import json
import math
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_ENDINGS = (".npz", ".json")
_NUMBERS = ("maximise", "points", "indices", "additions")
_MAYBE = ("ref", "hypervolume", "history", "epsilon", "capacity")  # absent where they are None
_TEXTS = ("keep", "payloads", "names")  # JSON; no names in most archives


def save(state: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the state of an archive; see :meth:`paretopo_core.ParetoArchive.save`."""
    target = path_of(path)
    ending = _ending_of(target)
    _check_payloads(state["payloads"])
    target = target.resolve()  # of a link, so that the link stays
    partial = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with partial.open("wb") as file:
            if ending == ".json":
                if state["hypervolume"] == math.inf:  # the only number of a state that can be
                    state = {**state, "hypervolume": "inf"}
                file.write(json.dumps(state, allow_nan=False).encode())
            else:
                np.savez(file, **_arrays_of(state))
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file that :func:`save` wrote, without a check of its contents."""
    source = path_of(path)
    ending = _ending_of(source)
    data = source.read_bytes()  # errors of the disk are OSError, all others depend on the format
    try:
        state = _state_of(data) if ending == ".npz" else json.loads(data)
    except Exception as error:  # of a file of another kind, cut short or made to hurt, any
        raise ValueError(f"{source} is no {ending} file of an archive: {error}") from error
    if not isinstance(state, dict):
        raise ValueError(f"{source} is no {ending} file of an archive: it holds no object")
    return state if state.get("hypervolume") != "inf" else {**state, "hypervolume": math.inf}


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return the path.

    Raises:
        TypeError: it is neither text nor a path.
    """
    try:
        return Path(path)
    except TypeError as error:
        raise TypeError(f"path must be text or a pathlib.Path, got {path!r}") from error


def _ending_of(path: Path) -> str:
    if path.suffix not in _ENDINGS:
        raise ValueError(f"path must end in {' or '.join(_ENDINGS)}, got {str(path)!r}")
    return path.suffix


def _check_payloads(payloads: list[Any] | None) -> None:
    for place, payload in enumerate(payloads or ()):
        try:
            reason = "it would come back as something else"
            is_kept = bool(json.loads(json.dumps(payload, allow_nan=False)) == payload)
        except (TypeError, ValueError, RecursionError) as error:
            is_kept, reason = False, str(error)
        if not is_kept:
            raise TypeError(
                f"the payload of member {place} is a {type(payload).__name__} that JSON cannot "
                f"hold ({reason}): give the points payloads of dicts with strings as keys, lists, "
                "strings, finite numbers, bools and None, such as a path to the rest; or pickle "
                "the archive, where whoever reads it may trust it"
            )


def _arrays_of(state: Mapping[str, Any]) -> dict[str, Any]:
    arrays = {key: np.asarray(state[key]) for key in _NUMBERS}
    arrays |= {key: np.asarray(state[key]) for key in _MAYBE if state[key] is not None}
    texts = [key for key in _TEXTS if key in state]
    arrays |= {key: np.asarray(json.dumps(state[key], allow_nan=False)) for key in texts}
    return arrays


def _state_of(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        if (unpacked := sum(each.file_size for each in arrays.zip.infolist())) > len(data):
            raise ValueError(
                f"its arrays are compressed, {unpacked} bytes to {len(data)}, and may fill the "
                "memory: write them as they are, with np.savez"
            )
        state = {key: arrays[key].tolist() for key in _NUMBERS}
        state |= {key: arrays[key].tolist() if key in arrays else None for key in _MAYBE}
        state |= {key: json.loads(str(arrays[key])) for key in _TEXTS if key in arrays}
    return state
