"""Empirical attainment surfaces."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies import few_values, finite, masked_batches, mixed_scales, senses

import paretopo_core as pp
from paretopo_core import definitions

FEW = {"max_points": 7, "max_objectives": 3}
BATCHES = masked_batches(elements=few_values | finite, **FEW) | mixed_scales(dtypes=[float], **FEW)


@given(batch=BATCHES, data=st.data())
def test_surfaces_equal_the_definition(send, batch, data):
    points = batch[0].reshape(-1, batch[0].shape[-1]).astype(np.float64)
    assume(len(points))
    points = points if points.shape[1] > 1 else np.repeat(points, 2, axis=1)
    names = st.lists(st.integers(0, 3), min_size=len(points), max_size=len(points))
    sets, maximise = np.array(data.draw(names), dtype=int), data.draw(senses(points.shape[1]))
    ours = pp.attainment_surfaces(send(points), sets, maximise=maximise)
    assert type(ours.points) is type(send(points))
    runs = len(np.unique(sets))
    levels = np.round(np.asarray(ours.percentiles) * runs / 100).astype(int).tolist()
    found = list(zip(levels, map(tuple, ours.points.tolist()), strict=True))
    assert len(found) == len(set(found))
    assert set(found) == set(definitions.attainment_surfaces(points, sets, maximise=maximise))


def test_percentiles_are_levels():
    points = np.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    for percentile, goal in (
        (0, 3),
        (1, 3),
        (100 / 3, 3),
        (34, 2),
        (200 / 3, 2),
        (67, 1),
        (100, 1),
    ):
        surfaces = pp.attainment_surfaces(points, [0, 1, 2], percentiles=[percentile])
        assert surfaces.points.tolist() == [[goal, goal]]
        assert surfaces.percentiles.tolist() == [percentile]
    both = pp.attainment_surfaces(points, [0, 1, 2], percentiles=[1, 2])
    assert both.points.tolist() == [[3, 3], [3, 3]]
    masked = pp.attainment_surfaces([*points, [9, np.nan]], [0, 1, 2, 3], mask=[True] * 3 + [False])
    np.testing.assert_array_equal(masked.points, pp.attainment_surfaces(points, [0, 1, 2]).points)
    empty = pp.attainment_surfaces(np.empty((0, 2)), [])
    assert empty.points.shape == (0, 2)
    assert pp.attainment_surfaces(np.empty((0, 3)), [], percentiles=[50]).points.shape == (0, 3)


def test_names_may_be_pythons_strings_and_a_column_of_a_frame():
    points, names = [[1, 3], [3, 1], [2, 2]], ["b", "b", "a"]
    expected = pp.attainment_surfaces(points, [1, 1, 0])
    pandas = pytest.importorskip("pandas")
    columns = pandas.Series(names), pandas.Categorical(names)
    for each in (names, np.array(names), np.array(names, dtype=object), *columns):
        np.testing.assert_array_equal(pp.attainment_surfaces(points, each).points, expected.points)
    with pytest.raises(TypeError, match="sets must be numbers or names, got dtype object"):
        pp.attainment_surfaces(points, np.array(["b", None, "a"], dtype=object))
