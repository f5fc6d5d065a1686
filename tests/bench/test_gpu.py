"""A GPU has operations of its own, and is waited for."""

import json

import pytest
from support.benchmarks import PLAN, TINY, one_line

from bench import __main__ as cli
from bench import command, judge, machine, peers, rows, timing
from bench.cases import GPU_OPERATIONS, ON_GPU, Case
from bench.runner import Process
from bench.timing import Effort, Work


def test_a_gpu_is_waited_for_within_the_clock(monkeypatch):
    monkeypatch.setattr(timing, "_LEAST_SAMPLE_S", 60.0)  # quick, however busy the machine is
    monkeypatch.setattr(timing, "_MOST_CALLS", 2)
    events = []
    work = Work(lambda: events.append("run"), finish=lambda: events.append("wait"))
    timing.measure([work], lambda *_: None, Effort(budget_s=0.0, least=1, most=1))
    assert events[:2] == ["run", "wait"]
    assert events[-1] == "wait"
    assert events.count("wait") == 3  # the checked call, the one that warms up, the sample


def test_a_device_is_described_as_its_driver_tells():
    told = "NVIDIA H200, 580.65.06, 1980, 1980, 3201, 700.00\nNVIDIA H200, 0, 0, 0, 0, 0\n"
    found = machine.parse_driver(told)
    assert found["gpu"] == "NVIDIA H200"
    assert found["driver"] == "580.65.06"
    assert machine.name_machine(found) == "nvidia-h200"


def test_compiled_one_liners_answer_like_eager_ones(monkeypatch):
    monkeypatch.setattr("torch.compile", lambda run: run)  # the compiler itself is torch's
    compiled = peers.make("torch compiled")
    for task in ("pareto_rank", "is_nondominated", "hypervolume", "pareto_advantage"):
        case = Case("any", task, "uniform", 9, 2, groups=20)
        answer = peers.prepare(compiled, case).run()
        assert judge.find_error(case, answer, judge.solve(case)) is None
    assert peers.prepare(peers.make("paretopo graph"), case) is None


def test_a_thread_of_the_cpu_solves_the_cases_of_a_gpu():
    case = Case("gpu", "pareto_rank", "uniform", 50, 3, dtype="float32", threads=ON_GPU)
    answer = peers.prepare(peers.make("paretopo thread"), case).run()
    assert judge.find_error(case, answer, judge.solve(case)) is None


@pytest.mark.parametrize(
    ("peer", "reason"),
    [("torch", "a matrix of all pairs takes 10 GB"), ("torch compiled", "torch.compile takes")],
)
def test_peers_that_would_take_too_long_give_a_reason(peer, reason):
    case = Case("gpu", "pareto_rank", "uniform", 100_000, 3, dtype="float32", threads=ON_GPU)
    process = Process(peer)
    try:
        reply = process.ask({"case": case.as_dict()}, 60.0)
    finally:
        process.stop()
    assert reply["status"] == "skipped"
    assert reason in reply["note"]


@pytest.mark.parametrize(
    ("is_compiled", "reason"), [(False, "PARETOPO_CUDA=ON"), (True, "finds no CUDA device")]
)
def test_missing_gpu_is_explained(is_compiled, reason, capsys, monkeypatch):
    monkeypatch.setattr(machine._core, "cuda_is_compiled", lambda: is_compiled)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert cli.main(["--device", "cuda"]) == 2
    told = one_line(capsys)
    assert "--device cuda: " in told
    assert reason in told


def test_a_gpu_has_operations_of_its_own(tmp_path):
    with pytest.raises(ValueError, match="operation must be one of gpu, got 'fronts'"):
        command.measure(["fronts"], tmp_path, {"gpu": "NVIDIA H200"})


def test_results_of_a_gpu_keep_its_bandwidth_before_and_after(tmp_path, monkeypatch):
    monkeypatch.setitem(GPU_OPERATIONS, "gpu", lambda *, quick: [TINY])
    monkeypatch.setattr(machine, "measure_copy", lambda: 4000.0)
    command.measure([], tmp_path, {"gpu": "NVIDIA H200", "copy GB/s": 4001.0}, plan=PLAN)
    assert [row.peer for row in rows.read(tmp_path / "gpu.csv")] == [*PLAN.names]
    here = json.loads((tmp_path / "machine.json").read_text(encoding="utf-8"))
    assert (here["copy GB/s"], here["copy GB/s at the end"]) == (4001.0, 4000.0)
