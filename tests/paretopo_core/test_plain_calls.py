"""The short way into the compiled core and the checked one agree, on answers and on errors."""

from __future__ import annotations

import sysconfig

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import few_values, finite, point_batches, senses

import paretopo_core as pp
from paretopo_core import _core, _operation

CALLS = {
    "pareto_rank": lambda x, ref, **more: pp.pareto_rank(x, **more),
    "is_nondominated": lambda x, ref, **more: pp.is_nondominated(x, keep_weakly=False, **more),
    "is_nondominated of boxes": lambda x, ref, **more: pp.is_nondominated(x, epsilon=0.75, **more),
    "ideal_point": lambda x, ref, **more: pp.ideal_point(x, **more),
    "nadir_point": lambda x, ref, **more: pp.nadir_point(x, **more),
    "normalise": lambda x, ref, **more: pp.normalise(x, **more),
    "normalise of a given range": lambda x, ref, **more: pp.normalise(
        x, ideal=_weights(x), nadir=ref, **more
    ),
    "crowding_distance": lambda x, ref, **more: pp.crowding_distance(x, **more),
    "crowding_distance of known fronts": lambda x, ref, **more: pp.crowding_distance(
        x,
        ranks=np.arange(np.prod(np.shape(x)[:-1]), dtype=np.int32).reshape(np.shape(x)[:-1]) % 2,
        **more,
    ),
    "hypervolume": pp.hypervolume,
    "hypervolume_gradient": pp.hypervolume_gradient,
    "hv_contributions": pp.hv_contributions,
    "expected_hypervolume": lambda x, ref, **more: pp.expected_hypervolume(x, ref, 2, **more),
    "hypervolume_subset": lambda x, ref, **more: pp.hypervolume_subset(x, 2, ref, **more),
    "select": lambda x, ref, **more: pp.select(x, 2, "hypervolume", ref=ref, **more),
    "nondominated_boxes": lambda x, ref, **more: pp.nondominated_boxes(x, ref, **more).counts,
    "dominated_boxes": lambda x, ref, **more: pp.dominated_boxes(x, ref, **more).lower,
    "hypervolume_improvement": lambda x, ref, maximise, mask: pp.hypervolume_improvement(
        (-np.ones((1, len(_weights(x)))), np.ones((1, len(_weights(x))))),
        x,
        maximise=maximise,
        mask=mask,
    ),
    "weighted_hypervolume": lambda x, ref, **more: pp.weighted_hypervolume(
        x, _boxes_and_points(x), [0.5, -2.0, 1.0], ref, **more
    ),
    "igd": lambda x, ref, **more: pp.igd(x, np.ones((2, len(_weights(x)))), p=2, **more),
    "epsilon_additive": lambda x, ref, **more: pp.epsilon_additive(x, x, **more),
    "r2": lambda x, ref, **more: pp.r2(
        x, ref, weights=None if len(_weights(x)) == 2 else [_weights(x)], **more
    ),
    "pareto_advantage": lambda x, ref, maximise, mask: pp.pareto_advantage(
        x, _weights(x), mask=mask, centre="loo"
    ),
    "hypervolume_advantage": lambda x, ref, maximise, mask: pp.hypervolume_advantage(
        x, ref, k=2, mask=mask
    ),
}


def _weights(x):
    return [0.25] * np.shape(x)[-1]


def _boxes_and_points(x):
    """Some that no array holds side by side."""
    ends = np.arange(6.0).reshape(3, 2)[:, :1] - 3.0
    corners = np.tile(np.hstack([ends, ends + 2.5]), np.shape(x)[-1])
    return corners[:, ::2], corners[:, 1::2]


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
            patch.setattr(_operation, "_PLAIN", ())
            return outcome(function, *arguments, **keywords)

    return call


def assert_same(ours, theirs):
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours == theirs
        return
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


