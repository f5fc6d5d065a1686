"""torch.compile and torch.export see one node per operation and get the same answers."""

import itertools
import subprocess
import sys
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from support.operations import CALLS, calls

import paretopo_core as pp
from paretopo_core._machinery.registry import OPERATIONS as OPERATIONS_OF_THE_CORE

torch = pytest.importorskip("torch")
import_module("torch._dynamo.testing")

OPERATIONS = calls(
    (
        *("pareto_rank", "is_nondominated, one of equals", "crowding_distance", "hypervolume"),
        *("hypervolume_gradient", "hypervolume_contributions", "expected_hypervolume"),
        *("uncrowded_contributions", "hypervolume_subset", "select, hypervolume"),
        *("nondominated_boxes", "dominated_boxes", "inverted_generational_distance"),
        *("epsilon_additive", "r2_indicator", "hypervolume_approx", "hypervolume_advantage"),
        *("pareto_advantage", "hypervolume_improvement", "expected_hypervolume_improvement"),
    ),
    ref=[0.1, 0.2, 0.3],
)
SENSES = {
    "array": np.array([True, False]),
    "tensor": torch.tensor([True, False]),
    "list": [True, False],
    "bool": False,
}
TABLE = {name: CALLS[name].run for name in CALLS if name != "crowding_distance, ranks"} | {
    "crowding_distance, ranks": lambda x, ref, maximise: pp.crowding_distance(
        x, ranks=torch.zeros(x.shape[:-1], dtype=torch.int64), maximise=maximise
    ),
    "is_nondominated, violation": lambda x, ref, maximise: pp.is_nondominated(
        x, violation=x[..., 0] - 0.5, maximise=maximise
    ),
    "pareto_advantage": lambda x, ref, maximise: pp.pareto_advantage(
        x, weights=np.array([0.5, 0.2])
    ),
    "stochastic_dominance": lambda x, ref, maximise: pp.stochastic_dominance(
        x, sigma=0.1, margin=0.2
    ),
    "hypervolume_improvement, arrays": lambda x, ref, maximise: pp.hypervolume_improvement(
        x, boxes=(np.zeros((1, 2)), np.ones((1, 2))), maximise=maximise
    ),
    "expected_hypervolume_improvement, arrays": lambda x, ref, maximise: (
        pp.expected_hypervolume_improvement(
            x, np.array([0.5, 0.1]), boxes=(np.zeros((1, 2)), np.ones((1, 2))), maximise=maximise
        )
    ),
}
UNTRACED = {
    "attainment_surfaces": lambda x, **more: pp.attainment_surfaces(x, [0, 1, 1, 0], **more),
    "hypervolume_hessian": lambda x, **more: pp.hypervolume_hessian(x, 0, **more),
    "is_nondominated with duplicate_tolerance=": lambda x, **more: pp.is_nondominated(
        x, duplicate_tolerance=0.1, **more
    ),
}
# Composed of other operations, in the dtype that the core computes in.
COMPOSED = {
    "ideal_point": pp.ideal_point,
    "nadir_point": pp.nadir_point,
    "reference_point": pp.reference_point,
    "knee_points": pp.knee_points,
    "normalise": pp.normalise,
    "normalise, range": lambda x: pp.normalise(x, ideal=[300.5, 1e6], nadir=[0.5, -1e6]),
}
FORMS = {
    "vmap": lambda run: lambda x: [each[0] for each in torch.vmap(run)(x[None])],
    "compile": lambda run: torch.compile(run, backend="eager", fullgraph=True),
    "export": lambda run: lambda x: torch.export.export(Wrapped(run), (x,)).module()(x),
}


class Wrapped(torch.nn.Module):
    """A function that torch.export takes."""

    def __init__(self, run):
        super().__init__()
        self.forward = run


SHARED = dict.fromkeys(
    ("inverted_generational_distance", "epsilon_additive"), "indicator"
)  # several functions, one operator


def points(dtype="float32", shape=(4, 6, 3)):
    torch.manual_seed(0)
    return torch.rand(shape, dtype=getattr(torch, dtype))


def mask():
    return torch.arange(24).reshape(4, 6) % 5 != 0


@pytest.fixture(autouse=True)
def _fresh():
    torch._dynamo.reset()
    # For torch 2.9: how many boxes there are depends on the values.
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        yield
    torch._dynamo.reset()


