"""Whatever torch may pass for a tensor, and every transformation: an answer or an error by name."""

import subprocess
import sys
import textwrap
import warnings
from functools import partial

import numpy as np
import pytest

import paretopo_core as pp

torch = pytest.importorskip("torch")

from support.operations import CALLS, calls, named
from support.strategies import large_set
from support.tensors import Dispatching, freed

forward_ad = torch.autograd.forward_ad
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # torch's own

BOXES = pp.nondominated_boxes(np.eye(3) / 2 + 0.2, 0.1)
TWICE = named("twice")
MEASURES = calls((*TWICE, "expected_hypervolume", "uncrowded_contributions"), ref=0.1) | {
    "hypervolume_improvement": lambda x, **more: pp.hypervolume_improvement(x, boxes=BOXES, **more),
    "expected_hypervolume_improvement": lambda x, **more: pp.expected_hypervolume_improvement(
        x, 0.5, boxes=BOXES, **more
    ),
}
ONCE = [name for name in MEASURES if name not in TWICE]
WHOLE = calls(("pareto_rank", "is_nondominated"))
CHOICES = calls(("hypervolume_subset", "select, directions"), ref=0.1)
REFUSING = calls(
    (
        *("inverted_generational_distance", "r2_indicator", "crowding_distance"),
        *("hypervolume_approx", "hypervolume_contributions_approx"),
        *("pareto_advantage", "hypervolume_advantage"),
    ),
    ref=0.1,
)
OPERATIONS = MEASURES | WHOLE | CHOICES | REFUSING
VIOLATION = torch.arange(6.0) % 3 - 1
CONSTRAINED = calls(("pareto_rank, first", "is_nondominated, strict", "is_nondominated, boxes")) | {
    "pareto_rank, violation": partial(pp.pareto_rank, violation=VIOLATION),
    "is_nondominated, violation": partial(pp.is_nondominated, violation=VIOLATION),
}
# The latter are made of torch's own operators.
TRANSFORMED = OPERATIONS | CONSTRAINED | calls(("stochastic_pareto_rank",))


def boxes_of(maximise):
    """Boxes above a front that some points of points() dominate."""
    front = large_set("sphere", 6, len(maximise)) * 0.7
    worst = np.where(maximise, 0.0, 1.0)
    return pp.nondominated_boxes(np.abs(worst - front), worst, maximise=maximise)


def improve(x, _, count, *, maximise, mask):
    return pp.hypervolume_improvement(
        x[:, :count], boxes=boxes_of(maximise), maximise=maximise, mask=mask[:, :count]
    )


# Functions with derivatives in the points and in one more tensor, a number for each objective.
SLOPES = {
    **{
        name: CALLS[name].run
        for name in (
            *("hypervolume", "hypervolume_contributions", "expected_hypervolume"),
            *("uncrowded_contributions", "stochastic_pareto_rank"),
        )
    },
    "stochastic_pareto_rank, margin": lambda x, _, **more: pp.stochastic_pareto_rank(
        x, sigma=0.7, margin=0.4, **more
    ),
    "weighted_hypervolume": lambda x, _, **more: CALLS["weighted_hypervolume"].run(
        x, [0.1 if up else 0.9 for up in more["maximise"]], **more
    ),
    **{f"hypervolume_improvement of {q}": partial(improve, count=q) for q in (1, 2, 4)},
    "expected_hypervolume_improvement": lambda x, deviations, **more: (
        pp.expected_hypervolume_improvement(
            x, deviations[..., None, :], boxes=boxes_of(more["maximise"]), **more
        )
    ),
}
# Functions of points and of one more argument, which has a row for each set.
OF_ROW = {
    "hypervolume": pp.hypervolume,
    "hypervolume_contributions": pp.hypervolume_contributions,
    "hypervolume_gradient": pp.hypervolume_gradient,
    "pareto_advantage": lambda x, w: pp.pareto_advantage(x, weights=w),
    "hypervolume_improvement, boxes": lambda x, low: pp.hypervolume_improvement(
        x, boxes=(low[None], low[None] + 0.5)
    ),
    "expected_hypervolume_improvement, deviations and boxes": lambda x, low: (
        pp.expected_hypervolume_improvement(x, low + 0.1, boxes=(low[None], low[None] + 0.5))
    ),
    "r2_indicator": lambda x, w: pp.r2_indicator(x, 0.0, weights=w[None], maximise=False),
    "average_hausdorff_distance": lambda x, target: pp.average_hausdorff_distance(x, target[None]),
}