@pytest.mark.parametrize("name", CALLS)
def test_both_ways_agree(name, checked_only):
    call = CALLS[name]

    @given(
        points=point_batches(elements=st.one_of(few_values, finite), max_points=6),
        data=st.data(),
    )
    def agree(points, data):
        objectives = points.shape[-1]
        maximise = data.draw(st.one_of(st.booleans(), senses(objectives)))
        ref = data.draw(st.sampled_from([-1.5, 0, [-1.0] * objectives, np.full(objectives, -2.0)]))
        mask = data.draw(st.sampled_from([None, np.arange(points.shape[-2]) % 2 == 0]))
        if mask is not None and data.draw(st.booleans()):
            mask = np.ascontiguousarray(np.broadcast_to(mask, points.shape[:-1]))
        given_points = data.draw(st.sampled_from([points, points.tolist(), points[..., ::-1]]))
        if data.draw(st.booleans()):
            given_points = points.astype(np.float32)
        keywords = {"maximise": maximise, "mask": mask}
        assert_same(
            outcome(call, given_points, ref, **keywords),
            checked_only(call, given_points, ref, **keywords),
        )

    agree()


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


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("case", range(len(WRONG)))
def test_errors_are_the_same_word_for_word(name, case, checked_only):
    points, ref = WRONG[case]
    for maximise in (True, [True, False], [True], "up", 1):
        for mask in (None, np.ones(2, bool), np.ones(3, int), [True] * len(points)):
            keywords = {"maximise": maximise, "mask": mask}
            call = CALLS[name]
            if name.endswith("advantage") and maximise is not True:
                continue
            assert_same(
                outcome(call, points, ref, **keywords), checked_only(call, points, ref, **keywords)
            )


def test_the_short_way_is_taken():
    plain = [((1.0, 2.0), (2.0, 1)), np.eye(2), np.eye(2, dtype="f4")]
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):  # no other thread can change the list
        plain.append([[1, 2.0], [2, 1]])
    for points in plain:
        assert _core.pareto_rank.call(points, True, None).tolist() == [0, 0]
        assert _core.hypervolume.call(points, (True, True), None, (-1, -1.0)) is not None
    fronts = np.array([0, 3], np.int32)
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts) is not None
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts.astype(np.int64)) is None
    assert _core.crowding_distance.call(np.eye(2), True, None, fronts[:1]) is None
    assert _core.pareto_rank.call(np.eye(2)[::-1], True, None) is None
    assert _core.pareto_rank.call(np.eye(2, dtype=">f8"), True, None) is None
    assert _core.pareto_rank.call([[True, 1.0]], True, None) is None


def test_tensors_take_it_too():
    torch = pytest.importorskip("torch")
    points = np.random.default_rng(0).random((3, 5, 3))
    tensor = torch.from_numpy(points)
    for name, call in CALLS.items():
        ours = call(tensor, 0.1, maximise=True, mask=None)
        assert type(ours) is torch.Tensor, name
        np.testing.assert_array_equal(ours.numpy(), call(points, 0.1, maximise=True, mask=None))
    alone = pp.hypervolume(tensor[0], 0.1)
    assert alone.shape == ()
    assert alone.dtype == torch.float64
    turned = torch._neg_view(tensor)
    torch.testing.assert_close(pp.pareto_rank(turned), pp.pareto_rank(-tensor))


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
        for name in ("pareto_rank", "hypervolume", "hv_contributions"):
            ours = CALLS[name](tensor, 0.1, maximise=True, mask=None)
            plain = np.array(tensor.tolist(), dtype="f4" if layout == "float" else "f8")
            expected = CALLS[name](plain.reshape(tensor.shape), 0.1, maximise=True, mask=None)
            np.testing.assert_array_equal(ours.numpy(), expected, err_msg=f"{layout}, {name}")
    for short in ("later in its memory", "float", "one set, other steps", "one point, other steps"):
        capsule = torch.to_dlpack(layouts[short])
        assert _core.pareto_rank.call(capsule, True, None) is not None, short
