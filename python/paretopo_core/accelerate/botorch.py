"""BoTorch's Python loops over points and samples, on this core.

A partitioning made while this is in effect becomes one of the classes below. It stays one after
``undo``, and when copied or pickled, because its box decomposition and its update belong together.
Both classes also work without ``accelerate``, for example as ``partitioning=`` of qLogEHVI.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from botorch.acquisition.multi_objective import analytic
from botorch.utils import transforms
from botorch.utils.multi_objective import hypervolume
from botorch.utils.multi_objective.box_decompositions import (
    box_decomposition,
    box_decomposition_list,
    dominated,
)
from botorch.utils.multi_objective.box_decompositions import non_dominated as nondominated

import paretopo_core as pp
from paretopo_core.accelerate import Replacement, check_version
from paretopo_core.boxes import Boxes

check_version("botorch")  # for programs that import the classes without accelerate

Partitioning = TypeVar("Partitioning", bound=box_decomposition.FastPartitioning)

_partition_any = box_decomposition.FastPartitioning._partition_space
_measure_any = hypervolume.Hypervolume.compute
_measure_any_samples = hypervolume.NoisyExpectedHypervolumeMixin._compute_initial_hvs
_divide_any_samples = hypervolume.NoisyExpectedHypervolumeMixin._set_cell_bounds
_list_any = box_decomposition_list.BoxDecompositionList.get_hypercell_bounds
_expect_any = analytic.ExpectedHypervolumeImprovement.forward


def replacements() -> list[Replacement]:
    """Boxes from 3 objectives, those of qNEHVI's samples together; volumes; the analytic EHVI."""
    noisy = hypervolume.NoisyExpectedHypervolumeMixin
    boxes = box_decomposition_list.BoxDecompositionList
    return [
        Replacement(nondominated.FastNondominatedPartitioning, "_partition_space", partition),
        Replacement(dominated.DominatedPartitioning, "_partition_space", partition),
        Replacement(hypervolume.Hypervolume, "compute", measure),
        Replacement(noisy, "_compute_initial_hvs", measure_samples),
        Replacement(noisy, "_set_cell_bounds", divide_samples),
        Replacement(boxes, "get_hypercell_bounds", list_bounds),
        Replacement(analytic.ExpectedHypervolumeImprovement, "forward", expect),
    ]


class _Compiled(box_decomposition.FastPartitioning):
    """A partitioning with boxes from the compiled core, computed again for new points."""

    _boxes_of: Callable[..., Boxes[torch.Tensor, torch.Tensor]]

    def _partition_space(self) -> None:
        boxes = self._boxes_of(*_on_host(self))
        self.hypercell_bounds = torch.stack([boxes.lower, boxes.upper]).to(self._neg_pareto_Y)

    def update(self, Y: torch.Tensor) -> None:
        """Take new outcomes, (points, objectives)."""
        box_decomposition.BoxDecomposition.update(self, Y)


class FastNondominatedPartitioning(_Compiled, nondominated.FastNondominatedPartitioning):
    """BoTorch's, with boxes of :func:`paretopo_core.nondominated_boxes`."""

    _boxes_of = staticmethod(pp.nondominated_boxes)


class DominatedPartitioning(_Compiled, dominated.DominatedPartitioning):
    """BoTorch's, with boxes of :func:`paretopo_core.dominated_boxes`."""

    _boxes_of = staticmethod(pp.dominated_boxes)


_COMPILED = {
    nondominated.FastNondominatedPartitioning: FastNondominatedPartitioning,
    dominated.DominatedPartitioning: DominatedPartitioning,
}


def partition(self: Partitioning) -> None:
    """Convert a partitioning to one of the classes above, and compute its boxes."""
    compiled = _COMPILED.get(type(self))
    if compiled is None or len(self.batch_shape) > 0 or not _is_finite(self):
        _partition_any(self)  # a user's subclass, or arguments that BoTorch refuses
        return
    self.__class__ = compiled
    self._partition_space()


class _Waiting(FastNondominatedPartitioning):
    """The partitioning of one sample, until :func:`list_bounds` computes those of all samples."""

    def _compute_pareto_Y(self) -> None:
        pass

    def partition_space(self) -> None:
        """Leave this to list_bounds."""


def divide_samples(self: hypervolume.NoisyExpectedHypervolumeMixin, num_new_points: int) -> None:
    """Let BoTorch make a partitioning of each sample of the model, and compute all together."""
    kind = self.p_class
    if kind is nondominated.FastNondominatedPartitioning and self.ref_point.shape[-1] > 2:
        self.p_class = _Waiting
    try:
        _divide_any_samples(self, num_new_points=num_new_points)
    finally:
        self.p_class = kind


