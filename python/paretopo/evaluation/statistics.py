"""Intervals and tests of what was measured, without SciPy.

Every test is two-sided. What is random is fixed by a seed, so that a report reads the same twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Z95 = 1.959963984540054  # the normal distribution's 97.5 % point
_DRAWS = 10_000
_AT_ONCE = 2**22  # numbers of a resampling that are in memory at a time
_SMALLEST_EXPECTED = 5  # Cochran (1954): below it the normal approximation is not to be trusted


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    """95 % interval of a proportion; (0, 1) where nothing was tried.

    Source: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.

    >>> tuple(round(end, 4) for end in wilson_interval(81, 263))
    (0.2553, 0.3662)
    """
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, _Z95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def bootstrap_interval(
    values: ArrayLike, over: ArrayLike | None = None, seed: int = 0
) -> tuple[float, float]:
    """95 % percentile interval of a mean, or of a ratio of sums; questions are drawn again.

    Args:
        values: (questions,) numbers, each the mean over a question's samples.
        over: (questions,) the denominators of a ratio; None for a mean.
        seed: Fixes the 10,000 draws.

    Returns:
        (low, high); not finite where a denominator can be 0.

    Source: Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 13.3.

    >>> low, high = bootstrap_interval([0, 1] * 200)
    >>> round(low, 2), round(high, 2)
    (0.45, 0.55)
    """
    above = np.asarray(values, np.float64)
    if above.size == 0:
        return math.nan, math.nan
    below = np.ones_like(above) if over is None else np.asarray(over, np.float64)
    rng = np.random.default_rng(seed)
    ratios = []
    for count in _split_draws(above.size):
        drawn = rng.integers(above.size, size=(count, above.size))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(above[drawn].sum(axis=1) / below[drawn].sum(axis=1))
    drawn_ratios = np.concatenate(ratios)
    if not np.isfinite(drawn_ratios).all():
        return math.nan, math.nan
    low, high = np.percentile(drawn_ratios, [2.5, 97.5])
    return float(low), float(high)


def two_proportions(successes_a: float, n_a: int, successes_b: float, n_b: int) -> float:
    """p-value of "both have the same chance", for answers to different questions or by strangers.

    The pooled z-test; Fisher's exact test where one of the four expected counts is below 5.

    Source: Agresti (2007), An Introduction to Categorical Data Analysis, sections 2.2 and 2.6.

    >>> round(two_proportions(400, 500, 389, 500), 2)
    0.39
    """
    if n_a == 0 or n_b == 0:
        return 1.0
    share = (successes_a + successes_b) / (n_a + n_b)
    if min(share, 1 - share) * min(n_a, n_b) < _SMALLEST_EXPECTED:
        return fisher_exact(round(successes_a), n_a, round(successes_b), n_b)
    spread = math.sqrt(share * (1 - share) * (1 / n_a + 1 / n_b))
    return math.erfc(abs(successes_a / n_a - successes_b / n_b) / spread / math.sqrt(2))


def fisher_exact(successes_a: int, n_a: int, successes_b: int, n_b: int) -> float:
    """p-value of Fisher's exact test: tables no likelier than the one at hand.

    >>> round(fisher_exact(3, 4, 1, 4), 4)  # the lady tasting tea
    0.4857
    """
    both = successes_a + successes_b
    first, last = max(0, both - n_b), min(both, n_a)
    logs = [_log_comb(n_a, k) + _log_comb(n_b, both - k) for k in range(first, last + 1)]
    seen = logs[successes_a - first]
    whole = _log_comb(n_a + n_b, both)
    rare = [math.exp(log - whole) for log in logs if log <= seen + 1e-7]
    return min(1.0, math.fsum(rare))


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """p-value of "both are equally often right", from the questions that only one of them solved.

    Source: McNemar (1947), Psychometrika 12, 153-157, in its exact form, a sign test.

    >>> round(mcnemar_exact(1, 8), 4)
    0.0391
    """
    n = only_a + only_b
    tail = [math.exp(_log_comb(n, k) - n * math.log(2)) for k in range(min(only_a, only_b) + 1)]
    return min(1.0, 2 * math.fsum(tail))


def sign_flips(differences: ArrayLike, seed: int = 0) -> float:
    """p-value of "the two are alike": how often do differences with random signs get so far?

    All sign patterns for up to 13 differences other than 0, else 10,000 random ones.

    Args:
        differences: (questions,) of one evaluation's means to another's.
        seed: Fixes the draws.

    Source: Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1), for the random ones.

    >>> sign_flips([1, 1, 1, 1])
    0.125
    """
    sizes = np.asarray(differences, np.float64)
    sizes = sizes[sizes != 0]
    if sizes.size == 0:
        return 1.0
    seen = abs(sizes.sum()) * (1 - 1e-12)
    if 2**sizes.size <= _DRAWS:
        patterns = np.arange(2**sizes.size)[:, None] >> np.arange(sizes.size) & 1
        return float(np.mean(np.abs((2 * patterns - 1) @ sizes) >= seen))
    rng = np.random.default_rng(seed)
    hits = 0
    for count in _split_draws(sizes.size):
        signs = rng.integers(2, size=(count, sizes.size)) * 2 - 1
        hits += int((np.abs(signs @ sizes) >= seen).sum())
    return (1 + hits) / (1 + _DRAWS)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values that account for how many there are, in the order given.

    Source: Holm (1979), Scand. J. Stat. 6, 65-70.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[at]))
        adjusted[at] = highest
    return adjusted


def _split_draws(size: int) -> NDArray[np.int64]:
    """The draws, in portions that fit the memory."""
    most = max(1, _AT_ONCE // size)
    counts = [min(most, _DRAWS - done) for done in range(0, _DRAWS, most)]
    return np.array(counts)


def _log_comb(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
