"""Written by scripts/make_stub.py."""

# An array whose dtype is Any fits several signatures: its result is Any.
# mypy: disable-error-code="overload-overlap"

import os
from collections.abc import Sequence
from typing import Any, Literal, Never, TypeVar, overload

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from paretopo_core._senses import Maximise
from paretopo_core._types import (
    ManySets,
    Mask,
    OneSet,
    PandasFrame,
    Points,
    PolarsFrame,
    TensorLike,
    Vector,
)
from paretopo_core.accelerate import Acceleration
from paretopo_core.archive import ParetoArchive as ParetoArchive
from paretopo_core.boxes import Boxes as Boxes
from paretopo_core.eaf import AttainmentSurfaces as AttainmentSurfaces
from paretopo_core.hypervolume_approx import ContributionsEstimate as ContributionsEstimate
from paretopo_core.hypervolume_approx import HypervolumeEstimate as HypervolumeEstimate

_TensorT = TypeVar("_TensorT")
_SeriesT = TypeVar("_SeriesT")
_FrameT = TypeVar("_FrameT", bound=PandasFrame[Any] | PolarsFrame[Any])
_Single = NDArray[np.float16] | NDArray[np.float32]
_Double = (
    NDArray[np.float64]
    | NDArray[np.integer[Any]]
    | NDArray[np.bool_]
    | Sequence[Sequence[float]]
    | Sequence[Sequence[Sequence[float]]]
)

__all__ = [
    "AttainmentSurfaces",
    "Boxes",
    "ContributionsEstimate",
    "HypervolumeEstimate",
    "ParetoArchive",
    "__version__",
    "accelerate",
    "avg_hausdorff_dist",
    "crowding_distance",
    "dominated_boxes",
    "eaf",
    "epsilon_additive",
    "epsilon_mult",
    "expected_hypervolume",
    "gd",
    "gd_plus",
    "get_isa",
    "get_num_threads",
    "hv_contributions",
    "hv_contributions_approx",
    "hypervolume",
    "hypervolume_advantage",
    "hypervolume_approx",
    "hypervolume_gradient",
    "hypervolume_improvement",
    "hypervolume_subset",
    "ideal_point",
    "igd",
    "igd_plus",
    "is_nondominated",
    "knee_points",
    "nadir_point",
    "nondominated_boxes",
    "normalise",
    "pareto_advantage",
    "pareto_rank",
    "plot_front",
    "r2",
    "read_fronts",
    "reference_directions",
    "reference_point",
    "select",
    "set_isa",
    "set_num_threads",
    "stochastic_dominance",
    "stochastic_pareto_rank",
    "uncrowded_contributions",
    "weighted_hypervolume",
]
__version__: str

