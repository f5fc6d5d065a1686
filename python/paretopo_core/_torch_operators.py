"""The operations as torch operators: one node of a graph each, under every transformation.

Imported where torch has to see an operator (``_torch_calls``); a direct call does without,
which is quicker. Reference points and weights are tensors here.

An operator has a fake (what torch.compile, torch.export and FakeTensorMode ask for a shape), a rule
for vmap (the operations are batched already) and a derivative, or the refusal to have one
(``_torch_transforms.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paretopo_core import _torch_arrays
from paretopo_core._arrays import numbers_of, vector_of
from paretopo_core._senses import Maximise, senses_of
from paretopo_core._torch_transforms import (
    FUNCTIONS,
    add_batch_rule,
    add_slopes,
    call,
    refuse_slopes,
)
from paretopo_core.advantage import compute_advantage
from paretopo_core.boxes import (
    check_corners,
    compute_dominated_boxes,
    compute_improvement,
    compute_improvement_gradient,
    compute_nearest,
    compute_nondominated_boxes,
    compute_uncrowded,
)
from paretopo_core.crowding import compute_crowding
from paretopo_core.expected_hypervolume import (
    compute_expected_hypervolume,
    compute_hypervolume_advantage,
)
from paretopo_core.fronts import compute_nondominated, compute_ranks
from paretopo_core.hypervolume import compute_contributions, compute_gradient, compute_hypervolume
from paretopo_core.hypervolume_approx import compute_estimate
from paretopo_core.indicators import (
    check_divisions,
    check_reference,
    compute_indicator,
    compute_r2,
)
from paretopo_core.subsets import compute_selection, compute_subset


def pareto_rank(points: Tensor, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.pareto_rank`."""
    return call(_pareto_rank, points, _per_point(mask, points, "mask"), _senses(maximise, points))


def is_nondominated(points: Tensor, maximise: Maximise, keep_weakly: bool, mask: Any) -> Any:
    """See :func:`paretopo_core.is_nondominated`."""
    return call(
        _is_nondominated,
        points,
        _per_point(mask, points, "mask"),
        _senses(maximise, points),
        keep_weakly,
    )


def crowding_distance(points: Tensor, maximise: Maximise, ranks: Any, mask: Any) -> Any:
    """See :func:`paretopo_core.crowding_distance`."""
    keep, known = _per_point(mask, points, "mask"), _per_point(ranks, points, "ranks")
    return call(_crowding_distance, points, keep, known, _senses(maximise, points))


def pareto_advantage(
    rewards: Tensor, weights: Any, beta: float, centre: int, mask: Any, return_ranks: bool
) -> Any:
    """See :func:`paretopo_core.pareto_advantage`."""
    vector = _vector(weights, rewards, "weights")
    both = call(_pareto_advantage, rewards, vector, _per_point(mask, rewards, "mask"), beta, centre)
    return both if return_ranks else both[0]