@pytest.mark.long
def test_the_first_call_of_a_process_may_be_a_compiled_one():
    code = (
        "import paretopo_core as pp, torch\n"
        "rank = torch.compile(pp.pareto_rank, fullgraph=True, backend='eager')\n"
        "print(rank(torch.tensor([[1.0, 0.0], [0.0, 0.0]])).tolist())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "[0, 1]\n", run.stderr


@pytest.mark.parametrize("name", OPERATIONS)
def test_compiled_calls_answer_alike_in_one_graph(name):
    def step(x, keep):
        return OPERATIONS[name](x * 2 - 0.5, mask=keep) * 1

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(points(), mask()), step(points(), mask()), rtol=0, atol=0)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_export_holds_one_node(name):
    class Module(torch.nn.Module):
        def forward(self, x):
            return OPERATIONS[name](x, mask=None)

    program = torch.export.export(Module(), (points(),))
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    function = name.partition(",")[0]
    operator = SHARED.get(function, function)
    assert sum(f"paretopo.{operator}" in target for target in called) == 1
    torch.testing.assert_close(
        program.module()(points()), OPERATIONS[name](points(), mask=None), rtol=0, atol=0
    )


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("pareto_rank", "pareto_advantage", "hypervolume", "normalise", "select")
        else pytest.param(name, marks=pytest.mark.long)  # a second each
        for name in sorted(TABLE)
    ],
)
@pytest.mark.filterwarnings("ignore:no point is better")
def test_shapes_and_senses_may_stay_open(name):
    def step(x, senses):
        return [TABLE[name](x, 0.1, maximise=each) for each in senses]

    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(step, backend=counter, fullgraph=True, dynamic=True)
    for count in (5, 9, 70 if "subset" not in name else 7):
        x = points("float64", shape=(2, count, 2))
        found = compiled(x, list(SENSES.values()))
        torch.testing.assert_close(found, step(x, list(SENSES.values())))
    assert counter.frame_count <= 2  # one before, and one after the first import for tensors


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
@pytest.mark.parametrize("senses", [[True, False], False])
def test_a_traced_graph_holds_its_constants(senses, mode):
    def step(x):
        return pp.hypervolume(x, [0.1, 0.2], maximise=senses), pp.normalise(x, maximise=senses)

    x = points("float64", shape=(4, 5, 2))
    graph = torch.fx.experimental.proxy_tensor.make_fx(step, tracing_mode=mode)(x)
    torch.testing.assert_close(graph(x), step(x), rtol=0, atol=0)


def test_senses_are_read_when_the_graph_runs():
    compiled = torch.compile(
        lambda x, senses: pp.hypervolume(x, 0.5, maximise=senses), backend="eager", fullgraph=True
    )
    for senses in ([True, False], [False, True]):
        x = points(shape=(3, 5, 2))
        found = compiled(x, torch.tensor(senses))
        torch.testing.assert_close(found, pp.hypervolume(x, 0.5, maximise=senses))
    for wrong in (torch.ones(2), torch.ones(3, dtype=torch.bool)):
        with pytest.raises(torch._dynamo.exc.Unsupported, match="maximise must be a bool or "):
            compiled(x, wrong)


@pytest.mark.parametrize("dominance", ["weak", "strict"])
def test_ranks_of_the_first_points_compile_once(dominance):
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(
        lambda x, n: pp.pareto_rank(x, n_below=n, dominance=dominance),
        backend=counter,
        fullgraph=True,
        dynamic=True,
    )
    for count, n in ((9, 3), (10, 4), (11, 5), (40, 7), (12, 3)):
        x = points(shape=(4, count, 3))
        assert compiled(x, n).equal(pp.pareto_rank(x, n_below=n, dominance=dominance))
    assert counter.frame_count <= 2  # one before, and one after the first import for tensors


@pytest.mark.parametrize("name", UNTRACED)
def test_functions_that_must_read_values_are_named(name):
    x, message = points(shape=(4, 2)), f"{name} cannot run while torch compiles"
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    for trace in (make_fx, torch.vmap, partial(torch.compile, backend="eager")):
        with pytest.raises(NotImplementedError, match=message):
            trace(UNTRACED[name])(x[None] if trace is torch.vmap else x)
    for senses in (SENSES["list"], SENSES["tensor"]):  # torch wraps the errors of a graph
        torch._dynamo.reset()
        compiled = torch.compile(UNTRACED[name], backend="eager", fullgraph=True)
        with pytest.raises(torch._dynamo.exc.Unsupported, match=message):
            compiled(x, maximise=senses)


@pytest.mark.parametrize(
    ("dtype", "form"),
    [
        *((dtype, "vmap") for dtype in ("uint8", "int8", "int16", "int32", "bfloat16", "float32")),
        ("float64", "vmap"),
        *itertools.product(("bool", "int64", "float16"), FORMS),
    ],
)
def test_composed_functions_compute_in_the_dtype_of_the_core(dtype, form):
    x = torch.tensor([[0, 100], [60, 90], [100, 0], [1, 1], [100, 100]])
    x = x.to(getattr(torch, dtype))
    if dtype == "int64":
        x = x + 2**24  # more digits than float32
    elif x.is_floating_point():
        x = x * 600  # the span leaves the range of float16
        x = torch.cat([x, -x])

    def step(x):
        return [run(x) for run in COMPOSED.values()]

    for name, ours, theirs in zip(COMPOSED, FORMS[form](step)(x), step(x), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0, msg=name)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, "vmap") for name in ("stochastic_pareto_rank", *list(COMPOSED)[:-1])),
        *itertools.product(("normalise, range", "violation", "ideal"), FORMS),
    ],
)
def test_traced_integers_that_float64_cannot_hold_are_refused(name, form):
    run = COMPOSED | {
        "stochastic_pareto_rank": lambda x: pp.stochastic_pareto_rank(x, sigma=0.3),
        "violation": lambda x: pp.is_nondominated(x * 0.0, violation=x),
        "ideal": lambda x: pp.normalise(x * 0.0, ideal=x[0]),
    }
    for each in (run[name], FORMS[form](lambda x: [run[name](x)])):
        with pytest.raises(ValueError, match=r"holds integers from .* float64 cannot hold"):
            each(torch.tensor([[2**60 + 1, 1], [2**60, 1]]))


