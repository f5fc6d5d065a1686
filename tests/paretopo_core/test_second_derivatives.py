"""Derivatives of the hypervolume's gradient, compared with exact differences of fractions."""

import sys
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.exact_volumes import exact_volume
from support.strategies import masked_batches, senses

import paretopo_core as pp

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own
NUDGE = Fraction(1, 10**18)  # between points with a tie
STEP = Fraction(1, 10**30)  # smaller than every distance, so that no two points swap

FEW_VALUES = st.integers(0, 4).map(float)  # so that ties are the rule, also with the reference


def hessian(x, ref=0.0, **more):
    return torch.func.hessian(lambda y: pp.hypervolume(y, ref, **more).sum())(x)


def points(shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random(shape))


def dense(sparse, x):
    """The same as an array, of the shape of the points twice."""
    result = np.zeros((x.size, x.size))
    result[tuple(sparse.indices)] = sparse.values
    return result.reshape(*x.shape, *x.shape)


def second_difference(sides, one, other):
    """The mixed derivative, exact because the volume is linear in each side between ties."""
    total = Fraction(0)
    for first, second in product((1, -1), repeat=2):
        moved = [list(side) for side in sides]
        moved[one[0]][one[1]] += first * STEP
        moved[other[0]][other[1]] += second * STEP
        total += first * second * exact_volume(moved)
    return float(total / (4 * STEP * STEP))


def hessian_by_fractions(x, ref, mask, is_up):
    """Difference the volumes of one set; the earlier of tied points counts as better."""
    count, objectives = x.shape
    signs = np.where(is_up, 1, -1)
    result = np.zeros((count, objectives, count, objectives))
    turned = (x - ref) * signs
    inside = [i for i in range(count) if mask[i] and (turned[i] > 0).all()]
    sides = [[Fraction(float(v)) + (count - i) * NUDGE for v in turned[i]] for i in inside]
    places = list(product(range(len(inside)), range(objectives)))
    for one, other in product(places, repeat=2):
        if one < other and one[1] != other[1]:
            slope = second_difference(sides, one, other) * signs[one[1]] * signs[other[1]]
            (i, m), (j, k) = one, other
            result[inside[i], m, inside[j], k] = result[inside[j], k, inside[i], m] = slope
    return result


@settings(max_examples=30)
@given(batch=masked_batches(elements=FEW_VALUES, max_points=5, max_objectives=4), data=st.data())
def test_it_equals_differences_of_exact_volumes_also_at_ties(batch, data):
    x, mask = batch
    maximise = data.draw(senses(x.shape[-1]))
    is_up = np.broadcast_to(maximise, x.shape[-1])
    ref = np.where(is_up, 0.0, 4.0)
    tensor = torch.from_numpy(x).double()
    found = hessian(tensor, ref, mask=torch.from_numpy(mask), maximise=maximise)
    blocks = found.numpy().copy()
    if x.shape[-1] in (2, 3):
        blocks = dense(pp.hypervolume_hessian(x, ref, mask=mask, maximise=maximise), x)
    for g, (one, keep) in enumerate(zip(x, mask, strict=True)):
        expected = hessian_by_fractions(one, ref, keep, is_up)
        np.testing.assert_allclose(found[g, :, :, g], expected, rtol=1e-12, atol=1e-12)
        found[g, :, :, g] = 0
        np.testing.assert_allclose(blocks[g, :, :, g], expected, rtol=1e-12, atol=1e-12)
        blocks[g, :, :, g] = 0
    assert (found == 0).all()  # sets do not depend on each other
    assert (blocks == 0).all()


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
def test_the_hessian_is_symmetric_without_a_diagonal_in_any_mode(objectives):
    x = points((7, objectives))
    whole = hessian(x)
    flat = whole.reshape(x.numel(), x.numel())
    torch.testing.assert_close(flat, flat.T, rtol=0, atol=1e-15)
    for m in range(objectives):  # the volume is linear in each objective
        assert (whole[:, m, :, m] == 0).all()
    for outer in (torch.func.jacfwd, torch.func.jacrev):
        for inner in (torch.func.jacfwd, torch.func.jacrev):
            found = outer(inner(lambda y: pp.hypervolume(y, 0.0)))(x)
            torch.testing.assert_close(found, whole, rtol=0, atol=1e-15)
    plain = torch.autograd.functional.hessian(lambda y: pp.hypervolume(y, 0.0), x)
    torch.testing.assert_close(plain, whole, rtol=0, atol=1e-15)


@pytest.mark.parametrize("objectives", [2, 3])
def test_products_need_no_hessian(objectives):
    x, along = points((7, objectives)), points((7, objectives), seed=1) - 0.5
    expected = torch.einsum("imjk,jk->im", hessian(x), along)
    slope = torch.func.grad(lambda y: pp.hypervolume(y, 0.0))
    torch.testing.assert_close(torch.func.jvp(slope, (x,), (along,))[1], expected)
    torch.testing.assert_close(torch.func.vjp(slope, x)[1](along)[0], expected)
    wanting = x.clone().requires_grad_()
    (slopes,) = torch.autograd.grad(pp.hypervolume(wanting, 0.0), wanting, create_graph=True)
    (slopes * along).sum().backward()
    torch.testing.assert_close(wanting.grad, expected)
    change = torch.func.jvp(lambda y: pp.hypervolume_gradient(y, 0.0), (x,), (along,))[1]
    torch.testing.assert_close(change, expected)


