"""ParetoArchive with a bound, with payloads, in files and among threads."""

import copy
import gc
import json
import pickle
import sys
import threading
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import finite, senses

import paretopo_core as pp
from paretopo_core import definitions

sequences = arrays(
    np.float64,
    st.tuples(st.integers(0, 14), st.integers(1, 4)),
    elements=st.integers(-2, 4).map(float) | finite,
)
bounds = st.fixed_dictionaries(
    {},
    optional={
        "capacity": st.integers(1, 5),
        "keep": st.sampled_from(["contribution", "crowding"]),
        "epsilon": st.sampled_from([0.5, 1.0, 1.5, 3.0]),
    },
)


def named(points):
    """A payload for each point that tells it."""
    return [tuple(row) for row in np.asarray(points).tolist()]


@pytest.mark.parametrize("kind", [st.just({}), bounds], ids=["unbounded", "bounded"])
@given(points=sequences, data=st.data())
def test_members_are_those_of_the_definition(kind, points, data):
    """The older of equal points stays: opt4j PR 17."""
    bound = data.draw(kind)
    objectives = points.shape[1]
    if "capacity" in bound:  # contributions that differ by rounding have no order
        points = np.clip(points.round(), -2, 4)
    maximise = data.draw(senses(objectives))
    ref = np.ones(objectives)  # half of the points are beyond it
    archive = pp.ParetoArchive(ref, maximise=maximise, keep_history=True, **bound)
    gains, joined = [], []
    for count, point in enumerate(points, 1):
        before, asked = archive.hypervolume, archive.gain(point)
        gain = archive.add(point, payload=tuple(point.tolist()))
        gains.append(gain)
        joined.append(count - 1 in archive.indices)
        expected = definitions.archive(points[:count], ref, maximise=maximise, **bound)
        assert archive.indices.tolist() == expected.tolist()
        after = archive.hypervolume
        assert gain == asked
        assert gain == pytest.approx(after - before, rel=1e-9, abs=1e-12 * max(1.0, before, after))
        expected_volume = pp.hypervolume(points[expected], ref, maximise=maximise)
        assert after == pytest.approx(expected_volume, rel=1e-12)
        assert archive.recomputed_hypervolume() == pytest.approx(expected_volume, rel=1e-12)
        assert archive.payloads == named(archive.points)
        if bound.get("keep") != "crowding" and "epsilon" not in bound:
            assert gain >= 0.0
        assert len(archive) <= bound.get("capacity", count)
    np.testing.assert_array_equal(archive.history, points)
    twin = pp.ParetoArchive(ref, maximise=maximise, **bound)
    cut = data.draw(st.integers(0, len(points)))
    halves = points[:cut], np.asfortranarray(points[cut:])
    parts = [twin.extend(some, named(some)) for some in halves]
    assert np.concatenate([part.gains for part in parts]).tolist() == gains
    assert np.concatenate([part.joined for part in parts]).tolist() == joined
    assert twin.payloads == archive.payloads
    assert twin == archive
    assert twin.additions == len(points)
    assert named(list(twin)) == twin.payloads
    loaded = pp.ParetoArchive(ref, maximise=maximise, keep_history=True, **bound)
    loaded.load_state_dict(archive.state_dict())
    assert loaded.state_dict() == archive.state_dict()


@given(
    signs=arrays(
        np.int8, st.tuples(st.integers(0, 9), st.integers(1, 4)), elements=st.integers(-4, 4)
    ),
    powers=st.lists(st.integers(-300, 300), min_size=36, max_size=36),
    power=st.integers(-300, 300),
    data=st.data(),
)
def test_boxes_are_those_of_the_filter_from_1e_300_to_1e300(signs, powers, power, data):
    points = signs * 0.37 * 10.0 ** np.reshape(powers[: signs.size], signs.shape)
    objectives = points.shape[1]
    keywords = {"maximise": data.draw(senses(objectives))}
    keywords["epsilon"] = [10.0**power * (m + 1) for m in range(objectives)]
    order = data.draw(st.permutations(range(len(points))))
    archive = pp.ParetoArchive(objectives=objectives, **keywords)
    joined = archive.extend(points[order]).joined
    kept = pp.is_nondominated(points, **keywords)
    np.testing.assert_array_equal(kept, definitions.is_nondominated(points, **keywords))
    assert sorted(archive.points.tolist()) == sorted(points[kept].tolist())
    assert joined[archive.indices].all()


