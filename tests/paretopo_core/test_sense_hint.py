"""A reference in a minimiser's habit gets a warning instead of a silent 0."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from support.operations import CALLS, named

import paretopo_core as pp
from paretopo_core.compat import moocore

POINTS = np.random.default_rng(0).random((6, 3))
MESSAGE = "no point is better than ref in any objective; with maximise=False every one would be"
DEFAULT = " (larger is better by default)"
WAY_OUT = (
    "; if the senses are right, pass a ref that is worse than the points, such as "
    "reference_point(points)"
)
OPERATIONS = {name: CALLS[name].run for name in named("hint")} | {
    "hypervolume_hessian": pp.hypervolume_hessian,
    "weighted_hypervolume, boxes per set": lambda x, ref, **more: pp.weighted_hypervolume(
        x, ref, boxes=(np.zeros((1, 1, 3)), np.ones((1, 1, 3))), weights=[1.0], **more
    ),
}


def heard(call, *given, **options):
    """The warnings of a call, with every filter open."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*given, **options)
    return [str(one.message) for one in caught if one.category is pp.SenseWarning]


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_with_a_reference_warns_once(name):
    for points in (POINTS, POINTS.tolist(), np.float32(POINTS)):
        assert heard(OPERATIONS[name], points, 1.1) == [f"{MESSAGE}{DEFAULT}{WAY_OUT}"]
    assert heard(OPERATIONS[name], POINTS, 1.1, maximise=False) == []
    assert heard(OPERATIONS[name], POINTS, [1.1, 1.1, 0.0]) == []  # better in one objective
    assert heard(OPERATIONS[name], POINTS, 0.0) == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_masked_points_do_not_count(name):
    points = np.vstack([POINTS, [[2.0, 2.0, 2.0]]])
    mask = np.arange(7) < 6
    assert len(heard(OPERATIONS[name], points, 1.1, mask=mask)) == 1
    assert heard(OPERATIONS[name], points, 1.1) == []


def test_uncrowded_contributions_are_meant_for_points_beyond_the_reference():
    assert heard(pp.uncrowded_contributions, POINTS, 1.1) == []
    torch = pytest.importorskip("torch")
    points = torch.tensor(POINTS, requires_grad=True)
    assert heard(lambda: pp.uncrowded_contributions(points, 1.1).sum().backward()) == []


def test_the_warning_names_the_senses_and_the_line():
    senses = [False, True, False]
    with pytest.warns(UserWarning, match=r"maximise=\[True, False, True\] every") as caught:
        pp.hypervolume(POINTS, [-0.1, 1.1, -0.1], maximise=senses)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match=r"maximise=True every one would be; if the senses are "):
        pp.hypervolume(POINTS, -0.1, maximise=False)


def test_every_set_has_to_seem_turned():
    sets = np.stack([POINTS, POINTS])
    assert len(heard(pp.hypervolume, sets, 1.1)) == 1
    assert len(heard(pp.hypervolume, sets, [[1.1] * 3, [1.2] * 3])) == 1
    assert heard(pp.hypervolume, sets, [[1.1] * 3, [0.0] * 3]) == []


@pytest.mark.parametrize(
    "name", ["hypervolume", "hypervolume_contributions", "weighted_hypervolume"]
)
def test_tensors_warn_as_arrays_do(name):
    torch = pytest.importorskip("torch")
    tensor, call = torch.tensor(POINTS), OPERATIONS[name]
    assert len(heard(call, tensor, 1.1)) == 1
    assert heard(call, tensor, 1.1, maximise=False) == []
    moving = tensor.clone().requires_grad_()
    assert len(heard(lambda: call(moving, 1.1).sum().backward())) == 1


def test_an_archive_warns_when_its_volume_is_read():
    archive = pp.ParetoArchive([1.1] * 3)
    archive.extend(POINTS)
    assert heard(lambda: archive.hypervolume) == [f"{MESSAGE}{DEFAULT}{WAY_OUT}"]
    assert heard(lambda: repr(archive)) == []
    archive.add([2.0, 0.0, 0.0])
    assert heard(lambda: archive.hypervolume) == []


def test_other_libraries_names_mean_their_senses():
    assert heard(moocore.hypervolume, POINTS, ref=-0.1) == []
    assert moocore.hypervolume(POINTS, ref=-0.1) == 0.0


def test_a_warning_may_be_an_error():
    code = "import paretopo_core as pp; pp.hypervolume([[0.2, 0.3]], 1.1)"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"SenseWarning: {MESSAGE}" in done.stderr
