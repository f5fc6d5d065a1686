"""Fronts in the files of other programs."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo_core._machinery.dtypes import check_exact

_SHOWN = 40  # characters of a field that an error shows


def read_fronts(path: str | os.PathLike[str]) -> list[NDArray[np.float64]]:
    """Read the sets of points in a result file of another program.

    The suffix selects the format:

    - ``.json``: Platypus, as its ``save_json`` writes it: the objectives of all solutions.
    - ``.h5``: ParetoBench: the last population of each run, infeasible points included. Needs h5py.
    - ``.npz``, ``.npy``: NumPy. Among several arrays, the one named ``F`` is read, as pymoo names
      objectives. An array of three dimensions holds several sets.
    - Everything else is text with one point per line. A blank line begins the next set. This is
      the format of moocore, eaf, PISA's tools, jMetal (``FUN.tsv``, ``FUN.csv``), jMetalPy,
      Platypus's ``save_objectives`` and ``np.savetxt``. Numbers are separated by semicolons, by
      commas or by white space. ``#`` begins a comment, and ``%`` does at the start of a line. The
      first line may hold names, but not numbers of columns, as pandas writes them.

    Reading executes no code, because no pickle is read.

    Args:
        path: the file. Senses are not changed: pass ``maximise=False`` to later calls if the
            program minimises.

    Returns:
        One array for each set, shape (points, objectives), float64, in the order of the file.

    Raises:
        ValueError: the file has another format, or no points; a field is no number, or an integer
            that float64 cannot hold; a point has another number of objectives than the first. The
            message names the line.
        OSError: the file cannot be read.
        ImportError: h5py is missing.

    Cost: O(size of the file).

    Source: moocore's ``read_datasets``; the result files of the programs above.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "runs.dat"
    ...     _ = path.write_text("1 4\\n2 3\\n\\n0.5 5\\n")
    ...     for front in read_fronts(path):
    ...         print(front.tolist())
    [[1.0, 4.0], [2.0, 3.0]]
    [[0.5, 5.0]]
    """
    from paretopo_core.archive_files import path_of

    source = path_of(path)
    data = source.read_bytes()
    readers = {".json": _in_json, ".npz": _in_arrays, ".npy": _in_arrays, ".h5": _in_hdf5}
    try:
        fronts = readers.get(source.suffix.lower(), parse_fronts)(data)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error
    if not fronts:
        raise ValueError(f"{source} holds no points")
    return fronts


def parse_fronts(data: bytes) -> list[np.ndarray]:
    """Return the sets of points of a text, as :func:`read_fronts` reads a file."""
    sets: list[list[list[float]]] = [[]]
    width = 0
    has_names = False
    first: list[str] = []
    whole = 0  # lines with integers
    text_of_file = data.decode("utf-8-sig", "surrogateescape")  # a comment may be of another code
    for number, line in enumerate(text_of_file.splitlines(), 1):
        if not line.strip():
            sets.append([])
            continue
        text = line.partition("#")[0].strip()
        if not text or text.startswith("%"):
            continue
        fields = _fields_of(text)
        row = [_number_in(field) for field in fields]
        if width == 0 and not has_names and _are_names(fields, number):
            has_names = True
            continue
        if None in row:
            field = fields[row.index(None)][:_SHOWN]
            hint = ""
            if "%" in text:
                hint = ": write 50 % as 0.5, and begin a comment after numbers with #"
            elif has_names:
                hint = ": keep only columns of numbers, as pandas.read_csv(path)[['f1', 'f2']] does"
            raise ValueError(f"line {number} must hold numbers, got {field!r}{hint}")
        width = width or len(row)
        if len(row) != width:
            raise ValueError(f"line {number} must hold {width} numbers as above, got {len(row)}")
        first = first or fields
        whole += any(field.isdecimal() for field in fields)
        sets[-1].append([value for value in row if value is not None])
        for field, value in zip(fields, sets[-1][-1], strict=True):
            if abs(value) >= 2**53 and field.lstrip("+-").isdecimal():
                check_exact(int(field), int(field), f"line {number}")
    if first == [*map(str, range(width))] and "," in text_of_file and whole == 1:
        raise ValueError(
            f"line {','.join(first)!r} counts the columns, as pandas does where they have no "
            "names: write the file with header=False, or the numbers of a point as 0.0"
        )
    return [np.array(rows, dtype=np.float64) for rows in sets if rows]


def _fields_of(text: str) -> list[str]:
    for separator in ";,":
        if separator in text:
            return [field.strip().strip('"') for field in text.split(separator)]
    return [field.strip('"') for field in text.split()]


def _number_in(field: str) -> float | None:
    if "_" in field or not field.isascii():  # digits that only Python reads
        return None
    try:
        return float(field)
    except ValueError:
        return None


def _are_names(fields: list[str], number: int) -> bool:
    if "" in fields[:1] and any(fields):
        raise ValueError(
            f"line {number} has a column without a name, as pandas writes its index: write the "
            "file with index=False"
        )
    if any(_number_in(field) is not None for field in fields):
        return False
    return all(any(map(str.isalpha, field)) for field in fields)


def _in_arrays(data: bytes) -> list[np.ndarray]:
    try:
        loaded = np.load(io.BytesIO(data), allow_pickle=False)
        held = {"": loaded} if isinstance(loaded, np.ndarray) else loaded
        name = "F" if "F" in held else next(iter(held), "")
        array = held[name] if name == "F" or len(held) == 1 else None  # and no other
    except Exception as error:  # of a file of another kind, cut short or made to hurt, any
        raise ValueError(
            f"no file of NumPy's arrays, or one with a pickle in it: {error}"
        ) from error
    if array is None:
        raise ValueError(f"must hold one array, or one called F, got {sorted(held)}")
    if array.dtype.kind not in "fiu" or array.ndim not in (2, 3) or array.shape[-1] == 0:
        raise ValueError(
            "must hold real numbers of shape (points, objectives) or (sets, points, objectives), "
            f"got dtype {array.dtype} and shape {array.shape}"
        )
    if array.dtype.kind in "iu" and array.size:
        check_exact(int(array.min()), int(array.max()), name or "the array")
    sets = array.astype(np.float64)
    return [each for each in (sets[None] if sets.ndim == 2 else sets) if len(each)]


def _in_hdf5(data: bytes) -> list[np.ndarray]:
    try:
        import h5py
    except ImportError as error:
        raise ImportError("files of ParetoBench need h5py: pip install h5py") from error
    try:
        with h5py.File(io.BytesIO(data), "r") as held:
            runs = [held[name] for name in sorted(held) if name.startswith("run_")]
            # The populations of a run stand one after the other.
            found = [(run["f"][()], int(run.attrs["pop_sizes"][-1])) for run in runs]
        sets = [np.asarray(f[len(f) - size :], np.float64) for f, size in found]
    except Exception as error:  # of a file of another kind, cut short or made to hurt, any
        raise ValueError(f"no HDF5 file of ParetoBench: {error}") from error
    if any(each.ndim != 2 for each in sets):
        raise ValueError("must hold objectives of shape (points, objectives) in each run")
    return [each for each in sets if len(each)]


def _in_json(data: bytes) -> list[np.ndarray]:
    import json

    try:
        held = json.loads(data.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError(f"no JSON file of solutions: {error}") from error
    rows = list(_objectives_in(held))
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(
                f"solution {place} must have {len(rows[0])} objectives as the first, got {len(row)}"
            )
    return [np.array(rows, dtype=np.float64)] if rows else []


def _objectives_in(held: Any) -> Iterator[list[float]]:
    solutions = held.get("result") if isinstance(held, dict) else held
    if not isinstance(solutions, list):
        raise ValueError("must hold a list of solutions, or an object with one as its result")
    for place, solution in enumerate(solutions):
        objectives = solution.get("objectives") if isinstance(solution, dict) else None
        if not isinstance(objectives, list) or not objectives or not all(map(_is_real, objectives)):
            raise ValueError(f"solution {place} must have a list of numbers as its objectives")
        for value in objectives:
            if isinstance(value, int):
                check_exact(value, value, f"solution {place}")
        yield [float(value) for value in objectives]


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
