"""A keyword from another library is refused by the name that it has here."""

import inspect

import pytest

import paretopo_core as pp

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
        "pareto_rank() takes no argument at the place of False: pass it by name, as maximise=False"
    )
    assert refuse(pp.hypervolume_subset, POINTS, 0, 2).startswith(
        "hypervolume_subset() takes no argument at the place of 2: pass it by name; it has k=, "
    )
    assert refuse(pp.reference_directions, 3, 2, 1) == (
        "reference_directions() takes no argument at the place of 1: pass it by name"
    )


@pytest.mark.parametrize(
    ("function", "given", "wrong", "right"),
    [
        (pp.inverted_generational_distance, (POINTS,), "ref", "the target set is target="),
        (pp.select, (POINTS,), "n_survive", "the number of points is k="),
        (pp.reference_directions, (3,), "n", "the number of parts of each axis is partitions="),
    ],
)
def test_names_of_other_libraries_are_translated(function, given, wrong, right):
    message = f"{function.__name__}() has no argument {wrong!r}; {right}"
    assert refuse(function, *given, **{wrong: 3}).startswith(message)


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
