"""Notebooks get completion of public names, tables, and a picture of a front."""

import subprocess
import sys

import numpy as np
import pytest

import paretopo_core as pp

POINTS = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 1.0]])


def test_completion_shows_the_public_names():
    assert dir(pp) == sorted(pp.__all__)


# ---- an archive


def test_an_archive_shows_its_members():
    archive = pp.ParetoArchive([0.0, 0.0], maximise=[True, False])
    archive.add([0.1 + 0.2, -1.0], "<model>")
    shown = archive._repr_html_()
    assert "<th>objective 1 (more)</th><th>objective 2 (less)</th><th>payload</th>" in shown
    assert "<td>0.3</td><td>-1</td><td>&#x27;&lt;model&gt;&#x27;</td>" in shown
    assert repr(archive).endswith("members=1, hypervolume=0.3)")
    assert "0.30000000000000004" not in shown


def test_a_large_archive_shows_the_first_members():
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.extend([[i, 30 - i] for i in range(30)])
    shown = archive._repr_html_()
    assert shown.count("<tr>") == 11
    assert "and 20 more members" in shown
    assert "payload" not in shown


# ---- pictures


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    yield pyplot
    pyplot.close("all")


def border(ax):
    """The corners of the line between the points of the front."""
    return ax.lines[0].get_xydata(), ax.lines[0].get_drawstyle()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_the_shaded_area_is_the_hypervolume(plt, first, second):
    senses = [first, second]
    points = np.random.default_rng(0).random((40, 2))
    ref = [0.1 if sense else 0.9 for sense in senses]
    ax = pp.plot_front(points, maximise=senses, ref=ref)
    [shade] = ax.collections[-2:-1]
    x, y = shade.get_paths()[0].vertices.T
    area = abs(np.sum(x * np.roll(y, 1) - y * np.roll(x, 1))) / 2  # the shoelace formula
    assert area == pytest.approx(pp.hypervolume(points, ref, maximise=senses))
    line, style = border(ax)
    front = points[pp.is_nondominated(points, maximise=senses)]
    np.testing.assert_array_equal(line, front[np.argsort(front[:, 0])])
    assert style == ("steps-pre" if first else "steps-post")
    assert ax.get_xlabel() == f"objective 1 ({'more' if first else 'less'} is better)"


def test_three_objectives_are_drawn_in_space(plt):
    points = np.random.default_rng(1).random((30, 3))
    ax = pp.plot_front(points, ref=0.0, label="ours", names=["a", "b", "c"])
    assert ax.name == "3d"
    dominated, front, _ = ax.collections
    kept = pp.is_nondominated(points)
    assert len(front.get_offsets()) == kept.sum()
    assert len(dominated.get_offsets()) == (~kept).sum()
    assert ax.get_zlabel() == "c (more is better)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "dominated",
        "ours",
        "reference point",
    ]
    assert front.get_depthshade() is False  # far points of the front stay as dark as near ones
    assert pp.plot_front(points[:5], ax=ax) is ax
    _, flat = plt.subplots()
    with pytest.raises(ValueError, match="three objectives need axes in 3D"):
        pp.plot_front(points, ax=flat)


def test_more_objectives_are_drawn_as_parallel_axes(plt):
    points = np.array([[0.0, 9, 1, 5], [1.0, 8, 2, 5], [0.0, 9, 0, 5]])
    ax = pp.plot_front(points, maximise=[True, False, True, True], label="kept")
    drawn = [line.get_ydata().tolist() for line in ax.lines[:3]]
    dominated = [[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 0.5]]
    assert drawn == [*dominated, [1.0, 1.0, 1.0, 0.5]]  # up is better
    assert [line.get_color() for line in ax.lines[:3]] == ["#999999", "#999999", "#0072B2"]
    assert len(ax.lines) == 3 + 4  # and an axis each
    assert [text.get_text() for text in ax.get_xticklabels()][1] == "objective 2\n(less is better)"


def test_an_archive_is_drawn_in_its_senses(plt):
    archive = pp.ParetoArchive([5.0, 5.0], maximise=False)
    archive.extend(POINTS)
    ax = pp.plot_front(archive)
    np.testing.assert_array_equal(border(ax)[0], [[1.0, 1.0]])
    assert ax.get_ylabel() == "objective 2 (less is better)"


def test_a_frame_is_drawn_by_its_names(plt):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(POINTS, columns=["gain", "cost"], index=list("wxyz"))
    mask = pandas.Series([False, False, True, True], index=list("zyxw"))
    ax = pp.plot_front(frame, maximise={"cost": True, "gain": True}, mask=mask)
    np.testing.assert_array_equal(border(ax)[0], POINTS[:2])
    assert ax.get_xlabel() == "gain (more is better)"


def test_one_front_needs_no_legend(plt):
    assert pp.plot_front(POINTS[:2]).get_legend() is None
    assert pp.plot_front(POINTS[:2], label="ours").get_legend() is not None


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([1.0, 2.0], {}, "points must have shape"),
        ([[1.0], [2.0]], {}, "two objectives or more"),
        (np.zeros((2, 3, 2)), {}, "points must have shape"),
        (np.zeros((0, 2)), {}, "no points to draw"),
        ([[1.0, np.nan]], {}, "points must be finite"),
        (POINTS, {"names": ["a"]}, "names must have one name for each of the 2"),
        (POINTS, {"ref": [1.0, 2.0, 3.0]}, "ref must"),
        (POINTS, {"maximise": [True]}, "one bool for each of the 2"),
    ],
)
def test_wrong_arguments_are_refused(plt, points, options, message):
    with pytest.raises(ValueError, match=message):
        pp.plot_front(points, **options)


def test_without_matplotlib_the_error_names_the_package():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import paretopo_core as pp\n"
        "try: pp.plot_front([[1, 2]])\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "plot_front needs matplotlib: pip install matplotlib\n"
