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


def test_deviations_go_by_row_and_column(pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    deviations = np.arange(1.0, POINTS.size + 1).reshape(POINTS.shape)
    boxes = pp.nondominated_boxes(POINTS[:1], [0, 9], maximise=LIST)
    expected = pp.expected_hypervolume_improvement(
        boxes, POINTS, deviations, maximise=LIST, return_gradient=True
    )
    shuffled = pandas.DataFrame(deviations, index=ROWS, columns=list(VALUES)).iloc[::-1, ::-1]
    found = pp.expected_hypervolume_improvement(
        boxes, frame, shuffled, maximise=SENSES, return_gradient=True
    )
    assert found[0].index.tolist() == ROWS
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


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


def test_values_per_row_go_by_the_index(pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    violation = pandas.Series([0.0, 2.0, 0.0, 1.0], index=ROWS)
    mask = violation < 2
    runs = pandas.Series([1, 1, 2, 2], index=ROWS)
    turned = list("zxyw")
    for name, values in (("violation", violation), ("mask", mask)):
        for each in (values[turned], values[turned].to_frame() if name == "violation" else values):
            found = pp.pareto_rank(frame, maximise=SENSES, **{name: each})
            expected = pp.pareto_rank(POINTS, maximise=LIST, **{name: values.to_numpy()})
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        pp.crowding_distance(frame, ranks=runs[turned]), pp.crowding_distance(POINTS, ranks=runs)
    )
    np.testing.assert_array_equal(
        pp.eaf(frame, runs[turned]).points, pp.eaf(POINTS, runs.to_numpy()).points
    )
    message = r"mask must have the index of the frame in any order, got 4 labels \[0, 1, 2, ...\], "
    with pytest.raises(ValueError, match=message + r"not 4 labels \['w', .*pass mask.to_numpy\(\)"):
        pp.pareto_rank(frame, mask=mask.reset_index(drop=True))
    twice = frame.set_axis(list("wwxx"))
    pp.pareto_rank(twice, mask=mask.set_axis(list("wwxx")))  # the same labels
    with pytest.raises(ValueError, match="violation must have the index of the frame"):
        pp.pareto_rank(twice, violation=violation.set_axis(list("xwwx")))


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


def test_an_archive_aligns_values_by_name(pandas, polars, tmp_path):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    plain = pp.ParetoArchive([0, 6], maximise=LIST)
    plain.extend(POINTS)
    for first in (frame, polars.DataFrame(VALUES)):
        archive = pp.ParetoArchive([0, 6], maximise=LIST)
        archive.extend(first)
        assert archive.names == ["gain", "cost"]
        turned = frame.loc["z", ["cost", "gain"]]
        assert turned in archive
        assert archive.gain(frame[["cost", "gain"]] + 1).tolist() == plain.gain(POINTS + 1).tolist()
        archive.remove(turned)
        assert archive.add({"cost": 0.5, "gain": 1.5}) > 0
        archive.extend(first[["cost", "gain"]])
        assert archive == plain
        with pytest.raises(ValueError, match=r"point must have a value for each of \['gain', "):
            archive.add({"gain": 1.0, "price": 2.0})
        assert "<th>gain (more)</th><th>cost (less)</th>" in archive._repr_html_()
        for ending in ("npz", "json"):
            archive.save(tmp_path / f"archive.{ending}")
            assert pp.ParetoArchive.load(tmp_path / f"archive.{ending}").names == archive.names


def test_names_in_the_reference_are_those_of_an_archive(pandas):
    for ref in ({"cost": 6, "gain": 0}, pandas.Series({"cost": 6, "gain": 0})):
        archive = pp.ParetoArchive(ref, maximise=SENSES, epsilon={"gain": 0.1, "cost": 0.2})
        assert archive.names == ["cost", "gain"]
        assert (archive.maximise, archive.epsilon.tolist()) == ([False, True], [0.2, 0.1])
        archive.extend(pandas.DataFrame(VALUES))
        other = pp.ParetoArchive({"gain": 0, "cost": 6}, maximise=[False, True])
        with pytest.raises(ValueError, match="other has the objectives"):
            other.merge(archive)
        assert pp.ParetoArchive({"a": 0, "b": 0}) == pp.ParetoArchive([0, 0])
        assert pp.ParetoArchive({"a": 0, "b": 0}) != pp.ParetoArchive({"b": 0, "a": 0})
        with pytest.raises(ValueError, match="the state has the objectives"):
            pp.ParetoArchive(
                {"a": 6, "b": 0}, maximise=[False, True], epsilon=[0.2, 0.1]
            ).load_state_dict(archive.state_dict())
    with pytest.raises(ValueError, match=r"maximise must have a value for each of \['cost'"):
        pp.ParetoArchive({"cost": 6, "gain": 0}, maximise={"cost": False})


def test_a_dict_elsewhere_is_refused_with_a_way_out():
    with pytest.raises(TypeError, match=r"ref .* got a dict: pass list\(ref.values\(\)\)"):
        pp.hypervolume(POINTS, ref={"gain": 0, "cost": 6})
    with pytest.raises(TypeError, match=r"got a dict: pass pandas.DataFrame\(points\)"):
        pp.pareto_rank(VALUES)


def test_sets_of_different_sizes_get_a_hint():
    with pytest.raises(ValueError, match="pad sets of different sizes, and mark the padding"):
        pp.hypervolume([POINTS[:2], POINTS], ref=0)


def test_one_number_as_reference_warns_of_one_objective():
    with pytest.warns(UserWarning, match=r"ParetoArchive\(2\) has one objective, .* \[2\]: pass"):
        archive = pp.ParetoArchive(2)
    assert archive.ref.tolist() == [2.0]
    pp.ParetoArchive([2])  # meant
