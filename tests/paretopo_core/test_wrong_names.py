"""A keyword from another library is refused by the name that it has here."""

import inspect

import numpy as np
import pytest

import paretopo_core as pp
from paretopo_core import minimise
from paretopo_core._machinery import other_names

POINTS = [[1.0, 2.0], [2.0, 1.0]]
NAMED = {
    name: function
    for name in pp.__all__
    for function in [getattr(pp, name)]
    if inspect.isfunction(function)
    and {"maximise", "ref", "weights"} & set(inspect.signature(function).parameters)
}


def arguments(function):
    """A value for each argument that the function needs; a wrong name is refused before them."""
    parameters = inspect.signature(function).parameters.values()
    return {one.name: 0 for one in parameters if one.default is one.empty}


def refuse(function, *given, **named):
    with pytest.raises(TypeError) as refused:
        function(*given, **named)
    return str(refused.value)


def test_many_functions_are_checked():
    assert len(NAMED) > 30


@pytest.mark.parametrize("name", NAMED)
def test_every_function_names_the_right_argument(name):
    function = NAMED[name]
    parameters = inspect.signature(function).parameters
    given = arguments(function)
    for wrong, value, right in (("maximize", True, True), ("minimize", True, False)):
        message = refuse(function, **given, **{wrong: value})
        assert message == f"{name}() has no argument {wrong!r}; pass maximise={right}"
    if "ref" in parameters:
        message = refuse(function, **given, ref_point=0.0)
        assert message == f"{name}() has no argument 'ref_point'; the reference point is ref="
    if "mask" in parameters:
        message = refuse(function, **given, maske=None)
        assert message == f"{name}() has no argument 'maske'; did you mean mask=?"


@pytest.mark.parametrize("name", NAMED)
def test_a_wrong_name_is_reported_before_a_missing_argument(name):
    assert refuse(NAMED[name], maske=None).startswith(f"{name}() has no argument 'maske'; ")


@pytest.mark.parametrize("name", NAMED)
def test_a_missing_argument_is_named(name):
    function = NAMED[name]
    for missing in list(arguments(function))[1:]:
        given = {one: 0 for one in arguments(function) if one != missing}
        assert refuse(function, **given).startswith(f"{name}() needs {missing}=")
    with pytest.raises(TypeError, match=r"got nothing|needs"):
        function()


def test_a_missing_reference_says_how_to_find_one():
    assert refuse(pp.hypervolume, POINTS) == (
        "hypervolume() needs ref=, the reference point: a number, or one per objective; "
        "reference_point() suggests one"
    )


@pytest.mark.parametrize("name", NAMED)
def test_help_shows_no_collected_arguments(name):
    parameters = inspect.signature(NAMED[name]).parameters
    assert not {"extra", "wrong"} & set(parameters)


def test_an_option_by_position_is_named():
    assert refuse(pp.pareto_rank, POINTS, False) == (
        "pareto_rank(points) takes no argument at the place of False: pass it by name, as "
        "maximise=False"
    )
    assert refuse(pp.hypervolume_subset, POINTS, 0, 2).startswith(
        "hypervolume_subset(points, ref) takes no argument at the place of 2: pass it by name; it "
        "has k=, "
    )
    assert refuse(pp.reference_directions, 3, 2, 1) == (
        "reference_directions(objectives, partitions) takes no argument at the place of 1: pass it "
        "by name"
    )


TRANSLATED = [
    (right, meaning, other)
    for right, (meaning, others) in other_names._ARGUMENTS.items()
    for other in others.split()
]


@pytest.mark.parametrize(("right", "meaning", "other"), TRANSLATED)
def test_names_of_other_libraries_are_translated(right, meaning, other):
    found = 0
    for function in (*NAMED.values(), pp.ParetoArchive, pp.reference_directions):
        parameters = inspect.signature(function).parameters
        if right in parameters and other not in parameters:
            message = refuse(function, **arguments(function), **{other: 3})
            assert message.startswith(f"{function.__name__}() has no argument {other!r}; ")
            found += message.endswith(f"; {meaning}")
    assert found


