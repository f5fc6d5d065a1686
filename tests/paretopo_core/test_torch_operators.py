"""torch.compile and torch.export see one node per operation and get the same answers."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest
from support.operations import calls

import paretopo_core as pp
from paretopo_core._registry import OPERATIONS as OPERATIONS_OF_THE_CORE

torch = pytest.importorskip("torch")

BOXES = [torch.from_numpy(each) for each in pp.nondominated_boxes(np.eye(3) / 2 + 0.2, 0.1)]
OPERATIONS = calls(
    (
        *("pareto_rank", "is_nondominated, one of equals", "crowding_distance", "hypervolume"),
        *("hypervolume_gradient", "hv_contributions", "expected_hypervolume"),
        *("uncrowded_contributions", "hypervolume_subset", "select, hypervolume"),
        *("nondominated_boxes", "dominated_boxes", "igd", "epsilon_additive", "r2"),
        *("hypervolume_approx", "hypervolume_advantage"),
    ),
    ref=0.1,
) | {
    "pareto_rank, senses": lambda x, mask: pp.pareto_rank(
        x, maximise=[True, False, True], mask=mask
    ),
    "pareto_advantage": lambda x, mask: pp.pareto_advantage(
        x, [0.5, 0.3, 0.2], centre="std", mask=mask
    ),
    "hypervolume, point": lambda x, mask: pp.hypervolume(x, [0.1, 0.2, 0.3], mask=mask),
    "hypervolume_improvement": lambda x, mask: pp.hypervolume_improvement(BOXES, x, mask=mask),
    "expected_hypervolume_improvement": lambda x, mask: pp.expected_hypervolume_improvement(
        BOXES, x, [0.5, 0.1, 0.3], mask=mask
    ),
}
SHARED = dict.fromkeys(("igd", "epsilon_additive"), "indicator")  # several functions, one operator


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


def test_the_first_call_of_a_process_may_be_a_compiled_one():
    code = (
        "import paretopo_core as pp, torch\n"
        "rank = torch.compile(pp.pareto_rank, fullgraph=True, backend='eager')\n"
        "print(rank(torch.tensor([[1.0, 0.0], [0.0, 0.0]])).tolist())\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout == "[0, 1]\n", run.stderr


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_compiled_calls_answer_alike_in_one_graph(name, backend):
    def step(x, keep):
        return OPERATIONS[name](x * 2 - 0.5, mask=keep) * 1

    compiled = torch.compile(step, backend=backend, fullgraph=True)
    for keep in (None, mask()):
        torch.testing.assert_close(compiled(points(), keep), step(points(), keep), rtol=0, atol=0)


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


def test_shapes_may_stay_open():
    compiled = torch.compile(
        lambda x: pp.pareto_rank(x), backend="eager", fullgraph=True, dynamic=True
    )
    for groups, count in ((3, 5), (2, 70), (7, 4)):
        x = points(shape=(groups, count, 2))
        torch.testing.assert_close(compiled(x), pp.pareto_rank(x))


def test_advantages_and_ranks_come_together():
    def step(x):
        return pp.pareto_advantage(x, torch.tensor([0.5, 0.3, 0.2]), return_ranks=True)

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


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int64"])
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
        "hv_contributions": (None, vector, True),
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
        "r2": (over, vector, torch.eye(3), None),
        "hypervolume_approx": (over, vector, 32, 0),
        "exact_values": (None, "points"),
        "hv_contributions_approx": (over, vector, 32, 0),
    }
    import_module("paretopo_core._torch_operators")
    operators = {each.core.name: each.operator for each in OPERATIONS_OF_THE_CORE}
    assert cases.keys() == operators.keys()
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
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


def test_smooth_ranks_compile():
    compiled = torch.compile(
        lambda x: pp.stochastic_pareto_rank(x, 0.3), backend="aot_eager", fullgraph=True
    )
    x = points("float64")
    torch.testing.assert_close(compiled(x), pp.stochastic_pareto_rank(x, 0.3))
    np.testing.assert_allclose(compiled(x).numpy(), pp.stochastic_pareto_rank(x.numpy(), 0.3))
