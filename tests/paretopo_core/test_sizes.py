"""Other sizes take other paths: on both sides of each bound the answers are the definitions'."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from support.operations import CALLS, ON_GPU, weights
from support.strategies import LARGE_KINDS, large_set, masked_batches

import paretopo_core as pp
from paretopo_core import definitions

SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 16, 17, 31, 32, 33, 63, 64)
# By objectives: values that fill a block, and where lanes, rows of bits and sorting take turns.
POINTS = {
    1: SMALL,
    2: (*SMALL, 65, 66, 95, 127, 128, 129, 130),
    3: (*SMALL, 65, 66, 85, 86, 127, 128, 129, 130, 255, 256, 257),
    4: (*SMALL, 65, 66, 127, 128, 129, 256, 257),
    5: (*SMALL, 65, 66, 127, 128, 129, 256, 257),
    **{m: [points for points in SMALL if points * m <= 256] for m in (7, 10, 18)},
}


def agree(each_isa, name, *arguments, **keywords):
    """An operation agrees with its definition on every instruction set, bit by bit."""
    computed = each_isa(lambda: getattr(pp, name)(*arguments, **keywords))
    np.testing.assert_array_equal(computed, getattr(definitions, name)(*arguments, **keywords))
    return computed


def check_fronts(each_isa, values, **keywords):
    """Ranks and filters agree with their definitions."""
    ranks = agree(each_isa, "pareto_rank", values, **keywords)
    same(each_isa(partial(pp.is_nondominated, values, **keywords)), ranks == 0)
    agree(each_isa, "is_nondominated", values, duplicates="first", **keywords)


# Words of a row of bits, and where sorting takes over.
SIZES = (33, 51, 52, 63, 64, 65, 95, 96, 97, 127, 128, 129, 255, 256, 257)


@pytest.fixture(params=pp._core.ISAS)
def isa(request):
    """One instruction set of this machine after the other."""
    with pp.isa(request.param):
        yield request.param


def same(ours, theirs):
    np.testing.assert_array_equal(ours, theirs)


@given(batch=masked_batches(max_points=20))
def test_small_groups_equal_their_definitions(each_isa, batch):
    points, mask = batch
    check_fronts(each_isa, points, mask=mask)
    agree(each_isa, "pareto_advantage", points, weights=np.ones(points.shape[-1]), mask=mask)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("objectives", POINTS)
def test_groups_of_every_shape(each_isa, dtype, objectives):
    """Group counts around the width of a block, shapes compiled for and shapes that are not."""
    rng = np.random.default_rng(objectives)
    weights = rng.random(objectives)
    maximise = [bool(sense) for sense in rng.integers(0, 2, objectives)]
    for points in POINTS[objectives]:
        groups = int(rng.integers(1, 20)) if points <= 64 else 3
        uniform = rng.random((groups, points, objectives))
        ties = rng.integers(0, 9, uniform.shape) / 7  # which rounding to float32 does not keep
        ties[rng.random(ties.shape) < 0.05] = np.nan
        ties[rng.random(ties.shape) < 0.03] = -np.inf
        some = rng.random((groups, points)) < 0.8
        for values, mask in ((uniform, None), (ties, some if points % 2 else None)):
            values, keywords = values.astype(dtype), {"mask": mask, "maximise": maximise}
            check_fronts(each_isa, values, **keywords)
            centre = str(rng.choice(["mean", "none", "std", "loo"]))
            agree(each_isa, "pareto_advantage", values, weights=weights, centre=centre, mask=mask)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", LARGE_KINDS)
@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5, 7, 13])
def test_sets_around_every_bound(each_isa, kind, objectives, dtype):
    """moocore#74, pymoo#797."""
    if kind == "antichain" and objectives < 2:
        pytest.skip("needs two objectives")
    rng = np.random.default_rng(objectives)
    weights, centre = rng.random(objectives), str(rng.choice(["mean", "none", "std", "loo"]))
    for points in rng.choice(SIZES, 4, replace=False):
        values = large_set(kind, int(points), objectives, seed=int(points)).astype(dtype)
        maximise = [bool(sense) for sense in rng.integers(0, 2, objectives)]
        for mask in (None, rng.random(points) < rng.choice([0.1, 0.5, 0.9])):
            keywords = {"maximise": maximise, "mask": mask}
            check_fronts(each_isa, values, **keywords)
            agree(each_isa, "crowding_distance", values, mask=mask)
            agree(each_isa, "pareto_advantage", values, weights=weights, centre=centre, mask=mask)


