"""expected_hypervolume_improvement: exact means over Gaussian candidates, and their derivatives."""

import math

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp


def example(objectives, candidates=7, points=12):
    """Return boxes, means and deviations."""
    rng = np.random.default_rng(objectives)
    boxes = pp.nondominated_boxes(large_set("sphere", points, objectives), -0.05)
    shape = (candidates, objectives)
    return boxes, rng.random(shape) * 1.2 - 0.1, 0.02 + rng.random(shape) * 0.5


@pytest.mark.parametrize("objectives", [2, 3, 4, 5, 6])
def test_samples_agree_within_their_error(objectives):
    boxes, means, _ = example(objectives, candidates=3)
    deviations = np.linspace(0.2, 0.5, objectives)
    exact = pp.expected_hypervolume_improvement(means, deviations, boxes=boxes)
    noise = np.random.default_rng(0).standard_normal((20_000, 3, 1, objectives))
    samples = means[:, None] + deviations * noise
    gains = pp.hypervolume_improvement(samples, boxes=boxes)
    errors = gains.std(axis=0) / math.sqrt(len(noise))
    assert (np.abs(gains.mean(axis=0) - exact) < 4.5 * errors).all()
    assert (errors < 0.08 * exact).all()


@pytest.mark.parametrize("objectives", [1, 2, 3, 5])
def test_without_noise_it_is_the_improvement(objectives):
    boxes, means, _ = example(objectives)
    gains = pp.hypervolume_improvement(means[:, None], boxes=boxes)
    assert gains.max() > 0
    sure = pp.expected_hypervolume_improvement(means, 0, boxes=boxes)
    np.testing.assert_allclose(sure, gains, rtol=1e-14)
    almost = pp.expected_hypervolume_improvement(means, 1e-12, boxes=boxes)
    np.testing.assert_allclose(almost, gains, rtol=1e-9, atol=1e-11)


# E[max(Z - t, 0)] of a standard normal Z: npdf(t) - t * ncdf(-t) of mpmath 1.3 with 60 digits.
TAILS = {
    0.0: 0.39894228040143267794,
    0.3: 0.26676124211720988104,
    1.0: 0.083315470587686298383,
    2.5: 0.0020041371791281994447,
    4.75: 1.9836188639110528325e-7,
    7.96875: 9.7628917848847717996e-17,
    8.03125: 5.833553313369671676e-17,
    10.0: 7.4745602545893280366e-25,
    20.0: 1.3700124947295799431e-90,
    30.0: 1.6319567340914011894e-199,
    37.0: 1.5451991905122024593e-301,
}


@pytest.mark.parametrize("far", TAILS)
@pytest.mark.parametrize("length", [1e-9, 1e-3, 1.0])
def test_unlikely_improvements_keep_their_digits(far, length):
    edges = far + np.linspace(0.0, length, 50)
    boxes = edges[:, None], np.append(edges[1:], np.inf)[:, None]
    found = pp.expected_hypervolume_improvement([[0.0]], 1.0, boxes=boxes)
    assert found == pytest.approx(TAILS[far], rel=2e-14, abs=0)


def test_slopes_without_noise_are_limits():
    boxes = pp.nondominated_boxes([[1.0, 2.0], [2.0, 1.0]], 0.0)
    candidates = [[2.0, 2.0], [1.5, 1.5], [0.5, 3.0]]
    _, *limit = pp.expected_hypervolume_improvement(
        candidates, 0, boxes=boxes, return_gradient=True
    )
    _, *near = pp.expected_hypervolume_improvement(
        candidates, 1e-9, boxes=boxes, return_gradient=True
    )
    for ours, theirs in zip(limit, near, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_scales_beyond_products():
    boxes = pp.nondominated_boxes([[1e200, 1e-200, 1.0]], 0.0)
    unit = pp.nondominated_boxes([[1.0, 1.0, 1.0]], 0.0)
    scale = np.array([1e200, 1e-200, 1.0])
    for boxed, factor in ((boxes, scale), (unit, np.ones(3))):
        gain, in_means, in_deviations = pp.expected_hypervolume_improvement(
            [[1.5, 0.8, 1.2] * factor], 0.5 * factor, boxes=boxed, return_gradient=True
        )
        found = gain[0], *(in_means[0] * factor), *(in_deviations[0] * factor)
        if factor is scale:
            first = found
    np.testing.assert_allclose(first, found, rtol=1e-12)
    huge = pp.nondominated_boxes(np.full((1, 3), 1e150), 0.0)
    assert pp.expected_hypervolume_improvement(np.full((1, 3), 2e150), 1e150, boxes=huge) == np.inf


def test_nothing_to_improve_with():
    boxes = pp.nondominated_boxes([[1.0, 2.0]], 0)
    ours = pp.expected_hypervolume_improvement
    assert ours(np.zeros((0, 2)), 1.0, boxes=boxes).shape == (0,)
    assert ours(np.zeros((3, 0, 2)), 1.0, boxes=boxes).shape == (3, 0)
    assert ours([[9.0, -np.inf]], 1.0, boxes=boxes).tolist() == [0.0]
    assert ours([[np.nan, 9.0]], 1.0, boxes=boxes, mask=[False]).tolist() == [0.0]
    empty = pp.dominated_boxes(np.zeros((0, 2)), 0)
    assert ours([[1.0, 1.0]], 1.0, boxes=empty).tolist() == [0.0]
    none = pp.nondominated_boxes(np.zeros((0, 3, 2)), 0)
    assert ours(np.zeros((0, 1, 2)), 1.0, boxes=none).shape == (0, 1)
