"""Intervals and tests, held to printed numbers, enumerations and simulations."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.evaluation.statistics import (
    bootstrap_interval,
    fisher_exact,
    holm,
    mcnemar_exact,
    sign_flips,
    two_proportions,
    wilson_interval,
)

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


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


@given(counts)
def test_wilson_is_an_interval_around_the_share(pair):
    successes, n = pair
    low, high = wilson_interval(successes, n)
    assert 0 <= low <= successes / n + 1e-12
    assert successes / n - 1e-12 <= high <= 1
    mirrored = wilson_interval(n - successes, n)
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_unpaired_p_values_of_the_papers_own_claims():
    """ParetoPO against the best baseline of each data set, from the percentages in its table 1."""
    claims = {
        (80.0, 77.8, 500): 0.39,
        (84.6, 82.2, 500): 0.31,
        (30.0, 23.3, 30): 0.56,
        (36.7, 36.7, 30): 1.0,
        (33.3, 26.7, 30): 0.58,
        (48.1, 44.0, 674): 0.13,
        (52.2, 49.9, 674): 0.40,
        (70.0, 67.5, 40): 0.81,
        (77.5, 75.0, 40): 0.79,
        (48.0, 44.4, 3610): 0.002,
    }
    for (a, b, n), p in claims.items():
        found = two_proportions(a * n / 100, n, b * n / 100, n)
        assert found == pytest.approx(p, abs=0.005 if p > 0.01 else 0.0005)


def test_small_counts_go_to_fisher():
    assert two_proportions(1, 10, 4, 10) == fisher_exact(1, 10, 4, 10)
    assert two_proportions(10, 20, 8, 20) != fisher_exact(10, 20, 8, 20)
    assert two_proportions(5, 5, 5, 5) == two_proportions(3, 0, 5, 5) == 1.0


@given(counts, counts)
def test_fisher_is_its_definition(a, b):
    (x, n), (y, m) = a, b
    chances = {
        k: math.comb(n, k) * math.comb(m, x + y - k)
        for k in range(max(0, x + y - m), min(n, x + y) + 1)
    }
    rare = sum(chance for chance in chances.values() if chance <= chances[x])
    assert fisher_exact(x, n, y, m) == pytest.approx(rare / math.comb(n + m, x + y))


def test_fisher_as_documented_by_scipy_and_r():
    assert fisher_exact(8, 10, 1, 6) == pytest.approx(0.0349650, abs=1e-7)
    assert fisher_exact(3, 4, 1, 4) == pytest.approx(0.4857143, abs=1e-7)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_a_sign_test(a, b):
    n = a + b
    both = [math.comb(n, k) / 2**n for k in range(n + 1)]
    # Symmetric: twice the smaller tail, as R's binom.test has it at one half.
    wanted = min(1.0, 2 * sum(both[: min(a, b) + 1]))
    assert mcnemar_exact(a, b) == pytest.approx(wanted)
    assert mcnemar_exact(a, b) == mcnemar_exact(b, a)


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
    """Of differences of one size, the test is McNemar's."""
    differences = [1] * 31 + [-1] * 14 + [0] * 200
    assert sign_flips(differences) == pytest.approx(mcnemar_exact(31, 14), abs=0.004)
    assert sign_flips(differences, seed=1) != sign_flips(differences)
    assert sign_flips(differences) == sign_flips(differences)
    assert sign_flips([1] * 2000) == pytest.approx(1 / 10_001)


def test_holm_as_r_has_it():
    # p.adjust(c(.01, .02, .03, .04, .05), "holm")
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.05, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []
    assert holm([0.6, 0.9]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_only_raises_and_keeps_the_order(p_values):
    adjusted = holm(p_values)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_the_bootstrap_covers_what_it_promises():
    rng = np.random.default_rng(0)
    samples = rng.poisson(1.5, size=(60, 150))
    hits = [low <= 1.5 <= high for low, high in map(bootstrap_interval, samples)]
    assert np.mean(hits) > 0.85
    low, high = bootstrap_interval(samples[0])
    normal = 1.96 * samples[0].std() / math.sqrt(150)
    assert high - low == pytest.approx(2 * normal, rel=0.1)


def test_the_bootstrap_of_a_ratio():
    solved, calls = np.tile([1.0, 0.0], 100), np.tile([1.0, 3.0], 100)
    low, high = bootstrap_interval(solved, calls)
    assert low < 0.25 < high
    assert all(map(math.isnan, bootstrap_interval([1.0, 0.0], [1.0, 0.0])))  # maybe no call at all
    assert all(map(math.isnan, bootstrap_interval([])))


def test_many_questions_do_not_need_much_memory():
    low, high = bootstrap_interval(np.tile([0.0, 1.0], 3700))
    assert 0.48 < low < 0.5 < high < 0.52
