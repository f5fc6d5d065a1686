"""hypervolume_gradient, and torch's view of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import few_values, finite, large_set, point_batches

import paretopo_core as pp
from paretopo_core import definitions

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 65])
def test_no_slope_is_minus_0(objectives):
    points = np.ones((3, objectives)) * [[1.0], [2.0], [1.0]]  # minimised: the second is dominated
    boxes = np.zeros((1, objectives)), np.ones((1, objectives))
    for measure in (
        lambda x: pp.hypervolume(x, 3.0, maximise=False),
        lambda x: pp.expected_hypervolume(x, 3.0, k=3, maximise=False),
        lambda x: pp.hypervolume_improvement(x, boxes=boxes, maximise=False).sum(),
    ):
        moving = torch.tensor(points, requires_grad=True)
        measure(moving).backward()
        zeros = moving.grad[moving.grad == 0]
        assert len(zeros) > 0
        assert not zeros.signbit().any()
    gradient = pp.hypervolume_gradient(points, 3.0, maximise=False)
    assert not np.signbit(gradient[gradient == 0]).any()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_the_gradient_has_the_dtype_of_the_points(dtype):
    points = torch.tensor([[1, 3], [2, 2], [3, 1]], dtype=getattr(torch, dtype))
    points.requires_grad_()
    volume = pp.hypervolume(points, 0)
    assert volume.dtype == torch.float64
    (volume * 2).backward()
    assert points.grad.dtype == points.dtype
    assert points.grad.tolist() == [[2, 2]] * 3


@pytest.mark.parametrize("kind", ["uniform", "sphere", "grid", "chain", "antichain", "equal"])
@pytest.mark.parametrize("objectives", [2, 3])
def test_sweeps_of_large_sets_find_the_facets_of_the_definition(kind, objectives, monkeypatch):
    monkeypatch.setattr(definitions, "hypervolume", pp.hypervolume)  # its own takes minutes
    points = large_set(kind, 150, objectives)
    ref = points.min() - 0.5
    scale = max(1.0, float(np.abs(points - ref).max())) ** (objectives - 1)
    np.testing.assert_allclose(
        pp.hypervolume_gradient(points, ref),
        definitions.hypervolume_gradient(points, ref),
        rtol=1e-9,
        atol=1e-12 * scale,
    )


@given(
    points=point_batches(elements=few_values | finite, min_points=1, max_points=40),
    seed=st.integers(0, 9),
)
def test_chosen_points_have_the_same_slopes(points, seed):
    points = points.astype(np.float64)
    wanted = np.random.default_rng(seed).random(points.shape[:-1]) < 0.1
    whole = pp.hypervolume_gradient(points, -1.5)
    np.testing.assert_array_equal(
        pp.hypervolume_gradient(points, -1.5, wanted=wanted),
        np.where(wanted[..., None], whole, 0.0),
    )
