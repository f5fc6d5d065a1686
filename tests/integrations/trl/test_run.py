"""A whole run on TRL: it learns, and interruptions do not change its result."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import paretopo_core

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from support.curves import HAS_TENSORBOARD, read_curves
from support.interrupts import assert_same_result
from transformers import GenerationMixin

from paretopo.config import ConfigError, loads
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.huggingface.policy import shared_warmup
from paretopo.integrations.trl import arguments
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder
from paretopo.rollout import Segment

SMALL = """
seed = 3
model = { layers = 2, width = 48, heads = 2 }
task = { prompts = 8, facts = 4, kinds = [1.0, 0.0, 0.0] }
warmup = { steps = 150, batch_size = 16, learning_rate = 5e-3 }
paretopo = { stage1_steps = 3 }
evaluation = { every = 2, prompts = 8, temperature = 1.0 }
[optimiser]
steps = 7
prompts_per_step = 2
group_size = 4
learning_rate = 1e-3
max_completion_tokens = 48
"""


def start(run: RunFolder, *, resume: bool = False) -> subprocess.Popen[str]:
    """Train in a process of its own, which can be killed."""
    code = (
        "import sys; from paretopo.records.folder import RunFolder\n"
        "from paretopo.integrations.trl.train import train\n"
        "run = RunFolder.open(sys.argv[1]); train(run.config, run, resume=sys.argv[2] == 'True')\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, str(run.path), str(resume)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def interrupt(run: RunFolder, number: int, when: str, *, resume: bool = False) -> int:
    """Send a signal as soon as a file of the run appears; returns the exit code."""
    process = start(run, resume=resume)
    deadline = time.monotonic() + 300
    while not list(run.path.glob(when)):
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        assert time.monotonic() < deadline, f"{when} never came"
        time.sleep(0.002)
    process.send_signal(number)
    process.communicate()
    return process.returncode


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, warmups: str) -> RunFolder:
    economy = {"objectives.calls.economy": "paretopo"}
    shared = {"warmup.shared": warmups}
    falling = {"optimiser.learning_rate_schedule": "cosine"}
    config = loads(SMALL, {"run.tensorboard": HAS_TENSORBOARD, **economy, **falling, **shared})
    run = RunFolder.create(tmp_path_factory.mktemp("whole"), config)
    train(config, run)
    return run


@pytest.mark.long
def test_warm_up_is_shared_only_for_the_same_origin(tmp_path):
    shared = {"warmup.shared": str(tmp_path / "shared"), "warmup.steps": 3, "optimiser.steps": 1}
    alone = loads(SMALL, {**shared, "warmup.shared": "none"})
    ends = {}
    for name, config in {
        "alone": alone,
        "first": loads(SMALL, shared),
        "second": loads(SMALL, shared | {"optimiser.learning_rate": 1e-5}),
    }.items():
        run = RunFolder.create(tmp_path / name, config)
        train(config, run)
        ends[name] = run.evaluations()[0] | {"seconds": 0.0}
        assert len(list((tmp_path / "shared").glob("*"))) == (name != "alone")
    assert ends["alone"] == ends["first"] == ends["second"]
    [kept] = (tmp_path / "shared").glob("*.pt")
    for change in ({"seed": 4}, {"warmup.steps": 4}, {"model.width": 52}, {"task.facts": 5}):
        assert shared_warmup(loads(SMALL, shared | change)) != kept
    # It is taken, not only written: another one in its place is where the next run starts.
    state = torch.load(kept, weights_only=True)
    for weights in state["model"].values():
        weights.zero_()
    torch.save(state, kept)
    run = RunFolder.create(tmp_path / "third", loads(SMALL, shared))
    train(run.config, run)
    assert run.evaluations()[0]["response_tokens"] != ends["first"]["response_tokens"]


def test_records_match_the_run(uninterrupted):
    steps, evaluations = uninterrupted.steps(), uninterrupted.evaluations()
    assert [row["step"] for row in steps] == list(range(1, 8))
    assert [row["stage"] for row in steps] == [1, 1, 1, 2, 2, 2, 2]
    assert [row["step"] for row in evaluations] == [0, 2, 4, 6, 7]
    assert [row["phase"] for row in evaluations] == ["warmup", "train", "train", "train", "final"]
    assert all(sum(row["rank_histogram"]) == 8 for row in steps)
    rates = [row["learning_rate"] for row in steps]
    assert rates[0] == 1e-3
    assert rates == sorted({*rates}, reverse=True)
    assert all(row["by_kind"].keys() == {"fact"} for row in evaluations)
    for row in evaluations:
        # The gated economy cannot exceed the accuracy, nor the economy of all rollouts.
        assert (
            row["outcome"]["calls"]
            <= min(row["outcome"]["correct"], row["rewards"]["calls"]) + 1e-12
        )
    assert evaluations[0]["multiplier"] == 1.0
    assert evaluations[0]["solved"] > 0.5, "the warm-up taught too little to test anything"
    assert any(row["informative"] > 0 for row in steps)


@pytest.mark.skipif(not HAS_TENSORBOARD, reason="needs tensorboard")
def test_curves_are_the_records(uninterrupted):
    curves = read_curves(uninterrupted)
    for part, rows in (("train", uninterrupted.steps()), ("eval", uninterrupted.evaluations())):
        acting = [row for row in rows if row["stage"] == 1]  # in which the multiplier acts
        for name, own in (("solved", rows), ("multiplier", acting), ("truncated", rows)):
            assert_curve(curves[f"{part}/paretopo/{name}"], own, lambda row, at=name: row[at])
        for kind in ("measured", "rewards"):
            for one in ("correct", "calls"):
                tag = f"{part}/paretopo/{kind}/{one}"
                assert_curve(curves[tag], rows, lambda row, of=kind, at=one: row[of][at])
    # `paretopo train` passes only `correct` to TRL, so TRL's own curves are left out.
    left_out = ("train/reward", "train/frac_reward_zero_std", "train/rewards/")
    assert not [tag for tag in curves if tag.startswith(left_out)]
    steps, evaluations = uninterrupted.steps(), uninterrupted.evaluations()
    assert_curve(curves["train/paretopo/loss"], steps, lambda row: row["loss"])
    assert_curve(curves["train/loss"], steps, lambda row: row["loss"])  # as TRL calls it
    for name in ("hypervolume", "gain"):
        assert_curve(curves[f"eval/paretopo/{name}"], evaluations, lambda row, at=name: row[at])


def assert_curve(curve, rows, read) -> None:
    assert curve == [(row["step"], pytest.approx(read(row), rel=1e-6, abs=1e-7)) for row in rows]


def test_trajectories_hold_texts_and_rewards(uninterrupted):
    groups = list(uninterrupted.trajectories())
    trained = [group for group in groups if not group.held_out]
    held_out = [group for group in groups if group.held_out]
    # Both prompts of a step here, and two of the eight held-out questions, the same each time.
    assert [group.step for group in trained] == [step for step in range(1, 8) for _ in range(2)]
    assert [group.step for group in held_out] == [0, 0, 2, 2, 4, 4, 6, 6, 7, 7]
    questions = [group.id for group in held_out]
    assert questions == questions[:2] * 5
    controller = ParetoPO(uninterrupted.config.paretopo)
    for group in trained:
        rewards = np.array([one.rewards for one in group.rollouts])
        gated = np.array([one.gated for one in group.rollouts])
        np.testing.assert_array_equal(gated, controller.gate_groups([rewards]).vectors[0])
        ranks = paretopo_core.pareto_rank(gated[None])[0]
        assert [one.rank for one in group.rollouts] == ranks.tolist()
        for one in group.rollouts:
            kinds = [segment.kind for segment in one.segments]
            assert one.reward_components["calls"] == kinds.count("tool") <= kinds.count("call")
            assert one.solved == (one.rewards[0] == 1.0)
            assert not one.solved or one.segments[-1] == Segment("model", group.answer)
    for group in held_out:
        assert {(one.rank, one.advantage) for one in group.rollouts} == {(None, None)}
    # All rollouts of a step are kept here, so that they add up to its row.
    for row, pair in zip(
        uninterrupted.steps(), zip(trained[::2], trained[1::2], strict=True), strict=True
    ):
        rollouts = [one for group in pair for one in group.rollouts]
        assert row["solved"] == np.mean([one.solved for one in rollouts])
        assert row["measured"]["calls"] == np.mean(
            [one.reward_components["calls"] for one in rollouts]
        )
        assert row["rewards"]["calls"] == pytest.approx(
            np.mean([one.rewards[1] for one in rollouts])
        )
        assert row["stage"] == pair[0].stage


def test_the_model_can_be_loaded_again(uninterrupted):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(uninterrupted.model)
    tokenizer = AutoTokenizer.from_pretrained(uninterrupted.model)
    question = [{"role": "user", "content": "How many days are in a week?"}]
    prompt = tokenizer.apply_chat_template(
        question, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    answer = model.generate(**prompt, max_new_tokens=40, do_sample=False)
    assert tokenizer.decode(answer[0]).startswith("<|user|>How many days are in a week?<|end|>")
    assert tokenizer.response_template["start_anchor"] == "<|assistant|>"


@pytest.mark.long
def test_killed_and_resumed_equals_uninterrupted(uninterrupted, tmp_path):
    """Reports of state lost at a resume: trl#3247, OpenRLHF#1103."""
    config = uninterrupted.config
    config = replace(config, warmup=replace(config.warmup, shared="none"))
    run = RunFolder.create(tmp_path, config)
    assert interrupt(run, signal.SIGKILL, "checkpoints/warmup.pt") == -signal.SIGKILL
    done = torch.load(run.checkpoints / "warmup.pt", weights_only=True)["step"]
    assert 0 < done <= run.config.warmup.steps

    assert interrupt(run, signal.SIGKILL, "checkpoints/checkpoint-5/*", resume=True) == -9
    (run.checkpoints / "checkpoint-6").mkdir(exist_ok=True)  # a folder that was never finished

    train(config, run, resume=True)
    assert_same_result(run, uninterrupted)
    kept = sorted(path.name for path in run.checkpoints.glob("checkpoint-*"))
    assert kept == ["checkpoint-6", "checkpoint-7"]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_or_sigterm_keeps_the_step_and_can_be_resumed(uninterrupted, tmp_path, number):
    run = RunFolder.create(tmp_path, uninterrupted.config)
    code = interrupt(run, number, "checkpoints/checkpoint-3/complete")
    assert code not in (0, -signal.SIGKILL)
    steps = len(run.steps())
    assert 3 <= steps < 7
    assert (run.checkpoints / f"checkpoint-{steps}" / "complete").exists()

    train(run.config, run, resume=True)
    assert_same_result(run, uninterrupted)
    assert run.manifest["resumed"][0]["from_step"] == steps


