"""Intervals and tests, held to printed numbers, enumerations and simulations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo_lab.statistics.intervals import (
    holm,
    least_sign_flip_p,
    sign_flip_interval,
    sign_flips,
    t_interval,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe (1998), Statist. Med. 17, 857-872, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_printed(successes, n, low, high):
    assert wilson_interval(successes, n) == pytest.approx((low, high), abs=5e-5)
    assert wilson_interval(0, n)[0] == 0.0
    assert wilson_interval(n, n)[1] == 1.0


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_sign_flips_by_enumeration(differences):
    kept = [one for one in differences if one]
    seen = abs(sum(kept))
    sums = [
        abs(sum(sign * size for sign, size in zip(signs, kept, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(kept))
    ]
    assert sign_flips(differences) == pytest.approx(np.mean([one >= seen for one in sums]))


def test_random_sign_flips_agree_with_the_sign_test():
    """For differences of one size the test is McNemar's exact one."""
    differences = [1] * 31 + [-1] * 14 + [0] * 200
    tail = sum(math.comb(45, k) for k in range(15)) / 2**45
    assert sign_flips(differences) == pytest.approx(2 * tail, abs=0.004)
    assert sign_flips(differences) == sign_flips(differences)
    assert sign_flips([1] * 2000) == pytest.approx(1 / 10_001)


def test_holm_as_r_has_it():
    # p.adjust(c(.01, .02, .03, .04, .05), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.05, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []
    assert holm([0.6, 0.9]) == [1.0, 1.0]


def by_search(differences, low, high):
    """The end of the shifts that are not rejected, from a rejected shift to one that is not."""
    for _ in range(60):
        middle = (low + high) / 2
        rejected = sign_flips(np.asarray(differences) - middle) <= 0.05
        low, high = (middle, high) if rejected else (low, middle)
    return high


@given(st.lists(st.integers(-20, 20), min_size=6, max_size=10))
def test_the_sign_flip_interval_inverts_the_test(differences):
    low, high = sign_flip_interval(differences)
    mean = np.mean(differences)
    assert low == pytest.approx(by_search(differences, -30.0, mean), abs=1e-8)
    assert high == pytest.approx(by_search(differences, 30.0, mean), abs=1e-8)
    if (low > 1e-9) or (high < -1e-9):
        assert sign_flips(differences) < 0.05
    elif low < -1e-9 and high > 1e-9:
        assert sign_flips(differences) > 0.05


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 12, 13, 14, 30])
def test_the_least_p_is_that_of_equal_differences(n):
    # At random some of few differences are all flipped, and count.
    assert sign_flips(np.ones(n)) == pytest.approx(least_sign_flip_p(n), abs=5e-4)
    assert least_sign_flip_p(n) <= sign_flips(np.ones(n))
    assert (sign_flips(np.ones(n)) < 0.05) == (n > 5)
    if n < 6:
        assert sign_flip_interval(np.arange(1.0, n + 1)) == (-math.inf, math.inf)


def test_random_flips_agree_with_all_of_them_and_with_the_test():
    differences = np.random.default_rng(3).exponential(size=14) - 0.3
    low, high = sign_flip_interval(differences)
    every = 1 - 2 * (np.arange(2**14)[:, None] >> np.arange(14) & 1)
    for end in (low, high):
        shifted = differences - end
        p = np.mean(np.abs(every @ shifted) >= abs(shifted.sum()) - 1e-12)
        assert p == pytest.approx(0.05, abs=0.008)
    assert sign_flips(differences - low - 1e-9) > 0.05 >= sign_flips(differences - low + 1e-9)
    assert sign_flip_interval(differences) == (low, high)


def test_t_intervals_by_hand():
    # 2.776445 is the 97.5 % point for 4 degrees of freedom, 12.7062 for 1.
    half = 2.776445 * math.sqrt(2.5 / 5)
    assert t_interval([1, 2, 3, 4, 5]) == pytest.approx((3 - half, 3 + half), abs=1e-5)
    assert t_interval([0, 1]) == pytest.approx((0.5 - 6.3531, 0.5 + 6.3531), abs=1e-4)
    for n, point in ((13, 2.178813), (31, 2.042272), (121, 1.979930), (10_001, 1.960201)):
        values = np.tile([-1.0, 1.0], n)[:n]
        low, high = t_interval(values)
        assert (high - low) / 2 == pytest.approx(point * values.std(ddof=1) / n**0.5, rel=1e-6)
    assert all(map(math.isnan, t_interval([1.0])))


def test_the_interval_of_a_ratio():
    solved, calls = np.tile([1.0, 0.0], 100), np.tile([1.0, 3.0], 100)
    low, high = t_interval(solved, calls)
    assert low < 0.25 < high
    for end in (low, high):  # where values - ratio * calls are just significantly not 0
        ends = t_interval(solved - end * calls)
        assert min(map(abs, ends)) == pytest.approx(0, abs=1e-9)
    assert all(map(math.isnan, t_interval([1.0, 0.0], [1.0, 0.0])))  # maybe no call at all
    assert all(map(math.isnan, t_interval([])))
