"""Every algorithm of hypervolume and hypervolume_contributions, on every instruction set."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp
from paretopo_core import definitions

KINDS = ("sphere", "uniform", "grid", "antichain", "equal", "binary", "flat", "clustered")


def points_of(kind: str, points: int, objectives: int, seed: int = 0) -> np.ndarray:
    """Fronts, ties in every coordinate, duplicates, constant objectives, keys far apart."""
    rng = np.random.default_rng(seed)
    if kind == "binary":
        return rng.integers(0, 2, (points, objectives)).astype(float)
    if kind == "flat":
        values = large_set("sphere", points, objectives, seed)
        values[:, seed % objectives] = 1.0
        return values
    if kind == "clustered":  # most keys fall into one bucket of a distribution sort
        return np.exp(rng.normal(0, 6, (points, objectives)))
    if kind == "antichain" and objectives == 1:
        kind = "uniform"
    values = large_set(kind, points, objectives, seed)
    return values - values.min(axis=0) if kind == "antichain" else values


def by_inclusion_exclusion(sides):
    total = 0.0
    for size in range(1, len(sides) + 1):
        for chosen in combinations(range(len(sides)), size):
            total += (-1) ** (size + 1) * float(np.prod(sides[list(chosen)].min(axis=0)))
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objectives", range(1, 17))
def test_few_points_in_any_number_of_objectives(each_isa, objectives, kind):
    """DEAP#677, libmoon#6, Ax#5034."""
    for count in (1, 2, 3, 5, 8):
        points = points_of(kind, count, objectives, seed=count)
        volume = each_isa(lambda points=points: pp.hypervolume(points, 0))
        expected = by_inclusion_exclusion(points)
        assert volume == pytest.approx(expected, rel=1e-11, abs=1e-12 * expected + 1e-300)
        parts = each_isa(
            lambda points=points: pp.hypervolume_contributions(points, 0, ignore_dominated=False)
        )
        for i in range(count):
            rest = by_inclusion_exclusion(np.delete(points, i, axis=0))
            assert parts[i] == pytest.approx(expected - rest, rel=1e-9, abs=1e-10 * expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("count", "objectives"),
    [(33, 2), (97, 2), (300, 2), (33, 3), (97, 3), (500, 3), (40, 4), (200, 4), (700, 4), (90, 5),
     (40, 6), (30, 7), (20, 9)],
)  # fmt: skip
def test_sets_of_any_size_agree_with_moocore(each_isa, kind, count, objectives):
    moocore = pytest.importorskip("moocore")
    points = points_of(kind, count, objectives, seed=count)
    volume = each_isa(lambda: pp.hypervolume(points, 0))
    expected = moocore.hypervolume(points, ref=0, maximise=True)
    assert volume == pytest.approx(expected, rel=1e-10)
    kept = points[moocore.is_nondominated(points, maximise=True, keep_weakly=False)]
    assert pp.hypervolume(kept, 0) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("objectives", [2, 3, 4, 5])
@pytest.mark.parametrize("ignore_dominated", [True, False])
def test_contributions_are_the_volume_lost(each_isa, kind, objectives, ignore_dominated):
    points = points_of(kind, 70, objectives, seed=5)
    parts = each_isa(
        lambda: pp.hypervolume_contributions(points, 0, ignore_dominated=ignore_dominated)
    )
    counts = np.ones(len(points), dtype=bool)
    if ignore_dominated:
        counts = definitions.is_nondominated(points)
    whole = pp.hypervolume(points[counts], 0)
    for i in range(len(points)):
        others = counts & (np.arange(len(points)) != i)
        lost = whole - pp.hypervolume(points[others], 0) if counts[i] else 0.0
        assert parts[i] == pytest.approx(lost, rel=1e-9, abs=1e-11 * whole)


def test_a_wide_point_loses_corners_to_many_below_it(each_isa):
    """After it took over the columns of all above it. Integers: every volume is exact."""
    rng = np.random.default_rng(0)
    steps = 5.0 * np.arange(1, 81)
    above = np.stack([steps, steps[::-1], np.full(80, 300.0)], axis=1)
    # From right to left, a column more for each.
    corners = np.stack([steps + 500, steps[::-1] + 500, 100.0 + np.arange(80)], axis=1)
    below = rng.integers(1, [1000, 1000, 100], (200, 3))
    points = rng.permutation(np.concatenate([above[::2], [[1000, 1000, 200]], corners, below]))
    parts = each_isa(lambda: pp.hypervolume_contributions(points, 0, ignore_dominated=False))
    whole = pp.hypervolume(points, 0)
    lost = [whole - pp.hypervolume(np.delete(points, i, axis=0), 0) for i in range(len(points))]
    np.testing.assert_array_equal(parts, lost)


