"""The one check of numbers: every array, vector, scalar and option passes here, whatever its name.

Floats of at most 64 bits are taken as they come, halves and integers are widened exactly, and
everything else is refused by the name of the argument. A masked array would lose its mask.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.dlpack import needs_dlpack, read_dlpack, refuse_place
from paretopo_core._machinery.dtypes import FLOATS, HALVES, INTEGERS, check_exact, refuse_kind
from paretopo_core._machinery.tables import table_of

MAX_WHOLE = 2**63 - 1  # that the compiled core takes
_SHORT = 40  # characters of a value that an error shows


def real_array(given: Any, name: str) -> np.ndarray:
    """An array of float32 or float64, in the byte order of this machine.

    A view if it can be one. Bools are numbers here.

    Raises:
        TypeError: not real numbers.
        ValueError: not a rectangular array, or integers that float64 cannot hold.
    """
    array = plain_array(given, name)
    if array.dtype.char in "fd" and array.dtype.isnative:
        return array
    dtype = array.dtype.name  # which takes a microsecond
    if array.size == 0 and dtype not in FLOATS and not hasattr(given, "__array__"):
        return np.empty(array.shape)  # of an empty list nothing tells the dtype
    if dtype in HALVES:
        return array.astype(np.float32)
    if dtype in INTEGERS:
        if array.dtype.itemsize == 8 and array.size:
            check_exact(int(array.min()), int(array.max()), name)
        return array.astype(np.float64)
    if dtype in FLOATS:
        return array.astype(array.dtype.newbyteorder("="))
    if array.dtype == object:
        raise _refuse_objects(given, array, name)
    kinds = {"U": "text", "S": "bytes", "M": "dates", "m": "time spans"}
    raise refuse_kind(name, kinds.get(array.dtype.kind, f"dtype {dtype}"))


def plain_array(given: Any, name: str) -> np.ndarray:
    """Return an array of any dtype from data that NumPy reads without loss.

    Raises:
        TypeError: None, text, an iterator, a masked array, or another object that is no array.
        ValueError: rows of different lengths.
    """
    if type(given) is np.ndarray:
        return given
    table = table_of(given)
    if table is not None:
        return table.numbers(name)
    refuse_masked(given, name)
    if given is None or isinstance(given, (str, bytes, type)) or callable(given):
        raise refuse_kind(name, repr(given)[:_SHORT])
    if isinstance(given, (Iterator, Mapping, Set)) or hasattr(given, "collect"):
        way = "collect() of it" if hasattr(given, "collect") else "a list or an array of it"
        if isinstance(given, Mapping):
            has_columns = any(np.ndim(value) for value in given.values())
            way = f"pandas.DataFrame({name})" if has_columns else f"list({name}.values())"
        raise refuse_kind(name, f"a {type(given).__name__}", f": pass {way}")
    if isinstance(given, (list, tuple)):
        given = torch_arrays.without_tensors(given, name)
        _refuse_masked_parts(given, name)
    elif needs_dlpack(given):
        return read_dlpack(given, name)
    try:
        return np.asarray(given)
    except TypeError:
        if hasattr(given, "__cuda_array_interface__"):
            raise refuse_place(given, name) from None
        raise
    except ValueError as error:
        found = str(error)
        if isinstance(given, (list, tuple)) and given and _holds_rows(given[0]):
            found += "; pad sets of different sizes, and mark the padding with mask="
        elif isinstance(given, (list, tuple)):
            found = next(_list_odd_rows(given, name), found)
        raise ValueError(f"{name} must be a rectangular array of numbers: {found}") from error


def numbers_of(given: Any, name: str) -> np.ndarray:
    """A float64 copy of any shape, row by row, of an argument for which bools are no numbers."""
    if type(given) is float:
        return np.array(given)
    if torch_arrays.is_tensor(given):
        given = torch_arrays.host_array(given, name)
    if _has_bools(given):
        raise refuse_kind(name, f"bool: {given!r}"[: 2 * _SHORT])
    # The compiled archive reads rows: a copy would keep the order of columns.
    return np.array(real_array(given, name), dtype=np.float64, order="C")


def per_point_array(given: Any, name: str) -> np.ndarray:
    """An array of bools or, of ranks, of integers."""
    array = plain_array(given, name)
    if name == "ranks":
        if array.dtype.kind not in "iu":
            raise TypeError(f"ranks must be integers, got dtype {array.dtype.name}")
    elif array.dtype != np.bool_:
        raise TypeError(f"{name} must be of dtype bool, got {array.dtype.name}")
    return array


def labels_of(given: Any, name: str, count: int, whose: str) -> np.ndarray:
    """One number or name for each of ``count`` things; the names may be Python's strings."""
    is_tensor = torch_arrays.is_tensor(given)
    labels = torch_arrays.host_array(given, name) if is_tensor else plain_array(given, name)
    if labels.dtype == object and all(isinstance(label, str) for label in labels.flat):
        labels = labels.astype(str)
    if labels.dtype.kind not in "biufU":
        raise TypeError(f"{name} must be numbers or names, got dtype {labels.dtype.name}")
    if labels.shape != (count,):
        raise ValueError(f"{name} must have shape ({count},), {whose}, got {labels.shape}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        at = int(np.isnan(labels).argmax())
        raise ValueError(f"{name} must name {whose}, got NaN at [{at}]: give it a number or a name")
    return labels


def number_of(given: Any, name: str) -> float:
    """One number as a float; NaN and infinity are some."""
    if type(given) is float or (type(given) is int and abs(given) < 2**53):
        return float(given)
    array = numbers_of(given, name)
    if array.ndim != 0:
        raise TypeError(f"{name} must be a number, got shape {array.shape}")
    return float(array)


def whole_number(given: Any, name: str, lowest: int, highest: int, why: str = "") -> int:
    """One integer of these; ``why`` follows the bounds in the error."""
    if type(given) is not int:
        if torch_arrays.is_tensor(given):
            given = torch_arrays.host_array(given, name)
        if type(given) is np.ndarray and given.ndim == 0:
            given = given[()]
        if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
            raise TypeError(f"{name} must be an integer, got {given!r}")
    if not lowest <= given <= highest:
        limits = f"from {lowest} to {highest}"
        if highest >= 2**31 - 1:
            most = f"2**{highest.bit_length()} - 1"
            limits = f"at least {lowest}" if given < lowest else f"at most {most}"
        raise ValueError(f"{name} must be {limits}{why}, got {given}")
    return int(given)


def seed_of(rng: Any) -> int:
    """Return the seed that a source of random numbers stands for; None: a new one each time."""
    if rng is None:
        return secrets.randbits(63)
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(MAX_WHOLE, endpoint=True))
    try:
        return whole_number(rng, "rng", 0, MAX_WHOLE)
    except TypeError as error:
        raise TypeError(f"{error}, nor a numpy.random.Generator or None") from None


