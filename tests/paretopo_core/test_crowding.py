"""crowding_distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import masked_batches, point_batches, senses

import paretopo_core as pp
from paretopo_core import definitions


@pytest.mark.parametrize("points", [3, 64, 65, 500])
@pytest.mark.parametrize("maximise", [True, False, [True, False], [False, True]])
def test_lines_equal_the_definition(points, maximise):
    rng = np.random.default_rng(points)
    line = np.sort(rng.random((points, 2)), axis=0) * [1.0, -1.0]
    senses = np.where(np.broadcast_to(maximise, 2), 1.0, -1.0)
    line *= senses
    bent = np.array(line)
    bent[points // 2] = bent[points // 2 - 1]
    broken = np.array(line)
    broken[points // 2, 0] = np.nan
    for values in (line, bent, broken, line.round(1), np.repeat(line[:1], points, axis=0)):
        mixed = values[rng.permutation(points)]
        found = pp.crowding_distance(mixed, maximise=maximise)
        np.testing.assert_allclose(found, definitions.crowding_distance(mixed * senses), rtol=1e-12)
    for halves in (np.zeros(points, int), np.arange(points) % 2):
        found = pp.crowding_distance(line, maximise=maximise, ranks=halves)
        for half in np.unique(halves):
            own = halves == half
            expected = definitions.crowding_distance((line * senses)[own])
            np.testing.assert_allclose(found[own], expected, rtol=1e-12)


@given(batch=masked_batches(), data=st.data())
def test_a_constant_objective_adds_nothing(backend, batch, data):
    points, mask = batch
    place = data.draw(st.integers(0, points.shape[-1]))
    value = data.draw(st.sampled_from([0.0, -3.5, np.inf, -np.inf, np.nan]))
    wider = np.insert(points, place, value, axis=-1)
    distances = pp.crowding_distance(backend.send(wider), mask=backend.send(mask))
    np.testing.assert_array_equal(backend.fetch(distances), pp.crowding_distance(points, mask=mask))


def test_equal_points_have_no_ends(backend):
    points = [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]
    assert backend.fetch(pp.crowding_distance(backend.send(points))).tolist() == [0.0, 0.0, 0.0]
    points = [[1.0, np.nan], [2.0, np.nan], [3.0, np.nan]]
    distances = pp.crowding_distance(backend.send(points), ranks=backend.send(np.zeros(3, int)))
    assert backend.fetch(distances).tolist() == [np.inf, 1.0, np.inf]


@given(points=point_batches(max_points=8), data=st.data())
def test_ranks_that_are_known_are_not_found_again(backend, points, data):
    maximise = data.draw(senses(points.shape[-1]))
    mask = data.draw(arrays(np.bool_, points.shape[:-1]))
    ranks = pp.pareto_rank(points, maximise=maximise, mask=mask)
    keywords = {"maximise": maximise, "mask": backend.send(mask)}
    expected = pp.crowding_distance(points, maximise=maximise, mask=mask)
    for known in (ranks, np.where(mask, ranks, 0).astype(np.int64)):  # padding has no rank
        distances = pp.crowding_distance(
            backend.send(points), ranks=backend.send(known), **keywords
        )
        np.testing.assert_array_equal(backend.fetch(distances), expected)


def test_fronts_may_be_anyones():
    points = [[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [4.0, 0.0]]
    assert pp.crowding_distance(points, ranks=[0, 1, 0, 0]).tolist() == [
        np.inf,
        np.inf,
        2.0,
        np.inf,
    ]