@pytest.mark.parametrize("count", [17, 24, 30, 32])
def test_sides_that_differ_in_their_last_bits_are_in_order(each_isa, count):
    """Next to ordinary sets in a vector. Sorting may start with fewer bits."""
    rng = np.random.default_rng(count)
    sets = rng.random((9, count, 2)) + 0.5
    sets[1::2, :, 1] = 1 + rng.integers(0, 256, (4, count)) * 2.0**-52
    volumes = each_isa(lambda: pp.hypervolume(sets, 0))
    for points, volume in zip(sets, volumes, strict=True):
        exact = width = Fraction(0)
        falling = sorted(points.tolist(), key=lambda point: -point[1])
        for (x, y), (_, below) in zip(falling, [*falling[1:], (0, 0)], strict=True):
            width = max(width, Fraction(x))
            exact += width * (Fraction(y) - Fraction(below))
        assert abs(Fraction(float(volume)) - exact) <= count * Fraction(1, 2**52)
        assert volume == each_isa(lambda points=points: pp.hypervolume(points, 0))


def test_a_batch_with_a_bad_set_names_it():
    points = np.random.default_rng(0).random((600, 8, 2))
    points[513, 3, 1] = np.nan
    mask = np.arange(8) % 3 != 1  # some points of each set are masked
    for counted in (None, mask):
        with pytest.raises(ValueError, match=r"points\[513, 3, 1\] is NaN"):
            pp.hypervolume(points, 0, mask=counted)
    mask = np.ones((600, 8), dtype=bool)
    mask[513, 3] = False
    assert np.isfinite(pp.hypervolume(points, 0, mask=mask)).all()
    points[513, 3, 1] = -np.inf
    assert np.isfinite(pp.hypervolume(points, 0)).all()


@pytest.mark.parametrize("kind", ["sphere", "antichain", "grid"])
def test_contributions_sum_to_at_most_the_volume(kind):
    points = points_of(kind, 20_000, 3)
    parts = pp.hypervolume_contributions(points, 0)
    assert (parts >= 0).all()
    assert parts.sum() <= pp.hypervolume(points, 0) * (1 + 1e-12)
    for i in (0, 77, 19_999):
        lost = pp.hypervolume(points, 0) - pp.hypervolume(np.delete(points, i, axis=0), 0)
        assert parts[i] == pytest.approx(lost, abs=1e-11 * pp.hypervolume(points, 0))


@pytest.mark.parametrize("kind", ["sphere", "grid", "flat"])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5])
def test_an_archive_adds_up_on_every_instruction_set(each_isa, kind, objectives):
    points = points_of(kind, 150, objectives, seed=3)
    ref = np.full(objectives, 0.05)

    def gains():
        archive = pp.ParetoArchive(ref)
        return np.array([archive.add(point) for point in points] + [archive.hypervolume])

    measured = each_isa(gains)
    assert measured[-1] == pytest.approx(pp.hypervolume(points, ref), rel=1e-12)
    archive = pp.ParetoArchive(ref)
    for point in points[:100]:
        archive.add(point)
    for twin in (copy.deepcopy(archive), pickle.loads(pickle.dumps(archive))):
        assert twin.state_dict() == archive.state_dict()
        assert [twin.add(point) for point in points[100:]] == measured[100:-1].tolist()


@pytest.mark.parametrize("at", [0, 255, 256, 599])
def test_one_point_unlike_all_others(at):
    """Sets are measured in blocks, as long as all points are inside and no side is too large."""
    points = np.abs(large_set("sphere", 600, 2, 0))
    rest = np.delete(points, at, axis=0)
    volume, parts = pp.hypervolume(rest, 0), pp.hypervolume_contributions(rest, 0)
    for outside in ([0.0, 2.0], [-0.0, 2.0], [2.0, -1.0]):
        points[at] = outside
        assert pp.hypervolume(points, 0) == volume
        np.testing.assert_array_equal(np.delete(pp.hypervolume_contributions(points, 0), at), parts)
        assert pp.hypervolume_contributions(points, 0)[at] == 0
    points[at] = 2.0**511
    assert pp.hypervolume(points, 0) == 2.0**1022
    points[at, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        pp.hypervolume(points, 0)
