"""Economies: rewards for calls and other costs.

They are relative to the fewest of a success (:func:`tool_economy`, :func:`otc_economy`), to the
price of a right answer (:func:`saving`), to a group (:func:`arora_zanette_economy`,
:func:`kimi_economy`, :func:`gr3_economy`, :func:`pass_rate_economy`), or to a target
(:func:`laser_economy`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config.objectives import FROM_ZERO


def tool_economy(calls: ArrayLike, n_opt: float | None, alpha: float = 0.7) -> NDArray[np.float64]:
    """Return ``exp(-alpha * |calls - n_opt|)`` for each rollout of a prompt; 0 while it is
    unsolved.

    Args:
        calls: (points,) or any shape, tool calls of each rollout, or another cost of at least 0.
        n_opt: fewest calls of a success, None while no success is known.
        alpha: fall per call, positive.

    Returns:
        float64 of the shape of ``calls``, in (0, 1], 1 at the optimum; all 0 for ``n_opt=None``.

    Source: arXiv 2606.16111, equation 1.

    >>> tool_economy([1, 2, 3], n_opt=1).round(4)
    array([1.    , 0.4966, 0.2466])
    """
    if not (math.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be a positive number, got {alpha!r}")
    counts = check_costs(calls)
    if n_opt is None:
        return np.zeros(counts.shape)
    return _compute_by_count(np.abs(counts - n_opt), lambda distance: math.exp(-alpha * distance))


def otc_economy(calls: ArrayLike, n_opt: float | None, max_calls: int) -> NDArray[np.float64]:
    """Return OTC's tool reward of each rollout of a prompt; 0 while it is unsolved.

    With m calls it is ``cos(m pi / (2 m + max_calls))`` for ``n_opt = 0``, else ``sin(m pi / (m +
    n_opt))``: 1 at the optimum, falling more slowly than :func:`tool_economy`. OTC multiplies it
    with correctness; here gate "success" with all weight on economy gives this product.

    Args:
        calls: (points,) or any shape, tool calls of each rollout, or another cost of at least 0.
        n_opt: fewest calls of a success, None while no success is known.
        max_calls: most calls of a rollout.

    Returns:
        float64 of the shape of ``calls``, from 0 to 1; all 0 for ``n_opt=None``.

    Source: Wang et al. (2025), "OTC: optimal tool calls via reinforcement learning", arXiv
    2504.14870, section 3: with f = 2 m n / (m + n), it is sin(f pi / (2 n)).

    >>> otc_economy([0, 1, 2, 3], n_opt=0, max_calls=3).round(4)
    array([1.    , 0.809 , 0.6235, 0.5   ])
    >>> otc_economy([0, 1, 2, 3], n_opt=1, max_calls=3).round(4)
    array([0.    , 1.    , 0.866 , 0.7071])
    """
    counts = check_costs(calls)
    if n_opt is None:
        return np.zeros(counts.shape)
    if n_opt == 0:
        # No calls first: without calls allowed, 0 / 0.
        return _compute_by_count(
            counts, lambda m: math.cos(m * math.pi / (2 * m + max_calls)) if m else 1
        )
    return _compute_by_count(counts, lambda m: math.sin(m * math.pi / (m + n_opt)))


def saving(costs: ArrayLike, price: ArrayLike | None) -> NDArray[np.float64]:
    """Return ``1 - cost / price``, the share of a right answer's price that a rollout saves.

    Above the price it is ``price / cost - 1``. The curve continues smoothly and ends at -1, so the
    cheaper of two expensive answers is always better, and no cost outweighs everything.

    Args:
        costs: Any shape, finite numbers of at least 0.
        price: At least 0, of a shape that broadcasts to that of ``costs``: the value of a
            :class:`~paretopo.rewards.learnt_costs.SuccessPrice`. None and 0 mean that the price is
            unknown; a cost of 0 then gives 1, any other cost -1.

    Returns:
        float64 of the shape of ``costs``, from -1 to 1: 1 for a cost of 0, 0 for the price.

    Raises:
        ValueError: A cost or a price is not a finite number of at least 0.

    >>> saving([0, 2, 4, 8], 4).tolist()
    [1.0, 0.5, 0.0, -0.5]
    """
    paid = check_costs(costs)
    prices = np.asarray(0.0 if price is None else price, np.float64)
    if not (np.isfinite(prices) & (prices >= 0.0)).all():
        raise ValueError(
            f"price must be finite numbers of at least 0 or None, got {prices.ravel().tolist()[:8]}"
        )
    below = paid <= prices
    # Divide by the larger of the two: never 0 by 0.
    ratio = np.minimum(paid, prices) / np.where(
        np.maximum(paid, prices) > 0.0, np.maximum(paid, prices), 1.0
    )
    saved: NDArray[np.float64] = np.where(below, 1.0 - ratio, ratio - 1.0)
    return saved


def arora_zanette_economy(costs: ArrayLike, successes: ArrayLike) -> NDArray[np.float64]:
    """Return ``1 - sigmoid((cost - mean) / std)`` over the group's successes; 0 for failures.

    Mean and standard deviation are those of the costs of the group's successes. If these are equal,
    or there is only one, each gets 1/2. With weights 1 - alpha for correctness and alpha for this
    economy, a success has the reward of the paper, 1 - alpha sigmoid(z), and a failure 0.

    Args:
        costs: (..., points) finite numbers; their unit and a shift of all of them do not matter.
        successes: (..., points) did the rollout solve its task?

    Returns:
        float64 (..., points), from 0 to 1.

    Raises:
        ValueError: shapes differ, or a cost is no finite number.

    Source: Arora and Zanette (2025), "Training language models to reason efficiently", arXiv
    2502.04463; Zanette-Labs/efficient-reasoning at e3611e4, ``reward_server/math_server.py``, line
    99. The standard deviation divides by n. They add 1e-7 to it; we do not, so that the unit of a
    cost does not matter.

    >>> arora_zanette_economy([1, 3, 9], [True, True, False]).round(4).tolist()
    [0.7311, 0.2689, 0.0]
    """
    paid, solved = _check_group(costs, successes)
    low, high = _find_extremes(paid, solved)
    differ = high > low
    low, high = np.where(differ, low, 0.0), np.where(differ, high, 1.0)
    # Scale to 0..1 first: squares of very small or large costs would under- or overflow.
    unit = np.where(solved & differ, paid - low, 0.0) / (high - low)
    count = solved.sum(axis=-1, keepdims=True).clip(1)
    off = np.where(solved, unit - unit.sum(axis=-1, keepdims=True) / count, 0.0)
    std = np.sqrt((off**2).sum(axis=-1, keepdims=True) / count)
    z = off / np.where(differ, std, 1.0)
    return np.where(solved, _compute_by_count(z, lambda one: 1.0 / (1.0 + math.exp(one))), 0.0)


def kimi_economy(costs: ArrayLike, successes: ArrayLike) -> NDArray[np.float64]:
    """Kimi k1.5's length reward: ``1/2 - (cost - least) / (most - least)``, for failures at most 0.

    Least and most are of all rollouts of the group; where they are equal all get 0.

    Args:
        costs: (..., points) finite numbers; their unit and a shift of all of them do not matter.
        successes: (..., points) did the rollout solve its task?

    Returns:
        float64 (..., points), from -1/2 to 1/2.

    Raises:
        ValueError: shapes differ, or a cost is no finite number.

    Source: Kimi Team (2025), "Kimi k1.5", arXiv 2501.12599, section 2.3.3.

    >>> kimi_economy([1, 2, 1, 3], [True, True, False, False]).tolist()
    [0.5, 0.0, 0.0, -0.5]
    """
    paid, solved = _check_group(costs, successes)
    low, high = _find_extremes(paid, np.ones(paid.shape, np.bool_))
    differ = high > low
    values = 0.5 - (paid - low) / np.where(differ, high - low, 1.0)
    return np.where(differ, np.where(solved, values, np.minimum(values, 0.0)), 0.0)


def gr3_economy(costs: ArrayLike) -> NDArray[np.float64]:
    """Return ``-cost / mean cost`` of the group; the estimator ``gr3`` divides a reward by it.

    Args:
        costs: (..., points) finite numbers of at least 0; their unit does not matter, a shift does.

    Returns:
        float64 (..., points): at most 0, with a mean of -1; all 0 where all cost nothing.

    Raises:
        ValueError: a cost is no finite number of at least 0.

    Source: Li et al. (2026), GR3, arXiv 2603.10535, equation 6; see
    :func:`paretopo.controller.estimators.scalarised.gr3`.

    >>> gr3_economy([1, 2, 3]).tolist()
    [-0.5, -1.0, -1.5]
    """
    paid = check_costs(costs)
    highest = np.max(paid, axis=-1, keepdims=True, initial=0.0)
    # Scale to 0..1 first: a sum of very large costs would overflow.
    unit = paid / np.where(highest > 0.0, highest, 1.0)
    mean = unit.sum(axis=-1, keepdims=True) / max(paid.shape[-1], 1)
    relative: NDArray[np.float64] = 0.0 - unit / np.where(mean > 0.0, mean, 1.0)
    return relative


def pass_rate_economy(costs: ArrayLike, successes: ArrayLike) -> NDArray[np.float64]:
    """Return ``-pass rate * cost / most``: the penalty grows with the share of right answers.

    The pass rate is the share of successes, and most the largest cost of the group; if all costs
    are 0, all get 0. Failures get the same penalty as successes.

    Args:
        costs: (..., points) finite numbers of at least 0; their unit does not matter, a shift does.
        successes: (..., points) did the rollout solve its task?

    Returns:
        float64 (..., points), from -1 to 0.

    Raises:
        ValueError: shapes differ, or a cost is no finite number of at least 0.

    Source: PrimeIntellect-ai/prime-rl at 559b447, ``src/prime_rl/orchestrator/algo/grpo.py``, lines
    32 to 43: ``length_penalty`` of type "linear", which no paper describes. Its pass rate is the
    mean reward, which is the same for rewards of 0 and 1; its costs are counts, and it divides by
    at least 1.

    >>> pass_rate_economy([1, 2, 4, 2], [True, True, False, False]).tolist()
    [-0.125, -0.25, -0.5, -0.25]
    """
    paid = check_costs(costs)
    solved = check_successes(successes, paid.shape)
    most = np.max(paid, axis=-1, keepdims=True, initial=0.0)
    rate = solved.sum(axis=-1, keepdims=True) / max(paid.shape[-1], 1)
    penalty: NDArray[np.float64] = 0.0 - rate * (paid / np.where(most > 0.0, most, 1.0))
    return penalty


def laser_economy(costs: ArrayLike, successes: ArrayLike, target: ArrayLike) -> NDArray[np.float64]:
    """Return LASER's bonus: 1 for a success that costs at most the target, otherwise 0.

    Args:
        costs: (..., points) finite numbers of at least 0.
        successes: (..., points) did the rollout solve its task?
        target: A number of at least 0 or infinity, or (...) of them, one for each group, from
            :meth:`~paretopo.rewards.learnt_costs.CostTargets.target`.

    Returns:
        float64 (..., points), 0 or 1.

    Raises:
        ValueError: shapes differ, a cost is no finite number of at least 0, or a target is NaN or
            below 0.

    Source: Liu et al. (2025), "Learn to reason efficiently with adaptive length-based reward
    shaping", arXiv 2505.15612; hkust-nlp/Laser, ``verl/utils/reward_score/length_penalty.py``,
    lines 205 to 214.

    >>> laser_economy([1, 2, 3, 1], [True, True, True, False], 2).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    paid = check_costs(costs)
    solved = check_successes(successes, paid.shape)
    limits = np.asarray(target, np.float64)
    if not (limits >= 0.0).all():
        raise ValueError(
            f"target must be numbers of at least 0 or infinity, got {limits.ravel().tolist()[:8]}"
        )
    steps: NDArray[np.float64] = (solved & (paid <= limits[..., None])).astype(np.float64)
    return steps


