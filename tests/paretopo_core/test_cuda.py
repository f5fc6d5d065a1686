"""Behaviour that needs a GPU: streams, graphs, asynchrony, many groups. Skipped without one."""

import numpy as np
import pytest
from support.operations import calls

import paretopo_core as pp

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cuda

OPERATIONS = calls(
    (
        *("pareto_rank", "is_nondominated", "crowding_distance", "pareto_advantage"),
        *(
            "hypervolume",
            "hypervolume_gradient",
            "hypervolume_contributions",
            "stochastic_pareto_rank",
        ),
    )
)
SHAPES = ((20_000, 8, 2), (20_000, 13, 3), (300, 64, 4), (3, 200, 3), (7, 20, 5))
LARGE = ((1, 5000, 3), (2, 3000, 5))
OF_ANY_SIZE = ("pareto_rank", "is_nondominated", "crowding_distance", "pareto_advantage")


@pytest.fixture(params=OPERATIONS)
def name(request):
    return request.param


def points(shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def agree(name, ours, expected):
    if name in ("pareto_rank", "is_nondominated", "pareto_advantage"):
        np.testing.assert_array_equal(ours.cpu().numpy(), expected)
    else:
        rtol = 1e-5 if name == "stochastic_pareto_rank" else 1e-11
        np.testing.assert_allclose(ours.cpu().numpy(), expected, rtol=rtol, atol=1e-13)


@pytest.mark.parametrize("shape", [*SHAPES, *LARGE])
def test_answers_are_those_of_the_cpu(name, shape):
    if shape in LARGE and name not in OF_ANY_SIZE:
        pytest.skip("for sets of any size")
    if name == "stochastic_pareto_rank" and shape[0] > 300:
        pytest.skip("all pairs at once")
    x = points(shape)
    agree(name, OPERATIONS[name](torch.from_numpy(x).cuda()), OPERATIONS[name](x))


@pytest.mark.parametrize("shape", [(20_000, 8, 2), (50, 30, 3), (3, 200, 3), (4, 12, 5)])
def test_a_graph_holds_a_call_and_replays_it_on_other_points(name, shape):
    if name == "stochastic_pareto_rank" and shape[0] > 300:
        pytest.skip("all pairs at once")
    x = torch.from_numpy(points(shape)).cuda()
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        OPERATIONS[name](x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = OPERATIONS[name](x)
    other = points(shape, seed=1)
    x.copy_(torch.from_numpy(other))
    graph.replay()
    agree(name, answer, OPERATIONS[name](other))


# The mode is a prototype, which torch warns of.
@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
def test_nothing_waits(name):
    x = torch.from_numpy(points((40, 12, 3))).cuda()
    OPERATIONS[name](x)
    before = torch.cuda.get_sync_debug_mode()
    try:
        torch.cuda.set_sync_debug_mode("error")
        OPERATIONS[name](x)
    finally:
        torch.cuda.set_sync_debug_mode(before)


def test_work_is_ordered_on_the_current_stream(name):
    x = torch.zeros((40, 12, 3), device="cuda")
    expected = points((40, 12, 3))
    ready = torch.from_numpy(expected).cuda()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(20_000_000)
        x.copy_(ready)
        answer = OPERATIONS[name](x)
    torch.cuda.synchronize()
    agree(name, answer, OPERATIONS[name](expected))


def test_current_device_is_restored():
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two devices")
    x = torch.from_numpy(points((40, 12, 3))).to("cuda:1")
    assert pp.pareto_rank(x).device == x.device
    assert torch.cuda.current_device() == 0


def test_a_million_groups():
    x = points((1_000_000, 8, 2))
    ours = pp.pareto_advantage(torch.from_numpy(x).cuda(), weights=[0.6, 0.4])
    np.testing.assert_array_equal(ours.cpu().numpy(), pp.pareto_advantage(x, weights=[0.6, 0.4]))
