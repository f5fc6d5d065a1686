from collections.abc import Callable
from typing import Any

import numpy as np

_Array = np.ndarray[Any, Any]

__version__: str
COMPILER: str
CPU: int
EMULATED: int
HAS_EMULATION: bool
# Names by their codes.
MAPPINGS: tuple[str, ...]
ISAS: tuple[str, ...]
CENTRES: tuple[str, ...]
INDICATORS: tuple[str, ...]
SUBSET_METHODS: tuple[str, ...]
CUTS: tuple[str, ...]
# Memory limits for the corners of boxes, and for the choices of an exact subset.
MOST_BOX_BYTES: int
MOST_CHOICE_BYTES: int

class Address:
    def __init__(self, at: int, array: object) -> None: ...

class Points:
    def __init__(
        self,
        address: int,
        mask: int,
        shape: tuple[int, ...],
        minimised: int,
        itemsize: int,
        device: int,
        stream: int,
        allocate: Callable[[list[int], str], tuple[Any, int]] | None,
    ) -> None: ...

class Refusal:
    argument: int
    index: int
    is_too_large: bool

class Operation:
    name: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    is_on_gpu: bool
    def call(self, points: object, maximise: object, mask: object, *others: object) -> Any: ...

# Every operation by its name, as csrc/bindings/operations.cpp describes it.
def __getattr__(name: str) -> Operation: ...
def cuda_is_compiled() -> bool: ...
def cuda_device_count() -> int: ...
def cuda_device_of(address: int) -> int: ...
def cuda_driver_needed() -> str: ...
def set_sense_hint(hint: Callable[[int, int], None]) -> None: ...
def set_threads(threads: int) -> None: ...
def threads() -> int: ...
def set_isa(isa: int) -> None: ...
def isa() -> int: ...
def address(array: _Array) -> int: ...
def points_of(values: _Array, mask: object, minimised: int) -> Points: ...
def attainment_surfaces(
    values: _Array, runs: _Array, run_count: int, highest: int
) -> tuple[_Array, _Array]: ...
def count_attaining(
    values: _Array, runs: _Array, run_count: int, first_runs: int, corners: _Array
) -> _Array: ...

class Archive:
    def __init__(
        self,
        signs: _Array,
        ref: _Array,
        keeps_history: bool,
        capacity: int,
        by_crowding: bool,
        epsilon: _Array,
    ) -> None: ...
    def add(self, point: object, payload: object) -> float | None: ...
    def extend(self, rows: _Array, payloads: list[Any] | None) -> tuple[_Array, _Array]: ...
    def gains(self, rows: _Array) -> _Array: ...
    def remove(self, row: _Array) -> bool: ...
    def size(self) -> int: ...
    def members(self) -> _Array: ...
    def volume(self) -> float: ...
    def additions(self) -> int: ...
    def contents(self) -> tuple[_Array, _Array, list[Any] | None]: ...
    def state(self) -> tuple[_Array, _Array, int, float, _Array | None, list[Any] | None]: ...
    def load(
        self,
        members: _Array,
        indices: _Array,
        additions: int,
        volume: float,
        history: _Array | None,
        payloads: list[Any] | None,
    ) -> None: ...
