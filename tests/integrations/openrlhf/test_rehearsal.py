"""A rehearsal's smaller settings, checks and error messages; without OpenRLHF."""

import json

import numpy as np
import pytest
from support.sessions import group, new_session, score

from paretopo.config import loads
from paretopo.integrations.openrlhf.failures import explain_failure
from paretopo.integrations.openrlhf.rehearsal.checks import RehearsalFailed, RehearsedSession, check
from paretopo.integrations.openrlhf.rehearsal.plan import (
    describe_gaps,
    plan_options,
    plan_rehearsal,
)
from paretopo.integrations.openrlhf.rollouts import BadRollout

# ---- the rehearsal -------------------------------------------------------------------------------


def test_a_rehearsal_keeps_the_kind_of_cluster_and_shrinks_it():
    config = loads(
        "[model]\npath = 'Qwen/Qwen2.5-7B'\n[optimiser]\nsteps = 500\nprompts_per_step = 128\n"
        "[openrlhf]\nnodes = 2\nengines = 8\nengine_gpus = 2\nzero_stage = 3\n"
        "dynamic_sampling = true\n[paretopo]\nstage1_steps = 'epoch'"
    )
    small = plan_rehearsal(config)
    assert (small.openrlhf.zero_stage, small.openrlhf.colocate) == (3, True)
    assert small.openrlhf.dynamic_sampling
    assert (small.openrlhf.gpus_per_node, small.openrlhf.engines) == (2, 2)
    assert small.model.path == "small:Qwen/Qwen2.5-7B"
    assert (small.optimiser.steps, small.paretopo.stage1_steps) == (4, 2)
    assert small.paretopo.weights == config.paretopo.weights
    left = " ".join(describe_gaps(config))
    for word in ("CUDA IPC", "Qwen2.5-7B", "tensor parallel", "sleeping"):
        assert word in left


def test_the_tiny_policy_is_rehearsed_as_it_stands():
    config = loads(
        "[optimiser]\nsteps = 100\n[openrlhf]\nasynchronous = true\ncolocate = false\n"
        "[paretopo]\nstage1_steps = 'epoch'"
    )
    small = plan_rehearsal(config, steps=40)
    assert small.model == config.model
    assert small.optimiser.steps == 40
    assert small.paretopo.stage1_steps == 20  # half of the steps: an epoch would be 32
    assert small.optimiser.prompts_per_step == config.optimiser.prompts_per_step


def test_a_real_model_is_rehearsed_at_the_size_of_its_steps():
    config = loads(
        "[model]\npath = 'Qwen/Qwen2.5-7B'\n[warmup]\nsteps = 9\n[optimiser]\nsteps = 500\n"
        "prompts_per_step = 128\nmicro_batch = 4\nmax_completion_tokens = 300\n[openrlhf]\n"
        "overlong_buffer = 200"
    )
    planned = plan_rehearsal(config, steps=10, real_model=True)
    assert planned.model == config.model
    assert planned.warmup.steps == 9
    sizes = ("prompts_per_step", "group_size", "micro_batch", "max_completion_tokens")
    for name in sizes:
        assert getattr(planned.optimiser, name) == getattr(config.optimiser, name)
    assert planned.openrlhf.overlong_buffer == 200
    assert (planned.openrlhf.gpus_per_node, planned.openrlhf.engines) == (2, 2)
    assert planned.optimiser.steps == 10
    assert "Qwen2.5-7B" not in " ".join(describe_gaps(config, real_model=True))


def test_a_run_without_stage_1_stays_without():
    assert plan_rehearsal(loads("[paretopo]\nstage1_steps = 0")).paretopo.stage1_steps == 0
    assert plan_rehearsal(loads("[paretopo]\nstage1_steps = 'all'")).paretopo.stage1_steps == 4


def test_options_for_a_gpu_are_left_out():
    words = plan_options(["--vllm.enable_sleep", "--a.b", "1", "--ds.packing_samples"])
    changed = ["--vllm.sync_backend", "gloo", "--vllm.enforce_eager"]
    assert words == ["--a.b", "1", *changed, "--ds.attn_implementation", "eager"]


@pytest.fixture
def finished(tmp_path):
    """A rehearsal that went well, as its records show it."""
    session = new_session(
        tmp_path,
        "[optimiser]\nsteps = 2\n[evaluation]\nevery = 2\n[openrlhf]\ncorrection = 'token'",
        kind=RehearsedSession,
        objectives__calls__economy="paretopo",
    )
    run = session.run
    folder = run.path / "rehearsal"
    folder.mkdir()
    held_out = group([2, 0], [1, 0])
    session.observe(0, held_out, 1.0)
    for step in (1, 2):
        given = session.advantages([score(session, group([1, 2, 3], [1, 1, 0]))])
        samples = [[i, *[float(np.float32(a))] * 2, 5] for i, a in enumerate(given[0])]
        policy = {"a": [4, 2.0, 3.0], "q": [2, 1.0, 1.0], "k": [2, 1.0, 1.0]}
        engine = {"a": [4, 2.0, 3.0], "qk": [4, 2.0, 2.0]}
        for name, row in (
            ("buffer-0", {"step": step, "samples": samples}),
            ("weights", {"step": step, "policy": policy, "engines": [engine]}),
        ):
            with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        session.record_step(step, {"vllm_kl": 1e-4})
    session.observe(2, held_out, 1.0)
    return run