@pytest.mark.parametrize("keep", ["contribution", "crowding"])
@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_a_full_archive_spreads_over_a_long_sequence(keep, objectives):
    points = np.abs(np.random.default_rng(0).normal(size=(400, objectives)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    archive = pp.ParetoArchive([0.0] * objectives, capacity=20, keep=keep)
    gains, joined = archive.extend(points)
    assert len(archive) == 20
    assert archive.hypervolume == pytest.approx(pp.hypervolume(archive.points, 0.0), rel=1e-12)
    assert gains.sum() == pytest.approx(archive.hypervolume, rel=1e-9)
    assert joined[archive.indices].all()
    assert archive.indices.max() > 200  # better points still enter
    if keep == "contribution":
        assert (gains >= 0).all()
        assert archive.hypervolume > pp.hypervolume(points[:20], 0.0)


def test_gain_is_zero_once_the_volume_is_infinite():
    archive = pp.ParetoArchive([0.0, 0.0], capacity=2)
    rows = [[1e200, 3e200], [3e200, 1e200], [2e200, 2e200]]
    assert archive.extend(rows).gains.tolist() == [np.inf, np.inf, 0.0]
    crowded = pp.ParetoArchive([0.0, 0.0], capacity=3, keep="crowding")
    assert crowded.extend([*rows, [2.5e200, 1.5e200]]).gains.tolist()[-1] == 0.0


def test_payloads_go_with_their_members():
    class Thing:
        pass

    things = [Thing() for _ in range(4)]
    seen = [weakref.ref(thing) for thing in things]
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.extend([[1, 3], [3, 1], [0.5, 0.5]], things[:3])
    assert [payload is thing for payload, thing in zip(archive.payloads, things, strict=False)]
    del things[2], things[0]
    gc.collect()
    assert [each() is not None for each in seen] == [True, True, False, True]  # dominated: let go
    archive.add([2, 4], things.pop())  # drives out the first
    gc.collect()
    assert [each() is not None for each in seen] == [False, True, False, True]
    archive.remove([2.0, 4.0])
    del things[:]
    gc.collect()
    assert [each() is not None for each in seen] == [False, True, False, False]
    del archive
    gc.collect()
    assert not any(each() is not None for each in seen)


def test_payloads_are_any_objects_and_travel():
    archive = pp.ParetoArchive([0.0, 0.0], capacity=9)
    archive.add([1, 3], payload={"model": np.arange(3)})
    archive.add(np.array([3.0, 1.0], dtype=np.float32), payload=len)
    archive.add((2, 2))
    shallow, deep = copy.copy(archive), copy.deepcopy(archive)
    pickled = pickle.loads(pickle.dumps(archive))
    assert shallow.payloads[0] is archive.payloads[0]
    assert deep.payloads[0] is not archive.payloads[0]
    for twin in (shallow, deep, pickled):
        assert twin == archive
        assert twin.payloads[0]["model"].tolist() == [0, 1, 2]
        assert twin.payloads[1:] == [len, None]
    other = pp.ParetoArchive([0.0, 0.0])
    other.add([4, 0.5], "from the other")
    archive.merge(other)
    assert archive.payloads[-1] == "from the other"
    shallow.remove([1, 3])
    assert len(archive.payloads) == 4  # the copy went its own way


def test_one_that_is_let_go_may_use_the_archive():
    archive = pp.ParetoArchive([0.0, 0.0])
    sizes = []

    class Thing:
        def __del__(self):
            sizes.append(len(archive))

    archive.add([1, 1], Thing())
    archive.add([2, 2], Thing())
    archive.add([0.5, 0.5], Thing())
    archive.remove([2, 2])
    assert sizes == [1, 1, 0]


@pytest.mark.parametrize("ending", [".npz", ".json"])
@given(points=sequences, bound=bounds, keeps_history=st.booleans(), has_payloads=st.booleans())
def test_files_continue_bit_for_bit(
    tmp_path_factory, ending, points, bound, keeps_history, has_payloads
):
    archive = pp.ParetoArchive(
        [-3.3] * points.shape[1],
        maximise=[m % 2 == 0 for m in range(points.shape[1])],
        keep_history=keeps_history,
        **bound,
    )
    things = [{"name": str(i), "parts": [i, None, True, 0.1]} for i in range(len(points))]
    archive.extend(points / 3, things if has_payloads else None)
    path = tmp_path_factory.mktemp("archives") / f"front{ending}"
    archive.save(path)
    loaded = pp.ParetoArchive.load(str(path))
    assert loaded.state_dict() == archive.state_dict()
    assert loaded.epsilon is archive.epsilon or loaded.epsilon.tolist() == archive.epsilon.tolist()
    more = points[::-1] / 7
    assert loaded.extend(more).gains.tolist() == archive.extend(more).gains.tolist()
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", [".npz", ".json"])
@pytest.mark.parametrize(
    "payload", [(1, 2), {1: 2}, float("nan"), {"f": len}, np.float32(1), b"", {"a": [(1,)]}]
)
def test_payloads_outside_json_are_refused(tmp_path, ending, payload):
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1, 3], "kept")
    path = tmp_path / f"front{ending}"
    archive.save(path)
    archive.add([3, 1], payload)
    with pytest.raises(TypeError, match=r"payload of member 1 is a .* that JSON cannot hold .*: g"):
        archive.save(path)
    assert pp.ParetoArchive.load(path).payloads == ["kept"]
    assert len(list(tmp_path.iterdir())) == 1