def list_bounds(self: box_decomposition_list.BoxDecompositionList) -> torch.Tensor:
    """Return the corners of all partitionings, after the boxes of those that wait."""
    waiting = [one for one in self.box_decompositions if type(one) is _Waiting]
    if waiting and all(map(_is_finite, waiting)):
        _divide_together(waiting)
    else:
        for one in waiting:
            one.__class__ = nondominated.FastNondominatedPartitioning
            one.reset()
    return _list_any(self)


def _divide_together(waiting: list[_Waiting]) -> None:
    ref = waiting[0].ref_point
    samples = [one.Y for one in waiting]
    points = torch.nn.utils.rnn.pad_sequence(samples, batch_first=True)
    counts = torch.tensor([len(sample) for sample in samples])
    is_given = torch.arange(points.shape[1]) < counts[:, None]
    kept = pp.is_nondominated(points, mask=is_given, duplicates="first")
    kept &= (points > ref).all(dim=-1)
    boxes = pp.nondominated_boxes(points, ref=ref, mask=kept)
    bounds = torch.stack([boxes.lower, boxes.upper], dim=1).to(points)
    for one, own, is_own, count in zip(waiting, bounds, kept, boxes.counts.tolist(), strict=True):
        one.__class__ = FastNondominatedPartitioning
        one._neg_pareto_Y = one._neg_Y[is_own[: len(one._neg_Y)]]
        one.hypercell_bounds = own[:, :count].clone()


def measure(self: hypervolume.Hypervolume, pareto_Y: torch.Tensor) -> float:
    """Measure the volume that the points dominate above the reference."""
    points, ref = pareto_Y.detach().cpu(), self.ref_point.detach().cpu()
    if pareto_Y.shape[-1] != len(ref) or pareto_Y.ndim != 2 or not torch.isfinite(points).all():
        return _measure_any(self, pareto_Y)
    return float(pp.hypervolume(points, ref=ref))


def measure_samples(
    self: hypervolume.NoisyExpectedHypervolumeMixin,
    obj: torch.Tensor,
    feas: torch.Tensor | None = None,
) -> None:
    """Measure the volume that the points of each sample dominate, (samples, points, objectives)."""
    points, ref = obj.detach().cpu(), self.ref_point.detach().cpu()
    if not (torch.isfinite(points).all() and torch.isfinite(ref).all()):
        _measure_any_samples(self, obj, feas)
        return
    volumes = pp.hypervolume(points, ref=ref, mask=None if feas is None else feas.cpu())
    self.register_buffer("_initial_hvs", volumes.to(obj).view(self._batch_sample_shape))


def expect(self: analytic.ExpectedHypervolumeImprovement, X: torch.Tensor) -> torch.Tensor:
    """Compute the expected improvement of single candidates, (..., 1, parameters)."""
    is_own = type(self) is analytic.ExpectedHypervolumeImprovement
    corners = self.cell_lower_bounds
    if not is_own or X.ndim < 2 or X.shape[-2] != 1 or not torch.isfinite(corners).all():
        return _expect_any(self, X)
    return _expect_batches(self, X)


def _expect_each(self: Any, X: torch.Tensor) -> torch.Tensor:
    posterior = self.model.posterior(X, posterior_transform=self.posterior_transform)
    means = posterior.mean
    deviations = posterior.variance.clamp_min(1e-9).sqrt().expand_as(means)  # as in BoTorch
    boxes = self.cell_lower_bounds.cpu(), self.cell_upper_bounds.cpu()
    rows, widths = (given.flatten(0, -2).cpu() for given in (means, deviations))
    values = pp.expected_hypervolume_improvement(rows, widths, boxes=boxes)
    each: torch.Tensor = values.view(means.shape[:-1]).to(means)
    return each.squeeze(-1)  # the one candidate


_expect_batches: Callable[..., torch.Tensor] = transforms.t_batch_mode_transform()(
    transforms.average_over_ensemble_models(_expect_each)
)


def _on_host(partitioning: Partitioning) -> tuple[torch.Tensor, torch.Tensor]:
    return partitioning.pareto_Y.detach().cpu(), partitioning.ref_point.detach().cpu()


def _is_finite(partitioning: Partitioning) -> bool:
    """Return False for infinite references or outcomes, which BoTorch's own code handles."""
    front, ref = partitioning._neg_pareto_Y, partitioning._neg_ref_point
    front = partitioning._neg_Y if front is None else front
    return bool(torch.isfinite(front).all() and torch.isfinite(ref).all())