def flag_of(given: Any, name: str) -> bool:
    """Return an option that is on or off."""
    if isinstance(given, (bool, np.bool_)):
        return bool(given)
    raise TypeError(f"{name} must be a bool, got {given!r}")


def choice_of(given: Any, name: str, choices: Collection[str]) -> str:
    """Return an option that is one of some words."""
    if isinstance(given, str) and given in choices:
        return given
    raise ValueError(f"{name} must be one of {', '.join(choices)}, got {given!r}")


def refuse_masked(given: Any, name: str) -> None:
    """Raise TypeError for a masked array, whose mask would not count."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array: pass {name}.data and, to leave out every point with a "
            f"masked value, mask=~np.ma.getmaskarray({name}).any(-1)"
        )


def _refuse_masked_parts(given: Any, name: str) -> None:
    for each in given:
        if isinstance(each, np.ma.MaskedArray):
            raise TypeError(f"{name} holds a masked array: pass its data, and mask=")
        if isinstance(each, (list, tuple)):
            _refuse_masked_parts(each, name)


def _list_odd_rows(rows: Sequence[Any], name: str) -> Iterator[str]:
    """Name the rows that are missing, and those that are not as long as the first."""
    counts = [len(row) if isinstance(row, (list, tuple)) else np.size(row) for row in rows]
    for at, row in enumerate(rows):
        if row is None:
            yield f"{name}[{at}] is None: leave it out"
        elif counts[at] != counts[0]:
            yield f"{name}[{at}] has {counts[at]} of them, {name}[0] has {counts[0]}"


def _holds_rows(given: Any) -> bool:
    """Return True for a set of points, whose items are rows."""
    if isinstance(given, (list, tuple)):
        return bool(given) and isinstance(given[0], (list, tuple, np.ndarray))
    return getattr(given, "ndim", 0) >= 2


def _has_bools(given: Any) -> bool:
    if isinstance(given, (list, tuple)):
        return any(map(_has_bools, given))
    if isinstance(given, np.ndarray):
        return bool(given.dtype.kind == "b")
    return isinstance(given, (bool, np.bool_))


def _refuse_objects(given: Any, array: np.ndarray, name: str) -> Exception:
    """Say which of the objects is no number, and how to come by numbers."""
    if type(given).__module__.partition(".")[0] == "pandas":
        hint = f"; nullable values become floats by {name}.to_numpy(dtype=float, na_value=np.nan)"
        return refuse_kind(name, "dtype object", hint)
    for place, each in np.ndenumerate(array):
        if isinstance(each, int) and not isinstance(each, bool):
            try:
                check_exact(each, each, name)
            except ValueError as error:
                return error
        elif not isinstance(each, (float, np.number)):
            kind, shown = type(each).__name__, repr(each)[:_SHORT]
            at = f" at {[int(i) for i in place]}" if place else ""
            way = "; pass its points" if hasattr(each, "points") else ""
            return refuse_kind(name, f"dtype object: the {kind} {shown}{at}{way}")
    return refuse_kind(name, "dtype object", f"; floats are {name}.astype(float)")


def are_finite(values: list[float]) -> bool:
    """Return True if all are finite; for a few numbers Python is faster than NumPy."""
    return math.isfinite(sum(values)) or all(map(math.isfinite, values))
