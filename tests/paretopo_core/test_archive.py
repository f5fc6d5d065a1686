"""ParetoArchive."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import few_values, finite, senses

import paretopo_core as pp

sequences = arrays(
    np.float64,
    st.tuples(st.integers(0, 12), st.integers(1, 4)),
    elements=st.one_of(few_values, finite),
)


@given(points=sequences, data=st.data())
def test_gains_are_differences_of_hypervolumes(points, data):
    objectives = points.shape[1]
    maximise = data.draw(senses(objectives))
    ref = np.full(objectives, -1.0)
    archive = pp.ParetoArchive(ref, maximise=maximise)
    for count, point in enumerate(points):
        before = pp.hypervolume(points[:count], ref, maximise=maximise)
        after = pp.hypervolume(points[: count + 1], ref, maximise=maximise)
        gain = archive.add(point)
        assert gain >= 0.0
        assert gain == pytest.approx(after - before, rel=1e-9, abs=1e-12 * max(1.0, after))
        assert archive.hypervolume == pytest.approx(after, rel=1e-12)
        assert archive.recomputed_hypervolume() == pytest.approx(after, rel=1e-12)
    np.testing.assert_array_equal(archive.history, points)
    kept = pp.is_nondominated(points, maximise=maximise, keep_weakly=False)
    np.testing.assert_array_equal(archive.points, points[kept])
    assert len(archive) == kept.sum()


@given(points=sequences, cut=st.integers(0, 12))
def test_a_restored_archive_continues_bit_for_bit(points, cut):
    ref = np.full(points.shape[1], -1.5)
    whole, first = pp.ParetoArchive(ref), pp.ParetoArchive(ref)
    gains = [whole.add(point) for point in points]
    for point in points[:cut]:
        first.add(point)
    second = pp.ParetoArchive(ref)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert [second.add(point) for point in points[cut:]] == gains[cut:]
    assert second.state_dict() == whole.state_dict()


def test_refused_points_leave_the_archive_as_it_was():
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1, 1])
    state = archive.state_dict()
    for bad in ([1.0], [np.nan, 1.0], [np.inf, 1.0], "point"):
        with pytest.raises((ValueError, TypeError), match="point must be"):
            archive.add(bad)
    assert archive.state_dict() == state


def test_members_can_be_read_while_another_thread_adds():
    archive = pp.ParetoArchive(np.zeros(300))
    points = np.random.default_rng(0).random((1500, 300)) - 2.0  # no volume: members come fast
    writer = threading.Thread(target=lambda: [archive.add(point) for point in points])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        writer.start()
        while writer.is_alive():
            members = archive.points
            np.testing.assert_array_equal(members, points[: len(members)])
        writer.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(archive) == len(points)


_SHORT_OF_MEMORY = """
import resource
import numpy as np
import paretopo_core as pp

points = np.ones((460, 600)) + 0.5 * np.eye(460, 600)  # nobody covers anybody; 7 MB at 449 members
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
    archive = pp.ParetoArchive([0.0, 0.0])
    with pytest.raises(ValueError, match="state lacks history, hypervolume"):
        archive.load_state_dict({"ref": [0, 0], "maximise": [True, True], "points": []})
    other = pp.ParetoArchive([0.0, 1.0]).state_dict()
    with pytest.raises(ValueError, match="state belongs to an archive with ref and maximise"):
        archive.load_state_dict(other)
    archive.add([1.0, 2.0])
    before = archive.state_dict()
    for wrong in ({"points": [[np.nan, 1.0]]}, {"history": [[1.0]]}, {"hypervolume": "much"}):
        with pytest.raises(ValueError, match=r"not finite|cannot reshape|could not convert"):
            archive.load_state_dict({**before, "points": [], **wrong})
        assert archive.state_dict() == before


def test_a_copy_goes_its_own_way():
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1.0, 2.0])
    before = archive.state_dict()
    for twin in (copy.copy(archive), copy.deepcopy(archive)):
        assert twin.add([2.0, 2.0]) == 2.0
        assert archive.state_dict() == before


def test_results_are_copies():
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1.0, 2.0])
    archive.points[:] = 9.0
    archive.history[:] = 9.0
    archive.ref[:] = 9.0
    assert archive.points.tolist() == [[1.0, 2.0]]
    assert archive.add([1.0, 3.0]) == 1.0


def test_the_reference_may_be_a_tensor_and_the_senses_anything_that_lists_them():
    torch = pytest.importorskip("torch")
    senses = [False, True]
    archive = pp.ParetoArchive(torch.tensor([1.0, 0.0]), maximise=(each for each in senses))
    listed = pp.ParetoArchive([1.0, 0.0], maximise=senses)
    senses[0] = True  # the archive keeps its own
    for point in ([0.0, 2.0], [-1.0, 1.0]):
        assert archive.add(torch.tensor(point)) == listed.add(point) > 0
    assert archive.state_dict() == listed.state_dict()
    assert archive.recomputed_hypervolume() == listed.recomputed_hypervolume() == 3.0


def test_bad_references_are_named():
    with pytest.raises(TypeError, match="ref must be numbers"):
        pp.ParetoArchive([[0.0], [0.0, 1.0]])
    with pytest.raises(TypeError, match=r"ref must be real numbers, got dtype complex128"):
        pp.ParetoArchive(np.array([1j, 0.0]))
    with pytest.raises(ValueError, match="ref must be finite"):
        pp.ParetoArchive([0.0, np.nan])
    with pytest.raises(ValueError, match="ref must have one number per objective"):
        pp.ParetoArchive([])
    with pytest.raises(ValueError, match="maximise must be a bool or have one bool"):
        pp.ParetoArchive([0.0, 0.0], maximise=[True])
