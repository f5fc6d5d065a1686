"""The smooth surrogate of Pareto ranks: dominance under Gumbel noise, in closed form."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Never

import numpy as np

from paretopo_core._dominance import Frame, can_read, widen
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.cuda_arrays import ask_for_tensor
from paretopo_core._machinery.numbers import number_of, real_array
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.shapes import parts_of
from paretopo_core._machinery.torch_arrays import check_dense
from paretopo_core._machinery.types import Array, Mask, PerPoint, Points


@explain_calls
def stochastic_dominance(
    points: Points,
    *extra: Never,
    sigma: float,
    margin: float = 0.0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Array[np.float64]:
    """Give the probability that each point dominates every other point under noise.

    Every coordinate gets independent Gumbel noise of scale ``sigma``. The difference of two such
    noises is logistic, so that, exactly and without sampling,

        p(i dominates j) = prod_m sigmoid((points[i, m] - points[j, m]) / sigma).

    With a positive ``margin`` δ, the result is the strict form w(i, j) · (1 - w(j, i)), where w is
    the product with points[i, m] - points[j, m] + δ. For δ = sqrt(sigma) and sigma → 0, the strict
    form becomes the indicator of dominance, even for ties and duplicates. Without a margin, each
    tied objective contributes a factor of 1/2, even in the limit.

    Args:
        points: shape (..., points, objectives); a NumPy array or list (computed
            in float64), or a torch tensor (computed in its dtype, on its device, differentiable).
        sigma: the scale of the noise, in the objectives' units; positive.
        margin: in the objectives' units; 0 or more.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which dominates nothing and is not
            dominated: probability 0.

    Returns:
        shape (..., points, points); entry [i, j] belongs to "i dominates j"; the diagonal is 0.

    Raises:
        ValueError: wrong shape, NaN or infinity, ``sigma`` not positive or ``margin`` negative. On
            a GPU, NaN and infinity raise no error, because a check would make the host wait; they
            pass to the result.

    Cost: O(points² · objectives) time and memory.

    Source: the ParetoPO paper, section 3.3 (stochastic Pareto rank); closed form and the strict
    variant: docs/paper_method.md.

    >>> p = stochastic_dominance([[1.0, 0.5], [0.4, 0.6]], sigma=1.0)
    >>> round(float(p[0, 1]), 6)
    0.3067
    """
    if extra or wrong or sigma is MISSING:
        refuse_call(extra, wrong)
    return _DOMINANCE.answer(points, maximise, mask, sigma, margin)


@explain_calls
def stochastic_pareto_rank(
    points: Points,
    *extra: Never,
    sigma: float,
    margin: float = 0.0,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.float64]:
    """Give each point one plus the expected number of points that dominate it under noise.

    The value lies in 1..points, is smooth in the points, and keeps the order of dominance for every
    ``sigma``: a point that dominates another has the smaller value. For sigma → 0, it becomes one
    plus the (tie-weighted) number of points that dominate, which is *not* the front index of
    :func:`paretopo_core.pareto_rank`.

    Arguments, errors and cost are those of :func:`stochastic_dominance`.

    Returns:
        shape (..., points), 1 = best, -1 for padding; same library, device and gradient as
        ``points``.

    Source: the ParetoPO paper, section 3.3.

    >>> stochastic_pareto_rank([[1.0, 1.0], [0.0, 0.0]], sigma=0.01).round(6)
    array([1., 2.])
    """
    if extra or wrong or sigma is MISSING:
        refuse_call(extra, wrong)
    return _RANKS.answer(points, maximise, mask, sigma, margin)


def _compose_dominance(
    points: Any, maximise: Maximise, mask: Any, sigma: float, margin: float
) -> Any:
    values, library = _values(points)
    is_there = None
    if maximise is not True or mask is not None:
        frame = Frame(points, maximise, mask)
        values = values * frame.signs(values.dtype)
        if mask is not None:
            is_there = library.broadcast_to(frame.mask, values.shape[:-1])
            values = library.where(is_there[..., None], values, library.zeros_like(values))
    # Two equal infinities have no difference.
    if can_read(values) and not bool(library.isfinite(values).all()):
        raise ValueError("points must be finite, got NaN or infinity")
    sigma, margin = number_of(sigma, "sigma"), number_of(margin, "margin")
    for name, number, bound in (("sigma", sigma, sigma > 0), ("margin", margin, margin >= 0)):
        if not (bound and number < math.inf):
            least = "above 0" if name == "sigma" else "0 or more"
            raise ValueError(f"{name} must be finite and {least}, got {number}")
    order = library.arange(values.shape[-2])
    if library is not np:
        order = order.to(values.device)

    def compare(rows: slice) -> Any:
        gaps = values[..., rows, None, :] - values[..., None, :, :]
        wins = _sigmoid((gaps + margin) / sigma, library).prod(-1)
        return wins if margin > 0 else wins * (order[rows, None] != order)

    def compare_strictly(rows: slice) -> Any:
        others = wins[..., :, rows].swapaxes(-1, -2)
        return wins[..., rows, :] * (1 - others) * (order[rows, None] != order)

    # To infinity, where the probability is 0 or 1.
    with np.errstate(over="ignore") if library is np else nullcontext():
        wins = _in_parts(compare, values, library)
        found = _in_parts(compare_strictly, values, library) if margin > 0 else wins
    if is_there is None:
        return found
    return found * (is_there[..., None] & is_there[..., None, :])


def _values(points: Any) -> tuple[Any, Any]:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(points, torch.Tensor):
        library = torch
        check_dense(points, "points")
        values = points if points.is_floating_point() else widen(points, "points")
    else:
        library = np
        ask_for_tensor(points)
        values = real_array(points, "points").astype(np.float64)
    if values.ndim < 2 or values.shape[-1] == 0:
        raise ValueError(
            f"points must have shape (..., points, objectives), got {tuple(values.shape)}"
        )
    return values, library


def _in_parts(work: Callable[[slice], Any], values: Any, library: Any) -> Any:
    """Join the rows that the work returns for parts of the points."""
    if not can_read(values):
        return work(slice(None))
    parts = parts_of(values.shape[-2], math.prod(values.shape))
    return library.concatenate([work(rows) for rows in parts], -2)


def _sigmoid(x: Any, library: Any) -> Any:
    if library is not np:
        return library.sigmoid(x)
    small = np.exp(-np.abs(x))  # never overflows
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def _compose_ranks(points: Any, maximise: Maximise, mask: Any, *scales: Any) -> Any:
    ranks = 1 + _compose_dominance(points, maximise, mask, *scales).sum(-2)
    if mask is None:
        return ranks
    frame = Frame(points, maximise, mask)
    return frame.library.where(frame.mask, ranks, -frame.library.ones_like(ranks))


_SCALES = (("sigma", "float"), ("margin", "float"))
_DOMINANCE = Operation(
    Composed("stochastic_dominance", _SCALES, (("array", "float64"),)), compose=_compose_dominance
)
_RANKS = Operation(
    Composed("stochastic_pareto_rank", _SCALES, (("point", "float64"),)),
    compose=_compose_ranks,
)