def _compute_by_count(
    counts: NDArray[np.float64], value: Callable[[float], float]
) -> NDArray[np.float64]:
    """Return the value of each count, computed once per count.

    Rollouts with equal calls get bit-equal rewards on every machine, so ranks treat them as ties.
    """
    given = counts.ravel().tolist()
    table = {count: value(count) for count in set(given)}
    values: NDArray[np.float64] = np.array([table[count] for count in given], np.float64)
    return values.reshape(counts.shape)


def check_costs(costs: ArrayLike) -> NDArray[np.float64]:
    """Return the costs as float64.

    Raises:
        ValueError: they are not finite numbers of at least 0.
    """
    given = np.asarray(costs)
    if given.size == 0:
        return np.zeros(given.shape)
    exact = given.astype(np.float64) if given.dtype.kind in "iuf" else None
    if exact is None or not np.isfinite(exact).all() or (exact < 0).any():
        seen: Sequence[object] = given.ravel().tolist()[:8]
        advice = FROM_ZERO if exact is not None and (exact < 0).any() else ""
        raise ValueError(f"costs must be finite numbers of at least 0, got {seen}{advice}")
    return exact


def check_successes(successes: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the successes as bools.

    Raises:
        ValueError: another shape, or NaN.
    """
    solved = np.asarray(successes)
    if solved.shape != shape:
        raise ValueError(f"successes must have the shape of costs, {shape}, got {solved.shape}")
    if solved.dtype.kind == "f" and np.isnan(solved).any():
        raise ValueError("successes must be yes or no, got nan")
    return solved.astype(np.bool_)


def _check_group(
    costs: ArrayLike, successes: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Check costs and successes, both of shape (..., points); costs of a group may be negative."""
    paid = np.asarray(costs, np.float64)
    if paid.ndim == 0 or not np.isfinite(paid).all():
        raise ValueError(
            "costs must be finite numbers of shape (..., points), got "
            f"{np.asarray(costs).ravel().tolist()[:8]}"
        )
    return paid, check_successes(successes, paid.shape)


def _find_extremes(
    costs: NDArray[np.float64], among: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Least and most of each group, (..., 1); of no rollouts +inf and -inf."""
    least = np.min(costs, axis=-1, keepdims=True, where=among, initial=np.inf)
    most = np.max(costs, axis=-1, keepdims=True, where=among, initial=-np.inf)
    return least, most