@pytest.mark.parametrize(
    ("objectives", "per_group"), [(1, False), (2, True), (3, False), (4, True)]
)
def test_gradgradcheck_with_a_reference_and_padding(objectives, per_group):
    x = points((2, 4, objectives), seed=objectives).requires_grad_()
    maximise = [m != 1 for m in range(objectives)]
    corner = torch.tensor([0.05 if up else 0.95 for up in maximise]).double()
    corner = (corner.expand(2, -1).clone() if per_group else corner).requires_grad_()
    keep = torch.tensor([[True] * 4, [True, False, True, True]])

    def measured(y, r):
        return pp.hypervolume(y, r, maximise=maximise, mask=keep)

    def sloped(y, r):
        return pp.hypervolume_gradient(y, r, maximise=maximise, mask=keep, wanted=keep.flip(-1))

    assert torch.autograd.gradgradcheck(measured, (x, corner))
    assert torch.autograd.gradcheck(sloped, (x, corner), check_forward_ad=True)


@pytest.mark.parametrize("objectives", [2, 3])
def test_contributions_have_second_derivatives_too(objectives):
    x = points((2, 4, objectives)).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda y: pp.hypervolume_contributions(y, 0.0), (x,))


@pytest.mark.parametrize("objectives", [2, 3])
def test_pieces_of_a_large_set_add_up(objectives, monkeypatch):
    x, along = points((3, 12, objectives)), points((3, 12, objectives), seed=1)

    def move(y):
        return torch.func.jvp(lambda z: pp.hypervolume_gradient(z, 0.0), (y,), (along,))[1]

    whole = move(x)
    monkeypatch.setattr(
        sys.modules[pp.hypervolume.__module__], "_MOST_VALUES", 3 * 5 * 12 * 2
    )  # 5 points at a time
    torch.testing.assert_close(move(x), whole)
    each = [hessian(one) for one in x]
    products = [torch.einsum("imjk,jk->im", h, a) for h, a in zip(each, along, strict=True)]
    torch.testing.assert_close(whole, torch.stack(products))
    torch.testing.assert_close(torch.vmap(hessian)(x), torch.stack(each))


def test_infinities_on_the_worse_side_have_no_slopes():
    x = points((5, 3))
    x[2] = -torch.inf
    found = hessian(x)
    assert (found[2] == 0).all()
    kept = [0, 1, 3, 4]
    torch.testing.assert_close(found[kept][:, :, kept], hessian(x[kept]))


def test_half_precision_gets_products_of_its_own_dtype():
    x = points((6, 3)).half()
    torch.testing.assert_close(hessian(x), hessian(x.double()).half())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_gradient_has_a_backward_pass(backend):
    torch._dynamo.reset()

    def step(x):
        return pp.hypervolume_gradient(x * 2, 0.1).square().sum()

    eager, compiled = (points((2, 5, 3)).requires_grad_() for _ in range(2))
    step(eager).backward()
    torch.compile(step, backend=backend, fullgraph=True)(compiled).backward()
    assert eager.grad.abs().sum() > 0
    torch.testing.assert_close(compiled.grad, eager.grad)
    torch._dynamo.reset()


def test_the_sparse_hessian_of_a_large_set_is_the_dense_one():
    x = points((2, 60, 3))
    x = (x / x.norm(dim=-1, keepdim=True)).float()
    sparse = pp.hypervolume_hessian(x, 0.0)
    assert sparse.values.dtype == torch.float64
    assert (sparse.values != 0).all()
    assert 12 * 120 < len(sparse.values) <= 18 * 120
    rows, columns = sparse.indices
    assert (rows * x.numel() + columns).diff().min() > 0  # in order, and each place once
    shape = (x.numel(), x.numel())
    found = torch.sparse_coo_tensor(*sparse, shape, check_invariants=True).to_dense()
    torch.testing.assert_close(found, hessian(x.double()).reshape(shape))


def test_references_to_each_set_and_frames_have_sparse_hessians():
    x, refs = points((3, 6, 3)).numpy(), points((3, 3), seed=1).numpy() / 4
    blocks = dense(pp.hypervolume_hessian(x, refs), x)
    for g in range(3):
        own = dense(pp.hypervolume_hessian(x[g], refs[g]), x[g])
        np.testing.assert_allclose(blocks[g, :, :, g], own)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x[0], columns=list("abc"))
    found = pp.hypervolume_hessian(frame, dict(zip("cab", refs[0, [2, 0, 1]], strict=True)))
    np.testing.assert_array_equal(dense(found, x[0]), blocks[0, :, :, 0])


def test_a_sparse_hessian_of_wrong_points_raises_an_error_that_names_them():
    with pytest.raises(TypeError, match=r"points requires a gradient.*points\.detach\(\)"):
        pp.hypervolume_hessian(torch.ones(2, 3, requires_grad=True), 0)
    worse = pp.hypervolume_hessian([[-np.inf, np.inf], [1.0, 1.0]], 0, maximise=[True, False])
    assert worse.values.tolist() == []
    assert pp.hypervolume_hessian(np.empty((2, 0, 3)), 0).indices.shape == (2, 0)