def test_files_that_hold_no_archive_are_refused(tmp_path):
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1, 3])
    with pytest.raises(ValueError, match=r"path must end in \.npz or \.json, got"):
        archive.save(tmp_path / "front.pkl")
    with pytest.raises(FileNotFoundError):
        archive.save(tmp_path / "nowhere" / "front.npz")
    with pytest.raises(FileNotFoundError):
        pp.ParetoArchive.load(tmp_path / "front.npz")
    state = archive.state_dict()
    for name, text in {
        "empty.npz": b"",
        "empty.json": b"",
        "text.npz": b"PK nothing",
        "list.json": b"[1, 2]",
        "cut.json": json.dumps(state).encode()[:-9],
        "deep.json": b"[" * 100_000,
        "lacking.json": b'{"ref": [0, 0]}',
        "wrong.json": json.dumps({**state, "points": [[1.0, "x"]]}).encode(),
        "dominated.json": json.dumps({**state, "points": [[1, 1], [0, 0]]}).encode(),
        "negative.json": json.dumps({**state, "capacity": -1}).encode(),
        "none.json": json.dumps({**state, "indices": None}).encode(),
    }.items():
        (tmp_path / name).write_bytes(text)
        with pytest.raises(ValueError, match=name):
            pp.ParetoArchive.load(tmp_path / name)
    np.savez(tmp_path / "objects.npz", ref=np.array([{}, len], dtype=object))
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with pytest.raises(ValueError, match=r"array\.npz is no \.npz file of an archive"):
        pp.ParetoArchive.load(tmp_path / "array.npz")
    with pytest.raises(ValueError, match=r"objects\.npz is no \.npz file of an archive"):
        pp.ParetoArchive.load(tmp_path / "objects.npz")


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_damaged_files_are_refused_or_read(tmp_path, ending):
    """Bytes are changed, cut out and put in: a ValueError by the file's name, or an archive."""
    archive = pp.ParetoArchive([0.0, 0.0], keep_history=True, capacity=5)
    archive.extend(np.random.default_rng(0).random((9, 2)), payloads=[{"row": i} for i in range(9)])
    whole, damaged = tmp_path / f"whole{ending}", tmp_path / f"damaged{ending}"
    archive.save(whole)
    given, rng = whole.read_bytes(), np.random.default_rng(1)
    for _ in range(300):
        data, at = bytearray(given), int(rng.integers(len(given)))
        data[at] = int(rng.integers(256))
        if rng.random() < 0.3:
            del data[at : at + int(rng.integers(1, 40))]
        damaged.write_bytes(data)
        try:
            again = pp.ParetoArchive.load(damaged)
        except ValueError as error:
            words = str(error)
        else:
            words = damaged.name if len(again) <= 5 else ""
        assert damaged.name in words


