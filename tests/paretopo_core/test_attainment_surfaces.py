"""Empirical attainment surfaces, and hypervolumes weighted in boxes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import finite, senses

import paretopo_core as pp
from paretopo_core import definitions

moocore = pytest.importorskip("moocore")


@given(
    points=st.integers(2, 3).flatmap(
        lambda m: arrays(
            np.float64,
            st.tuples(st.integers(1, 8), st.just(m)),
            elements=st.one_of(st.integers(0, 3).map(float), finite),
        )
    ),
    data=st.data(),
)
def test_the_definition(points, data):
    sets = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(points), max_size=len(points)))
    )
    maximise = data.draw(senses(points.shape[1]))
    ours = pp.attainment_surfaces(points, sets, maximise=maximise)
    runs = len(np.unique(sets))
    levels = np.round(ours.percentiles * runs / 100).astype(int).tolist()
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


# ---- Weighted hypervolumes ----


def test_weighted_hypervolumes_have_slopes():
    torch = pytest.importorskip("torch")
    points = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    boxes = np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([[0.5, 1.0], [1.0, 1.0]])
    assert torch.autograd.gradcheck(
        lambda x: pp.weighted_hypervolume(x, 0.0, boxes=boxes, weights=[1.0, 3.0]),
        points,
        atol=1e-4,
    )
