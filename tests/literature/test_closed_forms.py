"""Sets of the literature whose volume has a closed form, each with its source and derivation."""

import itertools
import math

import numpy as np
import pytest

import paretopo_core as pp


def volume(points, ref, backend):
    return float(backend.fetch(pp.hypervolume(backend.send(points), ref, maximise=False)))


def simplex_lattice(divisions, objectives):
    """All points of non-negative multiples of 1/divisions that sum to 1."""
    counts = itertools.product(range(divisions + 1), repeat=objectives)
    return np.array([row for row in counts if sum(row) == divisions]) / divisions


@pytest.mark.parametrize(
    ("divisions", "objectives"), [(1, 2), (30, 2), (1, 3), (12, 3), (6, 4), (5, 5), (3, 6), (2, 8)]
)
def test_the_simplex_lattice(divisions, objectives, backend):
    """Das and Dennis (1998), SIAM J. Optim. 8(3): the lattice on the linear front.

    In units of 1/H, below the reference H + 1 in every objective, there are (H + 1)^M unit cells.
    A cell with lower corner z escapes all lattice points exactly when z sums to less than H; there
    are C(H + M - 1, M) such z. The reference 1 + 1/H is that of Ishibuchi et al. (2018), "How to
    specify a reference point in hypervolume calculation", Evol. Comput. 26(3).
    """
    points = simplex_lattice(divisions, objectives)
    cells = (divisions + 1) ** objectives - math.comb(divisions + objectives - 1, objectives)
    seen = volume(points, 1 + 1 / divisions, backend)
    assert seen == pytest.approx(cells / divisions**objectives, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 10, 500])
def test_the_best_points_on_a_linear_front(count, backend):
    """Auger, Bader, Brockhoff and Zitzler (2009), FOGA: equal gaps are optimal on linear fronts.

    On y = 1 - x, below (1, 1), the points x = i / (n + 1) dominate n / (2 (n + 1)) and contribute
    1 / (n + 1)^2 each; moving any of them along the front loses volume.
    """
    x = np.arange(1, count + 1) / (count + 1)
    front = np.stack([x, 1 - x], axis=-1)
    best = volume(front, 1.0, backend)
    assert best == pytest.approx(count / (2 * (count + 1)), rel=1e-12)
    shares = pp.hypervolume_contributions(backend.send(front), 1.0, maximise=False)
    np.testing.assert_allclose(backend.fetch(shares), (count + 1) ** -2, rtol=1e-9)
    rng = np.random.default_rng(count)
    for _ in range(10):
        moved = np.clip(x + rng.uniform(-0.3, 0.3, count) / (count + 1), 0, 1)
        assert volume(np.stack([moved, 1 - moved], axis=-1), 1.0, backend) < best


@pytest.mark.parametrize(
    ("front", "limit"),
    [
        (lambda x: 1 - np.sqrt(x), 2 / 3),  # ZDT1 and ZDT4, convex
        (lambda x: 1 - x**2, 1 / 3),  # ZDT2, concave
    ],
)
def test_fine_fronts_of_zdt(front, limit, backend):
    """Zitzler, Deb and Thiele (2000), Evol. Comput. 8(2): the areas above the true fronts.

    n + 1 points at x = i / n miss less than the n boxes between neighbours, which stacked upon each
    other are 1 / n wide and 1 high.
    """
    # The emulator needs seconds for sizes that take a CPU or a GPU no time.
    for n in (10, 1000, 5000 if backend.name.startswith("emulated") else 50_000):
        x = np.linspace(0.0, 1.0, n + 1)
        seen = volume(np.stack([x, front(x)], axis=-1), 1.0, backend)
        assert 0 < limit - seen < 1 / n


def test_the_front_of_zdt1_in_the_test_sets(backend):
    """ZDT1.pf of jMetal and jMetalPy, 1001 points: 0.6661601248750012.

    Printed in jMetalPy, tests/core/test_quality_indicator_hypervolume.py (commit 363e9e45).
    """
    x = np.linspace(0.0, 1.0, 1001)
    seen = volume(np.stack([x, 1 - np.sqrt(x)], axis=-1), 1.0, backend)
    assert seen == pytest.approx(0.6661601248750012, abs=1e-6)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_fine_fronts_of_dtlz2(objectives, backend):
    """Deb, Thiele, Laumanns and Zitzler (2002), CEC: the front is the unit sphere's corner.

    The region below (1, ..., 1) that it leaves undominated is the corner of the ball, of volume
    pi^(M/2) / Gamma(M/2 + 1) / 2^M. The missing volume shrinks with the spacing of the points.
    """
    ball = math.pi ** (objectives / 2) / math.gamma(objectives / 2 + 1)
    limit = 1 - ball / 2**objectives
    missing = []
    for divisions in (3, 6, 12):
        points = simplex_lattice(divisions, objectives)
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
        missing.append(limit - volume(points, 1.0, backend))
    assert missing[-1] > 0
    # Halving the spacing roughly halves the missing volume.
    for coarse, fine in itertools.pairwise(missing):
        assert 0.3 < fine / coarse < 0.75
