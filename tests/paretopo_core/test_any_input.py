"""Whatever numbers come: an answer of the right shape, or a ValueError or TypeError that says why.

Every function around the primitives (options of dominance, scales, boxes, indicators, attainment,
subsets, archives with bounds and payloads), on anything, as an array and as a tensor alike.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.operations import CALLS, calls, shape_of_answer
from support.strategies import masked_batches, senses

import paretopo_core as pp

torch = pytest.importorskip("torch")

REFUSALS = (ValueError, TypeError)


OPERATIONS = calls(
    CALLS.keys() - {"normalise, range"} - {n for n in CALLS if "advantage" in n}, ref=-5
)


def outcome(call, points, **keywords):
    """The answer as an array, or the kind of error."""
    try:
        return np.asarray(call(points, **keywords))
    except REFUSALS as error:
        return type(error)


def alike(one, other):
    if isinstance(one, type) or isinstance(other, type):
        return one is other
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # infinity less infinity, in NumPy's own
@pytest.mark.parametrize("name", OPERATIONS)
@given(batch=masked_batches(max_points=6, max_objectives=4), data=st.data())
@settings(max_examples=25)
def test_anything_is_answered_or_refused(name, batch, data):
    call = OPERATIONS[name]
    points, mask = batch
    keywords = {"mask": data.draw(st.sampled_from([None, mask]))}
    keywords["maximise"] = data.draw(senses(points.shape[-1]))
    answer = outcome(call, points, **keywords)
    if not isinstance(answer, type):
        assert answer.shape == shape_of_answer(name, points.shape)
    # In whatever layout, and as a tensor, the same.
    spread = np.zeros((*points.shape[:-1], 2 * points.shape[-1]), points.dtype)[..., ::2]
    spread[...] = points
    spread.flags.writeable = False
    assert alike(answer, outcome(call, spread, **keywords))
    if name == "stochastic_pareto_rank":  # whose tensors keep their dtype: test_smooth.py
        return
    if keywords["mask"] is not None:
        keywords["mask"] = torch.from_numpy(mask)
    assert alike(answer, outcome(call, torch.from_numpy(points), **keywords))


@given(batch=masked_batches(max_points=8, max_objectives=3), data=st.data())
def test_attainment_surfaces_of_anything(batch, data):
    points = batch[0].reshape(-1, batch[0].shape[-1])
    sets = data.draw(st.lists(st.integers(0, 3), min_size=len(points), max_size=len(points)))
    keywords = {"maximise": data.draw(senses(points.shape[-1]))}
    answers = []
    for given_points in (points, torch.from_numpy(points)):
        try:
            surfaces = pp.attainment_surfaces(given_points, np.array(sets, dtype=int), **keywords)
        except REFUSALS as error:
            answers.append(type(error))
        else:
            assert type(surfaces.points) is type(given_points)
            assert np.isfinite(np.asarray(surfaces.points)).all()
            assert surfaces.points.shape == (len(surfaces.percentiles), points.shape[-1])
            answers.append(np.column_stack([np.asarray(each) for each in surfaces]))
    assert alike(*answers)


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