def test_advantages_and_ranks_come_together():
    def step(x):
        return pp.pareto_advantage(x, weights=torch.tensor([0.5, 0.3, 0.2]), return_ranks=True)

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True)
    for ours, theirs in zip(compiled(points()), step(points()), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_a_compiled_loss_has_the_gradient_of_the_eager_one():
    def loss(x):
        return pp.hypervolume(x.sigmoid(), 0).sum()

    eager, compiled = (points("float64").requires_grad_() for _ in range(2))
    loss(eager).backward()
    torch.compile(loss, backend="aot_eager", fullgraph=True)(compiled).backward()
    assert eager.grad.abs().sum() > 0
    torch.testing.assert_close(compiled.grad, eager.grad)


@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_the_operators_keep_torchs_rules(dtype):
    x = (points() * 4).to(getattr(torch, dtype))
    vector = torch.full((3,), 0.25, dtype=torch.float64)
    rows, over, senses = vector.expand(4, 3), mask(), torch.tensor([True, False, True])
    lower, upper = pp.nondominated_boxes(np.eye(3), [0.25] * 3, maximise=[True, False, True])[:2]
    boxes = torch.from_numpy(lower), torch.from_numpy(upper)
    weights = torch.linspace(-1.0, 2.0, len(lower), dtype=torch.float64)
    cases = {  # mask, and all arguments after it
        "pareto_rank": (over,),
        "is_nondominated": (None, True),
        "crowding_distance": (over, None),
        "pareto_advantage": (over, rows, 0.5, 1),
        "hypervolume": (over, vector),
        "hypervolume_gradient": (None, vector, over),
        "hypervolume_contributions": (None, vector, True),
        "expected_hypervolume": (over, vector, 2),
        "hypervolume_advantage": (over, rows, 2, 4),
        "nondominated_boxes": (over, vector),
        "dominated_boxes": (None, rows),
        "uncrowded_contributions": (over, vector),
        "nearest_undominated": (None, rows),
        "hypervolume_subset": (over, vector, 2, 1),
        "select": (over, None, 2, 3, torch.eye(3), 5),
        "hypervolume_improvement": (over, *boxes, weights, 0.0),
        "hypervolume_improvement_gradient": (None, *boxes, None, 0.0),
        "expected_hypervolume_improvement": (None, *boxes, weights),
        "expected_hypervolume_improvement_gradient": (None, *boxes, None),
        "indicator": (over, boxes[0].clamp(-9, 9), 3, 1.0, None),
        "r2_indicator": (over, vector, torch.eye(3), None),
        "hypervolume_approx": (over, vector, 32, 0),
        "exact_values": (None, "points"),
        "hypervolume_contributions_approx": (over, vector, 32, 0),
    }
    import_module("paretopo_core._machinery.torch_operators")
    operators = {each.core.name: each.operator for each in OPERATIONS_OF_THE_CORE}
    assert cases.keys() == operators.keys()
    tests = ("test_faketensor",)
    if x.is_floating_point():
        tests = ("test_schema", *tests, "test_aot_dispatch_dynamic")
    for name, arguments in cases.items():
        # A candidate of an expected improvement has two rows: means and deviations.
        given = x.abs()[:, :2] if name.startswith("expected_hypervolume_improvement") else x
        torch.library.opcheck(operators[name], (given, senses, *arguments), test_utils=tests)
    if x.is_floating_point():
        wanting = x.double().requires_grad_()
        for name in ("hypervolume", "hypervolume_improvement", "uncrowded_contributions"):
            torch.library.opcheck(operators[name], (wanting, senses, *cases[name]))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning", "ignore:Graph break")
def test_compiled_forward_derivatives_are_not_lost():
    def move(x):
        return torch.func.jvp(lambda y: pp.hypervolume(y, 0.0), (x,), (x,))[1]

    x = points("float64")
    torch.testing.assert_close(torch.compile(move, backend="eager")(x), move(x))
    torch._dynamo.reset()
    # torch 2.6 has words of its own.
    message = "no forward derivative in a compiled graph|WITH_EXCEPT_START"
    with pytest.raises(torch._dynamo.exc.Unsupported, match=message):
        torch.compile(move, backend="eager", fullgraph=True)(x)
