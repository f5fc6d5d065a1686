"""Advantages of rollouts by the Pareto ranks of their reward vectors."""

from __future__ import annotations

from functools import reduce
from typing import Any, Literal, Never, get_args

import numpy as np
from numpy.typing import ArrayLike

from paretopo_core import _core
from paretopo_core._dominance import Frame
from paretopo_core._machinery.arrays import Batch, vector_of
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import choice_of, flag_of, number_of, numbers_of
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.types import Mask, PerPoint, Points

Centre = Literal["mean", "none", "std", "loo"]
_LARGEST = {name: float(np.finfo(name).max) for name in ("float32", "float64")}
_CENTRES = {name: _core.CENTRES.index(name) for name in get_args(Centre)}  # codes of the core


@explain_calls
def pareto_advantage(
    rewards: Points,
    *extra: Never,
    weights: ArrayLike,
    beta: float = 0.5,
    centre: Centre = "mean",
    maximise: Maximise = True,
    mask: Mask = None,
    return_ranks: bool = False,
    **wrong: Never,
) -> PerPoint[np.floating[Any]] | tuple[PerPoint[np.floating[Any]], PerPoint[np.int32]]:
    """Turn the reward vectors of each group of rollouts into advantages by Pareto rank.

    In a group with ``fronts`` fronts, rollout i of rank ``rank`` (from 0) gets

        A = fronts - rank + beta · (q - 1/2),

    where q is its weighted reward, scaled to 0..1 within its front (1/2 where all weighted
    rewards of a front are equal). Then the group is centred:

    - ``"mean"``: A - mean(A). A group of equal rollouts gets zeros.
    - ``"none"``: A unchanged, as in the paper's formula; always positive.
    - ``"std"``: (A - mean(A)) / (std(A) + 1e-6), std with n - 1, as in GRPO.
    - ``"loo"``: A minus the mean of the *other* rollouts.

    Args:
        rewards: shape (..., points, objectives), any real dtype; a NumPy
            array, a list, a torch tensor on CPU or CUDA, or another array on a GPU, such as
            CuPy's. NaN counts as below every number.
        weights: shape (objectives,), or (..., objectives) with a row for each group, finite; only
            their proportions within a front matter. If the rewards are on a GPU, at most 64
            objectives; keep the weights in host memory, because the host has to wait for weights on
            a GPU.
        beta: from 0 to 1, the influence of the weights relative to the ranks. At 1, neighbouring
            fronts can tie.
        centre: see above.
        maximise: whether larger is better; one bool, or one per objective. The numbers of an
            objective to minimise count with the other sign, also in the weighted reward.
        mask: shape (..., points), bool; False marks padding, which gets 0.0 and rank -1.
        return_ranks: also return the ranks, int32.

    Returns:
        shape (..., points), float32 for float32 and half precision, otherwise float64; same
        library and device as ``rewards``. With ``return_ranks`` a tuple (advantages, ranks).
        Bit for bit the same on every backend.

    Raises:
        ValueError: wrong shape of an argument, ``weights`` not finite, ``beta`` outside 0..1,
            or an unknown ``centre``.
        TypeError: ``rewards``, ``weights`` or ``beta`` are not real numbers, or ``mask`` or
            ``maximise`` not bool. A derivative of this result raises NotImplementedError:
            advantages are constants of the gradient that they weigh.

    Cost: that of :func:`paretopo_core.pareto_rank`, and one pass over the rewards.

    Source: the ParetoPO paper, section 3.2 and lines 20-29 of Algorithm 1, where ranks start at
    1; ``centre="none"`` is its formula.

    >>> import numpy as np
    >>> rewards = np.array([[1.0, 1.0], [1.0, 0.5], [0.0, 1.0], [0.0, 0.0]])
    >>> pareto_advantage(rewards, weights=[0.6, 0.4], centre="none")
    array([3.  , 2.25, 1.75, 1.  ])
    >>> pareto_advantage(rewards, weights=[0.6, 0.4])
    array([ 1.  ,  0.25, -0.25, -1.  ])
    >>> pareto_advantage([rewards, rewards], weights=[[0.6, 0.4], [0.2, 0.8]])  # one for each
    array([[ 1.  ,  0.25, -0.25, -1.  ],
           [ 1.  , -0.25,  0.25, -1.  ]])
    """
    if extra or wrong or weights is MISSING:
        refuse_call(extra, wrong)
    if type(beta) is not float:
        beta = number_of(beta, "beta")
    if not 0.0 <= beta <= 1.0:
        raise ValueError(f"beta must lie in 0..1, got {beta}")
    code = _CENTRES[choice_of(centre, "centre", _CENTRES)]
    wants_ranks = return_ranks is not False and flag_of(return_ranks, "return_ranks")
    called = _ADVANTAGE if maximise is True else _TURNED
    return called.answer(rewards, maximise, mask, weights, beta, code, wants_ranks)


def _rows_of(batch: Batch, weights: Any) -> Any:
    """Convert weights for the core: one row for all groups, or the address of each group's row."""
    given = numbers_of(weights, "weights")
    if given.ndim < 2:
        vector = vector_of(given, batch.objectives, "weights", scalar=False)
        return bound_weights(vector, batch.float_name)
    batch.check_per_group(given, "weights", scalar=False)
    rows = bound_weights(given, batch.float_name)
    shape = (*batch.leading, batch.objectives + 1)
    return batch.held(batch.library.to_doubles(rows, shape, batch.values))


def bound_weights(weights: np.ndarray, dtype: str) -> np.ndarray:
    """Scale weights to the range of ``dtype``, and append the value at which rewards saturate.

    The result has shape (..., objectives + 1). Weights far from 1 are scaled by a power of two,
    because only their proportions matter. Rewards below that value give no sum that overflows.
    """
    heaviest = reduce(np.maximum, np.moveaxis(np.abs(weights), -1, 0))  # quicker than max(axis=-1)
    is_far = (heaviest > 2.0**32) | ((heaviest > 0.0) & (heaviest < 2.0**-32))
    if is_far.any():
        exponents = np.where(is_far, -np.frexp(heaviest)[1], 0)
        weights = np.ldexp(weights, exponents[..., None])
        heaviest = np.where(is_far, 1.0, heaviest)
    rows = np.empty((*weights.shape[:-1], weights.shape[-1] + 1))
    rows[..., :-1] = weights
    rows[..., -1] = _LARGEST[dtype] / (4.0 * weights.shape[-1] * np.maximum(1.0, heaviest))
    return rows


def _compose_turned(rewards: Any, maximise: Maximise, mask: Any, *others: Any) -> Any:
    """Negate the objectives to minimise: the core's weighted sums are of numbers to maximise."""
    frame = Frame(rewards, maximise, mask, name="rewards")
    turned = frame.points * frame.signs(frame.points.dtype)
    return _ADVANTAGE.answer(turned, True, frame.mask, *others)


_ADVANTAGE = Operation(_core.pareto_advantage, points="rewards", checks={"weights": _rows_of})
_TURNED = Operation(
    Composed("pareto_advantage", _core.pareto_advantage.arguments, _core.pareto_advantage.results),
    points="rewards",
    compose=_compose_turned,
)
