"""Optuna's Python loops over trials and samples, on this core.

It replaces the innermost functions, which Optuna's modules look up in the defining module. Code
that imports the functions above them by name is therefore accelerated, too. Optuna's own checks,
orders and special cases stay.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
from optuna._hypervolume import box_decomposition, hssp, wfg
from optuna.samplers import GPSampler
from optuna.study import _multi_objective as ranking

import paretopo_core as pp
from paretopo_core.accelerate import Replacement, extend

_rank_one_objective = ranking._calculate_nondomination_rank
_select_any = hssp._solve_hssp_on_unique_loss_vals
_suggest_any = GPSampler._sample_relative_impl


def replacements() -> list[Replacement]:
    """Ranks, fronts, volumes, greedy subsets (TPE); boxes, and the names of optuna_gp.py."""
    is_loaded = "optuna._gp.acqf" in sys.modules
    return [
        Replacement(ranking, "_calculate_nondomination_rank", rank),
        Replacement(ranking, "_is_pareto_front_nd", is_first_nondominated),
        Replacement(wfg, "_compute_3d", measure),
        Replacement(wfg, "_compute_hv", measure),
        Replacement(hssp, "_solve_hssp_on_unique_loss_vals", select),
        Replacement(box_decomposition, "_get_non_dominated_box_bounds", divide),
        *(_load() if is_loaded else [Replacement(GPSampler, "_sample_relative_impl", suggest)]),
    ]


def _load() -> list[Replacement]:
    more: list[Replacement] = importlib.import_module(f"{__package__}.optuna_gp").replacements()
    return more


def suggest(self: GPSampler, *given: Any) -> dict[str, Any]:
    """Replace the names of the Gaussian processes before their first use: they load torch."""
    extend("optuna", _load())
    suggested: dict[str, Any] = _suggest_any(self, *given)
    return suggested


def rank(loss_values: np.ndarray, *, n_below: int | None = None) -> np.ndarray:
    """Rank trials; those after the front that completes the n_below best all get the next rank.

    Equal trials count once towards n_below, as in Optuna.
    """
    count, objectives = loss_values.shape if loss_values.ndim == 2 else (0, 0)
    if count == 0 or objectives == 1 or (n_below is not None and n_below <= 0):
        return _rank_one_objective(loss_values, n_below=n_below)
    ranks: np.ndarray = pp.pareto_rank(loss_values, maximise=False).astype(int)
    seen = 0
    for front in range(int(ranks.max())):
        seen += len(np.unique(loss_values[ranks == front], axis=0))
        if n_below is not None and seen >= n_below:
            ranks = np.minimum(ranks, front + 1)
            break
    return ranks


def is_first_nondominated(unique_lexsorted_loss_values: np.ndarray) -> np.ndarray:
    """Mark the trials that no other dominates; of equal ones the first."""
    return pp.is_nondominated(unique_lexsorted_loss_values, maximise=False, duplicates="first")


def measure(sorted_loss_vals: np.ndarray, reference_point: np.ndarray) -> float:
    """Measure the volume that trials dominate; infinite if a loss is (the caller converts NaN)."""
    if not np.isfinite(sorted_loss_vals).all():
        return float("inf")
    return float(pp.hypervolume(sorted_loss_vals, ref=reference_point, maximise=False))


def select(
    rank_i_loss_vals: np.ndarray,
    rank_i_indices: np.ndarray,
    subset_size: int,
    reference_point: np.ndarray,
) -> np.ndarray:
    """Choose trials greedily, always the one with the largest hypervolume gain."""
    if (
        subset_size == len(rank_i_indices)
        or not (np.isfinite(rank_i_loss_vals).all() and np.isfinite(reference_point).all())
        or (rank_i_loss_vals > reference_point).any()
    ):
        return _select_any(rank_i_loss_vals, rank_i_indices, subset_size, reference_point)
    chosen = pp.hypervolume_subset(
        rank_i_loss_vals, ref=reference_point, k=subset_size, maximise=False
    )
    return rank_i_indices[chosen]


def divide(sorted_pareto_sols: np.ndarray, ref_point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Partition the undominated region into boxes, which may differ from Optuna's."""
    boxes = pp.nondominated_boxes(sorted_pareto_sols, ref=ref_point, maximise=False)
    return boxes.lower, boxes.upper