def points(shape=(4, 6, 3)):
    return torch.from_numpy(np.random.default_rng(0).random(shape))


@pytest.fixture(params=OPERATIONS.values(), ids=OPERATIONS.keys())
def operation(request):
    return request.param


class Silent(Dispatching):
    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


def masked(tensor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.masked.masked_tensor(tensor, torch.ones_like(tensor, dtype=torch.bool))


class TestClasses:
    def test_where_torch_dispatches_it_answers(self, operation):
        torch.testing.assert_close(
            operation(Dispatching(points())), operation(points()), rtol=0, atol=0
        )
        keep = torch.arange(6) < 4
        torch.testing.assert_close(
            operation(points(), mask=Dispatching(keep)), operation(points(), mask=keep)
        )

    def test_a_class_that_only_has_another_name(self, operation):
        class Mine(torch.Tensor):
            pass

        result = operation(points().as_subclass(Mine))
        assert type(result) is Mine
        torch.testing.assert_close(result.as_subclass(torch.Tensor), operation(points()))

    @pytest.mark.parametrize("wrap", [Silent, masked], ids=["silent", "masked"])
    def test_other_classes_are_named(self, operation, wrap):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(TypeError, match=r"(does not take a|subclass) .*(Silent|MaskedT)"):
                operation(wrap(points()))

    def test_fake_and_functional_tensors(self, operation):
        from torch._subclasses.fake_tensor import FakeTensorMode

        mode = FakeTensorMode()
        shape = operation(mode.from_tensor(points()))
        assert shape.shape == operation(points()).shape
        with mode:
            assert operation(torch.rand(4, 6, 3)).shape == shape.shape
        functional = operation(torch._to_functional_tensor(points()))
        torch.testing.assert_close(
            torch._from_functional_tensor(functional), operation(points()), rtol=0, atol=0
        )

    def test_freed_memory_is_not_read(self, operation):
        with pytest.raises(TypeError, match=r"is a Tensor without memory of its own"):
            operation(freed(points()))
        for dtype in (torch.float16, torch.int64):
            with pytest.raises(TypeError, match=r"is a Tensor without memory of its own"):
                operation(freed(points().to(dtype)))
        for piece in (slice(None), slice(1, None), (slice(None), slice(None, None, 2))):
            part = points().clone()[piece]
            part.untyped_storage().resize_(8)
            assert part.data_ptr() != 0
            with pytest.raises(TypeError, match=r"is a Tensor without memory of its own"):
                operation(part)
        keep = freed(torch.ones(6, dtype=torch.bool))
        for given in (points(), points().numpy()):
            with pytest.raises(TypeError, match="mask is a Tensor without memory"):
                operation(given, mask=keep)
        with pytest.raises(TypeError, match="is a Tensor without memory"):
            operation([freed(row) for row in points()[0]])

    @pytest.mark.parametrize(
        "made",
        [
            lambda x: torch._neg_view(-x),
            lambda x: torch.nn.Parameter(x),
            lambda x: torch.cat([x, x], dim=-2)[..., : x.shape[-2], :],
        ],
        ids=["negated", "parameter", "sliced"],
    )
    def test_other_memory_holds_the_same_numbers(self, operation, made):
        answer = operation(made(points())).detach()
        torch.testing.assert_close(answer, operation(points()), rtol=0, atol=0)

    def test_quantised_and_nested_tensors_are_named(self, operation):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quantised = torch.quantize_per_tensor(points().float(), 0.1, 0, torch.quint8)
            for wrong in (quantised, torch.nested.nested_tensor([points()[0], points()[1]])):
                with pytest.raises((TypeError, ValueError), match=r"s (must|is|are) |Tensor"):
                    operation(wrong)

    def test_other_arguments_are_looked_at_too(self):
        gone = freed(torch.zeros(3))
        for given in (points(), points().numpy()):
            for call in (
                lambda x: pp.hypervolume(x, gone),
                lambda x: pp.hypervolume_contributions(x, gone),
                lambda x: pp.expected_hypervolume(x, freed(torch.zeros(4, 3)), k=2),
                lambda x: pp.pareto_advantage(x, weights=gone),
            ):
                with pytest.raises(
                    TypeError, match=r"(ref|weights|maximise) (is a Tensor|must be)"
                ):
                    call(given)
        with pytest.raises(TypeError, match="ref is a Tensor without memory"):
            pp.ParetoArchive(gone)
        with pytest.raises(TypeError, match="point is a Tensor without memory"):
            pp.ParetoArchive([0.0] * 3).add(gone)
        with pytest.raises(TypeError, match="maximise is a Tensor without memory"):
            pp.pareto_rank(points(), maximise=freed(torch.ones(3, dtype=torch.bool)))


_DISTRIBUTED = """
    import os, torch, warnings
    warnings.simplefilter("ignore")
    import torch.distributed as dist
    from torch.distributed.tensor import DTensor, Replicate, init_device_mesh, distribute_tensor
    from torch.distributed._functional_collectives import AsyncCollectiveTensor, all_gather_tensor
    import paretopo_core as pp

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    x = torch.rand(4, 6, 3)
    spread = distribute_tensor(x, init_device_mesh("cpu", (1,)), [Replicate()])
    assert type(spread) is DTensor
    try:
        pp.pareto_rank(spread)
    except TypeError as error:
        assert "DTensor" in str(error) and "full_tensor()" in str(error), error
    else:
        raise SystemExit("a DTensor went through")
    coming = AsyncCollectiveTensor(x.clone())
    assert torch.equal(pp.pareto_rank(coming), pp.pareto_rank(x))
    dist.destroy_process_group()
"""


@pytest.mark.long
def test_distributed_tensors():
    program = [sys.executable, "-c", textwrap.dedent(_DISTRIBUTED)]
    run = subprocess.run(program, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


class TestTransformations:
    @pytest.mark.parametrize("name", TRANSFORMED)
    def test_vmap(self, name):
        operation, x = TRANSFORMED[name], points((3, 4, 6, 3))
        keep = torch.rand(3, 6, generator=torch.Generator().manual_seed(1)) < 0.7
        torch.testing.assert_close(torch.vmap(operation)(x), operation(x), rtol=0, atol=0)
        torch.testing.assert_close(
            torch.vmap(operation, in_dims=2, out_dims=1)(x.movedim(0, 2)).movedim(1, 0),
            operation(x),
        )
        torch.testing.assert_close(
            torch.vmap(lambda y, k: operation(y, mask=k))(x, keep),
            operation(x, mask=keep[:, None, :]),
        )
        torch.testing.assert_close(
            torch.vmap(lambda k: operation(x[0], mask=k))(keep),
            operation(x[:1].expand(3, 4, 6, 3), mask=keep[:, None, :]),
        )

    @pytest.mark.parametrize("name", OF_ROW)
    def test_vmap_over_another_argument(self, name):
        run, x, rows = OF_ROW[name], points((3, 4, 6, 3)), torch.rand(3, 3).double() / 4
        for in_dims, first in (((0, 0), x), ((None, 0), x[:1].expand(x.shape))):
            given = x[0] if in_dims[0] is None else x
            each = torch.stack([run(one, row) for one, row in zip(first, rows, strict=True)])
            torch.testing.assert_close(torch.vmap(run, in_dims=in_dims)(given, rows), each)

    def test_vmap_over_a_number(self):
        x, refs = points(), torch.rand(3) / 4
        for measure in (pp.hypervolume, pp.hypervolume_contributions, pp.hypervolume_gradient):
            expected = torch.stack([measure(x, float(r)) for r in refs])
            torch.testing.assert_close(torch.vmap(partial(measure, x))(refs), expected)

    def test_vmap_over_sets_with_boxes(self):
        x = points()
        mapped = torch.vmap(lambda each: tuple(pp.nondominated_boxes(each, 0.1)))(x)
        for ours, theirs in zip(mapped, pp.nondominated_boxes(x, 0.1), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=0)

    def test_traces_record_the_operation(self, operation):
        from torch.fx.experimental.proxy_tensor import make_fx

        other = points() * 0.5
        traced = torch.jit.trace(lambda x: operation(x), points())
        for recorded in (traced, make_fx(lambda x: operation(x))(points())):
            torch.testing.assert_close(recorded(other), operation(other), rtol=0, atol=0)

    @pytest.mark.parametrize("name", TRANSFORMED)
    def test_functionalize(self, name):
        operation = TRANSFORMED[name]
        torch.testing.assert_close(
            torch.func.functionalize(operation)(points()), operation(points())
        )

    @pytest.mark.parametrize("name", MEASURES)
    def test_first_derivatives(self, name):
        measure, x = MEASURES[name], points((2, 5, 3))
        wanting = x.clone().requires_grad_()
        measure(wanting).sum().backward()
        slopes = wanting.grad
        assert slopes.abs().sum() > 0
        torch.testing.assert_close(torch.func.grad(lambda y: measure(y).sum())(x), slopes)
        jacobian = torch.func.jacrev(measure)(x)
        torch.testing.assert_close(torch.func.jacfwd(measure)(x), jacobian)
        along = points((2, 5, 3)).flip(0)
        _, motion = torch.func.jvp(measure, (x,), (along,))
        torch.testing.assert_close(motion, (jacobian * along).sum((-3, -2, -1)))
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(measure(forward_ad.make_dual(x, along))).tangent
        torch.testing.assert_close(tangent, motion)
        each = torch.vmap(torch.func.grad(lambda y: measure(y).sum()))(x)
        torch.testing.assert_close(each, slopes)

    @pytest.mark.parametrize("name", MEASURES)
    def test_forward_derivatives_are_linear_in_the_direction(self, name):
        measure, x = MEASURES[name], points((5, 3))

        def move(along):
            return torch.func.jvp(measure, (x,), (along,))[1]

        along, other = x.flip(0), x.flip(1)
        _, change = torch.func.jvp(move, (along,), (other,))
        torch.testing.assert_close(change, move(other))

    @pytest.mark.parametrize("name", ONCE)
    def test_second_derivatives_are_refused(self, name):
        measure, x = MEASURES[name], points((5, 3))
        for outer in (torch.func.jacfwd, torch.func.jacrev):
            for inner in (torch.func.jacfwd, torch.func.jacrev):
                with pytest.raises(NotImplementedError, match="has no derivative"):
                    outer(inner(lambda y: measure(y).sum()))(x)
        wanting = x.clone().requires_grad_()
        (slopes,) = torch.autograd.grad(measure(wanting).sum(), wanting, create_graph=True)
        with pytest.raises(NotImplementedError, match=r"no derivative.*pass points\.detach\(\)"):
            slopes.sum().backward()

    @pytest.mark.parametrize("name", [*REFUSING, "nondominated_boxes"])
    def test_missing_derivatives_raise(self, name):
        refusing, x = REFUSING.get(name, lambda y: pp.nondominated_boxes(y, 0.1).lower), points()
        operator = "indicator" if name == "inverted_generational_distance" else name
        result = refusing(x.clone().requires_grad_())
        torch.testing.assert_close(result.detach(), refusing(x), rtol=0, atol=0)
        for ask in (
            lambda: result.sum().backward(),
            lambda: torch.func.grad(lambda y: refusing(y).sum())(x),
            lambda: torch.func.jvp(refusing, (x,), (x,)),
        ):
            with pytest.raises(NotImplementedError, match=rf"{operator} has no derivative"):
                ask()
        with torch.no_grad():
            assert not refusing(x.clone().requires_grad_()).requires_grad

    @pytest.mark.parametrize("name", WHOLE | CONSTRAINED)
    def test_whole_numbers_have_none(self, name):
        run, x = TRANSFORMED[name], points()
        assert not run(points().requires_grad_()).requires_grad
        slopes = torch.func.grad(lambda y: (run(y) * y.sum(-1)).sum())(x)
        torch.testing.assert_close(slopes, run(x)[..., None].expand(x.shape).double())

    @pytest.mark.parametrize("name", CHOICES)
    def test_choices_have_none(self, name):
        assert not CHOICES[name](points().requires_grad_()).requires_grad
        x = points()
        slopes = torch.func.grad(lambda y: (CHOICES[name](y) * y.sum((-2, -1))[:, None]).sum())(x)
        chosen = CHOICES[name](x).sum(-1)[:, None, None].double()
        torch.testing.assert_close(slopes, chosen.expand(x.shape))

    def test_other_arguments_that_require_grad_are_refused(self):
        weights = torch.ones(3, requires_grad=True)
        with pytest.raises(NotImplementedError, match="pareto_advantage has no derivative"):
            pp.pareto_advantage(points(), weights=weights).sum().backward()
        with pytest.raises(TypeError, match=r"weights requires a gradient.*weights\.detach\(\)"):
            pp.pareto_advantage(points().numpy(), weights=weights)
        with pytest.raises(TypeError, match=r"ref requires a gradient"):
            pp.hypervolume(points().numpy(), weights)
        with pytest.raises(TypeError, match=r"target requires a gradient"):
            pp.epsilon_additive(points().numpy(), weights[None])
        with pytest.raises(TypeError, match=r"points requires a gradient"):
            pp.attainment_surfaces(weights[None], [0])
        with pytest.raises(TypeError, match=r"point requires a gradient"):
            pp.ParetoArchive([0.0] * 3).add(weights)


class TestSlopes:
    @pytest.mark.parametrize("name", SLOPES)
    @pytest.mark.parametrize(
        ("objectives", "per_group"), [(1, False), (2, True), (3, False), (4, True)]
    )
    def test_gradcheck(self, name, per_group, objectives):
        rng = np.random.default_rng(objectives)
        x = torch.from_numpy(rng.random((2, 5, objectives))).requires_grad_()
        maximise = [m != 1 for m in range(objectives)]
        corner = torch.tensor([0.15 if sense else 0.85 for sense in maximise]).double()
        corner = (corner.expand(2, -1).clone() if per_group else corner).requires_grad_()
        keep = torch.tensor([[True] * 5, [True, False, True, True, False]])

        def measured(y, r):
            return SLOPES[name](y, r, maximise=maximise, mask=keep)

        assert torch.autograd.gradcheck(measured, (x, corner), check_forward_ad=True)

    def test_dominated_points_may_take_from_others(self):
        x = points((2, 6, 2)).requires_grad_()
        assert torch.autograd.gradcheck(
            lambda y: pp.hypervolume_contributions(y, -0.1, ignore_dominated=False), (x,)
        )

    def test_lists_mix_with_tensors(self):
        x, refs = points((2, 5, 3)), [[0.0, 0.1, 0.2], [0.1, 0.0, 0.0]]
        keep = [True, True, False, True, True]
        volumes = pp.hypervolume(x.clone().requires_grad_(), refs, mask=keep)
        expected = pp.hypervolume(x.numpy(), refs, mask=np.array(keep))
        np.testing.assert_array_equal(volumes.detach().numpy(), expected)
        gone = [freed(torch.tensor(True)) for _ in keep]
        with pytest.raises(TypeError, match="mask is a Tensor without memory"):
            pp.hypervolume(x.clone().requires_grad_(), refs, mask=gone)

    def test_a_number(self):
        ref = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda r: pp.hypervolume(points((6, 3)), r), (ref,))
