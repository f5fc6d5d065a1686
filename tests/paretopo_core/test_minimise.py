"""The door for minimisers: every function with the other default, and nothing else changed."""

import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest
from support import operations
from support.operations import CALLS

import paretopo_core as pp
from paretopo_core import minimise

# The same table of calls, made through the other door.
_SOURCE = Path(operations.__file__).read_text(encoding="utf-8")
_OTHER_DOOR = _SOURCE.replace(
    "import paretopo_core as pp", "from paretopo_core import minimise as pp"
)
MINIMISING = {"__name__": operations.__name__}
exec(compile(_OTHER_DOOR, operations.__file__, "exec"), MINIMISING)
POINTS = np.random.default_rng(0).random((3, 8, 2))


@pytest.mark.parametrize("name", CALLS)
def test_every_operation_minimises_by_default(name):
    found = MINIMISING["CALLS"][name].run(POINTS, 1.1)
    np.testing.assert_array_equal(found, CALLS[name].run(POINTS, 1.1, maximise=False))


@pytest.mark.parametrize("name", CALLS)
def test_senses_that_are_given_hold_at_both_doors(name):
    found = MINIMISING["CALLS"][name].run(POINTS, 0.1, maximise=True)
    np.testing.assert_array_equal(found, CALLS[name].run(POINTS, 0.1))


def test_an_archive_minimises_by_default():
    archive = minimise.ParetoArchive([2.0, 2.0])
    assert (archive.add([1.0, 1.0]), archive.maximise) == (1.0, [False, False])
    assert isinstance(archive, pp.ParetoArchive)
    assert pickle.loads(pickle.dumps(archive)) == archive


@pytest.mark.parametrize("name", sorted({*pp.__all__} - {"ParetoArchive"}))
def test_nothing_differs_but_the_default(name):
    ours, theirs = getattr(minimise, name), getattr(pp, name)
    if not inspect.isfunction(theirs) or "maximise" not in inspect.signature(theirs).parameters:
        assert ours is theirs
        return
    changed = inspect.signature(ours).parameters["maximise"]
    assert changed.default is False
    parameters = {**inspect.signature(ours).parameters, "maximise": changed.replace(default=True)}
    assert list(parameters.values()) == list(inspect.signature(theirs).parameters.values())
    assert ours.__module__ == minimise.__name__
    assert ">>>" not in ours.__doc__
