"""ideal_point, nadir_point, reference_point, normalise and knee_points."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import masked_batches, senses

import paretopo_core as pp
from paretopo_core import definitions


@given(batch=masked_batches(min_points=1, max_points=6), data=st.data())
def test_corners_may_be_given_to_all_or_to_each(send, batch, data):
    points, _ = batch
    points = np.nan_to_num(points, nan=0.0, posinf=1.0, neginf=-1.0).clip(-1e6, 1e6)
    maximise = data.draw(senses(points.shape[-1]))
    ideal = pp.ideal_point(points, maximise=maximise)
    nadir = pp.nadir_point(points, maximise=maximise)
    expected = pp.normalise(points, maximise=maximise)
    given_both = pp.normalise(send(points), ideal=send(ideal), nadir=send(nadir))
    np.testing.assert_array_equal(np.asarray(given_both), expected)
    front = pp.is_nondominated(points, maximise=maximise)
    assert ((expected[front] >= 0) & (expected[front] <= 1)).all()
    for group, own, corner, other in zip(points, expected, ideal, nadir, strict=True):
        one = pp.normalise(send(group), ideal=corner.tolist(), nadir=tuple(other.tolist()))
        np.testing.assert_array_equal(np.asarray(one), own)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_overflow_gives_infinity(send, dtype):
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    points = send(np.array([[tiny * 3, 0], [0, 1346], [1346, 1346]], dtype))
    scaled = pp.normalise(points, ideal=0, nadir=[tiny * 4, tiny])
    np.testing.assert_array_equal(
        np.asarray(scaled), [[0.75, 0.0], [0.0, np.inf], [np.inf, np.inf]]
    )
    below = pp.normalise(send(np.array([[-huge, 1.0]], dtype)), ideal=[1, 0], nadir=[0.75, huge])
    np.testing.assert_array_equal(np.asarray(below), [[-np.inf, 1 / huge]])
    assert np.isnan(np.asarray(pp.normalise(send(np.array([[np.inf, np.nan]], dtype))))).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_range_that_overflows_counts_as_it_is(send, dtype):
    huge = np.finfo(dtype).max / 2 * 1.5
    points = send(np.array([[huge, -huge], [-huge, huge], [0, 0], [huge / 2, -huge / 2]], dtype))
    expected = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.75, 0.25]]
    np.testing.assert_array_equal(np.asarray(pp.normalise(points)), expected)
    within = pp.normalise(points, ideal=float(huge) / 2, nadir=-float(huge))
    np.testing.assert_allclose(np.asarray(within)[0], [4 / 3, 0.0], rtol=1e-6)


def forms_of(function):
    """The function of an array: as it is, and as torch differentiates and transforms it."""
    torch = pytest.importorskip("torch")
    return (
        function,
        lambda x: function(torch.tensor(x, requires_grad=True)).detach().numpy(),
        lambda x: torch.vmap(function)(torch.tensor(x)[None])[0].numpy(),
    )


# The points of a front with two objectives; its ends are the first two.
@pytest.mark.parametrize(
    ("ends", "dtype", "scale"),
    [
        ([16777216, 16777218], "f4", 0.1),  # the next number is 2 away
        ([1e16, 1e16 + 2], "f8", 0.1),
        ([1.0, 2.0], "f8", 1e-20),
        ([1.0, 2.0], "f4", 1e-320),  # 0 as float32
        ([5e-324, 1e-323], "f8", 0.1),
        ([0.0, 5e-324], "f8", 0.1),
        ([-1.7e308, 1.7e308], "f8", 0.1),
        ([-1e308, 1.7e308], "f8", 0.1),
        ([-3e38, 3e38], "f4", 0.1),
        ([1e30, 2e30], "f4", 1e30),
    ],
)
def test_a_reference_point_is_finite_and_worse_than_the_front(ends, dtype, scale):
    points = np.array([ends, ends[::-1]], dtype)
    for sign in (1, -1):
        given, maximise = sign * points, sign == 1
        with np.errstate(all="ignore"):
            expected = definitions.reference_point(given, scale, maximise=maximise)
        assert ((sign * given > sign * expected) & np.isfinite(expected)).all()
        for form in forms_of(partial(pp.reference_point, scale=scale, maximise=maximise)):
            np.testing.assert_array_equal(form(given), expected, strict=True)


def test_a_reference_point_is_the_nadir_at_scale_0_and_infinite_beyond_the_last_number():
    most = np.finfo("f8").max
    wide, far = np.array([[-1e308, 1e308], [1e308, -1e308]]), np.array([[-most, 1.0], [0.0, -1.0]])
    for form in forms_of(lambda x: pp.reference_point(x, scale=0)):
        assert form(wide).tolist() == [-1e308, -1e308]
    for form in forms_of(pp.reference_point):
        assert form(far).tolist() == [-np.inf, -1.2]


def test_a_gradient_where_a_range_overflows_is_finite():
    torch = pytest.importorskip("torch")
    points = torch.tensor([[3e38, -3e38], [-3e38, 3e38], [0.0, 1.0]])
    points.requires_grad_()
    pp.normalise(points).sum().backward()
    assert torch.isfinite(points.grad).all()


def test_a_tensor_keeps_its_gradient():
    torch = pytest.importorskip("torch")
    points = torch.tensor(
        [[3.0, 1.0], [1.0, 2.0], [2.0, 1.5], [0.0, 0.0]], dtype=torch.float64, requires_grad=True
    )
    assert torch.autograd.gradcheck(pp.ideal_point, points)
    assert torch.autograd.gradcheck(pp.nadir_point, points)
    assert torch.autograd.gradcheck(pp.normalise, points)
    assert not pp.knee_points(points).requires_grad


@pytest.mark.parametrize("maximise", [True, False, [True, False, True]])
def test_a_guess_of_the_reference_gives_each_point_a_volume(maximise):
    """Ax PR 4970, jMetalPy#127."""
    points = np.random.default_rng(1).normal(size=(50, 3))
    ref = pp.reference_point(points, maximise=maximise)
    front = points[pp.is_nondominated(points, maximise=maximise)]
    assert (pp.hypervolume_contributions(front, ref, maximise=maximise) > 0).all()
