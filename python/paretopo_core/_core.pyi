from typing import Any

import numpy as np

__version__: str
COMPILER: str
CPU: int
EMULATED: int
OPERATIONS: tuple[str, ...]
# Names by their codes.
MAPPINGS: tuple[str, ...]
ISAS: tuple[str, ...]
CENTRES: tuple[str, ...]
# Of box decompositions: what stands for a refused value, and what their corners may take.
TOO_MANY_BOXES: int
MOST_BOX_BYTES: int
# Quality indicators by their codes, and how many replicates an estimate has.
INDICATORS: tuple[str, ...]
REPLICATES: int
# Of subsets: names by their codes, what stands for a refused value, and what choices may take.
SUBSET_METHODS: tuple[str, ...]
CUTS: tuple[str, ...]
TOO_MANY_CHOICES: int
MOST_CHOICE_BYTES: int

class Points:
    scratch: int
    def __init__(
        self,
        address: int,
        mask: int,
        groups: int,
        points: int,
        objectives: int,
        minimised: int,
        itemsize: int,
        device: int,
        stream: int,
    ) -> None: ...

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
def scratch_bytes(points: Points, operation: str) -> int: ...

# The operations: addresses stand for arrays, integers for codes.
def pareto_rank(points: Points, ranks: int, /) -> None: ...
def is_nondominated(points: Points, keep_weakly: bool, nondominated: int, /) -> None: ...
def crowding_distance(points: Points, ranks: int, distances: int, /) -> None: ...
def pareto_advantage(
    points: Points,
    weights: int,
    per_group: bool,
    beta: float,
    centre: int,
    advantages: int,
    ranks: int,
    /,
) -> None: ...
def hypervolume(points: Points, ref: int, volumes: int, /) -> int: ...
def hypervolume_gradient(points: Points, ref: int, wanted: int, gradient: int, /) -> int: ...
def hv_contributions(
    points: Points, ref: int, ignore_dominated: bool, contributions: int, /
) -> int: ...
def expected_hypervolume(
    points: Points, ref: int, per_group: bool, k: int, volumes: int, /
) -> int: ...
def hypervolume_advantage(
    points: Points, ref: int, per_group: bool, k: int, centre: int, advantages: int, /
) -> int: ...
def nondominated_boxes(
    points: Points, ref: int, per_group: bool, most_bytes: int
) -> int | tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]: ...
def dominated_boxes(
    points: Points, ref: int, per_group: bool, most_bytes: int
) -> int | tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]: ...
def hypervolume_improvement(
    candidates: Points,
    lower: int,
    upper: int,
    boxes: int,
    of_group: int,
    weights: int,
    improvements: int,
    is_gradient: bool,
) -> tuple[int, int]: ...
def indicator(
    points: Points,
    points_of_group: int,
    reference: Points,
    reference_of_group: int,
    groups: int,
    which: int,
    p: float,
    values: int,
) -> tuple[int, int]: ...
def plain_indicator(
    points: object,
    reference: object,
    which: int,
    p: float,
    maximise: object,
    mask: object,
    reference_mask: object,
) -> Any: ...
def r2(
    points: Points, ideal: int, per_group: bool, weights: int, count: int, values: int
) -> int: ...
def plain_r2(
    points: object, ideal: object, weights: object, maximise: object, mask: object
) -> Any: ...
def hypervolume_approx(
    points: Points, ref: int, samples: int, seed: int, values: int, errors: int
) -> int: ...
def plain_hypervolume_approx(
    points: object, ref: object, samples: object, seed: object, maximise: object, mask: object
) -> None: ...
def eaf(
    values: int, runs: int, points: int, objectives: int, run_count: int, highest: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]: ...
def count_attaining(
    values: int,
    runs: int,
    points: int,
    run_count: int,
    first_runs: int,
    corners: int,
    count: int,
) -> np.ndarray[Any, Any]: ...
def hypervolume_subset(
    points: Points, ref: int, per_group: bool, k: int, method: int, chosen: int
) -> int: ...
def select(
    points: Points,
    k: int,
    cut: int,
    ref: int,
    per_group: bool,
    directions: int,
    count: int,
    seed: int,
    survivors: int,
) -> int: ...
def plain_pareto_rank(points: object, maximise: object, mask: object) -> Any: ...
def plain_is_nondominated(
    points: object, maximise: object, keep_weakly: bool, mask: object
) -> Any: ...
def plain_filter_boxes(points: object, epsilon: object, maximise: object, mask: object) -> Any: ...
def plain_ideal_point(points: object, maximise: object, mask: object) -> Any: ...
def plain_nadir_point(points: object, maximise: object, mask: object) -> Any: ...
def plain_normalise(
    points: object, ideal: object, nadir: object, maximise: object, mask: object
) -> Any: ...
def plain_crowding_distance(
    points: object, maximise: object, ranks: object, mask: object
) -> Any: ...
def plain_hypervolume(points: object, ref: object, maximise: object, mask: object) -> Any: ...
def plain_hypervolume_gradient(
    points: object, ref: object, maximise: object, mask: object, wanted: object
) -> Any: ...
def plain_hv_contributions(
    points: object, ref: object, maximise: object, ignore_dominated: bool, mask: object
) -> Any: ...
def plain_expected_hypervolume(
    points: object, ref: object, k: object, maximise: object, mask: object
) -> Any: ...
def plain_hypervolume_advantage(
    rewards: object, ref: object, k: object, centre: int, mask: object
) -> Any: ...
def plain_pareto_advantage(
    rewards: object, weights: object, beta: float, centre: int, mask: object, return_ranks: bool
) -> Any: ...
def plain_nondominated_boxes(
    points: object, ref: object, maximise: object, mask: object
) -> Any: ...
def plain_dominated_boxes(points: object, ref: object, maximise: object, mask: object) -> Any: ...
def plain_hypervolume_improvement(
    candidates: object,
    lower: object,
    upper: object,
    maximise: object,
    mask: object,
    weights: object,
) -> Any: ...
def plain_weighted_hypervolume(
    points: object,
    lower: object,
    upper: object,
    weights: object,
    ref: object,
    maximise: object,
    mask: object,
) -> Any: ...
def plain_hypervolume_subset(
    points: object, k: object, ref: object, method: int, maximise: object, mask: object
) -> Any: ...
def plain_select(
    points: object,
    k: object,
    cut: int,
    ref: object,
    directions: object,
    seed: object,
    maximise: object,
    mask: object,
) -> Any: ...

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