def test_bounds_are_shown_and_kept_by_a_wrong_state():
    archive = pp.ParetoArchive([0.0, 0.0], capacity=np.int64(2), epsilon=1)
    assert (archive.capacity, archive.keep, archive.epsilon.tolist()) == (2, "contribution", [1, 1])
    assert repr(archive) == (
        "ParetoArchive(ref=[0.0, 0.0], maximise=[True, True], capacity=2, keep='contribution', "
        "epsilon=[1.0, 1.0], members=0, hypervolume=0.0)"
    )
    archive.epsilon[:] = 9.0
    assert archive.epsilon.tolist() == [1.0, 1.0]
    state = archive.state_dict()
    for points, message in (
        ([[1.5, 3.5], [1.6, 3.4]], "must be one in a box, and no box dominated"),
        ([[1, 3], [2, 2], [3, 1]], "at most capacity=2 points, got 3"),
    ):
        wrong = {"points": points, "indices": [*range(len(points))], "additions": len(points)}
        with pytest.raises(ValueError, match=message):
            archive.load_state_dict({**state, **wrong, "hypervolume": 6.0})
    assert archive.state_dict() == state


@pytest.mark.parametrize(
    "bound", [{}, {"capacity": 12}, {"capacity": 12, "keep": "crowding"}, {"epsilon": 0.05}]
)
def test_readers_see_the_archive_between_two_additions(bound):
    """While one thread adds, others see a consistent earlier archive with its payloads."""
    points = np.abs(np.random.default_rng(0).normal(size=(1_500, 2)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points *= np.linspace(0.5, 1.0, len(points))[:, None]
    points = points.round(4)
    archive = pp.ParetoArchive([0.0, 0.0], **bound)
    failures, seen = [], []
    is_over = threading.Event()

    def write():
        for first in range(0, len(points), 50):
            archive.extend(points[first : first + 25], named(points[first : first + 25]))
            for point in points[first + 25 : first + 50]:
                archive.add(point, tuple(point.tolist()))
                if len(archive) > 3:
                    archive.remove(next(iter(archive)))
        is_over.set()

    def read():
        try:
            while not is_over.is_set():
                items = list(archive.items())
                rows = [tuple(point.tolist()) for point, _ in items]
                assert rows == [payload for _, payload in items]
                assert pp.is_nondominated(np.reshape(rows, (-1, 2)), duplicates="first").all()
                assert len(items) <= bound.get("capacity", len(points))
                state = archive.state_dict()
                assert named(state["points"]) == (state["payloads"] or [])
                volume = pp.hypervolume(np.reshape(state["points"], (-1, 2)), 0.0)
                assert state["hypervolume"] == pytest.approx(volume, rel=1e-9)
                assert all(before < after for before, after in pairwise(state["indices"]))
                assert [2.0, 2.0] not in archive
                assert archive.gain([2.0, 2.0]) > 2.0
                seen.append(len(rows))
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for reader in readers:
            reader.start()
        write()
    finally:
        is_over.set()
        for reader in readers:
            reader.join()
        sys.setswitchinterval(interval)
    if failures:
        raise failures[0]
    assert seen
    assert archive.payloads == named(archive.points)


def test_iteration_runs_over_a_snapshot():
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.extend([[1, 3], [3, 1]], ["a", "b"])
    items, rows = archive.items(), iter(archive)
    archive.add([9, 9], "c")
    assert [name for _, name in items] == ["a", "b"]
    assert [row.tolist() for row in rows] == [[1, 3], [3, 1]]
