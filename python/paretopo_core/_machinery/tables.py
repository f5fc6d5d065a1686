"""Frames of pandas and polars: arguments go by the names of a frame, and so do results.

The description of an operation gives each argument a kind. The kind decides whether the argument
goes by the columns of a frame or by its rows, and `align` applies that rule for all functions.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from paretopo_core._machinery.dtypes import check_exact, refuse_kind

# The kinds of arguments with one value per objective, and per row of the set before them.
_PER_OBJECTIVE = ("senses", "corner", "corners", "corners?", "weights", "vectors", "sets", "values")
_PER_ROW = ("bools", "ranks", "numbers", "labels")


def align(
    points: Any,
    described: Sequence[tuple[str, str]],
    values: Sequence[Any],
    own_name: str = "points",
) -> tuple[Any, ...]:
    """Return arguments in the order of the columns and rows of the frames that they belong to.

    Args:
        points: a frame, or anything else.
        described: the name and the kind of each argument. One of kind "sets" is a further set of
            points, such as a target set. The first frame names the objectives. Values per row
            belong to the set before them, and values of kind "values" to the cells of ``points``.
        values: the arguments. A mapping names its values by its keys, a series by its index and a
            frame by its columns; all others go by position, and a RangeIndex of columns, too.
        own_name: the name of the points in errors.

    Raises:
        TypeError: columns of a frame hold no numbers.
        ValueError: labels are missing or foreign.
    """
    pairs = list(zip(described, values, strict=True))
    others = ((name, value) for (name, kind), value in pairs if kind == "sets")
    sets = ((name, table_of(each)) for name, each in ((own_name, points), *others))
    names = next((table.names(name) for name, table in sets if table is not None), None)
    own = rows = table_of(points)
    aligned, whose = [], ""
    for (name, kind), given in pairs:
        value = in_order(given, names, name) if kind in _PER_OBJECTIVE else given
        has_rows = kind in _PER_ROW
        if kind == "sets":
            has_rows = name.partition(".")[0] == whose  # both corners of a box
            rows, whose = rows if has_rows else table_of(value), name.partition(".")[0]
        has_cells = kind == "values" and table_of(value) is not None
        owner = rows if has_rows else own if has_cells else None
        aligned.append(value if owner is None else owner.align_rows(value, name))
    return tuple(aligned)


class Table:
    """A frame, its numbers, and its labels for a result."""

    def __init__(self, frame: Any, is_pandas: bool) -> None:
        self._frame = frame
        self._is_pandas = is_pandas

    def names(self, name: str) -> list[Any]:
        """Return the columns.

        Raises:
            TypeError: columns hold no numbers; the error names them.
        """
        columns = zip(self._frame.columns, self._frame.dtypes, strict=True)
        others = [key for key, dtype in columns if not self._is_numeric(dtype)]
        if others:
            way = f"columns={others}" if self._is_pandas else repr(others)
            hint = f"; {others} hold no numbers: convert them, or pass {name}.drop({way})"
            raise refuse_kind(name, "dtype object", hint)
        return list(self._frame.columns)

    def numbers(self, name: str) -> np.ndarray:
        """Return the values, shape (rows, columns); NaN for missing values of nullable columns.

        Raises:
            TypeError: as :meth:`names`.
            ValueError: integers that float64 cannot hold.
        """
        self.names(name)
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

    def align_rows(self, value: Any, name: str) -> Any:
        """Return values with an index in the order of the rows.

        Raises:
            ValueError: they have another index.
        """
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
        """Return a series for one value per row, a frame for one per cell, else the result.

        One value per column is a series of pandas; polars has no series with labels.
        """
        if extent == "point":
            if self._is_pandas:
                pandas = sys.modules["pandas"]
                return pandas.Series(result, index=self._frame.index, name=name)
            return sys.modules["polars"].Series(name, result)
        if extent == "objective" and self._is_pandas:
            return sys.modules["pandas"].Series(result, index=self._frame.columns, name=name)
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


def names_of(value: Any, argument: str) -> list[str] | None:
    """Return the texts that name the values of a mapping or a series, or the columns of a frame."""
    names = _labels_of(value, argument)
    if not names or not all(isinstance(each, str) for each in names):
        return None
    return names if len(set(names)) == len(names) else None


def in_order(value: Any, names: list[Any] | None, argument: str) -> Any:
    """Return values in the order of these names if they have names of their own.

    Raises:
        TypeError: columns of a frame hold no numbers.
        ValueError: they have other names.
    """
    own = _labels_of(value, argument)
    if own is None or names is None:
        return value
    is_mapping = isinstance(value, Mapping)
    if own != names:
        if not (len(own) == len(names) == len(set(names)) and set(own) == set(names)):
            if _is_unnamed(value):
                return value
            way = "" if is_mapping else f"; pass {argument}.to_numpy() to go by position"
            raise ValueError(f"{argument} must have a value for each of {names}, got {own}{way}")
        if not is_mapping:
            return value[names] if hasattr(value, "columns") else value.loc[names]
    return [value[name] for name in names] if is_mapping else value


def label_rows(points: Any, result: Any, name: str) -> Any:
    """Return one value per row as a series if the points are a frame."""
    table = table_of(points)
    return result if table is None else table.label(result, "point", name)


def _labels_of(value: Any, argument: str) -> list[Any] | None:
    """Return the keys of a mapping, the index of a series or the columns of a frame."""
    if isinstance(value, Mapping):
        return list(value)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.Series):
        return list(value.index)
    table = table_of(value)
    return None if table is None else table.names(argument)


def _is_unnamed(value: Any) -> bool:
    """Return True for the columns of a frame, or the index of a series, that have no names."""
    pandas = sys.modules.get("pandas")
    labels = getattr(value, "columns", getattr(value, "index", None))
    return pandas is not None and isinstance(labels, pandas.RangeIndex)