def test_resuming_a_finished_run_changes_nothing(uninterrupted):
    before = (uninterrupted.path / "steps.jsonl").read_text(), uninterrupted.evaluations()
    train(uninterrupted.config, uninterrupted, resume=True)
    assert ((uninterrupted.path / "steps.jsonl").read_text(), uninterrupted.evaluations()) == before


def test_a_finished_run_becomes_longer(uninterrupted, tmp_path):
    run = RunFolder.open(shutil.copytree(uninterrupted.path, tmp_path / "longer"))
    path = run.path / "config.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("\nsteps = 7\n", "\nsteps = 9\n"), encoding="utf-8")
    run = RunFolder.open(run.path)
    train(run.config, run, resume=True)
    assert [row["step"] for row in run.steps()] == list(range(1, 10))
    assert run.steps()[:7] == uninterrupted.steps()
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4, 6, 7, 8, 9]
    assert run.manifest["status"] == "finished"


def test_ten_steps_learn(tmp_path, warmups):
    """Facts that the warmed-up policy calls for needlessly: it stops calling and stays right."""
    sizes = {"optimiser.steps": 10, "optimiser.prompts_per_step": 4, "evaluation.every": 10}
    run = RunFolder.create(tmp_path, loads(SMALL, {"warmup.shared": warmups, **sizes}))
    train(run.config, run)
    before, after = run.evaluations()
    assert after["measured"]["calls"] < 0.5 * before["measured"]["calls"]
    assert after["solved"] >= before["solved"]
    assert after["hypervolume"] > before["hypervolume"]


