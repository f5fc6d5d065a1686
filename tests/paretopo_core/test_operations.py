"""Python and the compiled core name the same things."""

from __future__ import annotations

from importlib import import_module
from typing import get_args

import numpy as np
import pytest

import paretopo_core as pp
from paretopo_core import _core, reference


def test_the_core_has_operations():
    assert "pareto_rank" in _core.OPERATIONS
    assert len(set(_core.OPERATIONS)) == len(_core.OPERATIONS)


@pytest.mark.parametrize("name", _core.OPERATIONS)
def test_every_operation_is_public_and_has_a_definition(name):
    assert callable(getattr(_core, name))
    assert name in pp.__all__
    assert callable(getattr(reference, name))


@pytest.mark.parametrize("name", _core.OPERATIONS)
def test_every_operation_is_a_torch_operator(name):
    torch = pytest.importorskip("torch")
    import_module("paretopo_core._torch_operators")
    assert hasattr(torch.ops.paretopo, name)


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


def test_scratch_is_asked_for_by_the_name_of_an_operation():
    points = np.ones((2, 3, 2), np.float32)
    device = _core.EMULATED - _core.MAPPINGS.index("warp")
    view = _core.Points(_core.address(points), 0, 2, 3, 2, 0, 4, device, 0)
    for name in _core.OPERATIONS:
        assert _core.scratch_bytes(view, name) >= 0
    with pytest.raises(ValueError, match="no operation has the name sort"):
        _core.scratch_bytes(view, "sort")
