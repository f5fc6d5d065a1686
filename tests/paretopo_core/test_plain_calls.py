"""The short way into the compiled core is taken, and its errors are those of the checked way."""

import sysconfig

import numpy as np
import pytest
from support.operations import CALLS

from paretopo_core import _core
from paretopo_core._machinery import operation

# Answers of them are arrays; others are made of several calls, or warn.
OPERATIONS = {
    name: call.run
    for name, call in CALLS.items()
    if not name.startswith(("hypervolume_approx", "knee_points", "stochastic", "uncrowded"))
}


def outcome(call, *arguments, **keywords):
    """The result, or the error and its words."""
    try:
        result = call(*arguments, **keywords)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    return result


@pytest.fixture
def checked_only(monkeypatch):
    """Switch the short way off."""

    def call(function, *arguments, **keywords):
        with monkeypatch.context() as patch:
            patch.setattr(operation, "_PLAIN", ())
            return outcome(function, *arguments, **keywords)

    return call


def assert_same(ours, theirs):
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours == theirs
        return
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


WRONG = [
    (np.ones((3, 2)), np.nan),
    (np.ones((3, 2)), [1.0, 2.0, 3.0]),
    (np.ones((3, 2)), "zero"),
    (np.ones((3, 2)), True),
    (np.array([[1.0, np.nan]]), 0.0),
    (np.array([[1.0, np.inf]]), 0.0),
    ([[1.0, 2.0], [3.0]], 0.0),
    ([[1.0, True]], 0.0),
    ([[1.0, None]], 0.0),
    ([[2**60, 1]], 0.0),
    ([[2**70, 1]], 0.0),
    ([1.0, 2.0], 0.0),
    ([[]], 0.0),
    ([], 0.0),
    ([[[]]], 0.0),
    ([[1.0, 2.0], 3.0], 0.0),
    ([[1.0, [2.0]]], 0.0),
    (np.ones(3), 0.0),
    (np.ones((2, 0)), 0.0),
    (np.ones((2, 2), complex), 0.0),
    (np.array([[1.7e308, 1.0]]), [[-1.7e308, 0.0]]),
]


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors_are_the_same_word_for_word(name, case, checked_only):
    points, ref = WRONG[case]
    for maximise in (True, [True, False], [True], "up", 1):
        for mask in (None, np.ones(2, bool), np.ones(3, int), [True] * len(points)):
            keywords = {"maximise": maximise, "mask": mask}
            call = OPERATIONS[name]
            if name.endswith("advantage") and maximise is not True:
                continue
            assert_same(
                outcome(call, points, ref, **keywords), checked_only(call, points, ref, **keywords)
            )


def test_the_short_way_is_taken():
    plain = [((1.0, 2.0), (2.0, 1)), np.eye(2), np.eye(2, dtype="f4"), np.eye(2)[::-1]]
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # no other thread can change the list
        plain.append([[1, 2.0], [2, 1]])
    for points in plain:
        assert _core.pareto_rank.call(points, True, None).tolist() == [0, 0]
        assert _core.hypervolume.call(points, (True, True), None, (-1, -1.0)) is not None
    fronts = np.array([0, 3], np.int32)
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts) is not None
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts.astype(np.int64)) is None
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts[:1]) is None
    assert _core.pareto_rank.call(np.eye(2, dtype=">f8"), True, None) is None
    assert _core.pareto_rank.call([[True, 1.0]], True, None) is None


def test_tensors_of_any_layout():
    torch = pytest.importorskip("torch")
    numbers = torch.from_numpy(np.random.default_rng(1).random((4, 6, 3)))
    layouts = {
        "later in its memory": numbers[1:],
        "float": numbers.float(),
        "columns": numbers.transpose(1, 2).contiguous().transpose(1, 2),
        "every other": numbers[:, ::2],
        "the same rows": numbers[:1].expand(3, 6, 3),
        "one set, other steps": numbers.as_strided((1, 6, 3), (7, 3, 1)),
        "one point, other steps": numbers.as_strided((4, 1, 3), (3, 5, 1)),
        "half": numbers.half(),
        "integers": (numbers * 9).long(),
        "no points": numbers[:, :0],
        "no sets": numbers[:0],
    }
    for layout, tensor in layouts.items():
        for name in ("pareto_rank", "hypervolume", "hypervolume_contributions"):
            ours = OPERATIONS[name](tensor, 0.1, maximise=True, mask=None)
            plain = np.array(tensor.tolist(), dtype="f4" if layout == "float" else "f8")
            expected = OPERATIONS[name](plain.reshape(tensor.shape), 0.1, maximise=True, mask=None)
            np.testing.assert_array_equal(ours.numpy(), expected, err_msg=f"{layout}, {name}")
    for short in ("later in its memory", "float", "one set, other steps", "one point, other steps"):
        capsule = torch.to_dlpack(layouts[short])
        assert _core.pareto_rank.call(capsule, True, None) is not None, short
