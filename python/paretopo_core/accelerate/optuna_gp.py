"""The boxes of Optuna's Gaussian processes, and improvements in them, on this core."""

from __future__ import annotations

from typing import Any

import torch
from optuna._gp import acqf

import paretopo_core as pp
from paretopo_core.accelerate import Replacement
from paretopo_core.improvement import positive_improvement

_improve_any = acqf.logehvi
_improve_any_samples = acqf._PerSampleParetoBaseline.compute_per_sample_log_hvi
_MOST_OBJECTIVES = 20  # a product of as many sides of acqf._EPS is far above the least float64
_FEWEST_GAINS = 30_000  # with fewer, Optuna's own tensor operations are faster


def replacements() -> list[Replacement]:
    """The boxes of all samples, and the improvements of GPSampler."""
    samples = acqf._PerSampleParetoBaseline
    return [
        Replacement(samples, "__init__", divide_samples),
        Replacement(samples, "compute_per_sample_log_hvi", improve_samples),
        Replacement(acqf, "logehvi", improve),
    ]


def divide_samples(
    self: Any, Y_baseline: torch.Tensor, fantasy_samples_per_qmc: list[torch.Tensor]
) -> None:
    """Partition the undominated region of each sample, all in one call.

    A sample has the outcomes, (trials, objectives), and its own guesses for running trials.
    """
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
    if _is_for_optuna(Y_post, lower):
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
    if _is_for_optuna(Y_post, lower):
        return _improve_any(Y_post, lower, sides)
    rows = Y_post[..., None, :]
    gains: torch.Tensor = positive_improvement((lower, lower + sides), rows, acqf._EPS)
    return gains.mean(dim=-1).log()


def _is_for_optuna(Y_post: torch.Tensor, lower: torch.Tensor) -> bool:
    boxes, objectives = lower.shape[-2:]
    return objectives > _MOST_OBJECTIVES or Y_post.numel() * boxes < _FEWEST_GAINS