def test_a_good_rehearsal_passes(finished):
    proved = " ".join(check(finished))
    for words in ("2 steps and 2 evaluations", "stages 1 and 2", "6 rollouts", "1 engine"):
        assert words in proved


@pytest.mark.parametrize(
    ("name", "before", "after", "complaint"),
    [
        ("steps.jsonl", '"vllm_kl":0.0001', '"vllm_kl":null', "vllm_kl"),
        ("steps.jsonl", '"vllm_kl":0.0001', '"vllm_kl":0.02', "vllm_kl"),
        ("steps.jsonl", '"stage":2', '"stage":1', "expected the stages"),
        ("evaluations.jsonl", '"step":0', '"step":1', "expected evaluations"),
        ("rehearsal/weights.jsonl", '"qk": [4, 2.0, 2.0]', '"qk": [4, 2.1, 2.0]', "fused"),
        ("rehearsal/weights.jsonl", '2.0, 3.0], "qk', '2.0, 3.1], "qk', "a dif"),
        ("rehearsal/advantages.jsonl", '"punished": [[0.0', '"punished": [[0.1', "controller"),
        ("rehearsal/buffer-0.jsonl", "[0, ", "[0, 1", "replay buffer"),
    ],
)
def test_a_rehearsal_that_went_wrong_does_not(finished, name, before, after, complaint):
    path = finished.path / name
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    with pytest.raises(RehearsalFailed, match=complaint):
        check(finished)


def test_a_digest_is_that_of_all_numbers_in_parts(monkeypatch):
    torch = pytest.importorskip("torch")
    from paretopo.integrations.openrlhf.rehearsal import stand_ins

    monkeypatch.setattr(stand_ins, "_DIGESTED_AT_ONCE", 4)
    weight = torch.arange(-5.0, 5.0).reshape(5, 2).T  # not contiguous
    assert stand_ins.digest([("a", weight)]) == {"a": [10, 25.0, 85.0]}


def test_weights_that_all_engines_have_leave_the_store():
    # It would keep them for an hour: of a real model, hundreds of megabytes for each update.
    torch = pytest.importorskip("torch")
    pytest.importorskip("vllm")
    from vllm.distributed.utils import StatelessProcessGroup

    from paretopo.integrations.openrlhf.rehearsal.stand_ins import _StoreCommunicator

    store = torch.distributed.HashStore()
    sender = _StoreCommunicator(StatelessProcessGroup(rank=0, world_size=2, store=store))
    engine = _StoreCommunicator(StatelessProcessGroup(rank=1, world_size=2, store=store))
    for number in range(3):
        sender.broadcast(torch.full((4,), float(number)), 0)
        received = torch.empty(4)
        engine.broadcast(received, 0)
        assert received.tolist() == [number] * 4
    kept = [number for number in range(3) if store.check([f"broadcast_tensor/0/{number}"])]
    assert kept == [2]


# ---- failures ------------------------------------------------------------------------------------


def test_ray_errors_become_one_sentence():
    nested = "ray::X() \x1b[36m...\nTraceback\n  paretopo_core.BadRollout: the agent failed on 'q'"
    error = explain_failure(RuntimeError(nested), "paretopo train --resume runs/x")
    assert isinstance(error, BadRollout)
    assert str(error) == "the agent failed on 'q'"
    dead = "ray.exceptions.ActorDiedError: The actor died.\n\tclass_name: RolloutRayActor\n"
    message = str(explain_failure(RuntimeError(dead), "paretopo train --resume runs/x"))
    assert "a rollout engine died" in message
    assert "--resume runs/x" in message
    full = (
        "ray.exceptions.OutOfMemoryError: 1 worker(s) were killed due to the node running low on "
        "memory. Memory on the node (IP: 192.0.2.2, ID: 3b) was 22.38GB / 23.54GB (0.950829), which"
    )
    message = str(explain_failure(RuntimeError(full), "paretopo train --resume runs/x"))
    assert "low on memory (22.38GB / 23.54GB in use)" in message
    assert "--resume runs/x" in message
    assert "OpenRLHF failed: ValueError: x" in str(
        explain_failure(RuntimeError("a\nValueError: x\n"), "")
    )
