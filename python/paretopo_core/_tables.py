"""Frames of pandas and polars: the result has the rows, the index and the columns of the frame."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from paretopo_core._dtypes import check_exact, refuse_kind

_PER_ROW = ("mask", "violation", "ranks", "sets")


class Table:
    """A frame, its numbers, and its labels for a result."""

    def __init__(self, frame: Any, is_pandas: bool) -> None:
        self._frame = frame
        self._is_pandas = is_pandas

    def numbers(self, name: str) -> np.ndarray:
        """Return the values, shape (rows, columns); NaN for missing values of nullable columns.

        Raises:
            TypeError: columns hold no numbers; the error names them.
            ValueError: integers that float64 cannot hold.
        """
        columns = zip(self._frame.columns, self._frame.dtypes, strict=True)
        others = [key for key, dtype in columns if not self._is_numeric(dtype)]
        if others:
            way = f"columns={others}" if self._is_pandas else repr(others)
            hint = f"; {others} hold no numbers: pass {name}.drop({way})"
            raise refuse_kind(name, "dtype object", hint)
        array = np.asarray(self._frame.to_numpy())
        if array.dtype != object:
            return array
        for place in range(self._frame.shape[1]):
            column = self._frame.iloc[:, place].dropna()
            if column.dtype.kind in "iu" and len(column):
                check_exact(int(column.min()), int(column.max()), name)
        return np.asarray(self._frame.to_numpy(dtype=np.float64, na_value=np.nan))

    def _is_numeric(self, dtype: Any) -> bool:
        if self._is_pandas:
            return bool(sys.modules["pandas"].api.types.is_numeric_dtype(dtype))
        return bool(
            dtype.is_float() or dtype.is_integer() or dtype == sys.modules["polars"].Boolean
        )

    def align(self, value: Any, name: str) -> Any:
        """Return an argument in the order of the rows, or of the columns if it names them.

        Values per row have the index of the frame. Mappings name columns by their keys, pandas
        series by their index, frames by their columns. Other arguments are unchanged.

        Raises:
            ValueError: values per row have another index, or a mapping other names than the frame.
        """
        if name in _PER_ROW:
            return self._align_rows(value, name)
        if name == "deviations" and table_of(value) is not None:
            value = self._align_rows(value, name)
        names, own = list(self._frame.columns), _labels_of(value)
        if own is None or (set(own) != set(names) and not isinstance(value, Mapping)):
            return value
        return _reorder(value, own, names, name)

    def _align_rows(self, value: Any, name: str) -> Any:
        if not self._is_pandas or not isinstance(
            value, (sys.modules["pandas"].Series, sys.modules["pandas"].DataFrame)
        ):
            return value
        own, given = self._frame.index, value.index
        if given.equals(own):
            return value
        if own.is_unique and len(given) == len(own) and set(given) == set(own):
            return value.loc[own]
        raise ValueError(
            f"{name} must have the index of the frame in any order, got {_in_short(given)}, "
            f"not {_in_short(own)}; pass {name}.to_numpy() to go by position"
        )

    def where(self, kept: np.ndarray) -> Any:
        """Return the rows for which kept is True, as a frame."""
        return self._frame[kept] if self._is_pandas else self._frame.filter(kept)

    def label(self, result: Any, extent: str, name: str) -> Any:
        """Return a series for one value per row, a frame for one per cell, else the result."""
        if extent == "point":
            if self._is_pandas:
                pandas = sys.modules["pandas"]
                return pandas.Series(result, index=self._frame.index, name=name)
            return sys.modules["polars"].Series(name, result)
        if extent == "value":
            if self._is_pandas:
                index, columns = self._frame.index, self._frame.columns
                return sys.modules["pandas"].DataFrame(result, index=index, columns=columns)
            return sys.modules["polars"].DataFrame(result, schema=self._frame.columns)
        return result


def table_of(points: Any) -> Table | None:
    """Return the table of a frame; None for other objects."""
    for module in ("pandas", "polars"):
        library = sys.modules.get(module)
        if library is not None and isinstance(points, library.DataFrame):
            return Table(points, module == "pandas")
    return None


def _in_short(index: Any) -> str:
    labels = ", ".join(map(repr, index[:3].tolist()))
    return f"{len(index)} labels [{labels}{', ...' if len(index) > 3 else ''}]"


def names_of(value: Any) -> list[str] | None:
    """Return the texts that name the values of a mapping or a series, or the columns of a frame."""
    names = _labels_of(value)
    if not names or not all(isinstance(each, str) for each in names):
        return None
    return names if len(set(names)) == len(names) else None


def in_order(value: Any, names: list[str] | None, argument: str) -> Any:
    """Return values in the order of these names if they have names of their own.

    Raises:
        ValueError: they have other names.
    """
    own = names_of(value)
    return value if own is None or names is None else _reorder(value, own, names, argument)


def _reorder(value: Any, own: list[Any], names: list[Any], argument: str) -> Any:
    if set(own) != set(names):
        raise ValueError(f"{argument} must have a value for each of {names}, got {own}")
    if isinstance(value, Mapping):
        return [value[name] for name in names]
    return value if own == names else value[names]


def _labels_of(value: Any) -> list[Any] | None:
    """Return the keys of a mapping, the index of a series or the columns of a frame."""
    if isinstance(value, Mapping):
        return list(value)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.Series):
        return list(value.index)
    return None if table_of(value) is None else list(value.columns)
