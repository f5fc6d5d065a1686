"""Bootstrap of models' means over questions: replicates, intervals, shares of dominance.

A replicate draws as many questions as there are, with replacement. Models that answered the same
questions share each draw, so that a hard question counts for all of them.

Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paretopo_lab.statistics.intervals import widen_bootstrap

Floats = NDArray[np.float64]

_AT_ONCE = 2**22  # drawn questions that are in memory at a time
_AT_A_TIME = 1024  # replicates of a comparison, which then fit into the cache
_TAIL = 0.025  # of a 95 % interval, on each side
_MOST_JUDGED = 2000  # replicates of a band
_POWER = 0.84  # errors: with this reserve, a difference is found in 80 % of new samples


def draw_means(
    values: Sequence[Floats],
    replicates: int,
    seed: int,
    groups: Sequence[int],
    within: Sequence[Floats] = (),
) -> Floats:
    """Draw bootstrap replicates of each model's means.

    Args:
        values: For each model (questions, objectives); NaN for a question without an answer. The
            rows of a group are the same questions in the same order.
        replicates: Number of draws.
        seed: Fixes the draws.
        groups: For each model the number of its group; models of a group share the drawn questions.
            A model of group -1 shares none. The draws of groups with equally many questions are
            permutations of each other.
        within: For each model (objectives, objectives), the covariance of its mean if only the
            answers to each question are drawn; none if there is one answer to a question.

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
        both = np.concatenate([np.nan_to_num(columns), ~np.isnan(columns)])
        both, back = np.unique(both, axis=1, return_inverse=True)
        blocks = [
            _average_draws(weights, both[:count], both[count:])
            for weights in _draw_weights(rng, replicates, count)
        ]
        drawn = np.concatenate(blocks)[:, back.ravel()].reshape(replicates, len(own), objectives)
        orders: dict[int, NDArray[np.int_]] = {}
        for place, at in enumerate(own):
            alone = groups[at] < 0
            if alone or groups[at] not in orders:
                orders[groups[at]] = rng.permutation(replicates)
            means[:, at] = drawn[orders[groups[at]], place]
    for at, covariance in enumerate(within):
        if covariance.any():
            means[:, at] += rng.multivariate_normal(np.zeros(objectives), covariance, replicates)
    return means


def _average_draws(weights: Floats, columns: Floats, known: Floats) -> Floats:
    """Return the mean of each column over its known values, in each replicate.

    A replicate without a known value gets the column's mean.
    """
    if known.all():
        means: Floats = weights @ columns / len(columns)
        return means
    counts = weights @ known
    means = weights @ columns / np.maximum(counts, 1.0)
    return np.where(counts > 0, means, columns.sum(axis=0) / known.sum(axis=0))


def _draw_weights(rng: np.random.Generator, replicates: int, count: int) -> Iterator[Floats]:
    """Yield blocks (replicates, questions): the number of times that a draw has each question."""
    most = max(1, _AT_ONCE // count)
    for done in range(0, replicates, most):
        size = min(most, replicates - done)
        drawn = rng.integers(count, size=(size, count), dtype=np.int32)
        drawn += count * np.arange(size, dtype=np.int32)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count).astype(float)


def volume_interval(
    volume: float, volumes: Floats, alike: float, questions: int
) -> tuple[float, float]:
    """Return a 95 % interval of a front's hypervolume.

    Noise only pushes a front out, so a volume is biased upwards, most of all if models are alike.
    The replicates show a part of this bias: noise has already spread alike models. Both
    ends are therefore the quantiles, moved down by more than the replicates' own bias.

    Args:
        volume: Of the means.
        volumes: (replicates,) of their replicates.
        alike: The bias if the models were as alike as `pull_together` makes them.
        questions: The smallest number of questions of a model.

    Source: our simulation, ``bench/coverage_of_volumes.py``, which chose the six constants.
    """
    low, high = np.quantile(volumes, [_TAIL, 1 - _TAIL])
    middle, spread = float(volumes.mean()), float(volumes.std())
    bias = max(middle - volume, 0.0)
    more = (1.4 + 16 / questions) * bias + 0.9 * max(alike - bias, 0.0)
    # Only a bias that is large for its spread is certain enough to move the upper end.
    certain = min(max((bias / spread - 0.35) / 0.3, 0.0), 1.0) if spread > 0 else 0.0
    wide = 1.15 * widen_bootstrap(questions)
    lower = volume - more - wide * (middle - float(low))
    upper = volume - bias - 0.8 * certain * (more - bias) + wide * (float(high) - middle)
    return max(lower, 0.0), max(upper, lower, 0.0)


