"""BoTorch's Python loops over points, on this core.

A partitioning made while this is in effect becomes one of the classes below. It stays one after
``undo``, and when copied or pickled, because its box decomposition and its update belong together.
"""

from __future__ import annotations

from typing import TypeVar

import torch
from botorch.utils.multi_objective.box_decompositions import box_decomposition, dominated
from botorch.utils.multi_objective.box_decompositions import non_dominated as nondominated
from botorch.utils.multi_objective.hypervolume import Hypervolume

import paretopo_core as pp
from paretopo_core.accelerate import Replacement
from paretopo_core.boxes import Boxes

Partitioning = TypeVar("Partitioning", bound=box_decomposition.FastPartitioning)

_partition_any = box_decomposition.FastPartitioning._partition_space
_measure_any = Hypervolume.compute


def replacements() -> list[Replacement]:
    """Box decompositions from 3 objectives (qEHVI, qNEHVI and their logarithms), hypervolumes."""
    return [
        Replacement(nondominated.FastNondominatedPartitioning, "_partition_space", partition),
        Replacement(dominated.DominatedPartitioning, "_partition_space", partition),
        Replacement(Hypervolume, "compute", measure),
    ]


class _Compiled(box_decomposition.FastPartitioning):
    """A partitioning with boxes from the compiled core, computed again for new points."""

    def _partition_space(self) -> None:
        self._get_partitioning()

    def update(self, Y: torch.Tensor) -> None:
        """Take new outcomes, (points, objectives)."""
        box_decomposition.BoxDecomposition.update(self, Y)

    def _bounds(self, boxes: Boxes[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        bounds = torch.stack([boxes.lower, boxes.upper])
        return bounds.to(self._neg_pareto_Y)


class FastNondominatedPartitioning(_Compiled, nondominated.FastNondominatedPartitioning):
    """BoTorch's, with boxes of :func:`paretopo_core.nondominated_boxes`."""

    def _get_partitioning(self) -> None:
        front, ref = _on_host(self)
        self.hypercell_bounds = self._bounds(pp.nondominated_boxes(front, ref=ref))


class DominatedPartitioning(_Compiled, dominated.DominatedPartitioning):
    """BoTorch's, with boxes of :func:`paretopo_core.dominated_boxes`."""

    def _get_partitioning(self) -> None:
        front, ref = _on_host(self)
        self.hypercell_bounds = self._bounds(pp.dominated_boxes(front, ref=ref))


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


def measure(self: Hypervolume, pareto_Y: torch.Tensor) -> float:
    """Measure the volume that the points dominate above the reference."""
    points, ref = pareto_Y.detach().cpu(), self.ref_point.detach().cpu()
    if pareto_Y.shape[-1] != len(ref) or pareto_Y.ndim != 2 or not torch.isfinite(points).all():
        value: float = _measure_any(self, pareto_Y)
        return value
    return float(pp.hypervolume(points, ref=ref))


def _on_host(partitioning: box_decomposition.FastPartitioning) -> tuple[torch.Tensor, torch.Tensor]:
    return partitioning.pareto_Y.detach().cpu(), partitioning.ref_point.detach().cpu()


def _is_finite(partitioning: box_decomposition.FastPartitioning) -> bool:
    """Return False for infinite references or outcomes, which BoTorch's own code handles."""
    front, ref = partitioning._neg_pareto_Y, partitioning._neg_ref_point
    return bool(torch.isfinite(front).all() and torch.isfinite(ref).all())
