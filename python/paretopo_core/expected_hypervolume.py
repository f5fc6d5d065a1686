"""HV@k: the expected hypervolume of k points of a set, and the advantages that raise it."""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import Any, Literal, Never, get_args

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import choice_of
from paretopo_core._machinery.operation import Operation, check_count
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.torch_arrays import turn_towards
from paretopo_core._machinery.types import Mask, PerPoint, PerSet, Points, Vector

Centre = Literal["exact", "mean", "none", "std", "loo"]
_CENTRES = {name: _core.CENTRES.index(name) for name in get_args(Centre)}  # codes of the core
_MAX_CELLS = 10**9


@explain_calls
def expected_hypervolume(
    points: Points,
    ref: Vector,
    *extra: Never,
    k: int,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerSet[np.float64]:
    """Measure the expected hypervolume of k points drawn from each set, without replacement.

    It is the mean of :func:`paretopo_core.hypervolume` over all subsets of k points, and therefore
    an unbiased estimate of the volume that k new samples from the same source would dominate
    together. With one objective it estimates "max at k"; with k = 1 it is the mean volume of a
    point. The function does not enumerate the subsets: a location that c of n points dominate has
    the weight 1 - C(n - c, k) / C(n, k), the probability that one of k draws dominates it.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, a torch
            tensor on CPU or CUDA, or another array on a GPU. Units are the objectives' own.
        ref: the reference point, finite, in the objectives' units: a number, shape (objectives,),
            or (..., objectives) for one per set. A point that is not better than it in *every*
            objective adds nothing, but can be drawn. Keep references per set on the device of the
            points; otherwise, a GPU has to wait for them.
        k: how many points are drawn, from 1 to ``points``. If a set has fewer present points, all
            of them are drawn.
        maximise: whether larger is better, also for ``ref``; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which cannot be drawn.

    Returns:
        shape (...), float64, in the product of the objectives' units; a NumPy scalar for one set.
        0.0 for an empty set. For tensors it has a first derivative in ``points`` and ``ref``, at
        the cost of :func:`hypervolume_advantage` for points · objectives groups.

    Raises:
        ValueError: wrong shape of an argument; ``k`` out of range; ``ref`` not finite; a point that
            is NaN, or infinite on the better side (on a GPU its set has the result NaN instead); or
            a set with more than 10⁹ cells, see below. On a GPU, the size of a set is limited: with
            4 objectives to 385 points, and for advantages to 122.
        TypeError: ``points`` are not real numbers, ``k`` not an integer, ``mask`` or ``maximise``
            not bool.

    Cost: the cells of the grid through the points' coordinates, C(points + objectives - 1,
    objectives) of them, about 1 ns each: 36 for 8 points with 2 objectives, 0.8 million for 64 with
    4. Objectives with few distinct values cost less.

    Source: docs/hvk.md; one objective: Walder and Karkhanis (2025), PKPO, arXiv 2505.15201.

    >>> expected_hypervolume([[1, 3], [2, 2], [3, 1]], ref=0, k=2)
    np.float64(5.0)
    """
    if extra or wrong or ref is MISSING or k is MISSING:
        refuse_call(extra, wrong)
    return EXPECTED.answer(points, maximise, mask, ref, k)


@explain_calls
def hypervolume_advantage(
    rewards: Points,
    ref: Vector,
    *extra: Never,
    k: int = 1,
    centre: Centre = "exact",
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.floating[Any]]:
    """Turn the reward vectors of each group of rollouts into advantages that raise HV@k.

    The objective is the expected hypervolume of k rollouts of a prompt. From n of them, with
    advantages A of this function,

        (k / n) · Σ_i A_i ∇ log π(rollout i)

    is an unbiased estimate of its gradient (k / n is left to the learning rate). m_i is the mean
    contribution of rollout i to k - 1 of the others. A_i is m_i minus the mean contribution that
    another rollout would make in its place. For k = 1, A_i is the volume of the rollout's own box
    minus the mean volume of the others.

    ``ref`` expresses the preference. A rollout that does not beat it in every objective has no
    volume. With reference 0, economy therefore counts only together with success. The further the
    reference lies below the rewards in an objective, the less that objective weighs. With k > 1,
    rollouts gain by covering the front, and equal rollouts share their contribution.

    Args:
        rewards: shape (..., points, objectives), any real dtype; a NumPy array, a list,
            a torch tensor on CPU or CUDA, or another array on a GPU.
        ref: the reference point, as for :func:`expected_hypervolume`.
        k: from 1 to ``points``. If a group has fewer present rollouts, k is their number.
        centre: the baseline subtracted from m_i:

            - ``"exact"``: keeps the gradient unbiased; the advantages of a group sum to 0. In a
              group of k rollouts, no other rollout is left to compare with, so nothing is
              subtracted.
            - ``"none"``: nothing; unbiased too, with more variance.
            - ``"mean"``: the mean of m. Biased for k > 1.
            - ``"loo"``: the mean of m of the *other* rollouts; the same as "exact" for k = 1.
            - ``"std"``: as "exact", then (A - mean(A)) / (std(A) + 1e-6), std with n - 1, as in
              GRPO.
        maximise: whether larger is better, also for ``ref``; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points), float32 for float32 and half precision, otherwise float64, in the
        product of the objectives' units (none for "std"); same library and device as ``rewards``.
        Equal rollouts get equal advantages. A group of equal rollouts gets exact zeros unless
        nothing is subtracted. Sums are computed in float64, and the result is bit for bit the same
        on every backend.

    Raises:
        ValueError, TypeError: as :func:`expected_hypervolume`, or an unknown ``centre``. A
            derivative of this result raises NotImplementedError: advantages are constants of the
            gradient that they weigh.

    Cost: that of :func:`expected_hypervolume`.

    Source: docs/hvk.md.

    >>> import numpy as np
    >>> rewards = np.array([[1.0, 1.0], [1.0, 0.5], [0.0, 1.0], [0.0, 0.0]])  # success, economy
    >>> hypervolume_advantage(rewards, 0).round(4)
    array([ 0.8333,  0.1667, -0.5   , -0.5   ])
    >>> hypervolume_advantage([[1, 3], [2, 2], [3, 1], [2, 2]], 0, k=2).round(4)
    array([ 0.3333, -0.3333,  0.3333, -0.3333])
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    code = _CENTRES[choice_of(centre, "centre", _CENTRES)]
    return ADVANTAGE.answer(rewards, maximise, mask, ref, k, code)


def _check_k(batch: Batch, k: Any, name: str = "points") -> int:
    """Check the number of points to draw and the size of the grid, and return the number."""
    points, objectives = batch.points, batch.objectives
    drawn = check_count(batch, k, "k")
    cells = math.comb(points + objectives - 1, objectives) if points else 0
    if cells > _MAX_CELLS:
        raise ValueError(
            f"{name} with {points} points and {objectives} objectives span a grid of {cells:.1e} "
            f"cells, more than {_MAX_CELLS:.0e}: take fewer points to a group, or fewer objectives"
        )
    return drawn


def _slopes_of_expected(points: Any, senses: Any, mask: Any, ref: Any, k: int) -> Any:
    torch = sys.modules["torch"]
    # A point that moves in one objective moves its facet in the other objectives. Averaged over
    # draws, the facet is the point's contribution to a set in which only the points before it in
    # that objective have volume. These points get a side of 1 in that objective, all others 0.
    objectives, count = points.shape[-1], points.shape[-2]
    device = points.device
    turned, corners, signs = turn_towards(senses, ref, points)
    sides = turned - corners
    own, other = sides[..., :, None, :], sides[..., None, :, :]
    earlier = torch.ones(count, count, dtype=torch.bool, device=device).tril()
    before = (other > own) | ((other == own) & earlier[..., None])
    before = before.transpose(-1, -2)[..., None]  # (..., point, objective, other point, 1)
    here = torch.eye(objectives, dtype=torch.bool, device=device)[:, None, :]
    boxes = torch.where(here, before.double(), sides[..., None, None, :, :])
    present = None if mask is None else mask.to(device)
    over = None if present is None else present[..., None, None, :]
    zero = torch.zeros(objectives, dtype=torch.float64)
    added = ADVANTAGE.operate(boxes, None, over, zero, k, _CENTRES["none"])
    facets = added.diagonal(dim1=-3, dim2=-1).transpose(-1, -2)
    is_inside = (sides > 0).all(-1, keepdim=True)
    total = count if present is None else present.expand(points.shape[:-1]).sum(-1)[..., None, None]
    many = torch.as_tensor(total, dtype=torch.float64)
    drawn = many.clamp(max=k) / many.clamp(min=1)
    return torch.where(is_inside, facets * drawn * signs, 0.0) + 0.0


EXPECTED = Operation(_core.expected_hypervolume, checks={"k": _check_k}, slopes=_slopes_of_expected)
ADVANTAGE = Operation(
    _core.hypervolume_advantage, points="rewards", checks={"k": partial(_check_k, name="rewards")}
)
