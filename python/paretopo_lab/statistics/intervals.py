"""Confidence intervals and tests of measurements, without SciPy.

Every test is two-sided. All random draws are fixed, so a report is reproducible.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Z95 = 1.959963984540054  # the normal distribution's 97.5 % point
_LEVEL = 0.05  # of an interval's two ends together
_DRAWS = 10_000
_AT_ONCE = 2**22  # signs that are in memory at a time


def wilson_interval(successes: float, n: int) -> tuple[float, float]:
    """Compute Wilson's 95 % interval of a proportion; (0, 1) without trials.

    Source: Wilson (1927), J. Am. Stat. Assoc. 22, 209-212.

    >>> tuple(round(end, 4) for end in wilson_interval(81, 263))
    (0.2553, 0.3662)
    """
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, _Z95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half  # exact ends: the formula rounds
    high = 1.0 if successes == n else centre + half
    return low, high


def t_interval(values: ArrayLike, over: ArrayLike | None = None) -> tuple[float, float]:
    """Compute the 95 % interval of a mean (Student's t), or of a ratio of sums (Fieller's theorem).

    If only few questions matter (one in five has a tool call, for example), use at least 100.

    Args:
        values: (questions,) numbers, each the mean over a question's samples.
        over: (questions,) the denominators of a ratio; None for a mean.

    Returns:
        (low, high); NaN where there is none: of fewer than two questions, or where the mean of the
        denominators is not significantly different from 0.

    Source: Student (1908), Biometrika 6, 1-25; Fieller (1954), J. R. Stat. Soc. B 16, 175-185.

    >>> low, high = t_interval([0, 1] * 200)
    >>> round(low, 4), round(high, 4)
    (0.4508, 0.5492)
    """
    above = np.asarray(values, np.float64)
    n = above.size
    if n < 2:
        return math.nan, math.nan
    below = np.ones_like(above) if over is None else np.asarray(over, np.float64)
    spread = _t_quantile(n - 1) ** 2 / n * np.cov(above, below)
    # The ratios r for which the mean of values - r over is not significantly different from 0:
    # a r^2 - 2 b r + c <= 0.
    a = float(below.mean() ** 2 - spread[1, 1])
    b = float(above.mean() * below.mean() - spread[0, 1])
    c = float(above.mean() ** 2 - spread[0, 0])
    if a <= 0:
        return math.nan, math.nan
    half = math.sqrt(max(b * b - a * c, 0.0))
    return (b - half) / a, (b + half) / a


def widen_bootstrap(n: int) -> float:
    """Return the factor from a bootstrap interval over n questions to one of Student's t.

    The bootstrap takes the errors as known, and divides by n instead of n - 1.

    >>> round(widen_bootstrap(20), 2), round(widen_bootstrap(500), 2)
    (1.1, 1.0)
    """
    return _t_quantile(n - 1) / _Z95 * math.sqrt(n / (n - 1))


def sign_flips(differences: ArrayLike) -> float:
    """Compute the p-value of "no difference" by random signs of the differences.

    All sign patterns for up to 13 differences other than 0, else 10,000 random ones.

    Args:
        differences: (questions or seeds,) of one's means to another's.

    Source: Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9(1), for the random ones.

    >>> sign_flips([1, 1, 1, 1])
    0.125
    """
    sizes = np.asarray(differences, np.float64)
    sizes = sizes[sizes != 0]
    if sizes.size == 0:
        return 1.0
    seen = abs(sizes.sum()) * (1 - 1e-12)
    far = [np.abs((1 - 2 * one) @ sizes) >= seen for one in _draw_sign_patterns(sizes.size)]
    return float(np.concatenate(far).mean())


def least_sign_flip_p(n: int) -> float:
    """Return the smallest p-value that `sign_flips` can reach with n differences.

    >>> [least_sign_flip_p(n) for n in (3, 5, 6)]
    [0.25, 0.0625, 0.03125]
    """
    return min(1.0, 2.0 / 2**n) if 2**n <= _DRAWS else 1.0 / (1 + _DRAWS)


def sign_flip_interval(differences: ArrayLike) -> tuple[float, float]:
    """Compute the 95 % interval of the mean difference: all shifts that `sign_flips` accepts.

    A shift d is inside where the p-value of (differences - d) is above 0.05, so 0 is outside where
    `sign_flips` has p < 0.05. It covers 95 % where differences are symmetric around their mean,
    whatever their tails, and less where they are skewed.

    Args:
        differences: (questions or seeds,) of one's means to another's.

    Returns:
        (low, high); infinite of fewer than 6 differences, which no pattern of signs can reject.

    Source: Hartigan (1969), J. Am. Stat. Assoc. 64, 1303-1317: the ends are means of subsets.

    >>> sign_flip_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    (1.0, 6.0)
    >>> sign_flip_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    (-inf, inf)
    """
    values = np.asarray(differences, np.float64)
    if values.size == 0:
        return -math.inf, math.inf
    # Below the mean, a pattern is as extreme as the data once d reaches the mean of its flipped
    # values, or of the rest; the same holds above the mean. Flipping all or none always is.
    lows, highs = [], []
    for flipped in _draw_sign_patterns(values.size):
        count = flipped.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.stack(
                [flipped @ values / count, (1 - flipped) @ values / (values.size - count)]
            )
        always = (count == 0) | (count == values.size)
        lows.append(np.where(always, -math.inf, means.min(axis=0)))
        highs.append(np.where(always, math.inf, means.max(axis=0)))
    low, high = np.concatenate(lows), np.concatenate(highs)
    rank = math.floor(low.size * _LEVEL)
    last = low.size - 1 - rank
    return float(np.partition(low, rank)[rank]), float(np.partition(high, last)[last])


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, in the given order.

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


def _draw_sign_patterns(n: int) -> Iterator[NDArray[np.int64]]:
    """Yield patterns of flipped signs, 1 or 0, in blocks of shape (patterns, n) that fit the
    memory.
    """
    if 2**n <= _DRAWS:
        yield np.arange(2**n)[:, None] >> np.arange(n) & 1
        return
    yield np.zeros((1, n), np.int64)  # the data are one of the patterns
    rng, most = np.random.default_rng(0), max(1, _AT_ONCE // n)
    for done in range(0, _DRAWS, most):
        yield rng.integers(2, size=(min(most, _DRAWS - done), n))


@functools.cache
def _t_quantile(freedom: int) -> float:
    """Return the 97.5 % point of Student's t with a number of degrees of freedom.

    Source: Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    odd = freedom % 2
    k = np.arange(1, (freedom - odd) // 2)
    factors = 2 * k / (2 * k + 1) if odd else (2 * k - 1) / (2 * k)

    def within(angle: float) -> float:
        """Return the probability of an absolute value of at most tan(angle) * sqrt(freedom)."""
        series = 1.0 + float(np.cumprod(factors * math.cos(angle) ** 2).sum())
        if not odd:
            return math.sin(angle) * series
        more = math.sin(angle) * math.cos(angle) * series if freedom > 1 else 0.0
        return 2 / math.pi * (angle + more)

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 1 - _LEVEL else (low, middle)
    return math.tan(low) * math.sqrt(freedom)
