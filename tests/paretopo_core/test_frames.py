"""Frames of pandas and polars: labelled results, arguments by column, clear errors."""

from functools import partial

import numpy as np
import pytest
from support.operations import CALLS, DISTANCES, named

import paretopo_core as pp

VALUES = {"gain": [1.0, 2.0, 0.25, 1.5], "cost": [3.0, 1.0, 5.0, 0.5]}
POINTS = np.column_stack(list(VALUES.values()))
SENSES = {"cost": False, "gain": True}
LIST = [True, False]
ROWS = list("wxyz")

PER_POINT = [name for name, call in CALLS.items() if call.shape == "point"]
PER_VALUE = ("hypervolume_gradient", "normalise")
BOX = (np.array([[0.0, 0.0]]), np.array([[2.0, 4.0]]))
# Every function of points that takes a reference point, or none.
RUNS = {name: call.run for name, call in CALLS.items()} | {
    "hypervolume_hessian": pp.hypervolume_hessian,
    "plot_front": lambda x, ref, **more: drawn(x, ref=ref, **more),
}
HAVE_NO_SENSE = {"pareto_advantage", "hypervolume_advantage", "stochastic_pareto_rank"}
# Doors for one value per objective.
SENSES_AT = {name: partial(run, ref=0.25) for name, run in RUNS.items()} | {
    "attainment_surfaces": lambda x, maximise: pp.attainment_surfaces(
        x, [0, 0, 1, 1], maximise=maximise
    ),
}
VECTORS_AT = {
    **{name: RUNS[name] for name in (*named("ref"), "hypervolume_hessian", "plot_front")},
    "pareto_advantage": lambda x, row: pp.pareto_advantage(x, weights=row),
    "r2_indicator": pp.r2_indicator,
    "normalise, ideal": lambda x, v: pp.normalise(x, ideal=v),
    "is_nondominated, epsilon": lambda x, v: pp.is_nondominated(x, epsilon=v),
    "is_nondominated, tolerance": lambda x, v: pp.is_nondominated(x, duplicate_tolerance=v),
    "expected_hypervolume_improvement": lambda x, v: pp.expected_hypervolume_improvement(
        x, v, boxes=BOX
    ),
}
# Doors for rows of one value per objective.
ROWS_AT = {
    "inverted_generational_distance": pp.inverted_generational_distance,
    "r2_indicator, weights": lambda x, rows: pp.r2_indicator(x, 9, weights=rows),
    "select, directions": lambda x, rows: pp.select(
        x, k=2, method="reference_directions", directions=rows, rng=1
    ),
    "hypervolume_improvement, lower": lambda x, rows: pp.hypervolume_improvement(
        x, boxes=(rows, np.full((2, 2), 9.0))
    ),
    "weighted_hypervolume, upper": lambda x, rows: pp.weighted_hypervolume(
        x, 0, boxes=(np.zeros((2, 2)), rows), weights=[1.0, 2.0]
    ),
}
# Doors for one value per row.
MASKS_AT = {
    **{
        name: lambda x, v, run=run: run(x, 0.25, mask=v)
        for name, run in RUNS.items()
        if name != "stochastic_pareto_rank"
    },
    "hypervolume_gradient, wanted": lambda x, v: pp.hypervolume_gradient(x, 0.25, wanted=v),
    **{
        name: partial(lambda name, x, v: getattr(pp, name)(POINTS, x, target_mask=v), name)
        for name in DISTANCES
    },
    "epsilon_additive": lambda x, v: pp.epsilon_additive(POINTS, x, target_mask=v),
}
NUMBERS_AT = {
    "pareto_rank": lambda x, v: pp.pareto_rank(x, violation=v),
    "is_nondominated": lambda x, v: pp.is_nondominated(x, violation=v),
    "crowding_distance": lambda x, v: pp.crowding_distance(x, ranks=v),
    "attainment_surfaces": pp.attainment_surfaces,
    "weighted_hypervolume": lambda x, v: pp.weighted_hypervolume(
        POINTS, 0, boxes=(x, np.asarray(x) + 1), weights=v
    ),
}