def test_small_batches_without_trajectories_and_checkpoints(tmp_path):
    settings = {"optimiser.micro_batch": 4, "optimiser.steps": 2, "warmup.steps": 2}
    settings |= {"run.checkpoint_every": 0, "run.trajectories": 0}
    run = RunFolder.create(tmp_path, loads(SMALL, settings))
    train(run.config, run)
    assert [sum(row["rank_histogram"]) for row in run.steps()] == [8, 8]
    assert list(run.trajectories()) == []
    assert not list(run.checkpoints.glob("checkpoint-*"))


BATCHING = "--use_transformers_continuous_batching true"
BLOCKS = (
    """--transformers_continuous_batching_config '{"num_blocks": 64, "max_batch_tokens": 64}'"""
)


@pytest.mark.parametrize(
    "options",
    [
        "--cache_implementation static",
        pytest.param(f"{BATCHING} {BLOCKS}", marks=pytest.mark.long),
    ],
)
def test_trl_generates_as_its_options_say(tmp_path, monkeypatch, options):
    asked = []

    def note(self, *given, generation_config, **more):
        asked.append(generation_config.cache_implementation or "batched")
        return generate(self, *given, generation_config=generation_config, **more)

    name = "generate_batch" if BATCHING in options else "generate"
    generate = getattr(GenerationMixin, name)
    monkeypatch.setattr(GenerationMixin, name, note)
    settings = {"optimiser.steps": 1, "run.checkpoint_every": 0, "warmup.steps": 0}
    settings["optimiser.max_completion_tokens"] = 6
    run = RunFolder.create(tmp_path, loads(SMALL, {**settings, "trl.generation": options}))
    train(run.config, run)
    assert len(run.steps()) == 1
    assert {*asked} == {"batched" if BATCHING in options else "static"}
    assert len(asked) >= 3  # two evaluations, and one step


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("--use_vlm true", "unrecognized arguments: --use_vlm true"),
        ("--use_vllm maybe", "Truthy value expected: got maybe"),
        ("--learning_rate 1", "options of vLLM, continuous batching and the cache, not --learn"),
        ("--transformers_continuous_batching_config {num:1}", "Expecting property name"),
        (BATCHING, 'converts the trained weights to bfloat16.*set model.dtype = "float32"'),
    ],
)
def test_options_of_generation_are_refused_by_name(tmp_path, monkeypatch, options, complaint):
    monkeypatch.setattr(arguments, "compute_dtype", lambda *_: torch.bfloat16)
    config = loads(SMALL, {"trl.generation": options})
    run = RunFolder.create(tmp_path, config)
    with pytest.raises(ConfigError, match=rf"trl\.generation: .*{complaint}"):
        arguments.make_rollout_arguments(config, run, "cpu", evaluate_first=False, held_out=0)


def test_an_unknown_model_is_named(tmp_path):
    config = loads(SMALL, {"model.path": str(tmp_path / "nothing")})
    run = RunFolder.create(tmp_path, config)
    with pytest.raises(ConfigError, match=r"model.path: cannot load .*nothing"):
        train(config, run)


def test_an_unknown_template_is_refused(uninterrupted, tmp_path):
    from transformers import AutoTokenizer

    folder = tmp_path / "unknown"
    tokenizer = AutoTokenizer.from_pretrained(uninterrupted.model)
    tokenizer.response_template = None
    tokenizer.save_pretrained(folder)
    run = RunFolder.create(tmp_path, loads(SMALL, {"model.path": str(folder)}))
    with pytest.raises(ConfigError, match="cannot parse the tool calls of"):
        train(run.config, run)


def test_several_processes_are_refused(uninterrupted, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="runs in one process"):
        train(uninterrupted.config, uninterrupted)
