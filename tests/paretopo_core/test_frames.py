"""Frames of pandas and polars: labelled results, arguments by column, clear errors."""

import numpy as np
import pytest
from support.operations import CALLS

import paretopo_core as pp

VALUES = {"gain": [1.0, 2.0, 0.0, 1.5], "cost": [3.0, 1.0, 5.0, 0.5]}
POINTS = np.column_stack(list(VALUES.values()))
SENSES = {"cost": False, "gain": True}
LIST = [True, False]
ROWS = list("wxyz")

PER_POINT = [name for name, call in CALLS.items() if call.shape == "point"]
PER_VALUE = ("hypervolume_gradient", "normalise")


def answer(name, points, maximise):
    return CALLS[name].run(points, [0, 6], maximise=maximise)


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def polars():
    return pytest.importorskip("polars")


@pytest.mark.parametrize("name", PER_POINT)
def test_a_value_for_each_point_keeps_the_index(name, pandas):
    found = answer(name, pandas.DataFrame(VALUES, index=ROWS), SENSES)
    assert isinstance(found, pandas.Series)
    assert found.index.tolist() == ROWS
    assert found.name == name.partition(",")[0]
    expected = answer(name, POINTS, LIST)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("name", PER_POINT)
def test_a_polars_frame_gives_a_series(name, polars):
    found = answer(name, polars.DataFrame(VALUES), SENSES)
    assert isinstance(found, polars.Series)
    assert found.name == name.partition(",")[0]
    np.testing.assert_array_equal(found.to_numpy(), answer(name, POINTS, LIST))


@pytest.mark.parametrize("name", PER_VALUE)
def test_a_value_for_each_cell_keeps_index_and_columns(name, pandas, polars):
    expected = answer(name, POINTS, LIST)
    found = answer(name, pandas.DataFrame(VALUES, index=ROWS), SENSES)
    assert (found.index.tolist(), found.columns.tolist()) == (ROWS, list(VALUES))
    np.testing.assert_array_equal(found.to_numpy(), expected)
    found = answer(name, polars.DataFrame(VALUES), SENSES)
    assert found.columns == list(VALUES)
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_both_results_of_an_advantage_are_labelled(pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    for one in pp.pareto_advantage(frame, [0.5, 0.5], return_ranks=True):
        assert one.index.tolist() == ROWS


def test_other_results_are_those_of_an_array(pandas):
    frame = pandas.DataFrame(VALUES)
    volume = pp.hypervolume(frame, [0, 6], maximise=SENSES)
    assert type(volume) is np.float64
    assert volume == pp.hypervolume(POINTS, [0, 6], maximise=LIST)
    kept = pp.select(frame, 2, maximise=SENSES)
    np.testing.assert_array_equal(kept, pp.select(POINTS, 2, maximise=LIST))
    np.testing.assert_array_equal(
        pp.ideal_point(frame, maximise=SENSES), pp.ideal_point(POINTS, maximise=LIST)
    )


def test_arguments_go_by_column(pandas):
    frame = pandas.DataFrame(VALUES)
    expected = pp.hypervolume(POINTS, [0, 6], maximise=LIST)
    for ref in ({"cost": 6, "gain": 0}, pandas.Series({"cost": 6, "gain": 0})):
        assert pp.hypervolume(frame, ref, maximise=SENSES) == expected
    turned = frame[["cost", "gain"]] + 1
    assert pp.igd(frame, turned, maximise=SENSES) == pp.igd(POINTS, POINTS + 1, maximise=LIST)
    with pytest.raises(ValueError, match=r"maximise must have a value for each of \['gain', 'cost"):
        pp.pareto_rank(frame, maximise={"gain": True})


def test_text_columns_are_named(pandas, polars):
    for library in (pandas, polars):
        frame = library.DataFrame({**VALUES, "model": ROWS})
        for call in (pp.pareto_rank, pp.normalise, pp.knee_points):
            with pytest.raises(TypeError, match=r"\['model'\] hold no numbers: pass points.drop"):
                call(frame)
        kept = frame.drop(columns=["model"]) if library is pandas else frame.drop(["model"])
        np.testing.assert_array_equal(pp.pareto_rank(kept), pp.pareto_rank(POINTS))


@pytest.mark.parametrize("name", PER_POINT)
def test_nullable_columns_become_floats(name, pandas):
    frame = pandas.DataFrame(np.round(POINTS * 2), columns=list(VALUES)).astype({"gain": "Int64"})
    found = answer(name, frame, SENSES)
    np.testing.assert_array_equal(found.to_numpy(), answer(name, np.round(POINTS * 2), LIST))


def test_missing_values_are_nan(pandas):
    frame = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": [1.0, 2.0]})
    np.testing.assert_array_equal(
        pp.pareto_rank(frame), pp.pareto_rank(np.array([[1.0, 1.0], [np.nan, 2.0]]))
    )
    frame["a"] = pandas.array([2**60 + 1, 1], dtype="Int64")
    with pytest.raises(ValueError, match="which float64 cannot hold exactly"):
        pp.pareto_rank(frame)


def test_columns_of_one_name_are_points_too(pandas):
    frame = pandas.DataFrame(POINTS, columns=["a", "a"])
    np.testing.assert_array_equal(pp.pareto_rank(frame).to_numpy(), pp.pareto_rank(POINTS))


def test_an_archive_takes_a_frame(pandas):
    archive = pp.ParetoArchive([0, 6], maximise=LIST)
    archive.extend(pandas.DataFrame(VALUES))
    assert archive.hypervolume == pytest.approx(pp.hypervolume(POINTS, [0, 6], maximise=LIST))


def test_one_number_as_reference_warns_of_one_objective():
    with pytest.warns(UserWarning, match=r"ParetoArchive\(2\) has one objective, .* \[2\]: pass"):
        archive = pp.ParetoArchive(2)
    assert archive.ref.tolist() == [2.0]
    pp.ParetoArchive([2])  # meant
