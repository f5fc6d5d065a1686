"""Every instruction set gives the same results, bit for bit, and they are the definitions'."""

import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from support.strategies import masked_batches

import paretopo_core as pp
from paretopo_core import definitions

SMALL = (1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 15, 16, 17, 31, 32, 33, 63, 64)
# By objectives: values that fill a block, and where lanes, rows of bits and sorting take turns.
POINTS = {
    1: SMALL,
    2: (*SMALL, 65, 66, 95, 127, 128, 129, 130),
    3: (*SMALL, 65, 66, 85, 86, 127, 128, 129, 130, 255, 256, 257),
    4: (*SMALL, 65, 66, 127, 128, 129, 256, 257),
    5: (*SMALL, 65, 66, 127, 128, 129, 256, 257),
    **{m: [points for points in SMALL if points * m <= 256] for m in (7, 10, 18)},
}


def agree(each_isa, name, *arguments, **keywords):
    """An operation agrees with its definition on every instruction set, bit by bit."""
    computed = each_isa(lambda: getattr(pp, name)(*arguments, **keywords))
    np.testing.assert_array_equal(computed, getattr(definitions, name)(*arguments, **keywords))


@given(batch=masked_batches(max_points=20))
def test_small_groups_equal_their_definitions(each_isa, batch):
    points, mask = batch
    agree(each_isa, "pareto_rank", points, mask=mask)
    agree(each_isa, "is_nondominated", points, mask=mask, duplicates="first")
    agree(each_isa, "pareto_advantage", points, weights=np.ones(points.shape[-1]), mask=mask)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("objectives", POINTS)
def test_groups_of_every_shape(each_isa, dtype, objectives):
    """Group counts around the width of a block, shapes compiled for and shapes that are not."""
    rng = np.random.default_rng(objectives)
    weights = rng.random(objectives)
    maximise = [bool(sense) for sense in rng.integers(0, 2, objectives)]
    for points in POINTS[objectives]:
        groups = int(rng.integers(1, 40)) if points <= 64 else 5
        uniform = rng.random((groups, points, objectives))
        ties = rng.integers(0, 9, uniform.shape) / 7  # which rounding to float32 does not keep
        ties[rng.random(ties.shape) < 0.05] = np.nan
        ties[rng.random(ties.shape) < 0.03] = -np.inf
        some = rng.random((groups, points)) < 0.8
        for values, mask in ((uniform, None), (ties, None), (ties, some)):
            values, keywords = values.astype(dtype), {"mask": mask, "maximise": maximise}
            agree(each_isa, "pareto_rank", values, **keywords)
            for duplicates in ("all", "first"):
                agree(each_isa, "is_nondominated", values, duplicates=duplicates, **keywords)
            centre = str(rng.choice(["mean", "none", "std", "loo"]))
            agree(each_isa, "pareto_advantage", values, weights=weights, centre=centre, mask=mask)


@pytest.mark.parametrize(
    ("points", "objectives"), [(5, 2), (8, 2), (16, 2), (31, 2), (8, 3), (16, 3)]
)
def test_expected_volumes_are_the_same_bits(each_isa, points, objectives):
    """Mixed sizes in a tile, rows without height, groups that leave the range of doubles."""
    rng = np.random.default_rng(points)
    values = rng.normal(size=(37, points, objectives))
    values[::2] = rng.integers(-1, 3, values[::2].shape)
    values[3] *= 2.0**600
    for mask in (None, rng.random((37, points)) < 0.8):
        for k in (1, 2, points // 2, points):
            keywords = {"k": k, "mask": mask}
            each_isa(functools.partial(pp.expected_hypervolume, values, -1.0, **keywords))
            each_isa(functools.partial(pp.hypervolume_advantage, values, -1.0, **keywords))


def test_the_environment_forces_one():
    def run(value):
        code = "import paretopo_core as pp; print(pp.get_isa())"
        environment = {**os.environ, "PARETOPO_ISA": value}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert run("portable").stdout.strip() == "portable"
    assert "PARETOPO_ISA must be one of portable" in run("sse9").stderr


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"the instruction set must be one of portable"):
        pp.isa("neon")
