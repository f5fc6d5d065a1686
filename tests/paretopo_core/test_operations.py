"""Python and the compiled core name the same things."""

from importlib import import_module
from typing import get_args

import pytest

import paretopo_core as pp
from paretopo_core import _core, definitions
from paretopo_core._machinery.registry import OPERATIONS

DESCRIBED = {name for name, each in vars(_core).items() if isinstance(each, _core.Operation)}
COMPOSED = {  # of others, in Python
    *("nearest_undominated", "uncrowded_contributions", "hypervolume_contributions_approx"),
    "exact_values",
}
COMPOSED_FOR_TORCH = {
    "filter_boxes",
    "filter_strictly",
    "ideal_point",
    "nadir_point",
    "normalise",
    "reference_point",
    "weighted_hypervolume",
}


def test_the_list_of_operations_is_complete():
    assert len(DESCRIBED) > 20
    families = [each.core.name for each in OPERATIONS]
    assert len(families) == len(set(families))
    assert set(families) == (DESCRIBED - COMPOSED_FOR_TORCH) | COMPOSED


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
