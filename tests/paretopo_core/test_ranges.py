"""Answers keep their digits where values differ much in size, from 1e-300 to 1e300.

So do those that test_definitions.py compares with a definition at any scale.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.operations import CALLS
from support.strategies import mixed_scales

import paretopo_core as pp


@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1.0, 1e160, 1e300])
def test_uncrowded_distances_keep_their_digits(scale):
    found = pp.uncrowded_contributions([[-3 * scale, -4 * scale]], 0)
    assert found[0] == pytest.approx(-5 * scale, rel=1e-14, abs=0)
    torch = pytest.importorskip("torch")
    point = torch.tensor([[-3 * scale, -4 * scale]], dtype=torch.float64, requires_grad=True)
    pp.uncrowded_contributions(point, 0).sum().backward()
    np.testing.assert_allclose(point.grad[0].numpy(), [0.6, 0.8], rtol=1e-14)


def test_gradient_of_expected_hypervolume_has_double_precision():
    torch = pytest.importorskip("torch")
    points = torch.tensor([[0.0], [0.125], [-0.125]], dtype=torch.float64, requires_grad=True)
    pp.expected_hypervolume(points, 0.25, k=1, maximise=False).backward()
    np.testing.assert_allclose(points.grad.numpy(), np.full((3, 1), -1 / 3), rtol=1e-15)


def test_strict_ranks_of_tensors_have_double_precision():
    """Places are up to the square of the number of points, which float32 does not represent."""
    torch = pytest.importorskip("torch")
    points = np.random.default_rng(0).random((6_000, 2))
    expected = pp.is_nondominated(points, dominance="strict")
    assert pp.is_nondominated(
        torch.from_numpy(points), dominance="strict"
    ).numpy().tolist() == list(expected)


def test_violations_of_tensors_have_double_precision():
    torch = pytest.importorskip("torch")
    violation = torch.tensor([2**25, 2**25 + 1])
    assert pp.pareto_rank(torch.zeros(2, 2), violation=violation).tolist() == [0, 1]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@given(
    batch=mixed_scales(max_points=5, dtypes=[np.float64]),
    sigma=st.integers(-300, 300).map(lambda e: 1.7 * 10.0**e),
    margin=st.one_of(st.just(0.0), st.integers(-300, 300).map(lambda e: 0.6 * 10.0**e)),
)
def test_smooth_ranks_of_mixed_scales_equal_the_definition(library, batch, sigma, margin):
    def win(better, worse):
        gap = (Fraction(better) - Fraction(worse) + Fraction(margin)) / Fraction(sigma)
        shrink = math.exp(-min(float(min(abs(gap), 10**6)), 700))
        return (1.0 if gap >= 0 else shrink) / (1.0 + shrink)

    points = batch[0][0]
    rows = points.tolist()
    wins = np.array([[math.prod(map(win, a, b)) for b in rows] for a in rows])
    expected = (wins * (1 - wins.T) if margin else wins) * (1 - np.eye(len(rows)))
    given_points = pytest.importorskip("torch").from_numpy(points) if library == "torch" else points
    found = np.asarray(pp.stochastic_dominance(given_points, sigma=sigma, margin=margin))
    # A probability next to 1 has an absolute error, and so has its complement.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15 if margin else 1e-300)
    ranks = np.asarray(pp.stochastic_pareto_rank(given_points, sigma=sigma, margin=margin))
    np.testing.assert_allclose(ranks, 1 + expected.sum(axis=0), rtol=1e-14)


# Each objective is a small grid times a power of two. A result scales with all powers, or as SCALES
# says.
VOLUMES = {
    name: CALLS[name].run
    for name in (
        *(
            "hypervolume",
            "hypervolume_contributions",
            "hypervolume_gradient",
            "expected_hypervolume",
        ),
        *("hypervolume_advantage", "hypervolume_subset", "select, hypervolume"),
    )
} | {
    "hypervolume_improvement": lambda x, r: pp.hypervolume_improvement(
        x[:1], boxes=pp.nondominated_boxes(x[1:], r)
    ),
    # Boxes that scale with the points: from the reference, and from the first point.
    "weighted_hypervolume": lambda x, r: pp.weighted_hypervolume(
        x, r, boxes=[[r, x[0]], [-2 * r, x[0] - 4 * r]], weights=[0.75, -3]
    ),
    "dominated_boxes": lambda x, r: pp.dominated_boxes(x, r).lower - r,
    "gain of an archive": lambda x, r: pp.ParetoArchive(r).extend(x).gains,
}
SCALES = {
    "hypervolume_gradient": lambda powers: np.exp2(powers.sum() - powers),
    "dominated_boxes": np.exp2,
    **dict.fromkeys(("hypervolume_subset", "select, hypervolume"), lambda powers: 1),
}


@pytest.mark.parametrize("name", VOLUMES)
@given(
    base=st.integers(-900, 900),
    more=st.lists(st.integers(-15, 15), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_volumes_keep_their_digits_with_objectives_of_any_scale(name, base, more, seed):
    if name == "hypervolume_gradient":
        base //= 2  # slopes have twice the power
    powers = np.resize([1.0, -1.0], len(more)) * base + more
    points = np.random.default_rng(seed).integers(0, 5, (6, len(powers))).astype(float)
    ref = np.full(len(powers), -0.5)
    answer = VOLUMES[name]
    expected = answer(points, ref) * SCALES.get(name, lambda p: np.exp2(p.sum()))(powers)
    found = answer(points * np.exp2(powers), ref * np.exp2(powers))
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)