# The variables of the lines.
WORLD = dict.fromkeys(("front", "target", "means", "deviations"), POINTS)
WORLD |= {"points": np.array(POINTS), "a": [1, 2], "b": [2, 3], "point": [2.0, 1.0], "sets": [0, 1]}
WORLD |= {"ref": [0.5, 0.5], "ideal": [2, 2], "k": 1, "count": 1, "objectives": 2, "partitions": 2}


@pytest.mark.parametrize("line", other_names._LINES)
@pytest.mark.parametrize("door", [pp, minimise])
def test_the_line_for_each_name_runs(door, line, tmp_path):
    path = tmp_path / "front"
    path.write_text("1 2\n2 1\n", encoding="utf-8")
    archive = door.ParetoArchive([0.5, 0.5])
    archive.add([2.0, 1.0])
    if line.startswith("pp.plot_front"):
        pytest.importorskip("matplotlib")
    with pp.threads(pp.get_threads()):
        exec(line, {**WORLD, "pp": door, "path": path, "archive": archive})


GUESSES = [(line, name) for line, names in other_names._LINES.items() for name in names.split()]


@pytest.mark.parametrize(("line", "name"), GUESSES)
def test_a_name_of_another_library_gives_the_line_to_write(line, name):
    if "archive" in line:
        owners = [door.ParetoArchive([0.5, 0.5]) for door in (pp, minimise)]
    else:
        owners = [pp, minimise]
    for owner in owners:
        with pytest.raises(AttributeError) as refused:
            getattr(owner, name)
        assert f"has no attribute {name!r}; " in str(refused.value)
        own = line.replace("pp.", "minimise.") if owner is minimise else line
        assert f"write {own}" in str(refused.value)
        is_in_own_sense = "archive" in line or owner is minimise or "(points" not in line
        assert str(refused.value).endswith(own) == is_in_own_sense


@pytest.mark.parametrize(
    ("owner", "name", "right"),
    [
        (pp, "normalize", "pp.normalise"),
        (minimise, "is_non_dominated", "minimise.is_nondominated"),
        (pp, "calc_crowding_distance", "pp.crowding_distance"),
        (pp, "get_pareto_fronts", "pp.pareto_rank(points)"),
        (pp.ParetoArchive([0, 0]), "get_points", "archive.points"),
    ],
)
def test_a_name_that_is_spelt_otherwise_gives_ours(owner, name, right):
    with pytest.raises(AttributeError) as refused:
        getattr(owner, name)
    assert right in str(refused.value)


@pytest.mark.parametrize("module", ["paretopo_core", "paretopo_core.minimise"])
def test_an_import_of_such_a_name_gives_the_line_too(module):
    with pytest.raises(ImportError, match=r"write \w+\.inverted_generational_distance") as refused:
        exec(f"from {module} import igd", {})
    assert refused.value.name == "igd"
    with pytest.raises(ImportError, match="cannot import name 'zzz'"):
        exec(f"from {module} import zzz", {})


@pytest.mark.parametrize("owner", [pp, minimise, pp.ParetoArchive([0, 0])])
@pytest.mark.parametrize("name", ["zzz", "_igd", "__wrapped__"])
def test_any_other_name_has_the_usual_error(owner, name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'$") as refused:
        getattr(owner, name)
    assert (refused.value.name, refused.value.obj) == (name, owner)


def test_senses_are_turned_round():
    assert refuse(pp.pareto_rank, POINTS, minimise=[True, False]).endswith(
        "pass maximise=[False, True]"
    )
    assert refuse(pp.pareto_rank, POINTS, minimise="cost").endswith("pass maximise=")
    assert refuse(pp.pareto_rank, POINTS, maximize=False).endswith("pass maximise=False")


def test_a_strange_name_gets_the_list():
    message = "is_nondominated() has no argument 'zzz'; it has points, maximise, dominance, "
    assert refuse(pp.is_nondominated, POINTS, zzz=1).startswith(message)


def test_an_archive_names_them():
    message = refuse(pp.ParetoArchive, [0, 0], minimize=True)
    assert message == "ParetoArchive() has no argument 'minimize'; pass maximise=False"
    message = refuse(pp.ParetoArchive, [0, 0], reference_point=[0, 0])
    assert (
        message == "ParetoArchive() has no argument 'reference_point'; the reference point is ref="
    )
