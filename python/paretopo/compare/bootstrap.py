"""Bootstrap of models' means over questions: replicates, intervals, shares of dominance.

A replicate draws as many questions as there are, with replacement. Models that answered the same
questions share each draw, so that a hard question counts for all of them.

Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_AT_ONCE = 2**22  # drawn questions that are in memory at a time
_AT_A_TIME = 1024  # replicates of a comparison, which then fit into the cache
_TAIL = 0.025  # of a 95 % interval, on each side


def draw_means(values: Sequence[Floats], replicates: int, seed: int, *, paired: bool) -> Floats:
    """Draw bootstrap replicates of each model's means.

    Args:
        values: For each model (questions, objectives); its rows are the same questions in the same
            order if `paired`.
        replicates: Number of draws.
        seed: Fixes the draws.
        paired: Whether all models share the drawn questions. If not, each model has its own draws:
            those of models with equally many questions are permutations of each other.

    Returns:
        (replicates, models, objectives).

    Cost: replicates x questions draws for each number of questions, and a matrix product.
    """
    rng = np.random.default_rng(seed)
    objectives = values[0].shape[1]
    means = np.empty((replicates, len(values), objectives))
    for count in sorted({len(one) for one in values}):
        own = [at for at, one in enumerate(values) if len(one) == count]
        columns = np.concatenate([values[at] for at in own], axis=1)
        # Equal columns must have equal means, to the last bit: a tie is no dominance.
        columns, back = np.unique(columns, axis=1, return_inverse=True)
        drawn = np.concatenate(
            [weights @ columns / count for weights in _draw_weights(rng, replicates, count)]
        )[:, back.ravel()].reshape(replicates, len(own), objectives)
        for place, at in enumerate(own):
            means[:, at] = drawn[:, place] if paired else rng.permutation(drawn[:, place])
    return means


def _draw_weights(rng: np.random.Generator, replicates: int, count: int) -> Iterator[Floats]:
    """Yield blocks (replicates, questions): the number of times that a draw has each question."""
    most = max(1, _AT_ONCE // count)
    for done in range(0, replicates, most):
        size = min(most, replicates - done)
        drawn = rng.integers(count, size=(size, count), dtype=np.int32)
        drawn += count * np.arange(size, dtype=np.int32)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count).astype(float)


def basic_interval(estimate: float, replicates: Floats) -> tuple[float, float]:
    """Return the basic 95 % interval: the replicates' quantiles, reflected at the estimate.

    The volume of a front is biased upwards: noise can only push it out. Reflection removes that
    bias, and the percentile interval would double it.

    Args:
        estimate: Of the data.
        replicates: (replicates,) of the same quantity.

    >>> basic_interval(2.0, np.linspace(2.0, 3.0, 41))
    (1.025, 1.975)
    """
    low, high = np.quantile(replicates, [_TAIL, 1 - _TAIL])
    return float(2 * estimate - high), float(2 * estimate - low)


def share_dominated(means: Floats, senses: Sequence[float]) -> Floats:
    """Return the share of replicates in which each model dominates each other one.

    Args:
        means: (replicates, models, objectives).
        senses: For each objective 1 if larger is better, -1 if smaller is.

    Returns:
        (models, models): row dominates column, that is, it is at least as good in every objective
        and better in one.

    Cost: models² x replicates x objectives comparisons.
    """
    count = means.shape[1]
    wins: Floats = np.zeros((count, count))
    for done in range(0, len(means), _AT_A_TIME):
        block = means[done : done + _AT_A_TIME] * np.asarray(senses)
        turned = np.ascontiguousarray(block.transpose(2, 1, 0))
        for at in range(count - 1):
            above = turned[0, at] >= turned[0, at + 1 :]
            below = turned[0, at] <= turned[0, at + 1 :]
            for column in turned[1:]:
                above &= column[at] >= column[at + 1 :]
                below &= column[at] <= column[at + 1 :]
            ties = np.count_nonzero(above & below, axis=1)
            wins[at, at + 1 :] += np.count_nonzero(above, axis=1) - ties
            wins[at + 1 :, at] += np.count_nonzero(below, axis=1) - ties
    wins /= max(1, len(means))
    return wins