def drawn(*given, **more):
    """Return the numbers in a picture."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = pp.plot_front(*given, ax=pyplot.figure().subplots(), **more)
    pyplot.close()
    return [np.asarray(each.get_offsets()) for each in ax.collections]


def assert_alike(found, expected):
    if isinstance(expected, (tuple, list)):
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other)
    else:
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def answer(name, points, maximise):
    return CALLS[name].run(points, [0, 6], maximise=maximise)


@pytest.fixture
def pandas():
    return pytest.importorskip("pandas")


@pytest.fixture
def polars():
    return pytest.importorskip("polars")


@pytest.mark.parametrize("name", PER_POINT)
def test_a_value_for_each_point_keeps_the_index(name, pandas, polars):
    expected = answer(name, POINTS, LIST)
    for library, index in ((pandas, {"index": ROWS}), (polars, {})):
        found = answer(name, library.DataFrame(VALUES, **index), SENSES)
        assert isinstance(found, library.Series)
        assert not index or found.index.tolist() == ROWS
        assert found.name == name.partition(",")[0]
        assert found.to_numpy().dtype == expected.dtype
        np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("find", [pp.ideal_point, pp.nadir_point, pp.reference_point])
def test_a_value_for_each_objective_keeps_the_columns(find, pandas):
    frame = pandas.DataFrame(VALUES)
    found = find(frame, maximise=SENSES)
    assert (found.index.tolist(), found.name) == (list(VALUES), find.__name__)
    np.testing.assert_array_equal(found.to_numpy(), find(POINTS, maximise=LIST))
    turned = frame[["cost", "gain"]]
    assert pp.hypervolume(turned, found, maximise=SENSES) == pp.hypervolume(
        POINTS, found.to_numpy(), maximise=LIST
    )


@pytest.mark.parametrize("name", PER_VALUE)
def test_a_value_for_each_cell_keeps_index_and_columns(name, pandas, polars):
    expected = answer(name, POINTS, LIST)
    found = answer(name, pandas.DataFrame(VALUES, index=ROWS), SENSES)
    assert (found.index.tolist(), found.columns.tolist()) == (ROWS, list(VALUES))
    np.testing.assert_array_equal(found.to_numpy(), expected)
    found = answer(name, polars.DataFrame(VALUES), SENSES)
    assert found.columns == list(VALUES)
    np.testing.assert_array_equal(found.to_numpy(), expected)


def test_all_results_of_a_call_are_labelled(pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    estimates = pp.hypervolume_contributions_approx(frame, 0, samples=32, rng=0)
    for one in (*pp.pareto_advantage(frame, weights=[0.5, 0.5], return_ranks=True), *estimates):
        assert one.index.tolist() == ROWS


def test_deviations_go_by_row_and_column(pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    deviations = np.arange(1.0, POINTS.size + 1).reshape(POINTS.shape)
    boxes = pp.nondominated_boxes(POINTS[:1], [0, 9], maximise=LIST)
    expected = pp.expected_hypervolume_improvement(
        POINTS, deviations, boxes=boxes, maximise=LIST, return_gradient=True
    )
    shuffled = pandas.DataFrame(deviations, index=ROWS, columns=list(VALUES)).iloc[::-1, ::-1]
    found = pp.expected_hypervolume_improvement(
        frame, shuffled, boxes=boxes, maximise=SENSES, return_gradient=True
    )
    assert found[0].index.tolist() == ROWS
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


def check_vector(run, values, pandas):
    """One value for each objective goes by its name, or by position if it has none."""
    frame, expected = pandas.DataFrame(VALUES), run(POINTS, list(values.values()))
    turned = dict(reversed(values.items()))
    for given in (turned, pandas.Series(turned), pandas.Series(list(values.values()))):
        assert_alike(run(frame, given), expected)
    labels = [*list(turned)[:1], "gian"]
    for wrong in (
        dict.fromkeys(turned, True) | {"gian": True},
        pandas.Series(turned).set_axis(labels),
    ):
        with pytest.raises(
            ValueError, match=r"must have a value for each of \['gain', 'cost'\], got"
        ):
            run(frame, wrong)


@pytest.mark.parametrize("name", sorted(SENSES_AT.keys() - HAVE_NO_SENSE))
@pytest.mark.filterwarnings("ignore:no point is better")
def test_senses_go_by_column(name, pandas):
    check_vector(lambda x, v: SENSES_AT[name](x, maximise=v), {"gain": True, "cost": False}, pandas)


@pytest.mark.parametrize("name", VECTORS_AT)
def test_vectors_go_by_column(name, pandas):
    check_vector(VECTORS_AT[name], {"gain": 0.25, "cost": 0.5}, pandas)


@pytest.mark.parametrize("name", ROWS_AT)
def test_rows_of_other_frames_go_by_column(name, pandas, polars):
    rows = {"gain": [0.0, 1.0], "cost": [1.0, 0.5]}
    run, expected = ROWS_AT[name], ROWS_AT[name](POINTS, np.column_stack(list(rows.values())))
    for library in (pandas, polars):
        turned = library.DataFrame(dict(reversed(rows.items())))
        for points in (library.DataFrame(VALUES), pandas.DataFrame(VALUES)):
            assert_alike(run(points, turned), expected)
        with pytest.raises(
            ValueError, match=r"must have a value for each of \['gain', 'cost'\], got"
        ):
            run(pandas.DataFrame(VALUES), turned.rename({"gain": "gian"}, **AXIS[library.__name__]))
    unnamed = pandas.DataFrame(np.column_stack(list(rows.values())))
    assert_alike(run(pandas.DataFrame(VALUES), unnamed), expected)


AXIS = {"pandas": {"axis": 1}, "polars": {}}


@pytest.mark.parametrize(
    ("run", "values"),
    [
        *(pytest.param(run, [True, False, True, True], id=name) for name, run in MASKS_AT.items()),
        *(
            pytest.param(run, [0, 2, 0, 1], id=f"numbers of {name}")
            for name, run in NUMBERS_AT.items()
        ),
    ],
)
def test_values_per_row_go_by_the_index(run, values, pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    series = pandas.Series(values, index=ROWS)
    expected = run(POINTS, np.array(values))
    for given in (series, series[list("zxyw")], np.array(values)):
        assert_alike(run(frame, given), expected)
    for wrong in (series.reset_index(drop=True), series.iloc[:-1], series.set_axis(list("wxyv"))):
        with pytest.raises(ValueError, match="must have the index of the frame in any order, got"):
            run(frame, wrong)


def test_rows_have_the_same_labels_or_unique_ones(pandas):
    frame = pandas.DataFrame(VALUES, index=ROWS)
    mask = pandas.Series([True, False, True, True], index=ROWS)
    violation = (~mask * 2.0).to_frame()
    found = pp.pareto_rank(frame, violation=violation.loc[list("zxyw")])
    np.testing.assert_array_equal(found, pp.pareto_rank(POINTS, violation=violation.to_numpy()))
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
        archive = pp.ParetoArchive({"gain": 0, "cost": 9}, maximise=SENSES)
        for call, name in (
            *((one, "points") for one in (pp.pareto_rank, pp.normalise, pp.knee_points)),
            (partial(pp.pareto_rank, maximise=SENSES), "points"),  # names of numbers only
            (partial(pp.hypervolume, ref=SENSES), "points"),
            (partial(pp.generational_distance, POINTS, maximise=SENSES), "target"),
            *((one, "points") for one in (archive.extend, archive.gain)),
        ):
            with pytest.raises(
                TypeError, match=rf"\['model'\] hold no numbers: convert them, or pass {name}.drop"
            ):
                call(frame)
        kept = frame.drop(columns=["model"]) if library is pandas else frame.drop(["model"])
        np.testing.assert_array_equal(pp.pareto_rank(kept), pp.pareto_rank(POINTS))


@pytest.mark.parametrize("name", PER_POINT)
def test_nullable_columns_become_floats(name, pandas):
    frame = pandas.DataFrame(np.round(POINTS * 2), columns=list(VALUES)).astype({"gain": "Int64"})
    found = answer(name, frame, SENSES)
    np.testing.assert_array_equal(found.to_numpy(), answer(name, np.round(POINTS * 2), LIST))


def test_missing_values_are_nan(pandas):
    """aiconfigurator PR 979, SMAC3#225."""
    frame = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": [1.0, 2.0]})
    np.testing.assert_array_equal(
        pp.pareto_rank(frame), pp.pareto_rank(np.array([[1.0, 1.0], [np.nan, 2.0]]))
    )
    frame["a"] = pandas.array([2**60 + 1, 1], dtype="Int64")
    with pytest.raises(ValueError, match="which float64 cannot hold exactly"):
        pp.pareto_rank(frame)


