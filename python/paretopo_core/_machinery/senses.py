"""The senses of objectives: larger or smaller is better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from paretopo_core._machinery.numbers import plain_array
from paretopo_core._machinery.torch_arrays import host_array, is_tensor
from paretopo_core._machinery.types import SeriesLike, TensorLike

Maximise: TypeAlias = (
    bool
    | np.bool_
    | Sequence[bool | np.bool_]
    | NDArray[np.bool_]
    | TensorLike[Any]
    | SeriesLike
    | Mapping[Any, bool]
)


def minimised_bits(maximise: Maximise, objectives: int) -> int:
    """Bit m: smaller is better in objective m."""
    if isinstance(maximise, (bool, np.bool_)):
        return 0 if maximise else (1 << objectives) - 1
    given: Any = maximise
    if is_tensor(given):
        given = host_array(given, "maximise")
    elif hasattr(given, "__array__") or hasattr(given, "__dlpack__"):
        given = plain_array(given, "maximise")
    is_sequence = isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0
    senses: list[object] = list(given) if is_sequence else [given]
    are_bools = all(isinstance(sense, (bool, np.bool_)) for sense in senses)
    check_senses(are_bools, maximise, senses, objectives)
    return sum(1 << m for m, sense in enumerate(senses) if not sense)


def check_senses(are_bools: bool, maximise: Maximise, senses: Any, objectives: int) -> None:
    """Refuse senses that are not one bool for each objective."""
    if not are_bools:
        raise TypeError(
            "maximise must be a bool or one bool per objective, True where larger is better, got "
            f"{maximise!r}"
        )
    if len(senses) != objectives:
        raise ValueError(
            f"maximise must be a bool or have one bool for each of the {objectives} objectives, "
            f"got {len(senses)}"
        )


def signs_of(minimised: int, objectives: int) -> np.ndarray:
    """Shape (objectives,): -1.0 where smaller is better, 1.0 elsewhere."""
    return np.array([-1.0 if minimised >> m & 1 else 1.0 for m in range(objectives)])


def senses_of(maximise: Maximise, objectives: int) -> list[bool]:
    """One bool per objective."""
    minimised = minimised_bits(maximise, objectives)
    return [not minimised >> m & 1 for m in range(objectives)]
