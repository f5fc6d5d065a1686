"""Whatever numbers come: an answer of the right shape, or a ValueError or TypeError that says why.

Operations of points and archives, on anything: arrays in any memory, lists and tensors get the same
answer, on the short way into the compiled core and on the checked one.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.operations import CALLS, shape_of_answer
from support.strategies import masked_batches, senses

import paretopo_core as pp
from paretopo_core._machinery import operation

torch = pytest.importorskip("torch")

REFUSALS = (ValueError, TypeError)


def outcome(call, points, **keywords):
    """The answer as an array, or the kind of error."""
    try:
        return np.asarray(call(points, **keywords))
    except REFUSALS as error:
        return type(error)


def forms_of(points):
    """Yield the same points in other memory."""
    spread = np.zeros((*points.shape[:-1], 2 * points.shape[-1]), points.dtype)[..., ::2]
    spread[...] = points
    spread.flags.writeable = False
    yield "spread", spread
    yield "tensor", torch.from_numpy(points)
    if points.size and points.dtype == np.float64:  # no other list has this shape and dtype
        yield "list", points.tolist()


def alike(one, other):
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # infinity less infinity, in NumPy's own
@pytest.mark.parametrize("name", CALLS)
@given(batch=masked_batches(max_points=6, max_objectives=4), data=st.data())
@settings(max_examples=25)
def test_anything_is_answered_or_refused(name, batch, data):
    points, mask = batch
    width = points.shape[-1]
    ref = data.draw(st.sampled_from([-5, -1.5, [-5.0] * width, np.full(width, -1.5)]))
    call = partial(CALLS[name].run, ref=ref)
    keywords = {"mask": data.draw(st.sampled_from([None, mask, *mask[:1]]))}
    if "advantage" not in name:
        keywords["maximise"] = data.draw(senses(width))
    answer = outcome(call, points, **keywords)
    if not isinstance(answer, type):
        assert answer.shape == shape_of_answer(name, points.shape)
    for form, given_points in forms_of(points):
        if form == "tensor" and name == "stochastic_pareto_rank":
            continue  # its tensors keep their dtype: test_smooth.py
        assert alike(answer, outcome(call, given_points, **keywords)), form
    with pytest.MonkeyPatch.context() as patch:  # not straight into the core
        patch.setattr(operation, "_PLAIN", ())
        assert alike(answer, outcome(call, points, **keywords))


BOUNDS = [
    {},
    {"capacity": 2},
    {"capacity": 3, "keep": "crowding"},
    {"epsilon": 0.5},
    {"capacity": 2, "epsilon": [0.5] * 3},
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@given(batch=masked_batches(max_points=8, max_objectives=4), data=st.data())
@settings(max_examples=40)
def test_archives_of_anything(bounds, batch, data):
    points = batch[0].reshape(-1, batch[0].shape[-1])
    maximise = data.draw(senses(points.shape[-1]))
    try:
        archive = pp.ParetoArchive(np.zeros(points.shape[-1]), maximise=maximise, **bounds)
    except REFUSALS:
        assert np.size(bounds.get("epsilon", 1)) not in (1, points.shape[-1])
        return
    for at, point in enumerate(points):
        before = archive.additions
        try:
            gain = archive.add(torch.from_numpy(point) if at % 2 else point, payload=at)
        except REFUSALS:
            assert archive.additions == before  # as it was
        else:
            may_lose = "epsilon" in bounds or bounds.get("keep") == "crowding"
            assert gain >= 0 or may_lose
            assert np.isfinite(point).all()
        assert len(archive) <= (archive.capacity or len(points))
        assert archive.points.shape == (len(archive), points.shape[-1])
        for member, payload in archive.items():
            np.testing.assert_array_equal(member, points[payload])
    again = pp.ParetoArchive(np.zeros(points.shape[-1]), maximise=maximise, **bounds)
    again.load_state_dict(archive.state_dict())
    assert again == archive
    assert again.payloads == archive.payloads


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: pp.pareto_rank(x, n_below=2**70),
        lambda x: pp.is_nondominated(x, epsilon=5e-324),
        lambda x: pp.hypervolume_subset(x, 0, k=2**70),
        lambda x: pp.select(x, k=2**70),
        lambda x: pp.hypervolume_subset(x, 0, k=2**45),
        lambda x: pp.select(x, k=2**45),
        lambda x: pp.r2_indicator(x, 1, weights=2**45),
        lambda x: pp.hypervolume_approx(x, 0, samples=2**70, rng=0),
        lambda x: pp.hypervolume_approx(x, 0, rng=-1),
        lambda x: pp.reference_directions(2**20, 2**20),
        lambda x: pp.reference_directions(3, 2**45),
        lambda x: pp.expected_hypervolume(x, 0, k=2**45),
        lambda x: pp.inverted_generational_distance(x, x, p=1e300),
        lambda x: pp.ParetoArchive(ref=[0, 0], capacity=2**70),
    ],
)
def test_numbers_beyond_all_bounds(call):
    points = np.random.default_rng(0).random((5, 2))
    try:
        answer = call(points)
    except (*REFUSALS, MemoryError):
        return
    assert answer is not None
