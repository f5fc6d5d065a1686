"""Optuna's Python loops over trials and samples, on this core.

It replaces the innermost functions, which Optuna's modules look up in the defining module. Code
that imports the functions above them by name is therefore accelerated, too. Optuna's own checks,
orders and special cases stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from optuna._gp import acqf
from optuna._hypervolume import box_decomposition, hssp, wfg
from optuna.study import _multi_objective as ranking

import paretopo_core as pp
from paretopo_core.accelerate import Replacement
from paretopo_core.improvement import positive_improvement

if TYPE_CHECKING:  # Optuna imports it with the first GPSampler
    import torch

_rank_one_objective = ranking._calculate_nondomination_rank
_select_any = hssp._solve_hssp_on_unique_loss_vals
_improve_any = acqf.logehvi
_improve_any_samples = acqf._PerSampleParetoBaseline.compute_per_sample_log_hvi
_MOST_OBJECTIVES = 20  # a product of as many sides of acqf._EPS is far above the least float64


def replacements() -> list[Replacement]:
    """Ranks, fronts, volumes, greedy subsets (TPE); boxes and improvements in them (GPSampler)."""
    samples = acqf._PerSampleParetoBaseline
    return [
        Replacement(ranking, "_calculate_nondomination_rank", rank),
        Replacement(ranking, "_is_pareto_front_nd", is_first_nondominated),
        Replacement(wfg, "_compute_3d", measure),
        Replacement(wfg, "_compute_hv", measure),
        Replacement(hssp, "_solve_hssp_on_unique_loss_vals", select),
        Replacement(box_decomposition, "_get_non_dominated_box_bounds", divide),
        Replacement(samples, "__init__", divide_samples),
        Replacement(samples, "compute_per_sample_log_hvi", improve_samples),
        Replacement(acqf, "logehvi", improve),
    ]


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
    return pp.is_nondominated(unique_lexsorted_loss_values, maximise=False, keep_weakly=False)


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
        rank_i_loss_vals, subset_size, ref=reference_point, maximise=False
    )
    return rank_i_indices[chosen]


def divide(sorted_pareto_sols: np.ndarray, ref_point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Partition the undominated region into boxes, which may differ from Optuna's."""
    boxes = pp.nondominated_boxes(sorted_pareto_sols, ref=ref_point, maximise=False)
    return boxes.lower, boxes.upper


def divide_samples(
    self: Any, Y_baseline: torch.Tensor, fantasy_samples_per_qmc: list[torch.Tensor]
) -> None:
    """Partition the undominated region of each sample, all in one call.

    A sample has the outcomes, (trials, objectives), and its own guesses for running trials.
    """
    import torch

    ref = -torch.from_numpy(acqf._get_reference_point(Y_baseline))  # here larger is better
    guesses = torch.nn.utils.rnn.pad_sequence(fantasy_samples_per_qmc, batch_first=True)
    counts = torch.tensor([len(own) for own in fantasy_samples_per_qmc])
    is_guess = torch.arange(guesses.shape[1]) < counts[:, None]
    outcomes = Y_baseline.expand(len(guesses), *Y_baseline.shape)
    points = torch.cat([outcomes, guesses], dim=1)
    mask = torch.cat([is_guess.new_ones(outcomes.shape[:2]), is_guess], dim=1)
    boxes = pp.nondominated_boxes(points, ref=ref, mask=mask)
    self._non_dominated_box_lower_bounds = boxes.lower
    self._non_dominated_box_intervals = (boxes.upper - boxes.lower).clamp_min_(acqf._EPS)


def improve_samples(self: Any, Y_post: torch.Tensor) -> torch.Tensor:
    """Compute the logarithm of the improvement in each sample's boxes, (..., samples)."""
    lower, sides = self._non_dominated_box_lower_bounds, self._non_dominated_box_intervals
    if lower.shape[-1] > _MOST_OBJECTIVES:
        return _improve_any_samples(self, Y_post)
    rows = Y_post.reshape(-1, *Y_post.shape[-2:])
    by_sample = rows.transpose(0, 1)  # so that a sample's boxes are read once
    boxes = lower[:, None], (lower + sides)[:, None]
    gains: torch.Tensor = positive_improvement(boxes, by_sample[..., None, :], acqf._EPS)
    return gains.T.reshape(Y_post.shape[:-1]).log()


def improve(
    Y_post: torch.Tensor,
    non_dominated_box_lower_bounds: torch.Tensor,
    non_dominated_box_intervals: torch.Tensor,
) -> torch.Tensor:
    """Compute the logarithm of the mean improvement of the samples, (..., samples, objectives)."""
    lower, sides = non_dominated_box_lower_bounds, non_dominated_box_intervals
    if lower.shape[-1] > _MOST_OBJECTIVES:
        return _improve_any(Y_post, lower, sides)
    rows = Y_post[..., None, :]
    gains: torch.Tensor = positive_improvement((lower, lower + sides), rows, acqf._EPS)
    return gains.mean(dim=-1).log()