# Where rows of bits end, by instruction set and dtype.
LARGER_SIZES = (96, 97, 160, 161, 192, 193, 288, 289, 320, 321, 576, 577)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", LARGE_KINDS)
@pytest.mark.parametrize("objectives", [3, 4, 5, 6, 7, 8, 9, 14])
def test_a_rank_is_one_more_than_that_of_the_last_dominator(each_isa, kind, objectives, dtype):
    rng = np.random.default_rng(objectives)
    for points in rng.choice(LARGER_SIZES, 2, replace=False):
        values = large_set(kind, int(points), objectives, seed=int(points)).astype(dtype)
        maximise = [bool(sense) for sense in rng.integers(0, 2, objectives)]
        dominates = definitions._dominates(values, maximise)
        ranks = each_isa(partial(pp.pareto_rank, values, maximise=maximise))
        same(ranks, np.where(dominates, ranks[:, None] + 1, 0).max(axis=0))
        same(each_isa(partial(pp.is_nondominated, values, maximise=maximise)), ranks == 0)


@pytest.mark.parametrize("fronts", [1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 90])
def test_any_number_of_fronts_of_two_objectives(isa, fronts):
    """Registers hold few fronts; more are in memory."""
    sites = np.repeat(np.arange(4 + 200 // fronts), fronts)
    expected = np.arange(len(sites)) % fronts
    worse = expected / (2 * fronts + 1)
    order = np.random.default_rng(fronts).permutation(len(sites))
    values = np.stack([sites - worse, -sites - worse], axis=1)[order] / 7
    same(pp.pareto_rank(values), expected[order])
    values[order == 0, 1] = np.nan
    same(pp.is_nondominated(values), pp.pareto_rank(values) == 0)


@pytest.mark.parametrize("odd", [1.0, 9.0, 0.1, -1.0, -0.0, 1e300, -1e-300, np.inf, np.nan])
@pytest.mark.parametrize("objectives", [2, 3])
def test_few_values_of_which_the_first_points_lack_one(each_isa, objectives, odd):
    rng = np.random.default_rng(objectives)
    values = rng.integers(0, 4, (400, objectives)).astype(float)
    values[rng.integers(300, 400), rng.integers(objectives)] = odd
    maximise = [bool(sense) for sense in rng.integers(0, 2, objectives)]
    for mask in (None, rng.random(400) < 0.9):
        keywords = {"maximise": maximise, "mask": mask}
        check_fronts(each_isa, values, **keywords)
        for duplicates in ("all", "first"):
            options = {**keywords, "duplicates": duplicates, "dominance": "strict"}
            agree(each_isa, "is_nondominated", values, **options)


def columns_to_sort(points):
    """Numbers that lie evenly, in heaps, in order, and over all magnitudes."""
    rng = np.random.default_rng(points)
    uniform = rng.random(points)
    yield uniform
    yield np.sort(uniform)
    yield np.sort(uniform)[::-1]
    yield np.minimum(np.arange(points), np.arange(points)[::-1]) / 7
    yield np.arange(points) % max(points // 5, 1) / 7
    yield np.full(points, 0.5)
    yield np.where(np.arange(points) == points // 2, 0.5, 0.25)
    yield rng.integers(0, 3, points).astype(float)
    yield 10.0 ** (600 * uniform - 300)
    yield np.where(uniform < 0.99, 1 + 1e-12 * uniform, 1e6 * uniform)
    yield 0.5 ** rng.integers(0, 60, points)


# Vectors and blocks of vectors, and where other ways to sort begin.
SORTED_SIZES = (
    *(2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129),
    *(255, 256, 257, 511, 513, 768, 1000, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097),
    *(8191, 8192, 8193, 20_000, 70_000, 131_071, 131_072),
)


@pytest.mark.parametrize("points", SORTED_SIZES)
def test_numbers_of_any_spread_are_sorted(isa, points):
    """Each objective is sorted by its numbers, and by index where these are equal."""
    for column in columns_to_sort(points):
        values = np.stack([column, -column], axis=1)
        expected = np.zeros(points)
        for numbers in (column, -column):
            along = np.argsort(numbers, kind="stable")
            span = numbers[along[-1]] - numbers[along[0]]
            if span > 0:
                expected[along[1:-1]] += (numbers[along[2:]] - numbers[along[:-2]]) / span
                expected[along[[0, -1]]] = np.inf
        found = pp.crowding_distance(values, ranks=np.zeros(points, np.int32))
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        assert pp.is_nondominated(values).all()
        assert not pp.pareto_rank(values).any()


@pytest.mark.parametrize(
    ("points", "objectives"),
    [(1500, 3), (5000, 3), (10_000, 3), (3000, 4), (6000, 5), (3000, 8), (5000, 10), (3000, 12)],
)
def test_pairs_and_fronts_rank_alike(each_isa, points, objectives):
    """Up to some size, all pairs are compared; it depends on the instruction set."""
    rng = np.random.default_rng(points)
    uniform = rng.random((points, objectives))
    front = uniform / np.linalg.norm(uniform, axis=1, keepdims=True)
    layers = front * rng.integers(1, 6, (points, 1))
    layers[::3] = layers[0]
    for values in (uniform, front, layers):
        ranks = each_isa(partial(pp.pareto_rank, values))
        np.testing.assert_array_equal(each_isa(partial(pp.is_nondominated, values)), ranks == 0)


def check_sets(compute, run, points, mask, rtol=0.0):
    """Each set of a batch has the answer of a batch of its own, without padding."""
    hidden = points if mask is None else np.where(mask[..., None], points, np.nan)
    together = compute(run, hidden, mask)
    for g, one in enumerate(points):
        there = slice(None) if mask is None else mask[g]
        found = together[g][there] if together.ndim > 1 else together[g]
        np.testing.assert_allclose(found, run(one[there]), rtol=rtol, atol=0)
    some = slice(7, None, 2)
    same(compute(run, hidden[some], None if mask is None else mask[some]), together[some])
    if mask is not None and together.ndim > 1:
        assert (together[~mask] == (-1 if together.dtype == np.int32 else 0)).all()


FEW = (1, 2, 4, 5, 8, 12, 13, 16, 24, 31, 32, 33)
SHAPES = [
    *((300, 64, 3), (130, 8, 2), (9, 33, 5), (5, 7, 2), (140, 64, 5)),
    *((81, points, objectives) for points in FEW for objectives in (2, 3, 4)),
]
OF_SETS = {
    name: CALLS[name].run
    for name in sorted({*ON_GPU} - {"expected_hypervolume", "hypervolume_advantage"})
} | {
    "pareto_advantage, ranks": lambda x, ref, mask=None: pp.pareto_advantage(
        x, weights=weights(x), mask=mask, return_ranks=True
    )[1]
}
ROUNDED = {"hypervolume": 1e-12, "hypervolume_contributions": 1e-9, "hypervolume_gradient": 1e-9}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OF_SETS)
def test_a_batch_is_its_sets(each_isa, name, dtype):
    """Mostly padded groups are computed as smaller groups."""
    rng = np.random.default_rng(0)
    for shape in SHAPES:
        maximise = {} if "advantage" in name else {"maximise": [m != 1 for m in range(shape[-1])]}
        run = partial(OF_SETS[name], ref=0.4, **maximise)
        points = rng.random(shape).astype(dtype)
        points[::2] = rng.integers(-1, 4, points[::2].shape)
        for share in (None, 0.0, 0.05, 0.6):
            mask = None if share is None else rng.random(shape[:2]) < share
            check_sets(
                lambda run, x, keep: each_isa(lambda: run(x, mask=keep)),
                run,
                points,
                mask,
                ROUNDED.get(name, 0.0),
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("points", "objectives"),
    [
        *((7, 1), (5, 2), (8, 2), (13, 2), (16, 2), (31, 2), (33, 2), (8, 3), (11, 3), (16, 3)),
        *((20, 3), (64, 3), (9, 4), (6, 5)),
    ],
)
def test_a_batch_of_expected_volumes_is_its_sets(backend, each_isa, points, objectives, dtype):
    """Mixed sizes in a tile, rows without height, groups that leave the range of doubles."""
    rng = np.random.default_rng(points * objectives)
    rewards = rng.normal(size=(19, points, objectives)).astype(dtype)
    rewards[::3] = rng.integers(-1, 3, rewards[::3].shape)
    rewards[4] *= 2.0**600 if dtype is np.float64 else 1

    def compute(run, x, mask):
        if backend.name == "numpy":
            return each_isa(lambda: run(x, mask=mask))
        return backend.fetch(
            run(backend.send(x), mask=None if mask is None else backend.send(mask))
        )

    for k in (1, 2, 3, points // 2, points - 1, points):
        centre = ("exact", "none", "mean", "loo", "std")[k % 5]
        for operation in (
            pp.expected_hypervolume,
            partial(pp.hypervolume_advantage, centre=centre),
        ):

            def run(x, mask=None, k=k, operation=operation):
                return operation(x, -1, k=min(k, max(x.shape[-2], 1)), mask=mask)

            for mask in (None, rng.random((19, points)) < 0.8):
                check_sets(compute, run, rewards, mask)


def sets_to_filter(objectives):
    """Sets that a pass thins out, and sets that it leaves whole."""
    rng = np.random.default_rng(objectives)
    for points in (66, 257, 1025, 3000):
        uniform = rng.random((points, objectives))
        yield uniform
        yield uniform * 10.0 ** rng.integers(-300, 300, objectives)
        yield np.floor(uniform * 6)
        yield uniform / np.linalg.norm(uniform, axis=1, keepdims=True)
        yield np.where(rng.random(uniform.shape) < 0.01, np.nan, uniform)
        yield np.where(rng.random(uniform.shape) < 0.01, np.inf, uniform)
        yield np.where(rng.random(uniform.shape) < 0.9, -np.inf, uniform)
        yield np.full_like(uniform, -0.0)
        yield np.full_like(uniform, np.nan)
        yield uniform[rng.integers(0, 5, points)]
        yield np.cumsum(uniform, axis=0)
        yield np.cumsum(uniform, axis=0)[::-1]
        yield np.sort(uniform, axis=0) * (-1.0) ** np.arange(objectives)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_the_filter_of_large_sets_keeps_rank_0(isa, objectives, dtype):
    rng = np.random.default_rng(0)
    with np.errstate(over="ignore", invalid="ignore"):
        sets = [one.astype(dtype) for one in sets_to_filter(objectives)]
    for values in sets:
        maximise = [bool(sense) for sense in rng.integers(0, 2, objectives)]
        for mask in (None, rng.random(len(values)) < 0.3):
            keywords = {"maximise": maximise, "mask": mask}
            ranks = pp.pareto_rank(values, **keywords)
            same(pp.is_nondominated(values, **keywords), ranks == 0)
            first = pp.is_nondominated(values, duplicates="first", **keywords)
            seen = set()
            for i in np.flatnonzero(ranks == 0):
                key = tuple("nan" if np.isnan(x) else float(x) + 0.0 for x in values[i])
                assert first[i] == (key not in seen)
                seen.add(key)
            assert not first[ranks != 0].any()