def hypervolume(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.hypervolume`."""
    corner = _vector(ref, points, "ref")
    return call(
        _hypervolume, points, corner, _per_point(mask, points, "mask"), _senses(maximise, points)
    )


def hypervolume_gradient(
    points: Tensor, ref: Any, maximise: Maximise, mask: Any, wanted: Any
) -> Any:
    """See :func:`paretopo_core.hypervolume_gradient`."""
    return call(
        _hypervolume_gradient,
        points,
        _vector(ref, points, "ref"),
        _per_point(mask, points, "mask"),
        _per_point(wanted, points, "wanted"),
        _senses(maximise, points),
    )


def hv_contributions(
    points: Tensor, ref: Any, maximise: Maximise, ignore_dominated: bool, mask: Any
) -> Any:
    """See :func:`paretopo_core.hv_contributions`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return call(
        _hv_contributions,
        points,
        corner,
        _per_point(mask, points, "mask"),
        senses,
        ignore_dominated,
    )


def expected_hypervolume(points: Tensor, ref: Any, k: int, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.expected_hypervolume`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return call(_expected_hypervolume, points, corner, _per_point(mask, points, "mask"), senses, k)


def hypervolume_advantage(rewards: Tensor, ref: Any, k: int, centre: int, mask: Any) -> Any:
    """See :func:`paretopo_core.hypervolume_advantage`."""
    corner = _vector(ref, rewards, "ref")
    return call(
        _hypervolume_advantage, rewards, corner, _per_point(mask, rewards, "mask"), k, centre
    )


def nondominated_boxes(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.nondominated_boxes`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return call(_nondominated_boxes, points, corner, _per_point(mask, points, "mask"), senses)


def dominated_boxes(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.dominated_boxes`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return call(_dominated_boxes, points, corner, _per_point(mask, points, "mask"), senses)


def hypervolume_improvement(
    candidates: Tensor, lower: Any, upper: Any, maximise: Maximise, mask: Any, weights: Any
) -> Any:
    """See :func:`paretopo_core.hypervolume_improvement`; ``weights`` of the boxes, or None."""
    lower, upper = (
        _numbers(lower, candidates, "boxes.lower"),
        _numbers(upper, candidates, "boxes.upper"),
    )
    return call(
        _hypervolume_improvement,
        _expanded(candidates, lower, upper),
        lower,
        upper,
        _per_point(mask, candidates, "mask"),
        _senses(maximise, candidates),
        None if weights is None else _numbers(weights, candidates, "weights"),
    )


def indicator(
    points: Tensor,
    reference: Any,
    which: int,
    p: float,
    maximise: Maximise,
    mask: Any,
    reference_mask: Any,
) -> Any:
    """See :func:`paretopo_core.igd` and those beside it."""
    others = _numbers(reference, points, "reference")
    shapes = _shapes(others, points)
    leading = check_reference(*shapes)
    *own, count, objectives = shapes[1]
    return call(
        _indicator,
        points if leading == tuple(own) else points.expand(*leading, count, objectives),
        others,
        _per_point(mask, points, "mask"),
        _per_point(reference_mask, points, "reference_mask"),
        _senses(maximise, points),
        which,
        p,
    )


def r2(points: Tensor, ideal: Any, weights: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.r2`."""
    corner, senses = _vector(ideal, points, "ideal"), _senses(maximise, points)
    divisions = check_divisions(weights)
    vectors = None
    if weights is not None and divisions is None:
        vectors = _numbers(weights, points, "weights")
    over = _per_point(mask, points, "mask")
    return call(_r2, points, corner, over, vectors, senses, divisions)


def hypervolume_approx(
    points: Tensor, ref: Any, samples: int, seed: int, maximise: Maximise, mask: Any
) -> Any:
    """See :func:`paretopo_core.hypervolume_approx`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    over = _per_point(mask, points, "mask")
    return call(_hypervolume_approx, points, corner, over, senses, samples, seed)


def uncrowded_contributions(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.uncrowded_contributions`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return call(_uncrowded_contributions, points, corner, _per_point(mask, points, "mask"), senses)


def hypervolume_subset(
    points: Tensor, k: int, ref: Any, method: int, maximise: Maximise, mask: Any
) -> Any:
    """See :func:`paretopo_core.hypervolume_subset`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    keep = _per_point(mask, points, "mask")
    return call(_hypervolume_subset, points, corner, keep, senses, k, method)


def select(
    points: Tensor,
    k: int,
    method: int,
    ref: Any,
    directions: Any,
    seed: int,
    maximise: Maximise,
    mask: Any,
) -> Any:
    """See :func:`paretopo_core.select`."""
    corner = None if ref is None else _vector(ref, points, "ref")
    toward = None if directions is None else _numbers(directions, points, "directions")
    keep = _per_point(mask, points, "mask")
    return call(_select, points, corner, toward, keep, _senses(maximise, points), k, method, seed)


def _expanded(candidates: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    """The candidates, broadcast over the leading dimensions of the boxes."""
    shapes = _shapes(lower, upper, candidates)
    leading = check_corners(*shapes)
    *own, count, objectives = shapes[-1]
    return candidates if leading == tuple(own) else candidates.expand(*leading, count, objectives)


def _shapes(*tensors: Tensor) -> list[tuple[int, ...]]:
    shapes = [tuple(each.shape) for each in tensors]
    if torch.compiler.is_compiling():
        return shapes
    with _constants():
        return [tuple(map(int, shape)) for shape in shapes]


def _doubles(corners: Any, points: Tensor, name: str) -> Tensor:
    return _numbers(corners, points, f"boxes.{name}")


def _numbers(numbers: Any, points: Tensor, name: str) -> Tensor:
    if isinstance(numbers, Tensor):
        return numbers
    if torch.compiler.is_compiling():
        return torch.as_tensor(numbers, dtype=torch.float64)
    with _constants():
        return _beside(points, torch.from_numpy(numbers_of(numbers, name)))


def _senses(maximise: Maximise, points: Tensor) -> str:
    """A character for each objective: a list would be taken apart by torch's transformations."""
    return "".join("+" if each else "-" for each in senses_of(maximise, _objectives(points)))


def _objectives(points: Tensor) -> int:
    if torch.compiler.is_compiling():
        return points.shape[-1]
    with _constants():
        return int(points.shape[-1])


@contextmanager
def _constants() -> Iterator[None]:
    """What torch.jit.trace is to record as it stands, without a warning."""
    if torch._C._get_tracing_state() is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)
        yield


def _bools(senses: str) -> list[bool]:
    return [sense == "+" for sense in senses]


def _vector(numbers: Any, points: Tensor, name: str) -> Tensor:
    if isinstance(numbers, Tensor):
        return numbers
    if torch.compiler.is_compiling():
        return torch.as_tensor(numbers, dtype=torch.float64)
    with _constants():
        array = numbers_of(numbers, name)
        is_place = name in ("ref", "ideal")
        if array.ndim < 2:
            array = vector_of(array, _objectives(points), name, scalar=is_place)
        return _beside(points, torch.from_numpy(array))


def _per_point(numbers: Any, points: Tensor, name: str) -> Tensor | None:
    if numbers is None or isinstance(numbers, Tensor):
        return numbers
    if torch.compiler.is_compiling():
        return torch.as_tensor(numbers)
    with _constants():
        array = np.asarray(_torch_arrays.without_tensors(numbers, name))
        return _beside(points, torch.as_tensor(array))


def _beside(points: Any, constant: Tensor) -> Tensor:
    """A tensor that may stand in one call with the points: a fake one takes no real ones."""
    mode = getattr(points, "fake_mode", None)
    beside: Tensor = constant if mode is None else mode.from_tensor(constant)
    return beside


# ---- The operators and, below each, the shape of its result ----


def _advantage_dtype(rewards: Tensor) -> torch.dtype:
    is_narrow = rewards.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return torch.float32 if is_narrow else torch.float64


@torch.library.custom_op("paretopo::pareto_rank", mutates_args=())
def _pareto_rank(points: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    ranks: Tensor = compute_ranks(points, _bools(senses), mask)
    return ranks


@_pareto_rank.register_fake
def _(points: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.int32)


@torch.library.custom_op("paretopo::is_nondominated", mutates_args=())
def _is_nondominated(points: Tensor, mask: Tensor | None, senses: str, keep_weakly: bool) -> Tensor:
    nondominated: Tensor = compute_nondominated(points, _bools(senses), keep_weakly, mask)
    return nondominated


@_is_nondominated.register_fake
def _(points: Tensor, mask: Tensor | None, senses: str, keep_weakly: bool) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.bool)


@torch.library.custom_op("paretopo::crowding_distance", mutates_args=())
def _crowding_distance(
    points: Tensor, mask: Tensor | None, ranks: Tensor | None, senses: str
) -> Tensor:
    distances: Tensor = compute_crowding(points, _bools(senses), ranks, mask)
    return distances


@_crowding_distance.register_fake
def _(points: Tensor, mask: Tensor | None, ranks: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::pareto_advantage", mutates_args=())
def _pareto_advantage(
    rewards: Tensor, weights: Tensor, mask: Tensor | None, beta: float, centre: int
) -> tuple[Tensor, Tensor]:
    both: tuple[Tensor, Tensor] = compute_advantage(
        rewards, weights, beta, centre, mask, return_ranks=True
    )
    return both


@_pareto_advantage.register_fake
def _(
    rewards: Tensor, weights: Tensor, mask: Tensor | None, beta: float, centre: int
) -> tuple[Tensor, Tensor]:
    shape = rewards.shape[:-1]
    advantages = rewards.new_empty(shape, dtype=_advantage_dtype(rewards))
    return advantages, rewards.new_empty(shape, dtype=torch.int32)


@torch.library.custom_op("paretopo::hypervolume", mutates_args=())
def _hypervolume(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    volume: Tensor = compute_hypervolume(points, ref, _bools(senses), mask)
    return volume


@_hypervolume.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_gradient", mutates_args=())
def _hypervolume_gradient(
    points: Tensor, ref: Tensor, mask: Tensor | None, wanted: Tensor | None, senses: str
) -> Tensor:
    slopes: Tensor = compute_gradient(points, ref, _bools(senses), mask, wanted)
    return slopes


@_hypervolume_gradient.register_fake
def _(
    points: Tensor, ref: Tensor, mask: Tensor | None, wanted: Tensor | None, senses: str
) -> Tensor:
    return points.new_empty(points.shape, dtype=torch.float64)


@torch.library.custom_op("paretopo::hv_contributions", mutates_args=())
def _hv_contributions(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    ignore_dominated: bool,
) -> Tensor:
    parts: Tensor = compute_contributions(points, ref, _bools(senses), ignore_dominated, mask)
    return parts


@_hv_contributions.register_fake
def _(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    ignore_dominated: bool,
) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::expected_hypervolume", mutates_args=())
def _expected_hypervolume(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int
) -> Tensor:
    volume: Tensor = compute_expected_hypervolume(points, ref, k, _bools(senses), mask)
    return volume


@_expected_hypervolume.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_advantage", mutates_args=())
def _hypervolume_advantage(
    rewards: Tensor, ref: Tensor, mask: Tensor | None, k: int, centre: int
) -> Tensor:
    advantages: Tensor = compute_hypervolume_advantage(rewards, ref, k, centre, mask)
    return advantages


@_hypervolume_advantage.register_fake
def _(rewards: Tensor, ref: Tensor, mask: Tensor | None, k: int, centre: int) -> Tensor:
    return rewards.new_empty(rewards.shape[:-1], dtype=_advantage_dtype(rewards))


@torch.library.custom_op("paretopo::nondominated_boxes", mutates_args=())
def _nondominated_boxes(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str
) -> tuple[Tensor, Tensor, Tensor]:
    boxes: tuple[Tensor, Tensor, Tensor] = compute_nondominated_boxes(
        points, ref, _bools(senses), mask
    )
    return boxes


@torch.library.custom_op("paretopo::dominated_boxes", mutates_args=())
def _dominated_boxes(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str
) -> tuple[Tensor, Tensor, Tensor]:
    boxes: tuple[Tensor, Tensor, Tensor] = compute_dominated_boxes(
        points, ref, _bools(senses), mask
    )
    return boxes


@_nondominated_boxes.register_fake
@_dominated_boxes.register_fake
def _(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str
) -> tuple[Tensor, Tensor, Tensor]:
    boxes = torch.library.get_ctx().new_dynamic_size()  # known once they are found
    shape = (*points.shape[:-2], boxes, points.shape[-1])
    lower = points.new_empty(shape, dtype=torch.float64)
    counts = points.new_empty(points.shape[:-2], dtype=torch.int64)
    return lower, torch.empty_like(lower), counts


@torch.library.custom_op("paretopo::hypervolume_improvement", mutates_args=())
def _hypervolume_improvement(
    candidates: Tensor,
    lower: Tensor,
    upper: Tensor,
    mask: Tensor | None,
    senses: str,
    weights: Tensor | None,
) -> Tensor:
    improvements: Tensor = compute_improvement(
        candidates, lower, upper, _bools(senses), mask, weights
    )
    return improvements


@_hypervolume_improvement.register_fake
def _(candidates: Tensor, *_: Any) -> Tensor:
    return candidates.new_empty(candidates.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_improvement_gradient", mutates_args=())
def _hypervolume_improvement_gradient(
    candidates: Tensor,
    lower: Tensor,
    upper: Tensor,
    mask: Tensor | None,
    senses: str,
    weights: Tensor | None,
) -> Tensor:
    slopes: Tensor = compute_improvement_gradient(
        candidates, lower, upper, _bools(senses), mask, weights
    )
    return slopes


@_hypervolume_improvement_gradient.register_fake
def _(candidates: Tensor, *_: Any) -> Tensor:
    return candidates.new_empty(candidates.shape, dtype=torch.float64)


@torch.library.custom_op("paretopo::indicator", mutates_args=())
def _indicator(
    points: Tensor,
    reference: Tensor,
    mask: Tensor | None,
    reference_mask: Tensor | None,
    senses: str,
    which: int,
    p: float,
) -> Tensor:
    values: Tensor = compute_indicator(
        points, reference, which, p, _bools(senses), mask, reference_mask
    )
    return values


@_indicator.register_fake
def _(
    points: Tensor,
    reference: Tensor,
    mask: Tensor | None,
    reference_mask: Tensor | None,
    senses: str,
    which: int,
    p: float,
) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::r2", mutates_args=())
def _r2(
    points: Tensor,
    ideal: Tensor,
    mask: Tensor | None,
    weights: Tensor | None,
    senses: str,
    divisions: int | None,
) -> Tensor:
    given = weights if divisions is None else divisions
    values: Tensor = compute_r2(points, ideal, given, _bools(senses), mask)
    return values


@_r2.register_fake
def _(
    points: Tensor,
    ideal: Tensor,
    mask: Tensor | None,
    weights: Tensor | None,
    senses: str,
    divisions: int | None,
) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_approx", mutates_args=())
def _hypervolume_approx(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, samples: int, seed: int
) -> tuple[Tensor, Tensor]:
    estimate: tuple[Tensor, Tensor] = compute_estimate(
        points, ref, samples, seed, _bools(senses), mask
    )
    return estimate


@_hypervolume_approx.register_fake
def _(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, samples: int, seed: int
) -> tuple[Tensor, Tensor]:
    volume = points.new_empty(points.shape[:-2], dtype=torch.float64)
    return volume, torch.empty_like(volume)


@torch.library.custom_op("paretopo::uncrowded_contributions", mutates_args=())
def _uncrowded_contributions(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str
) -> Tensor:
    values: Tensor = compute_uncrowded(points, ref, _bools(senses), mask)
    return values


@_uncrowded_contributions.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::nearest_undominated", mutates_args=())
def _nearest_undominated(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    places: Tensor = compute_nearest(points, ref, _bools(senses), mask)
    return places


@_nearest_undominated.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape, dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_subset", mutates_args=())
def _hypervolume_subset(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int, method: int
) -> Tensor:
    chosen: Tensor = compute_subset(points, k, ref, method, _bools(senses), mask)
    return chosen


@_hypervolume_subset.register_fake
def _(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    k: int,
    method: int,
) -> Tensor:
    return points.new_empty((*points.shape[:-2], k), dtype=torch.int64)


@torch.library.custom_op("paretopo::select", mutates_args=())
def _select(
    points: Tensor,
    ref: Tensor | None,
    directions: Tensor | None,
    mask: Tensor | None,
    senses: str,
    k: int,
    method: int,
    seed: int,
) -> Tensor:
    survivors: Tensor = compute_selection(
        points, k, method, ref, directions, seed, _bools(senses), mask
    )
    return survivors


@_select.register_fake
def _(
    points: Tensor,
    ref: Tensor | None,
    directions: Tensor | None,
    mask: Tensor | None,
    senses: str,
    k: int,
    method: int,
    seed: int,
) -> Tensor:
    return points.new_empty((*points.shape[:-2], k), dtype=torch.int64)


_NOTHING_SUBTRACTED = 0  # the code of centre="none"

# ---- Slopes: what a measure gains for each unit of a value ----


def _slopes_of_contributions(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    ignore_dominated: bool,
) -> Tensor:
    # A contribution is the difference of two volumes: with the point and without it.
    count = points.shape[-2]
    kept = torch.ones(points.shape[:-1], dtype=torch.bool, device=points.device)
    if ignore_dominated:
        kept = call(_is_nondominated, points, mask, senses, True)
    elif mask is not None:
        kept = kept & mask.to(points.device)
    whole = call(_hypervolume_gradient, points, ref, kept, None, senses)
    others = ~torch.eye(count, dtype=torch.bool, device=points.device)
    repeated = points[..., None, :, :].expand(*points.shape[:-1], count, points.shape[-1])
    corners = ref[..., None, :] if ref.dim() > 1 else ref
    without = call(
        _hypervolume_gradient, repeated, corners, kept[..., None, :] & others, None, senses
    )
    slopes: Tensor = whole[..., None, :, :] - without
    return slopes


def _slopes_of_uncrowded(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    # Minus a distance grows by as much as the point comes nearer, and shrinks by as much as what
    # bounds the undominated there moves away: the point that would dominate, one step back.
    device = points.device
    signs = torch.tensor(
        [1.0 if each else -1.0 for each in _bools(senses)], dtype=torch.float64, device=device
    )
    corners = ref.to(device, torch.float64)
    corners = corners[..., None, :] if ref.dim() > 1 else corners
    own = points.double() * signs
    nearest = call(_nearest_undominated, points, ref, mask, senses) * signs
    away = nearest - own
    far = torch.isinf(away)  # as of a distance that grows without end
    away = torch.where(far.any(-1, keepdim=True), far.double(), away)
    distance = away.square().sum(-1, keepdim=True).sqrt()
    is_away = distance > 0
    ways = torch.where(is_away, away / torch.where(is_away, distance, 1.0), 0.0)
    on_front = call(_is_nondominated, points, mask, senses, True)
    on_front = on_front & (own > corners * signs).all(-1)
    others, places = own[..., None, :, :], nearest[..., :, None, :]
    bounds = (others >= places).all(-1, keepdim=True) & (others == places)
    bounds = bounds & on_front[..., None, :, None]
    bounds = bounds & (bounds.cumsum(-2) == 1)  # of several the first
    itself = torch.eye(points.shape[-2], dtype=torch.float64, device=device)[..., None]
    slopes = ways[..., :, None, :] * (itself - bounds.double()) * signs
    contributed = _slopes_of_contributions(points, ref, mask, senses, True)
    return torch.where(is_away[..., None], slopes, contributed)


def _slopes_of_expected(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int
) -> Tensor:
    # A point that moves in one objective pushes its facet, in the other objectives: there it adds,
    # averaged over draws, what it would in a set where only the points before it in that objective
    # have volume. Those get a side of 1 there, all others 0.
    objectives, count = points.shape[-1], points.shape[-2]
    device = points.device
    signs = torch.tensor(
        [1.0 if each else -1.0 for each in _bools(senses)], dtype=torch.float64, device=device
    )
    corners = ref.to(device, torch.float64)
    sides = (points.double() - (corners[..., None, :] if ref.dim() > 1 else corners)) * signs
    own, other = sides[..., :, None, :], sides[..., None, :, :]
    earlier = torch.ones(count, count, dtype=torch.bool, device=device).tril()
    before = (other > own) | ((other == own) & earlier[..., None])
    before = before.transpose(-1, -2)[..., None]  # (..., point, objective, other point, 1)
    here = torch.eye(objectives, dtype=torch.bool, device=device)[:, None, :]
    boxes = torch.where(here, before.double(), sides[..., None, None, :, :])
    present = None if mask is None else mask.to(device)
    over = None if present is None else present[..., None, None, :]
    zero = torch.zeros(objectives, dtype=torch.float64)
    added = call(_hypervolume_advantage, boxes, zero, over, k, _NOTHING_SUBTRACTED)
    facets = added.diagonal(dim1=-3, dim2=-1).transpose(-1, -2)
    is_inside = (sides > 0).all(-1, keepdim=True)
    total = count if present is None else present.expand(points.shape[:-1]).sum(-1)[..., None, None]
    drawn = torch.as_tensor(total).clamp(max=k) / torch.as_tensor(total).clamp(min=1)
    return torch.where(is_inside, facets * drawn * signs, 0.0)


add_slopes(
    _hypervolume,
    lambda points, ref, mask, senses: call(_hypervolume_gradient, points, ref, mask, None, senses),
)
add_slopes(_hv_contributions, _slopes_of_contributions)
add_slopes(_expected_hypervolume, _slopes_of_expected)
add_slopes(_uncrowded_contributions, _slopes_of_uncrowded)
add_slopes(
    _hypervolume_improvement,
    lambda *arguments: call(_hypervolume_improvement_gradient, *arguments),
    moves_with_ref=False,
)
refuse_slopes(_pareto_rank)
refuse_slopes(_is_nondominated)
refuse_slopes(_crowding_distance)
refuse_slopes(_pareto_advantage)
refuse_slopes(_hypervolume_advantage)
refuse_slopes(_hypervolume_gradient, " (hypervolumes have first derivatives only)")
refuse_slopes(_hypervolume_improvement_gradient, " (improvements have first derivatives only)")
refuse_slopes(_nondominated_boxes)
refuse_slopes(_dominated_boxes)
refuse_slopes(_indicator)
refuse_slopes(_r2)
refuse_slopes(_hypervolume_approx)
refuse_slopes(_nearest_undominated, " (uncrowded contributions have first derivatives only)")
refuse_slopes(_hypervolume_subset)
refuse_slopes(_select)
_LOOPED = {_r2: 3}
_BESIDE = {
    _hypervolume_improvement: (1, 2),
    _hypervolume_improvement_gradient: (1, 2),
    _indicator: (1,),
}
for _operator in FUNCTIONS:
    add_batch_rule(
        _operator,
        looped=_LOOPED.get(_operator),
        beside=_BESIDE.get(_operator, ()),
    )
