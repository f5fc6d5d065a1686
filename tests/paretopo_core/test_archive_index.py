"""ParetoArchive with more members than it scans one by one."""

import copy
import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paretopo_core as pp

_KINDS = ("front", "ties", "drift", "flood")


class Scan:
    """The members of an archive by their definition: each point is compared with all of them."""

    def __init__(self, objectives, maximise):
        self.sign = np.where(maximise, 1.0, -1.0)
        self.points = np.empty((0, objectives))
        self.indices = np.empty(0, dtype=np.int64)
        self.additions = 0

    def add(self, point):
        rows, row = self.points * self.sign, point * self.sign
        self.additions += 1
        if (rows >= row).all(axis=1).any():
            return False
        stays = ~(rows <= row).all(axis=1)
        self.points = np.vstack([self.points[stays], point])
        self.indices = np.append(self.indices[stays], self.additions - 1)
        return True

    def remove(self, place):
        self.points = np.delete(self.points, place, axis=0)
        self.indices = np.delete(self.indices, place)


def draw_sequence(random, kind, count, objectives, maximise):
    """Draw points, many of them members at once; most are better than 0 in every objective."""
    if kind == "ties":  # whole numbers of one sum, in part moved down
        total = {3: 90, 4: 25}.get(objectives, 15)
        cuts = np.sort(random.integers(0, total + 1, (count, objectives - 1)), axis=1)
        points = np.diff(cuts, axis=1, prepend=0, append=total).astype(float)
        points[::5] -= random.integers(0, 2, points[::5].shape)
    else:
        points = np.abs(random.normal(size=(count, objectives)))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
    if kind == "drift":  # later points cover earlier ones
        points *= np.linspace(0.98, 1.0, count)[:, None]
    elif kind == "flood":
        points[random.random(count) < 0.5] *= random.uniform(0.3, 1.0)
        points[1::9] = points[::9][: len(points[1::9])]
    points += 0.5
    points[::97, 0] = -0.5  # beyond a reference of 0
    return points * np.where(maximise, 1.0, -1.0)


@settings(max_examples=8)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(_KINDS),
    objectives=st.integers(3, 10),
    has_ref=st.booleans(),
    data=st.data(),
)
def test_an_indexed_archive_has_the_members_of_a_plain_scan(seed, kind, objectives, has_ref, data):
    maximise = data.draw(st.lists(st.booleans(), min_size=objectives, max_size=objectives))
    random = np.random.default_rng(seed)
    points = draw_sequence(random, kind, 2_500, objectives, maximise)
    has_ref = has_ref and objectives == 3  # more objectives take long to measure
    archive = pp.ParetoArchive(
        ref=np.zeros(objectives) if has_ref else None,
        objectives=None if has_ref else objectives,
        maximise=maximise,
    )
    scan = Scan(objectives, maximise)
    for first in range(0, len(points), 500):
        some = points[first : first + 500]
        joined = archive.extend(some, range(first, first + 500)).joined
        assert joined.tolist() == [scan.add(point) for point in some]
        np.testing.assert_array_equal(archive.points, scan.points)
        np.testing.assert_array_equal(archive.indices, scan.indices)
        assert archive.payloads == scan.indices.tolist()
        if has_ref:
            own = archive.recomputed_hypervolume()
            assert archive.hypervolume == pytest.approx(own, rel=1e-9)
    with pytest.raises(ValueError, match="point"):
        archive.add([np.nan] * objectives)
    for again in (pickle.loads(pickle.dumps(archive)), copy.deepcopy(archive)):
        assert again.state_dict() == archive.state_dict()
    place = data.draw(st.integers(0, len(archive) - 1))
    archive.remove(archive.points[place])
    scan.remove(place)
    best = np.where(maximise, 1e3, -1e3)
    for point in (*points[:50], best, points[7]):  # the last but one covers all
        scan.add(point)
        archive.add(point)
        np.testing.assert_array_equal(archive.points, scan.points)
    assert len(archive) == 1


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("objectives", [3, 4, 5])
def test_gains_of_an_indexed_archive_are_contributions(kind, objectives):
    maximise = [m != 1 for m in range(objectives)]
    random = np.random.default_rng(objectives)
    points = draw_sequence(random, kind, 5_000, objectives, maximise)
    archive = pp.ParetoArchive(np.zeros(objectives), maximise=maximise)
    archive.extend(points)
    assert len(archive) > 1_100
    asked = draw_sequence(random, kind, 40, objectives, maximise) * 1.01
    sign = np.where(maximise, 1.0, -1.0)
    sides = archive.points * sign
    for point, gain in zip(asked * sign, archive.gain(asked).tolist(), strict=True):
        box = point.prod() if (point > 0).all() else 0.0
        shared = pp.hypervolume(np.minimum(sides, point), 0.0)
        assert gain == pytest.approx(box - shared, rel=1e-6, abs=1e-11)
        assert gain > 0.0 or box == 0.0 or (sides >= point).all(axis=1).any()


def test_gains_allow_for_members_whose_distances_cover_others_after_rounding():
    random = np.random.default_rng(3)
    points = 1e-3 * draw_sequence(random, "front", 2_000, 3, [True] * 3)
    archive = pp.ParetoArchive([-1.0] * 3)  # its distances are multiples of 2**-52
    archive.extend(points)
    members = len(archive)
    assert members > 1_100
    # They cover no member, but their rounded distances cover those of one.
    archive.extend(archive.points[:300] + np.array([1e-7, -(2.0**-56), 0.0]))
    assert len(archive) == members + 300
    sides = archive.points + 1.0
    asked = 1e-3 * draw_sequence(random, "front", 40, 3, [True] * 3) * 1.02
    gains = archive.gain(asked)
    assert gains.max() > 1e-10
    for point, gain in zip(asked + 1.0, gains.tolist(), strict=True):
        shared = pp.hypervolume(np.minimum(sides, point), 0.0)
        assert gain == pytest.approx(point.prod() - shared, abs=1e-14)


@pytest.mark.parametrize("objectives", [3, 5, 10])
def test_additions_cost_far_less_than_in_proportion_to_the_members(objectives):
    random = np.random.default_rng(0)
    points = draw_sequence(random, "front", 8_000, objectives, [True] * objectives)

    def seconds(members):
        times = []
        for _ in range(5):
            archive = pp.ParetoArchive(objectives=objectives)
            archive.extend(points[: members - 200])
            start = time.thread_time()
            archive.extend(points[members - 200 : members])
            times.append(time.thread_time() - start)
        return min(times)

    # 16 times as many members. A busy machine can disturb one comparison, but not five.
    assert any(seconds(8_000) < 6 * seconds(500) for _ in range(5))