def pull_together(means: Floats, drawn: Floats, questions: int) -> Floats:
    """Return (models, objectives) means without the spread that noise adds between models.

    Args:
        means: (models, objectives).
        drawn: (replicates, models, objectives) of them.
        questions: The smallest number of questions of a model.

    Source: James and Stein (1961), in the form of Efron and Morris (1973), J. Am. Stat. Assoc. 68.
    """
    centre = means.mean(axis=0)
    noise = drawn - means
    noise = noise - noise.mean(axis=1, keepdims=True)
    added = (noise**2).mean(axis=(0, 1)) * questions / (questions - 1)
    seen = ((means - centre) ** 2).mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = np.clip(np.nan_to_num(1 - added / seen), 0.0, 1.0)
    pulled: Floats = centre + np.sqrt(kept) * (means - centre)
    return pulled


def share_dominated(means: Floats, senses: Sequence[float], shifts: Floats | None = None) -> Floats:
    """Return the share of replicates in which each model dominates each other one.

    Args:
        means: (replicates, models, objectives).
        senses: For each objective 1 if larger is better, -1 if smaller is.
        shifts: (models, models, objectives), added to the difference of row and column.

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
            above = np.ones((count - at - 1, len(block)), bool)
            below = above.copy()
            for number, column in enumerate(turned):
                other = column[at + 1 :]
                if shifts is not None:
                    other = other - senses[number] * shifts[at, at + 1 :, number, None]
                above &= column[at] >= other
                below &= column[at] <= other
            ties = np.count_nonzero(above & below, axis=1)
            wins[at, at + 1 :] += np.count_nonzero(above, axis=1) - ties
            wins[at + 1 :, at] += np.count_nonzero(below, axis=1) - ties
    wins /= max(1, len(means))
    return wins


@dataclass(frozen=True)
class Verdicts:
    """The models that are surely on the front or off it, by a band over all pairs together.

    Attributes:
        surely: (models,), 1 on the front, -1 not on it, 0 open.
        factor: (models,), how many times as many questions decide an open model; 1 for others.
            Infinite for ties.
    """

    surely: NDArray[np.int_]
    factor: Floats


def judge_fronts(
    means: Floats,
    drawn: Floats,
    senses: Sequence[float],
    fronts: Sequence[str],
    questions: int,
    shifts: Floats | None = None,
) -> Verdicts:
    """Decide which models are on their front, with 95 % confidence in all decisions together.

    The band is that of the largest studentised difference of two means, over all pairs of models
    and objectives. A model is surely off the front if another one is surely better in every
    objective; it is surely on it if it is surely better than each other model in one of them.

    Args:
        means: (models, objectives).
        drawn: (replicates, models, objectives) of them.
        senses: For each objective 1 if larger is better, -1 if smaller is.
        fronts: For each model the front that it belongs to.
        questions: The smallest number of questions of a model.
        shifts: (models, models, objectives), added to the difference of row and column.

    Cost: models² x objectives x 2,000 replicates.

    Source: Romano and Wolf (2005), Econometrica 73, 1237-1282, for the studentised maximum.
    """
    count = len(means)
    turned, drawn = means * senses, drawn[:_MOST_JUDGED] * np.asarray(senses)
    apart: Floats = turned[:, None] - turned
    if shifts is not None:
        apart = apart + shifts * np.asarray(senses)
    largest = np.zeros(len(drawn))
    errors = np.zeros_like(apart)
    for at in range(count - 1):
        noise = drawn[:, at, None] - drawn[:, at + 1 :] - (turned[at] - turned[at + 1 :])
        own = noise.std(axis=0)
        errors[at, at + 1 :] = errors[at + 1 :, at] = own
        with np.errstate(invalid="ignore", divide="ignore"):
            sizes = np.nan_to_num(np.abs(noise) / own, posinf=0.0)
        largest = np.maximum(largest, sizes.max(axis=(1, 2)))
    limit = float(np.quantile(largest, 0.95)) * widen_bootstrap(questions)
    with np.errstate(invalid="ignore", divide="ignore"):
        clear = apart / errors  # infinite for a certain difference, NaN for a certain tie
    tie = np.isnan(clear)
    same = np.asarray(fronts)
    rivals = (same[:, None] == same) & ~np.eye(count, dtype=bool)
    beats = np.where(tie, np.inf, clear).min(axis=-1)
    beats = np.where(tie.all(axis=-1), -np.inf, beats)  # row dominates column from this size on
    holds = np.where(tie, -np.inf, clear).max(axis=-1)
    holds = np.where(tie.all(axis=-1), np.inf, holds)  # row is better in one objective
    off = np.where(rivals, beats, -np.inf).max(axis=0)
    on = np.where(rivals, holds, np.inf).min(axis=1)
    surely = (on > limit).astype(int) - (off > limit)
    reach = np.maximum(np.maximum(on, off), 0.0)
    with np.errstate(divide="ignore"):
        factor = ((limit + _POWER) / reach) ** 2
    return Verdicts(surely, np.where(surely == 0, np.maximum(factor, 1.0), 1.0))
