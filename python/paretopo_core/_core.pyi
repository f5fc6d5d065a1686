from collections.abc import Callable
from typing import Any

import numpy as np

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
# What the corners of boxes, and the choices of an exact subset, may take.
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
OPERATIONS: tuple[str, ...]

def __getattr__(name: str) -> Operation: ...
def cuda_is_compiled() -> bool: ...
def cuda_device_count() -> int: ...
def cuda_device_of(address: int) -> int: ...
def cuda_driver_needed() -> str: ...
def set_threads(threads: int) -> None: ...
def threads() -> int: ...
def set_isa(isa: int) -> None: ...
def isa() -> int: ...
def address(array: np.ndarray[Any, Any]) -> int: ...
def points_of(values: np.ndarray[Any, Any], mask: object, minimised: int) -> Points: ...
def eaf(
    values: np.ndarray[Any, Any], runs: np.ndarray[Any, Any], run_count: int, highest: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]: ...
def count_attaining(
    values: np.ndarray[Any, Any],
    runs: np.ndarray[Any, Any],
    run_count: int,
    first_runs: int,
    corners: np.ndarray[Any, Any],
) -> np.ndarray[Any, Any]: ...

class Archive:
    def __init__(
        self,
        signs: np.ndarray[Any, Any],
        ref: np.ndarray[Any, Any],
        keeps_history: bool,
        capacity: int,
        by_crowding: bool,
        epsilon: np.ndarray[Any, Any],
    ) -> None: ...
    def add(self, point: object, payload: object) -> float | None: ...
    def extend(
        self, rows: np.ndarray[Any, Any], payloads: list[Any] | None
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]: ...
    def gains(self, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]: ...
    def remove(self, row: np.ndarray[Any, Any]) -> bool: ...
    def size(self) -> int: ...
    def members(self) -> np.ndarray[Any, Any]: ...
    def volume(self) -> float: ...
    def additions(self) -> int: ...
    def contents(
        self,
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[Any] | None]: ...
    def state(
        self,
    ) -> tuple[
        np.ndarray[Any, Any],
        np.ndarray[Any, Any],
        int,
        float,
        np.ndarray[Any, Any] | None,
        list[Any] | None,
    ]: ...
    def load(
        self,
        members: np.ndarray[Any, Any],
        indices: np.ndarray[Any, Any],
        additions: int,
        volume: float,
        history: np.ndarray[Any, Any],
        payloads: list[Any] | None,
    ) -> None: ...