def test_an_archive_takes_a_frame(pandas):
    archive = pp.ParetoArchive([0, 6], maximise=LIST)
    frame = pandas.DataFrame(VALUES, index=ROWS)
    for each in (archive.gain(frame), *archive.extend(frame)):
        assert each.index.tolist() == ROWS
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
        with pytest.raises(ValueError, match=r"senses maximise=\[True, False\], this archive has"):
            other.merge(archive)
        with pytest.raises(ValueError, match=r"other must have a value for each of \['price', 'co"):
            pp.ParetoArchive({"price": 0, "cost": 6}, maximise=[False, True]).merge(archive)
        other = pp.ParetoArchive({"gain": 0, "cost": 6}, maximise=[True, False])
        assert other.merge(archive).gains.sum() == pytest.approx(archive.hypervolume)
        np.testing.assert_array_equal(other.points, archive.points[:, ::-1])
        assert pp.ParetoArchive({"a": 0, "b": 0}) == pp.ParetoArchive([0, 0])
        assert pp.ParetoArchive({"a": 0, "b": 0}) != pp.ParetoArchive({"b": 0, "a": 0})
        with pytest.raises(ValueError, match="the state has the objectives"):
            pp.ParetoArchive(
                {"a": 6, "b": 0}, maximise=[False, True], epsilon=[0.2, 0.1]
            ).load_state_dict(archive.state_dict())
    for given in ({"maximise": SENSES}, {"epsilon": {"cost": 0.1, "gain": 0.2}}):
        assert pp.ParetoArchive(objectives=2, **given).names == ["cost", "gain"]
    with pytest.raises(ValueError, match=r"maximise must have a value for each of \['cost'"):
        pp.ParetoArchive({"cost": 6, "gain": 0}, maximise={"cost": False})


def test_a_dict_elsewhere_is_refused_with_a_way_out():
    with pytest.raises(TypeError, match=r"ref .* got a dict: pass list\(ref.values\(\)\)"):
        pp.hypervolume(POINTS, ref={"gain": 0, "cost": 6})
    with pytest.raises(TypeError, match=r"got a dict: pass pandas.DataFrame\(points\)"):
        pp.pareto_rank(VALUES)
