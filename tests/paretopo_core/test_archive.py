"""ParetoArchive."""

import copy
import json
import math
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import few_values, finite

import paretopo_core as pp
from paretopo_core import definitions

NAN = np.nan
sequences = arrays(
    np.float64,
    st.tuples(st.integers(0, 12), st.integers(1, 4)),
    elements=st.one_of(few_values, finite),
)


_SHORT_OF_MEMORY = """
import resource
import numpy as np
import paretopo_core as pp
from paretopo_core import definitions

points = np.ones((460, 600)) + 0.5 * np.eye(460, 600)  # none covers another; 7 MB at 449 members
free = resource.RLIM_INFINITY
for spare in (1, 10):  # MB: not even the first of two tables can grow, or not the second
    archive, twin = pp.ParetoArchive(np.zeros(600)), pp.ParetoArchive(np.zeros(600))
    refused = 0
    for point in points:
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + spare * 2**20, free))
        try:
            gain = archive.add(point)
        except MemoryError:
            refused += 1
            resource.setrlimit(resource.RLIMIT_AS, (free, free))
            gain = archive.add(point)
        resource.setrlimit(resource.RLIMIT_AS, (free, free))
        assert gain == twin.add(point) == 0.5 or len(archive) == 1
    assert refused > 0
    assert archive.state_dict() == twin.state_dict()
    print(refused)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory the Linux way")
@pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers need memory")
def test_an_archive_survives_a_lack_of_memory():
    run = subprocess.run(
        [sys.executable, "-c", _SHORT_OF_MEMORY], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_bad_states_are_refused():
    archive = pp.ParetoArchive([0.0, 0.0], keep_history=True)
    missing = "additions, capacity, epsilon, history, hypervolume, indices, keep, payloads"
    with pytest.raises(ValueError, match=f"state lacks {missing}"):
        archive.load_state_dict({"ref": [0, 0], "maximise": [True, True], "points": []})
    other = pp.ParetoArchive([0.0, 1.0]).state_dict()
    with pytest.raises(ValueError, match="state belongs to an archive with another ref"):
        archive.load_state_dict(other)
    archive.extend([[1.0, 2.0], [0.5, 0.5], [2.0, 1.0]])
    before = archive.state_dict()
    for wrong, message in (
        ({"points": [[np.nan, 1.0], [2.0, 1.0]]}, "points of the state must be finite"),
        ({"points": [[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]]}, "must have shape"),
        ({"points": [[1.0, 2.0, 2.0, 1.0]]}, "must have shape"),
        ({"points": [1.0, 2.0]}, "must have shape"),
        ({"points": [[1.0, 2.0], [0.5, 2.0]]}, "must not dominate or repeat"),
        ({"points": [[1.0, 2.0], [1.0, 2.0]]}, "must not dominate or repeat"),
        ({"points": [[1.0, 2.0], [2.0, 1.5]]}, "must hold its points at its indices"),
        ({"history": [[1.0]]}, "must have shape"),
        ({"history": [[1.0, 2.0]]}, "must hold its points at its indices"),
        ({"indices": [0]}, "indices of the state must ascend"),
        ({"indices": [2, 0]}, "indices of the state must ascend"),
        ({"indices": [0, 3]}, "indices of the state must ascend"),
        ({"indices": [0.0, 2.0]}, "indices of the state must ascend"),
        ({"additions": 2}, "indices of the state must ascend"),
        ({"hypervolume": np.nan}, "hypervolume of the state is nan"),
        ({"hypervolume": np.inf}, "hypervolume of the state is inf"),
        ({"hypervolume": -1.0}, "hypervolume of the state is -1"),
        ({"hypervolume": 2.9}, "that of its points is 3.0"),
        ({"payloads": ["one"]}, "payloads of the state must be one for each of 2 points, got 1"),
        ({"capacity": 2}, "state belongs to an archive with another capacity"),
        ({"epsilon": [1.0, 1.0]}, "state belongs to an archive with another epsilon"),
    ):
        with pytest.raises(ValueError, match=message):
            archive.load_state_dict({**before, **wrong})
        assert archive.state_dict() == before
    with pytest.raises(TypeError, match="hypervolume of the state must be real numbers"):
        archive.load_state_dict({**before, "hypervolume": "5"})


@given(points=sequences, data=st.data())
def test_members_can_be_removed_and_archives_merged(points, data):
    objectives = points.shape[1]
    ref = np.full(objectives, -1.0)
    archive = pp.ParetoArchive(ref)
    archive.extend(points)
    if len(archive):
        gone = archive.points[data.draw(st.integers(0, len(archive) - 1))]
        rest = archive.points[(archive.points != gone).any(axis=1)]
        archive.remove(gone)
        assert gone not in archive
        np.testing.assert_array_equal(archive.points, rest)
        assert archive.hypervolume == pytest.approx(pp.hypervolume(rest, ref), rel=1e-12)
        np.testing.assert_array_equal(points[archive.indices], rest)
        with pytest.raises(ValueError, match="point is no member"):
            archive.remove(gone)
    other = pp.ParetoArchive(ref - 1.0)
    other.extend(data.draw(sequences.filter(lambda p: p.shape[1] == objectives)))
    everything = np.concatenate([archive.points, other.points])
    before = archive.hypervolume
    gain = archive.merge(other).gains.sum()
    union = pp.ParetoArchive(ref)
    union.extend(everything)
    assert archive == union
    assert before + gain == pytest.approx(archive.hypervolume, rel=1e-12)


@pytest.mark.parametrize("objectives", [2, 3])
def test_members_of_a_long_sequence(objectives):
    random = np.random.default_rng(0)
    points = np.abs(random.normal(size=(3_000, objectives)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points *= np.linspace(0.9, 1.0, len(points))[:, None]  # most leave again
    points[1::7] = points[::7][: len(points[1::7])]
    points[2::9, 0] -= 0.5  # some beyond the reference
    archive = pp.ParetoArchive(np.zeros(objectives))
    for first in range(0, len(points), 500):
        some = points[: first + 500]
        archive.extend(some[first:])
        kept = pp.is_nondominated(some, duplicates="first")
        np.testing.assert_array_equal(archive.points, some[kept])
        np.testing.assert_array_equal(archive.indices, np.flatnonzero(kept))
        assert archive.hypervolume == pytest.approx(pp.hypervolume(some, 0.0), rel=1e-12)
        twin = pp.ParetoArchive(np.zeros(objectives))
        twin.load_state_dict(archive.state_dict())
        asked = random.random((100, objectives)) * 1.2 - 0.1
        assert twin.gain(asked).tolist() == archive.gain(asked).tolist()
        for row, gain in zip(asked, archive.gain(asked).tolist(), strict=True):
            more = pp.hypervolume(np.vstack([archive.points, row]), 0.0)
            assert gain == pytest.approx(more - archive.recomputed_hypervolume(), abs=1e-12)


def test_equality_and_text():
    one, other = pp.ParetoArchive([0.0, 0.0]), pp.ParetoArchive([0.0, 0.0])
    one.extend([[1.0, 2.0], [2.0, 1.0]])
    other.extend([[2.0, 1.0], [0.5, 0.5], [1.0, 2.0]])
    assert one == other
    other.add([3.0, 3.0])
    assert one != other
    assert one != pp.ParetoArchive([0.0, 1.0])
    assert pp.ParetoArchive([0.0, 0.0]) != pp.ParetoArchive([0.0, 0.0], maximise=False)
    assert one != [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    assert repr(one) == (
        "ParetoArchive(ref=[0.0, 0.0], maximise=[True, True], members=2, hypervolume=3.0)"
    )


def test_zeros_of_both_signs_are_one_point():
    archive = pp.ParetoArchive([-1.0, -1.0], maximise=[True, False])
    assert archive.extend([[-0.0, -3.0], [0.0, -3.0]]).joined.tolist() == [True, False]
    assert archive.indices.tolist() == [0]
    archive.remove([0.0, -3.0])
    assert len(archive) == 0
    assert archive.hypervolume == 0.0


def make(ref=(0.0, 0.0), **more):
    return lambda _: pp.ParetoArchive(ref, **more)


REFUSED = [  # calls with an archive of two objectives
    ("points must be finite, got nan", lambda archive: archive.extend([[2.0, 2.0], [NAN, 1.0]])),
    (r"points must have shape \(points, 2\)", lambda archive: archive.extend([[2.0, 2.0, 2.0]])),
    (r"points must have shape \(points, 2\)", lambda archive: archive.extend([2.0, 2.0])),
    (r"points must have shape \(points, 2\), got \(1, 0\)", lambda archive: archive.extend([[]])),
    (r"points must have shape \(points, 2\), got", lambda archive: archive.gain(np.zeros((3, 0)))),
    (r"points must have shape \(points, 2\)", lambda archive: archive.gain([2.0, 2.0, 2.0])),
    (r"shape \(1, 2\); pass several points to extend", lambda archive: archive.add([[2.0, 2.0]])),
    ("so far from ref that float64 cannot hold", lambda archive: archive.add([1.7e308, 1.0])),
    ("so far from ref", lambda archive: archive.extend([[0.0, 1.0], [1.7e308, 1.0]])),
    ("other has obj", lambda archive: archive.merge(pp.ParetoArchive([0.0, 0.0, 0.0]))),
    ("other has obj", lambda archive: archive.merge(pp.ParetoArchive([0.0, 0.0], maximise=False))),
    ("keeps no history", lambda archive: archive.history),
    ("ref must be finite", make([0.0, NAN])),
    ("ref must have one number per objective", make([])),
    (r"got 2: pass for example ref=\[0, 0, 0\] for three", make(2)),
    ("maximise must be a bool or have one bool", make(maximise=[True])),
    ("give ref=, one number per objective; or", make(None)),
    ("give ref=, one number per objective; or", make(objectives=2)),
    ("objectives must be at least 1, got 0", make(None, objectives=0)),
    (
        "keep='contribution' measures hypervolumes: pass ref=",
        make(None, objectives=2, capacity=3, keep="contribution"),
    ),
    ("capacity must be at least 1", make(capacity=0)),
    (r"capacity must be at most 2\*\*31 - 1", make(capacity=2**31)),
    ("keep must be one of contribution, crowding, got 'best", make(keep="best")),
    ("epsilon must be larger than 0, got", make(epsilon=0)),
    ("epsilon must be larger than 0, got", make(epsilon=[1, -1])),
    ("epsilon must be finite", make(epsilon=NAN)),
    ("epsilon must be a number or have shape", make(epsilon=[1, 1, 1])),
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_wrong_arguments_are_named_and_leave_an_archive_as_it_was(message, call):
    archive = pp.ParetoArchive([-1.7e308, 0.0])
    archive.add([0.0, 1.0])
    before = archive.state_dict()
    with pytest.raises(ValueError, match=message):
        call(archive)
    assert archive.state_dict() == before


def test_no_points_gain_nothing():
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1.0, 2.0])
    for none in ([], (), np.zeros(0), np.zeros((0, 2))):
        assert archive.gain(none).shape == archive.extend(none).gains.shape == (0,)
    assert archive.additions == 1


def test_points_are_one_array_until_the_archive_changes():
    archive = pp.ParetoArchive([0.0, 0.0])
    seen = []
    for change in (
        lambda: archive.add([1.0, 2.0]),
        lambda: archive.extend([[2.0, 1.0], [1.5, 1.5]]),
        lambda: archive.remove([2.0, 1.0]),
        lambda: archive.load_state_dict(archive.state_dict()),
    ):
        change()
        assert archive.points is archive.points
        assert archive.points.tolist() == [point.tolist() for point in archive]
        assert all(archive.points is not old for old in seen)
        seen.append(archive.points)
    assert [len(each) for each in seen] == [1, 3, 2, 2]  # snapshots stay as they were
    assert ([1.0, 2.0] in archive, [2.0, 1.0] in archive) == (True, False)
    with pytest.raises(ValueError, match="read-only"):
        archive.points[:] = 9.0


def test_results_are_copies():
    archive = pp.ParetoArchive([0.0, 0.0], keep_history=True)
    archive.add([1.0, 2.0])
    archive.history[:] = 9.0
    archive.ref[:] = 9.0
    assert archive.points.tolist() == [[1.0, 2.0]]
    assert archive.add([1.0, 3.0]) == 1.0


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 7])
def test_without_a_reference_it_has_the_same_members(objectives, tmp_path):
    rng = np.random.default_rng(objectives)
    points = rng.integers(0, 6, (120, objectives)) - 3.0
    points[0] = 1e308  # no reference is too far from it
    maximise = [m % 2 == 0 for m in range(objectives)]
    named = [{"name": i} for i in range(len(points))]
    archive = pp.ParetoArchive(objectives=objectives, maximise=maximise)
    added = archive.extend(points[1:], named[1:])
    measured = pp.ParetoArchive([0.0] * objectives, maximise=maximise)
    np.testing.assert_array_equal(added.joined, measured.extend(points[1:], named[1:]).joined)
    assert np.isnan(added.gains).all()
    np.testing.assert_array_equal(archive.indices, measured.indices)
    assert archive.payloads == measured.payloads
    assert math.isnan(archive.add(points[0]))
    kept = pp.is_nondominated(points, maximise=maximise, duplicates="first")
    assert sorted(archive.points.tolist()) == sorted(points[kept].tolist()) or kept[0]
    for again in (pickle.loads(pickle.dumps(archive)), copy.deepcopy(archive)):
        assert again == archive
        assert again.state_dict() == archive.state_dict()
    for name in ("a.json", "a.npz"):
        archive.save(tmp_path / name)
        assert pp.ParetoArchive.load(tmp_path / name).state_dict() == archive.state_dict()
    archive.remove(archive.points[0])
    assert not np.isnan(measured.merge(archive).gains).any()
    assert np.isnan(archive.merge(measured).gains).all()


def test_an_infinite_volume_is_saved(tmp_path):
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1e200, 1e200])
    for name in ("a.json", "a.npz"):
        archive.save(tmp_path / name)
        again = pp.ParetoArchive.load(tmp_path / name)
        assert again.state_dict() == archive.state_dict()
        assert again.hypervolume == math.inf
    text = (tmp_path / "a.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail)["hypervolume"] == "inf"


@pytest.mark.parametrize("name", ["a.json", "a.npz"])
def test_a_link_stays_a_link(tmp_path, name):
    archive = pp.ParetoArchive([0.0, 0.0])
    target, link = tmp_path / "folder" / name, tmp_path / name
    target.parent.mkdir()
    link.symlink_to(target)
    for point in ([1.0, 1.0], [2.0, 2.0]):  # without a file and with one
        archive.add(point)
        archive.save(link)
        assert link.is_symlink()
        assert pp.ParetoArchive.load(target) == archive
    assert list(target.parent.iterdir()) == [target]


def test_a_small_file_cannot_fill_the_memory(tmp_path):
    archive = pp.ParetoArchive([0.0, 0.0], keep_history=True)
    archive.extend(np.zeros((10_000, 2)))
    path = tmp_path / "a.npz"
    archive.save(path)
    with np.load(path) as arrays:
        held = dict(arrays)
    np.savez_compressed(path, **held)
    with pytest.raises(ValueError, match=r"a\.npz .* arrays are compressed, .* with np\.savez"):
        pp.ParetoArchive.load(path)
    np.savez(path, **held)
    assert pp.ParetoArchive.load(path) == archive


def test_without_a_reference_nothing_measures():
    archive = pp.ParetoArchive(objectives=2)
    assert archive.ref is None
    assert repr(archive) == "ParetoArchive(objectives=2, maximise=[True, True], members=0)"
    assert archive.state_dict()["hypervolume"] is None
    for measure in (
        lambda: archive.hypervolume,
        lambda: archive.gain([1.0, 1.0]),
        archive.recomputed_hypervolume,
    ):
        with pytest.raises(ValueError, match="this archive has no hypervolume: make it with ref="):
            measure()
    with pytest.raises(ValueError, match="state belongs to an archive with another ref"):
        pp.ParetoArchive([0.0, 0.0]).load_state_dict(archive.state_dict())


def test_without_a_reference_a_full_archive_keeps_the_least_crowded():
    points = np.random.default_rng(1).random((60, 3))
    archive = pp.ParetoArchive(objectives=3, capacity=8, epsilon=0.01)
    assert archive.keep == "crowding"
    archive.extend(points)
    members = definitions.archive(points, np.zeros(3), capacity=8, keep="crowding", epsilon=0.01)
    np.testing.assert_array_equal(archive.indices, members)