def accelerate(host: str) -> Acceleration: ...
@overload
def avg_hausdorff_dist(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def avg_hausdorff_dist(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def crowding_distance(
    points: TensorLike[_TensorT],
    *,
    maximise: Maximise = True,
    ranks: ArrayLike | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def crowding_distance(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    *,
    maximise: Maximise = True,
    ranks: ArrayLike | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def crowding_distance(
    points: ArrayLike,
    *,
    maximise: Maximise = True,
    ranks: ArrayLike | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def dominated_boxes(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Boxes[_TensorT, _TensorT]: ...
@overload
def dominated_boxes(
    points: ArrayLike, ref: Vector, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> Boxes[NDArray[np.float64], NDArray[np.int64]]: ...
@overload
def eaf(
    points: TensorLike[_TensorT],
    sets: ArrayLike,
    *,
    percentiles: ArrayLike | None = None,
    maximise: Maximise = True,
    **wrong: Never,
) -> AttainmentSurfaces[_TensorT]: ...
@overload
def eaf(
    points: ArrayLike,
    sets: ArrayLike,
    *,
    percentiles: ArrayLike | None = None,
    maximise: Maximise = True,
    **wrong: Never,
) -> AttainmentSurfaces[NDArray[np.float64]]: ...
@overload
def epsilon_additive(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def epsilon_additive(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def epsilon_mult(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def epsilon_mult(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def expected_hypervolume(
    points: TensorLike[_TensorT],
    ref: Vector,
    k: int,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def expected_hypervolume(
    points: OneSet | PandasFrame[Any] | PolarsFrame[Any],
    ref: Vector,
    k: int,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64: ...
@overload
def expected_hypervolume(
    points: ManySets,
    ref: Vector,
    k: int,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def expected_hypervolume(
    points: ArrayLike,
    ref: Vector,
    k: int,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def gd(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def gd(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def gd_plus(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def gd_plus(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
def get_isa() -> str: ...
def get_num_threads() -> int: ...
@overload
def hv_contributions(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    ignore_dominated: bool = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def hv_contributions(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    ignore_dominated: bool = True,
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def hv_contributions(
    points: ArrayLike,
    ref: Vector,
    *,
    maximise: Maximise = True,
    ignore_dominated: bool = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def hv_contributions_approx(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    samples: int = 4096,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> ContributionsEstimate[_TensorT]: ...
@overload
def hv_contributions_approx(
    points: ArrayLike,
    ref: Vector,
    *,
    samples: int = 4096,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> ContributionsEstimate[NDArray[np.float64]]: ...
@overload
def hypervolume(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def hypervolume(
    points: OneSet | PandasFrame[Any] | PolarsFrame[Any],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64: ...
@overload
def hypervolume(
    points: ManySets, ref: Vector, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.float64]: ...
@overload
def hypervolume(
    points: ArrayLike, ref: Vector, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> np.float64 | NDArray[np.float64]: ...
@overload
def hypervolume_advantage(
    rewards: TensorLike[_TensorT],
    ref: Vector,
    *,
    k: int = 1,
    centre: Literal["exact", "mean", "none", "std", "loo"] = "exact",
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def hypervolume_advantage(
    rewards: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    ref: Vector,
    *,
    k: int = 1,
    centre: Literal["exact", "mean", "none", "std", "loo"] = "exact",
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def hypervolume_advantage(
    rewards: _Single,
    ref: Vector,
    *,
    k: int = 1,
    centre: Literal["exact", "mean", "none", "std", "loo"] = "exact",
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float32]: ...
@overload
def hypervolume_advantage(
    rewards: _Double,
    ref: Vector,
    *,
    k: int = 1,
    centre: Literal["exact", "mean", "none", "std", "loo"] = "exact",
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def hypervolume_advantage(
    rewards: ArrayLike,
    ref: Vector,
    *,
    k: int = 1,
    centre: Literal["exact", "mean", "none", "std", "loo"] = "exact",
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.floating[Any]]: ...
@overload
def hypervolume_approx(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    samples: int = 65536,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> HypervolumeEstimate[_TensorT]: ...
@overload
def hypervolume_approx(
    points: OneSet | PandasFrame[Any] | PolarsFrame[Any],
    ref: Vector,
    *,
    samples: int = 65536,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> HypervolumeEstimate[np.float64]: ...
@overload
def hypervolume_approx(
    points: ManySets,
    ref: Vector,
    *,
    samples: int = 65536,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> HypervolumeEstimate[NDArray[np.float64]]: ...
@overload
def hypervolume_approx(
    points: ArrayLike,
    ref: Vector,
    *,
    samples: int = 65536,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> HypervolumeEstimate[np.float64 | NDArray[np.float64]]: ...
@overload
def hypervolume_gradient(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    wanted: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def hypervolume_gradient(
    points: _FrameT,
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    wanted: Mask = None,
    **wrong: Never,
) -> _FrameT: ...
@overload
def hypervolume_gradient(
    points: ArrayLike,
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    wanted: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def hypervolume_improvement(
    boxes: tuple[ArrayLike, ...],
    candidates: TensorLike[_TensorT],
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def hypervolume_improvement(
    boxes: tuple[ArrayLike, ...],
    candidates: ArrayLike,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def hypervolume_subset(
    points: TensorLike[_TensorT],
    k: int,
    ref: Vector,
    *,
    method: Literal["greedy", "greedy_removal", "exact"] = "greedy",
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def hypervolume_subset(
    points: ArrayLike,
    k: int,
    ref: Vector,
    *,
    method: Literal["greedy", "greedy_removal", "exact"] = "greedy",
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.int64]: ...
@overload
def ideal_point(
    points: TensorLike[_TensorT], *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> _TensorT: ...
@overload
def ideal_point(
    points: _Single, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.float32]: ...
@overload
def ideal_point(
    points: _Double, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.float64]: ...
@overload
def ideal_point(
    points: ArrayLike, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.floating[Any]]: ...
@overload
def igd(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def igd(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def igd_plus(
    points: TensorLike[_TensorT],
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def igd_plus(
    points: ArrayLike,
    reference: ArrayLike,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    reference_mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
@overload
def is_nondominated(
    points: TensorLike[_TensorT],
    *,
    maximise: Maximise = True,
    keep_weakly: bool = True,
    strict: bool = False,
    violation: ArrayLike | None = None,
    epsilon: Vector | None = None,
    duplicate_tolerance: Vector | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def is_nondominated(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    *,
    maximise: Maximise = True,
    keep_weakly: bool = True,
    strict: bool = False,
    violation: ArrayLike | None = None,
    epsilon: Vector | None = None,
    duplicate_tolerance: Vector | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def is_nondominated(
    points: ArrayLike,
    *,
    maximise: Maximise = True,
    keep_weakly: bool = True,
    strict: bool = False,
    violation: ArrayLike | None = None,
    epsilon: Vector | None = None,
    duplicate_tolerance: Vector | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.bool_]: ...
@overload
def knee_points(
    points: TensorLike[_TensorT], *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> _TensorT: ...
@overload
def knee_points(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def knee_points(
    points: ArrayLike, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.bool_]: ...
@overload
def nadir_point(
    points: TensorLike[_TensorT], *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> _TensorT: ...
@overload
def nadir_point(
    points: _Single, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.float32]: ...
@overload
def nadir_point(
    points: _Double, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.float64]: ...
@overload
def nadir_point(
    points: ArrayLike, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.floating[Any]]: ...
@overload
def nondominated_boxes(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Boxes[_TensorT, _TensorT]: ...
@overload
def nondominated_boxes(
    points: ArrayLike, ref: Vector, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> Boxes[NDArray[np.float64], NDArray[np.int64]]: ...
@overload
def normalise(
    points: TensorLike[_TensorT],
    *,
    ideal: Vector | None = None,
    nadir: Vector | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def normalise(
    points: _FrameT,
    *,
    ideal: Vector | None = None,
    nadir: Vector | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _FrameT: ...
@overload
def normalise(
    points: _Single,
    *,
    ideal: Vector | None = None,
    nadir: Vector | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float32]: ...
@overload
def normalise(
    points: _Double,
    *,
    ideal: Vector | None = None,
    nadir: Vector | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def normalise(
    points: ArrayLike,
    *,
    ideal: Vector | None = None,
    nadir: Vector | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.floating[Any]]: ...
@overload
def pareto_advantage(
    rewards: TensorLike[_TensorT],
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[False] = False,
    **wrong: Never,
) -> _TensorT: ...
@overload
def pareto_advantage(
    rewards: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[False] = False,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def pareto_advantage(
    rewards: _Single,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[False] = False,
    **wrong: Never,
) -> NDArray[np.float32]: ...
@overload
def pareto_advantage(
    rewards: _Double,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[False] = False,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def pareto_advantage(
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[False] = False,
    **wrong: Never,
) -> NDArray[np.floating[Any]]: ...
@overload
def pareto_advantage(
    rewards: TensorLike[_TensorT],
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[True],
    **wrong: Never,
) -> tuple[_TensorT, _TensorT]: ...
@overload
def pareto_advantage(
    rewards: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[True],
    **wrong: Never,
) -> tuple[_SeriesT, _SeriesT]: ...
@overload
def pareto_advantage(
    rewards: _Single,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[True],
    **wrong: Never,
) -> tuple[NDArray[np.float32], NDArray[np.int32]]: ...
@overload
def pareto_advantage(
    rewards: _Double,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[True],
    **wrong: Never,
) -> tuple[NDArray[np.float64], NDArray[np.int32]]: ...
@overload
def pareto_advantage(
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: Literal[True],
    **wrong: Never,
) -> tuple[NDArray[np.floating[Any]], NDArray[np.int32]]: ...
@overload
def pareto_advantage(
    rewards: TensorLike[_TensorT],
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: bool,
    **wrong: Never,
) -> _TensorT | tuple[_TensorT, _TensorT]: ...
@overload
def pareto_advantage(
    rewards: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: bool,
    **wrong: Never,
) -> _SeriesT | tuple[_SeriesT, _SeriesT]: ...
@overload
def pareto_advantage(
    rewards: _Single,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: bool,
    **wrong: Never,
) -> NDArray[np.float32] | tuple[NDArray[np.float32], NDArray[np.int32]]: ...
@overload
def pareto_advantage(
    rewards: _Double,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: bool,
    **wrong: Never,
) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.int32]]: ...
@overload
def pareto_advantage(
    rewards: ArrayLike,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    centre: Literal["mean", "none", "std", "loo"] = "mean",
    mask: Mask = None,
    return_ranks: bool,
    **wrong: Never,
) -> NDArray[np.floating[Any]] | tuple[NDArray[np.floating[Any]], NDArray[np.int32]]: ...
@overload
def pareto_rank(
    points: TensorLike[_TensorT],
    *,
    maximise: Maximise = True,
    strict: bool = False,
    violation: ArrayLike | None = None,
    n_below: int | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def pareto_rank(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    *,
    maximise: Maximise = True,
    strict: bool = False,
    violation: ArrayLike | None = None,
    n_below: int | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def pareto_rank(
    points: ArrayLike,
    *,
    maximise: Maximise = True,
    strict: bool = False,
    violation: ArrayLike | None = None,
    n_below: int | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.int32]: ...
def plot_front(
    points: Points | ParetoArchive,
    *,
    maximise: Maximise = True,
    ref: Vector | None = None,
    names: Sequence[str] | None = None,
    mask: Mask = None,
    label: str | None = None,
    ax: Axes | None = None,
    **wrong: Never,
) -> Axes: ...
@overload
def r2(
    points: TensorLike[_TensorT],
    ideal: Vector,
    *,
    weights: ArrayLike | int | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def r2(
    points: OneSet | PandasFrame[Any] | PolarsFrame[Any],
    ideal: Vector,
    *,
    weights: ArrayLike | int | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64: ...
@overload
def r2(
    points: ManySets,
    ideal: Vector,
    *,
    weights: ArrayLike | int | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def r2(
    points: ArrayLike,
    ideal: Vector,
    *,
    weights: ArrayLike | int | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
def read_fronts(path: str | os.PathLike[str]) -> list[NDArray[np.float64]]: ...
def reference_directions(objectives: int, partitions: int) -> NDArray[np.float64]: ...
@overload
def reference_point(
    points: TensorLike[_TensorT],
    *,
    scale: float = 0.1,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def reference_point(
    points: _Single,
    *,
    scale: float = 0.1,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float32]: ...
@overload
def reference_point(
    points: _Double,
    *,
    scale: float = 0.1,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.float64]: ...
@overload
def reference_point(
    points: ArrayLike,
    *,
    scale: float = 0.1,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.floating[Any]]: ...
@overload
def select(
    points: TensorLike[_TensorT],
    k: int,
    method: Literal[
        "crowding", "crowding_removal", "hypervolume", "reference_directions"
    ] = "crowding",
    *,
    ref: Vector | None = None,
    directions: ArrayLike | None = None,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def select(
    points: ArrayLike,
    k: int,
    method: Literal[
        "crowding", "crowding_removal", "hypervolume", "reference_directions"
    ] = "crowding",
    *,
    ref: Vector | None = None,
    directions: ArrayLike | None = None,
    seed: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> NDArray[np.int64]: ...
def set_isa(name: str) -> None: ...
def set_num_threads(threads: int) -> None: ...
@overload
def stochastic_dominance(
    points: TensorLike[_TensorT], sigma: float, margin: float = 0.0
) -> _TensorT: ...
@overload
def stochastic_dominance(
    points: ArrayLike, sigma: float, margin: float = 0.0
) -> NDArray[np.float64]: ...
@overload
def stochastic_pareto_rank(
    points: TensorLike[_TensorT], sigma: float, margin: float = 0.0
) -> _TensorT: ...
@overload
def stochastic_pareto_rank(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT], sigma: float, margin: float = 0.0
) -> _SeriesT: ...
@overload
def stochastic_pareto_rank(
    points: ArrayLike, sigma: float, margin: float = 0.0
) -> NDArray[np.float64]: ...
@overload
def uncrowded_contributions(
    points: TensorLike[_TensorT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def uncrowded_contributions(
    points: PandasFrame[_SeriesT] | PolarsFrame[_SeriesT],
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _SeriesT: ...
@overload
def uncrowded_contributions(
    points: ArrayLike, ref: Vector, *, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> NDArray[np.float64]: ...
@overload
def weighted_hypervolume(
    points: TensorLike[_TensorT],
    boxes: tuple[ArrayLike, ...],
    weights: ArrayLike,
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> _TensorT: ...
@overload
def weighted_hypervolume(
    points: ArrayLike,
    boxes: tuple[ArrayLike, ...],
    weights: ArrayLike,
    ref: Vector,
    *,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> np.float64 | NDArray[np.float64]: ...
def __dir__() -> list[str]: ...
