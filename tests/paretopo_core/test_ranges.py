"""Answers keep their digits where values differ much in size, from 1e-300 to 1e300.

The distances' own definition is below; the other operations are held to the package's.
"""

import math
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.operations import CALLS, DISTANCES
from support.strategies import mixed_scales

import paretopo_core as pp
from paretopo_core import definitions


@st.composite
def sets_of_mixed_scales(draw, **sizes):
    """One set, and the senses."""
    points = draw(mixed_scales(dtypes=[np.float64], **sizes))[0][0]
    size = points.shape[1]
    return points, draw(st.lists(st.booleans(), min_size=size, max_size=size))


def of_one_width(case, other):
    """The points of two cases, with the objectives that both have."""
    width = min(case[0].shape[1], other[0].shape[1])
    return case[0][:, :width], other[0][:, :width]


def defined(name, points, target, p, maximise):
    """The definition with Python's hypot, which scales each distance by itself."""
    sign = -1.0 if maximise else 1.0

    def distance(a, r):
        gaps = [sign * (x - y) for x, y in zip(a, r, strict=True)]
        return math.hypot(*[max(gap, 0.0) for gap in gaps] if name.endswith("plus") else gaps)

    of_pairs = np.array([[distance(a, r) for r in target.tolist()] for a in points.tolist()])

    def mean(distances):
        largest = distances.max()
        if math.isinf(p) or largest == 0:
            return float(largest)
        return float(largest * ((distances / largest) ** p).mean() ** (1 / p))

    forth, back = mean(of_pairs.min(axis=1)), mean(of_pairs.min(axis=0))
    if name == "average_hausdorff_distance":
        return max(forth, back)
    return forth if name.startswith("generational_distance") else back


@pytest.mark.parametrize("name", DISTANCES)
@given(
    case=sets_of_mixed_scales(),
    other=sets_of_mixed_scales(),
    has_common_point=st.booleans(),
    p=st.sampled_from([0.5, 1.0, 2.0, math.inf]),
    maximise=st.booleans(),
)
def test_distances_keep_their_digits(name, case, other, has_common_point, p, maximise):
    points, target = of_one_width(case, other)
    if has_common_point:
        target[0] = points[0]
    found = float(getattr(pp, name)(points, target, p=p, maximise=maximise))
    assert found == pytest.approx(defined(name, points, target, p, maximise), rel=1e-12, abs=0)


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


@given(case=sets_of_mixed_scales(), other=sets_of_mixed_scales(), maximise=st.booleans())
def test_epsilons_of_mixed_scales_equal_the_definition(case, other, maximise):
    points, known = of_one_width(case, other)
    found = pp.epsilon_additive(points, known, maximise=maximise)
    expected = definitions.indicator("epsilon_additive", points, known, maximise=maximise)
    assert found == pytest.approx(float(expected), rel=1e-14, abs=0)
    points, known = abs(points) + 1e-305, abs(known) + 1e-305
    found = pp.epsilon_multiplicative(points, known, maximise=maximise)
    with np.errstate(over="ignore"):
        expected = definitions.indicator("epsilon_multiplicative", points, known, maximise=maximise)
    assert found == pytest.approx(float(expected), rel=1e-14, abs=0)


def exact_r2(gaps):
    """Integrate the least max(w u, (1 - w) v) over w in 0..1, between all crossings of lines."""
    lines = [line for u, v in gaps for line in ((u, Fraction(0)), (-v, v))]  # slope, start
    ends = {Fraction(0), Fraction(1)}
    for (slope, start), (other, start_of_other) in combinations(lines, 2):
        if slope != other and 0 < (at := (start_of_other - start) / (slope - other)) < 1:
            ends.add(at)

    def least(w):
        return min(max(w * u, (1 - w) * v) for u, v in gaps)

    parts = [(b - a) * (least(a) + least(b)) / 2 for a, b in pairwise(sorted(ends))]
    return sum(parts)


@given(case=sets_of_mixed_scales(max_points=4), other=sets_of_mixed_scales(max_points=1))
def test_r2_of_all_weights_keeps_its_digits(case, other):
    points, ideal = np.resize(case[0], (len(case[0]), 2)), np.resize(other[0], 2)
    maximise = np.resize(case[1], 2).tolist()
    found = pp.r2_indicator(points, ideal, maximise=maximise)
    gaps = [
        [
            max(Fraction(i) - Fraction(x) if best else Fraction(x) - Fraction(i), Fraction(0))
            for x, i, best in zip(row, ideal.tolist(), maximise, strict=True)
        ]
        for row in points.tolist()
    ]
    assert found == pytest.approx(float(exact_r2(gaps)), rel=1e-14, abs=0)


@given(case=sets_of_mixed_scales(), other=sets_of_mixed_scales(max_points=1), data=st.data())
def test_r2_of_mixed_scales_equals_the_definition(case, other, data):
    points, maximise = case
    ideal = np.resize(other[0], points.shape[1])
    rows = st.lists(st.floats(0, 4), min_size=points.shape[1], max_size=points.shape[1])
    weights = np.array(data.draw(st.lists(rows, min_size=1, max_size=3)))
    found = pp.r2_indicator(points, ideal, weights=weights, maximise=maximise)
    expected = definitions.r2_indicator(points, ideal, weights, maximise=maximise)
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@given(
    case=sets_of_mixed_scales(max_points=5),
    sigma=st.integers(-300, 300).map(lambda e: 1.7 * 10.0**e),
    margin=st.one_of(st.just(0.0), st.integers(-300, 300).map(lambda e: 0.6 * 10.0**e)),
)
def test_smooth_ranks_of_mixed_scales_equal_the_definition(library, case, sigma, margin):
    def win(better, worse):
        gap = (Fraction(better) - Fraction(worse) + Fraction(margin)) / Fraction(sigma)
        shrink = math.exp(-min(float(min(abs(gap), 10**6)), 700))
        return (1.0 if gap >= 0 else shrink) / (1.0 + shrink)

    points = case[0]
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
