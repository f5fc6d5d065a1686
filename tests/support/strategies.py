"""Point batches that hurt: ties, duplicates, one point, no points, NaN, infinities, padding."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

few_values = st.integers(-2, 2).map(float)  # a small grid, so that ties are the rule
anything32 = st.floats(width=32)  # NaN, infinities and subnormal numbers included
anything64 = st.floats(width=64)
finite = st.floats(-100, 100, width=32)


@st.composite
def point_batches(draw, *, min_points=0, max_points=10, max_objectives=5, elements=None):
    """Shape (groups, points, objectives), float32 or float64."""
    shape = (
        draw(st.integers(0, 3)),
        draw(st.integers(min_points, max_points)),
        draw(st.integers(1, max_objectives)),
    )
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    if elements is None:
        wild = anything32 if dtype is np.float32 else anything64
        elements = draw(st.sampled_from(["grid", "wild"]))
        elements = few_values if elements == "grid" else wild
    return draw(arrays(dtype, shape, elements=elements))


@st.composite
def masked_batches(draw, **keywords):
    """A batch and the mask of its padding."""
    points = draw(point_batches(**keywords))
    counts = st.integers(0, 3).map(bool)  # most points count: small sets meet few branches
    return points, draw(arrays(np.bool_, points.shape[:-1], elements=counts))


@st.composite
def mixed_scales(draw, *, max_points=7, max_objectives=4, dtypes=(np.float32, np.float64)):
    """A batch whose values, rows or objectives have exponents from -300 to 300, and its mask."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = tuple(rng.integers(1, [4, max_points + 1, max_objectives + 1]))
    exponents = {
        "values": rng.integers(-300, 301, shape),
        "objectives": rng.integers(-300, 301, (1, 1, shape[2])),
        "rows": rng.choice([0, 0, 250, -250], (*shape[:2], 1)),
        "small": rng.integers(-3, 4, shape),
    }[draw(st.sampled_from(["values", "objectives", "rows", "small"]))]
    with np.errstate(over="ignore"):  # float32 takes values to infinity or 0
        points = (rng.integers(-4, 5, shape) * 0.37 * 10.0**exponents).astype(
            draw(st.sampled_from(dtypes))
        )
    return points, rng.random(shape[:2]) < 0.8


@st.composite
def senses(draw, objectives):
    """Draw a value for `maximise`."""
    one = st.booleans()
    return draw(st.one_of(one, st.lists(one, min_size=objectives, max_size=objectives)))


def large_set(kind: str, points: int, objectives: int, seed: int = 0) -> np.ndarray:
    """One set beyond the bitmask kernels, of a shape that stresses sorting."""
    rng = np.random.default_rng(seed)
    uniform = rng.random((points, objectives))
    if kind == "uniform":
        return uniform
    if kind == "grid":
        return np.floor(uniform * 5)
    if kind == "sphere":
        return uniform / np.linalg.norm(uniform, axis=1, keepdims=True)
    if kind == "chain":
        return np.cumsum(uniform, axis=0)[rng.permutation(points)]
    if kind == "antichain":  # the staircase of the last two objectives grows without end
        uniform[:, -2] = rng.permutation(points)
        uniform[:, -1] = -uniform[:, -2]
        return uniform
    if kind == "equal":
        return np.ones((points, objectives))
    if kind == "wild":
        return rng.choice([np.nan, -np.inf, -1.0, -0.0, 0.0, 1.0, np.inf], (points, objectives))
    raise ValueError(kind)


LARGE_KINDS = ("uniform", "grid", "sphere", "chain", "antichain", "equal", "wild")
