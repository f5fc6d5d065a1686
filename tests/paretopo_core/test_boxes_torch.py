"""Box decompositions and improvements on tensors, and slopes of improvements."""

import numpy as np
import pytest
from hypothesis import given
from support.strategies import few_values, large_set, point_batches

import paretopo_core as pp
from paretopo_core.improvement import positive_improvement

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own


@given(points=point_batches(elements=few_values, min_points=2, max_points=6, max_objectives=4))
def test_its_slopes_are_those_of_the_hypervolume(points):
    q = 2
    points = torch.from_numpy(points.astype(np.float64))
    front, candidates = points[:, :-q], points[:, -q:].clone().requires_grad_()
    boxes = pp.nondominated_boxes(front, -1.5)
    pp.hypervolume_improvement(candidates, boxes=boxes).sum().backward()
    slopes = pp.hypervolume_gradient(points, -1.5)[:, -q:]
    torch.testing.assert_close(candidates.grad, slopes, rtol=1e-12, atol=1e-12)


def test_the_gradient_has_the_shape_and_dtype_of_the_candidates():
    boxes = pp.nondominated_boxes(torch.rand(5, 6, 2), 0.0)
    candidates = (torch.rand(2, 2) + 0.5).requires_grad_()
    gains = pp.hypervolume_improvement(candidates, boxes=boxes)
    assert gains.shape == (5,)
    gains.sum().backward()
    assert candidates.grad.shape == (2, 2)
    assert candidates.grad.dtype == torch.float32
    assert (candidates.grad >= 0).all()


def test_slopes_in_the_boxes_are_refused():
    lower, candidates = torch.zeros(1, 3), torch.rand(2, 3) + 1

    def improve(low):
        return pp.hypervolume_improvement(candidates, boxes=(low, low + 1))

    for ask in (
        lambda: improve(lower.clone().requires_grad_()).backward(),
        lambda: torch.func.jvp(improve, (lower,), (lower,)),
    ):
        with pytest.raises(NotImplementedError, match="derivative in its first argument only"):
            ask()


def test_expected_improvements_of_tensors():
    boxes = pp.nondominated_boxes(torch.from_numpy(large_set("sphere", 9, 3)), 0.0)
    means, deviations = torch.rand(2, 5, 7, 3)  # float32
    found = pp.expected_hypervolume_improvement(
        means, deviations, boxes=boxes, return_gradient=True
    )
    expected = pp.expected_hypervolume_improvement(
        means.numpy(), deviations.numpy(), boxes=boxes, return_gradient=True
    )
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    leaves = means.requires_grad_(), deviations.requires_grad_()
    pp.expected_hypervolume_improvement(*leaves, boxes=boxes).sum().backward()
    for leaf, slopes in zip(leaves, expected[1:], strict=True):
        assert leaf.grad.dtype == torch.float32
        np.testing.assert_allclose(leaf.grad.numpy(), slopes, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("objectives", [1, 2, 3, 6])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("scale", [1.0, 1e49])
def test_improvements_with_a_shortest_side(objectives, q, scale):
    """As the plain formula, with a derivative, for the logarithms of other libraries."""
    generator = torch.Generator().manual_seed(objectives)
    lower = torch.rand(150, objectives, generator=generator, dtype=torch.float64) * scale
    upper = lower + torch.rand(150, objectives, generator=generator, dtype=torch.float64) * scale
    upper[::7] = torch.inf
    upper[::5] = lower[::5]
    boxes = lower, torch.maximum(lower, upper)
    x = torch.rand(40, 1, objectives, generator=generator, dtype=torch.float64) * 1.5 * scale
    x[:4] = -scale
    x = x.expand(40, q, objectives).clone().requires_grad_()  # equal candidates count once
    sides = (torch.minimum(x[:, :1], boxes[1]) - boxes[0]).clamp_min(0.01 * scale)
    plain = sides.prod(dim=-1).sum(dim=-1)
    ours = positive_improvement(boxes, x, 0.01 * scale)
    assert (ours > 0).all()
    slopes = torch.autograd.grad(plain.log().sum(), x, retain_graph=True)[0]
    torch.testing.assert_close(ours, plain, rtol=1e-12, atol=0)
    torch.testing.assert_close(
        torch.autograd.grad(ours.log().sum(), x)[0], slopes, rtol=1e-9, atol=1e-12 / scale
    )
