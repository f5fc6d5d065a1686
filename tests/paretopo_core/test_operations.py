"""Python and the compiled core name the same things."""

import inspect
from importlib import import_module
from typing import get_args

import pytest
from support import operations

import paretopo_core as pp
from paretopo_core import _core, definitions
from paretopo_core._machinery.registry import OPERATIONS


def test_each_function_of_points_has_a_row_in_the_table_of_calls():
    """Rules for every operation go over the table; these have calls of their own."""
    others = {"attainment_surfaces", "hypervolume_hessian", "plot_front", "stochastic_dominance"}
    of_points = {
        name
        for name, one in vars(pp).items()
        if inspect.isfunction(one)
        and next(iter(inspect.signature(one).parameters), "") in operations.POINTS
    }
    assert of_points == {name.partition(",")[0] for name in operations.CALLS} | others


@pytest.mark.parametrize("name", [each.core.name for each in OPERATIONS if each.core.is_on_gpu])
def test_every_operation_of_a_gpu_is_public_and_has_a_definition(name):
    assert name in pp.__all__
    assert callable(getattr(definitions, name))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.core.name)
def test_every_operation_is_a_torch_operator(operation):
    torch = pytest.importorskip("torch")
    import_module("paretopo_core._machinery.torch_operators")
    assert hasattr(torch.ops.paretopo, operation.core.name)
    assert operation.operator is not None


def test_the_centres_are_those_of_the_core():
    centres = {
        name: set(get_args(import_module(f"paretopo_core.{name}").Centre))
        for name in ("advantage", "expected_hypervolume")
    }
    assert centres["expected_hypervolume"] == set(_core.CENTRES)
    assert centres["advantage"] == set(_core.CENTRES) - {"exact"}  # only for draws


def test_the_instruction_sets_are_those_of_the_core():
    assert _core.ISAS[0] == "portable"
    assert pp.get_isa() in _core.ISAS
    with pytest.raises(IndexError):
        _core.set_isa(len(_core.ISAS))
