"""The types in public signatures.

An annotation such as ``-> PerPoint[np.int32]`` names the extent and the dtype of a result. The
points decide the library: a tensor gives a tensor, a frame a series or a frame, and anything else
a NumPy array. ``scripts/make_stub.py`` writes that as overloads into ``__init__.pyi``, which type
checkers read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

_D = TypeVar("_D", bound=np.generic)
TensorT_co = TypeVar("TensorT_co", covariant=True)
SeriesT_co = TypeVar("SeriesT_co", covariant=True)


class TensorLike(Protocol[TensorT_co]):
    """A torch tensor, described so that type checkers need no torch."""

    @property
    def requires_grad(self) -> bool:
        """True if torch records operations on it."""
        ...

    def double(self) -> TensorT_co:
        """Return a tensor of float64: that of a parameter is no parameter."""
        ...


class PandasFrame(Protocol[SeriesT_co]):
    """A ``pandas.DataFrame``, by methods that polars does not have."""

    @property
    def iloc(self) -> Any:
        """Rows by their place."""
        ...

    def pop(self, item: str, /) -> SeriesT_co:
        """Take a column out."""
        ...


class PolarsFrame(Protocol[SeriesT_co]):
    """A ``polars.DataFrame``, by a method that pandas does not have."""

    def to_series(self, index: int = 0) -> SeriesT_co:
        """Return a column."""
        ...


class SeriesLike(Protocol):
    """A series of pandas or polars."""

    def to_list(self) -> list[Any]:
        """Return the values."""
        ...


# Arguments.
OneSet: TypeAlias = Sequence[Sequence[float]]
ManySets: TypeAlias = Sequence[Sequence[Sequence[float]]]
Points: TypeAlias = ArrayLike | TensorLike[Any] | PandasFrame[Any] | PolarsFrame[Any]
Vector: TypeAlias = ArrayLike | Mapping[Any, float]  # of a frame: a number for each column
Mask: TypeAlias = ArrayLike | None  # a bool for each point
Rng: TypeAlias = int | np.random.Generator | None  # None: other numbers each time

# Results, by their extent. ``np.floating[Any]`` is float32 for points of at most 32 bits, and
# float64 otherwise. One set of points gives a NumPy scalar for PerSet; PerPair is the same for two
# arguments whose leading dimensions are broadcast.
PerPoint: TypeAlias = NDArray[_D] | Any
PerValue: TypeAlias = NDArray[_D] | Any
PerObjective: TypeAlias = NDArray[_D] | Any
PerSet: TypeAlias = _D | NDArray[_D] | Any
PerPair: TypeAlias = _D | NDArray[_D] | Any
Array: TypeAlias = NDArray[_D] | Any
