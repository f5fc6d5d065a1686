"""The parts of the OpenRLHF adapter that need neither OpenRLHF nor Ray."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from paretopo_core.integrations.openrlhf import version as version_module
from paretopo_core.integrations.openrlhf.__main__ import with_separator
from paretopo_core.integrations.openrlhf.brain import Brain
from paretopo_core.integrations.openrlhf.chat_tools import calls_in, result_frame
from paretopo_core.integrations.openrlhf.failures import in_words
from paretopo_core.integrations.openrlhf.options import (
    Files,
    gpus_needed,
    micro_batch,
    openrlhf_options,
    steps_per_epoch,
)
from paretopo_core.integrations.openrlhf.prepare import _rows
from paretopo_core.integrations.openrlhf.rehearsal_checks import RehearsalFailed, check
from paretopo_core.integrations.openrlhf.rehearsal_plan import (
    not_covered,
    rehearsed,
    rehearsed_options,
)
from paretopo_core.integrations.openrlhf.rollouts import (
    BadRollout,
    Rollout,
    checked_logs,
    prompt_id,
)
from paretopo_core.integrations.openrlhf.version import openrlhf_version
from paretopo_core.training.config import SECTIONS, load, loads
from paretopo_core.training.keys import ConfigError, keys
from paretopo_core.training.paretopo import ParetoPO
from paretopo_core.training.records import RunFolder

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = Files("model", Path("agent.py"), Path("prompts.jsonl"), 320, Path("held_out.jsonl"), 64)
NEWEST = (0, 11, 2)


def words_of(text: str = "", version=NEWEST, resume=False) -> list[str]:
    config = loads(text)
    run = SimpleNamespace(
        path=Path("runs/x"), checkpoints=Path("runs/x/checkpoints"), model=Path("runs/x/model")
    )
    return openrlhf_options(config, run, FILES, version, resume=resume)


def value(words: list[str], name: str) -> str:
    (place,) = [i for i, word in enumerate(words) if word == name]
    return words[place + 1]


# ---- which OpenRLHF ------------------------------------------------------------------------------


@pytest.mark.parametrize("found", ["0.10.1", "0.9.5", "0.12.0", "1.0", "0.8.11.post1"])
def test_other_releases_are_refused(monkeypatch, found):
    monkeypatch.setattr(version_module.metadata, "version", lambda _: found)
    with pytest.raises(ConfigError, match=rf"openrlhf {found} .*>=0\.10\.2,<0\.12"):
        openrlhf_version()


@pytest.mark.parametrize("found", ["0.10.2", "0.11.0", "0.11.2", "0.11.9"])
def test_fitting_releases_are_taken(monkeypatch, found):
    monkeypatch.setattr(version_module.metadata, "version", lambda _: found)
    assert openrlhf_version() == tuple(map(int, found.split(".")))


def test_without_openrlhf_the_way_to_it_is_named(monkeypatch):
    def missing(_):
        raise version_module.metadata.PackageNotFoundError

    monkeypatch.setattr(version_module.metadata, "version", missing)
    with pytest.raises(ConfigError, match="install_openrlhf_cpu"):
        openrlhf_version()


def test_importing_the_adapter_imports_no_framework():
    code = (
        "import sys, paretopo_core.integrations.openrlhf, "
        "paretopo_core.integrations.openrlhf.train, paretopo_core.integrations.openrlhf.rehearsal\n"
        "heavy = {'torch', 'ray', 'vllm', 'openrlhf', 'deepspeed', 'transformers'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# ---- options -------------------------------------------------------------------------------------


def test_the_options_say_what_the_configuration_says():
    words = words_of(
        "[optimiser]\nprompts_per_step = 16\ngroup_size = 8\nlearning_rate = 1e-6\nsteps = 100\n"
        "[openrlhf]\ndynamic_sampling = false\ncorrection = 'token'"
    )
    assert value(words, "--rollout.batch_size") == "16"
    assert value(words, "--train.batch_size") == "128"
    assert value(words, "--rollout.n_samples_per_prompt") == "8"
    assert value(words, "--train.micro_batch_size") == "16"  # 128 rollouts on 8 GPUs
    assert value(words, "--actor.adam.lr") == "1e-06"
    assert value(words, "--actor.loss_agg_mode") == "token-mean"
    assert value(words, "--algo.advantage.is_correction_level") == "token"
    assert value(words, "--algo.kl.init_coef") == "0.0"
    assert value(words, "--train.num_episodes") == "6"  # 100 steps of 20 a pass, and one to spare
    assert {"--train.colocate_all", "--vllm.enable_sleep", "--ds.enable_sleep"} <= set(words)
    assert "--algo.dynamic_filtering_enable" not in words
    assert "--ckpt.load_enable" not in words


def test_advantages_are_never_clipped():
    low, high = words_of()[words_of().index("--reward.clip_range") + 1 :][:2]
    assert float(low) <= -1e6
    assert float(high) >= 1e6


def test_overlong_shaping_is_not_openrlhfs():
    words = words_of("[openrlhf]\noverlong_buffer = 20")
    assert not any("overlong" in word for word in words)


def test_own_options_come_last_and_win():
    words = words_of("[openrlhf]\noptions = '--ds.overlap_comm --train.seed 7'", resume=True)
    assert words[-3:] == ["--ds.overlap_comm", "--train.seed", "7"]
    assert "--ckpt.load_enable" in words


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[optimiser]\nloss = 'bnpo'", r"optimiser\.loss must be one of dapo, grpo"),
        ("[optimiser]\nprompts_per_step = 3", r"24 rollouts .* multiple of the 16 GPUs"),
        ("[optimiser]\nmicro_batch = 16", r"micro_batch must divide 8, the rollouts of a GPU"),
        ("[optimiser]\nprompts_per_step = 512", r"at most the number of training prompts, 320"),
        ("[openrlhf]\nwandb_project = 'x'", "WANDB_API_KEY"),
    ],
)
def test_what_cannot_run_is_refused(monkeypatch, text, complaint):
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    cluster = "nodes = 2\ngpus_per_node = 8\nengines = 16"
    head, found, rest = text.partition("[openrlhf]\n")
    with pytest.raises(ConfigError, match=complaint):
        words_of(f"{head}\n[openrlhf]\n{cluster}\n{rest if found else ''}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("asynchronous = true", "colocate = false"),
        ("partial_rollouts = true", r"needs openrlhf\.asynchronous"),
        ("engines = 3", "got 3 and 8"),
        ("packing = true\nattention = 'sdpa'", "flash_attention_2"),
        ("max_tokens_per_gpu = 100", "packing = true"),
        ("zero_stage = 4", "from 0 to 3"),
    ],
)
def test_contradictions_are_refused_when_the_file_is_read(text, complaint):
    with pytest.raises(ConfigError, match=complaint):
        loads(f"[openrlhf]\n{text}")


def test_older_releases_get_their_own_words():
    words = words_of("[openrlhf]\ncorrection = 'token'", (0, 10, 4))
    assert "--algo.advantage.is_correction_enable" in words
    assert "--actor.loss_agg_mode" not in words
    with pytest.raises(ConfigError, match=r"need openrlhf 0\.11\.2, got 0\.10\.4"):
        words_of("[openrlhf]\ncorrection = 'sequence'", (0, 10, 4))


def test_gpus_are_counted_as_openrlhf_asks_for_them():
    assert gpus_needed(words_of()) == 8  # shared
    assert gpus_needed([*words_of(), "--actor.num_nodes", "2"]) == 16
    split = "[openrlhf]\ncolocate = false\nengines = 4\nengine_gpus = 2\nasynchronous = true"
    assert gpus_needed(words_of(split)) == 16


def test_a_step_is_whole():
    assert steps_per_epoch(loads("[optimiser]\nprompts_per_step = 24"), FILES) == 13
    assert micro_batch(loads("[optimiser]\nmicro_batch = 4")) == 4


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*qwen*.toml")))
def test_the_papers_trainings_have_its_settings(name):
    config = load(EXAMPLES / name)
    optimiser, cluster = config.optimiser, config.openrlhf
    assert config.recipe == "paper"
    assert config.paretopo.weights == (0.6, 0.4)
    assert (config.rewards.alpha, config.paretopo.beta, config.paretopo.gamma) == (0.7, 0.5, 0.5)
    assert optimiser.learning_rate == 1e-6
    assert optimiser.prompts_per_step * optimiser.group_size == 1024
    assert (optimiser.clip_low, optimiser.clip_high, optimiser.kl) == (0.2, 0.28, 0.0)
    assert optimiser.loss == "dapo"
    assert cluster.dynamic_sampling
    assert cluster.overlong_buffer / optimiser.max_completion_tokens == pytest.approx(0.2, abs=1e-3)
    files = dataclasses.replace(FILES, prompt_count=28_000)
    for nodes in (1, 2):
        wide = dataclasses.replace(cluster, nodes=nodes, engines=8 * nodes)
        spread = dataclasses.replace(config, openrlhf=wide)
        run = SimpleNamespace(path=Path("x"), checkpoints=Path("x"), model=Path("x"))
        words = openrlhf_options(spread, run, files, NEWEST, resume=False)
        assert value(words, "--vllm.num_engines") == str(8 * nodes)
        assert (1024 // (8 * nodes)) % micro_batch(spread) == 0
    assert rehearsed(config).openrlhf.zero_stage == cluster.zero_stage


def test_there_are_four_of_them():
    assert len(list(EXAMPLES.glob("*qwen*.toml"))) == 4


def test_the_separator_stands_before_the_first_dotted_option():
    assert with_separator(["--resume", "runs/a.b"]) == ["--resume", "runs/a.b"]
    assert with_separator(["x.toml", "--", "--a.b"]) == ["x.toml", "--", "--a.b"]
    assert with_separator(["x.toml", "--a.b=1"]) == ["x.toml", "--", "--a.b=1"]


@pytest.mark.parametrize("name", ["__main__", "chat_tools", "options", "rollouts"])
def test_docstring_examples_run(name):
    module = importlib.import_module(f"paretopo_core.integrations.openrlhf.{name}")
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


def test_the_documentation_has_examples_that_are_valid():
    text = (EXAMPLES.parent / "docs" / "openrlhf.md").read_text(encoding="utf-8")
    for example in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        assert loads(example).backend == "openrlhf"
    (agent,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    compile(agent, "docs/openrlhf.md", "exec")
    for path in re.findall(r"examples/[\w.]+\.toml", text):
        assert (EXAMPLES.parent / path).exists()
    unknown = set(re.findall(r"openrlhf\.(\w+)`", text)) - {*keys(SECTIONS["openrlhf"]), "md"}
    assert not unknown


# ---- prompts of a file ---------------------------------------------------------------------------


def rows_of(tmp_path, text, suffix=".jsonl", settings=""):
    source = tmp_path / f"prompts{suffix}"
    source.write_text(text, encoding="utf-8")
    run = SimpleNamespace(path=tmp_path)
    tokenizer = SimpleNamespace(
        apply_chat_template=lambda messages, **_: f"<{messages[-1]['content']}>"
    )
    config = loads(f"[openrlhf]\n{settings}")
    path, count = _rows(config, run, tokenizer, "prompts", str(source), [])
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == count
    return rows


def test_prompts_of_a_file_pass_through_the_template_or_do_not(tmp_path):
    text = '{"prompt": "a", "label": {"id": 1}}\n{"prompt": [{"content": "b"}], "label": "2"}\n'
    assert rows_of(tmp_path, text) == [
        {"prompt": "<a>", "label": '{"id": 1}', "datasource": "default"},
        {"prompt": "<b>", "label": "2", "datasource": "default"},
    ]
    plain = rows_of(tmp_path, '{"prompt": "a", "label": "1"}', settings="chat_template = false")
    assert plain[0]["prompt"] == "a"


@pytest.mark.parametrize(
    ("text", "suffix", "settings", "complaint"),
    [
        ('{"prompt": "a"}', ".jsonl", "", r"row 1 .* keys prompt and label, got \['prompt'\]"),
        ("[1]", ".jsonl", "", "got list"),
        ('{"prompt": "a", "label": 1}\n{', ".jsonl", "", "line 2 of"),
        ("", ".jsonl", "", "holds no prompts"),
        ("x", ".csv", "", r"must be a \.jsonl or \.parquet file"),
        ('{"prompt": [], "label": 1}', ".jsonl", "chat_template = false", "must be a text"),
    ],
)
def test_wrong_rows_are_refused_with_their_place(tmp_path, text, suffix, settings, complaint):
    with pytest.raises(ConfigError, match=complaint):
        rows_of(tmp_path, text, suffix, settings)


# ---- rollouts ------------------------------------------------------------------------------------


def test_prompts_are_called_by_their_label_or_a_digest():
    assert prompt_id("text", '{"id": 7}') == "7"
    assert prompt_id("text", "42") == prompt_id("text", "43") != prompt_id("other", "42")


@pytest.mark.parametrize(
    ("logs", "complaint"),
    [
        ({"calls": 1}, "'q' has no 'correct'"),
        ({"correct": 1.0}, "'q' has no 'calls'"),
        ({"correct": float("nan"), "calls": 1}, "'correct' = nan"),
        ({"correct": 2.0, "calls": 1}, "'correct' = 2.0"),
        ({"correct": None, "calls": 1}, "'correct' = None"),
        ({"correct": 1.0, "calls": -1}, "'calls' = -1"),
        ({"correct": 1.0, "calls": 0.5}, "'calls' = 0.5"),
        ({"correct": 1.0, "calls": float("inf")}, "'calls' = inf"),
    ],
)
def test_bad_logs_name_prompt_and_key(logs, complaint):
    with pytest.raises(BadRollout, match=complaint):
        checked_logs("text", '{"id": "q"}', logs)


def test_calls_are_found_and_broken_ones_are_not():
    text = (
        '<call>{"name": "f", "arguments": {"x": 1}}</call> <tool_call>\n{"name": "g", '
        '"arguments": {}}\n</tool_call><call>{"name": 3, "arguments": {}}</call><call>{</call>'
    )
    assert calls_in(text) == [("f", {"x": 1}), ("g", {})]


def test_results_are_framed_as_the_template_does():
    def render(messages, **_):
        said = "".join(f"<{m['role']}>{m['content']}<end>\n" for m in messages)
        return said + "<assistant>"

    tokenizer = SimpleNamespace(apply_chat_template=render, eos_token="<end>")
    assert result_frame(tokenizer) == ("\n<tool>", "<end>\n<assistant>")
    tokenizer.apply_chat_template = lambda messages, **_: "no results here"
    with pytest.raises(ValueError, match="does not render tool results"):
        result_frame(tokenizer)


# ---- the brain -----------------------------------------------------------------------------------


def brain_of(tmp_path, text="", **keywords) -> tuple[Brain, RunFolder]:
    run = RunFolder.create(tmp_path, loads("[paretopo]\nstage1_steps = 1\n" + text))
    return Brain(str(run.path), 64, **keywords), run


def group(calls, correct, tokens=10) -> list[Rollout]:
    return [
        Rollout("q", "one", float(right), count, tokens=tokens)
        for count, right in zip(calls, correct, strict=True)
    ]


def scored(brain, rollouts):
    economy, _ = brain.score(rollouts)
    return [
        Rollout(one.prompt_id, one.kind, one.correct, one.calls, paid, one.tokens)
        for one, paid in zip(rollouts, economy, strict=True)
    ]


def test_the_brain_gives_the_controllers_advantages(tmp_path):
    brain, run = brain_of(tmp_path)
    alone = ParetoPO(run.config.paretopo)
    for step in (1, 2):
        rollouts = scored(brain, group([1, 2, 1, 0], [1, 1, 0, 0]))
        vectors = [[[one.correct, one.economy] for one in rollouts]]
        assert brain.advantages([rollouts]) == alone.advantages(vectors).tolist()
        brain.record_step(step, {"policy_loss": 0.5, "actor_lr": 1e-6})
    first, second = run.steps()
    assert (first["stage"], second["stage"]) == (1, 2)
    assert first["accuracy"] == 0.5
    assert first["rank_histogram"] == [1, 1, 2]
    assert first["kept"] == 1.0


def test_groups_that_differ_in_calls_alone_are_kept_and_equal_ones_are_not(tmp_path):
    brain, _ = brain_of(tmp_path)
    assert brain.score(group([1, 2], [1, 1]))[1]
    assert not brain.score(group([2, 2], [1, 1]))[1]
    assert not brain.score(group([1, 2], [0, 0]))[1]  # gated: both failed


def test_overlong_responses_cost_advantage_and_never_rank(tmp_path):
    text = "[optimiser]\nmax_completion_tokens = 100\n[openrlhf]\noverlong_buffer = 20\n"
    brain, _ = brain_of(tmp_path, text + "overlong_penalty = 2.0")
    plain, _ = brain_of(tmp_path / "plain")
    short, long = group([1, 2], [1, 1]), group([1, 2], [1, 1], tokens=90)
    assert brain.advantages([scored(brain, short)]) == plain.advantages([scored(plain, short)])
    punished = np.array(brain.advantages([scored(brain, long)]))
    np.testing.assert_allclose(punished, np.array(plain.advantages([scored(plain, long)])) - 1.0)


def test_the_brain_goes_on_from_its_state(tmp_path):
    brain, run = brain_of(tmp_path)
    held_out = group([2, 0], [1, 0])
    brain.observe(0, held_out, 1.0)
    brain.advantages([scored(brain, group([1, 2], [1, 1]))])
    brain.record_step(1, {})
    brain.observe(1, held_out, 1.0)
    state = brain.state()
    brain.advantages([scored(brain, group([0, 2], [1, 1]))])
    brain.record_step(2, {})
    again = Brain(str(run.path), 64)
    again.restore(state)
    assert again.state() == state
    assert [row["step"] for row in run.steps()] == [1]
    assert [row["step"] for row in run.evaluations()] == [0, 1]
    assert run.manifest["resumed"][0]["from_step"] == 1
    again.restore(None)
    assert run.evaluations() == []


def test_stage_1_is_one_pass_over_the_prompts_dropped_groups_included(tmp_path):
    config = loads("[optimiser]\nprompts_per_step = 1")
    run = RunFolder.create(tmp_path, config)
    brain = Brain(str(run.path), 4)
    for step in (1, 2, 3):
        brain.score(group([2, 2], [0, 0]))  # dropped
        brain.advantages([scored(brain, group([1, 2], [1, 1]))])
        brain.record_step(step, {})
    assert [row["stage"] for row in run.steps()] == [1, 1, 2]
    again = Brain(str(run.path), 4)
    again.restore(brain.state())
    assert again.state() == brain.state()


def test_steps_that_do_not_match_stop_the_run(tmp_path):
    brain, _ = brain_of(tmp_path)
    with pytest.raises(RuntimeError, match="OpenRLHF is at step 3, ParetoPO at 0"):
        brain.record_step(3, {})


# ---- failures ------------------------------------------------------------------------------------


def test_what_ray_reports_becomes_one_sentence():
    nested = "ray::X() \x1b[36m...\nTraceback\n  paretopo_core.BadRollout: the agent failed on 'q'"
    told = in_words(RuntimeError(nested), "runs/x")
    assert isinstance(told, BadRollout)
    assert str(told) == "the agent failed on 'q'"
    dead = "ray.exceptions.ActorDiedError: The actor died.\n\tclass_name: RolloutRayActor\n"
    assert "a rollout engine died" in str(in_words(RuntimeError(dead), "runs/x"))
    assert "--resume runs/x" in str(in_words(RuntimeError(dead), "runs/x"))
    assert "OpenRLHF failed: ValueError: x" in str(in_words(RuntimeError("a\nValueError: x\n"), ""))


# ---- the rehearsal -------------------------------------------------------------------------------


def test_a_rehearsal_keeps_the_kind_of_cluster_and_shrinks_it():
    config = loads(
        "[model]\npath = 'Qwen/Qwen2.5-7B'\n[optimiser]\nsteps = 500\nprompts_per_step = 128\n"
        "[openrlhf]\nnodes = 2\nengines = 8\nengine_gpus = 2\nzero_stage = 3\npacking = true\n"
        "max_tokens_per_gpu = 1000\ndynamic_sampling = true"
    )
    small = rehearsed(config)
    assert (small.openrlhf.zero_stage, small.openrlhf.colocate) == (3, True)
    assert small.openrlhf.dynamic_sampling
    assert (small.openrlhf.gpus_per_node, small.openrlhf.engines) == (2, 2)
    assert not small.openrlhf.packing
    assert small.model.path == "small:Qwen/Qwen2.5-7B"
    assert (small.optimiser.steps, small.paretopo.stage1_steps) == (4, 2)
    assert small.paretopo.weights == config.paretopo.weights
    left = " ".join(not_covered(config))
    for word in ("CUDA IPC", "Qwen2.5-7B", "tensor parallel", "packed", "sleeping"):
        assert word in left


def test_the_tiny_policy_is_rehearsed_as_it_stands():
    config = loads("[optimiser]\nsteps = 100\n[openrlhf]\nasynchronous = true\ncolocate = false")
    small = rehearsed(config, steps=40)
    assert small.model == config.model
    assert small.optimiser.steps == 40
    assert small.paretopo.stage1_steps == 20  # half of the steps: an epoch would be 32
    assert small.optimiser.prompts_per_step == config.optimiser.prompts_per_step


def test_a_run_without_stage_1_stays_without():
    assert rehearsed(loads("[paretopo]\nstage1_steps = 0")).paretopo.stage1_steps == 0


def test_sleeping_is_left_to_gpus():
    words = rehearsed_options(["--vllm.enable_sleep", "--a.b", "1", "--ds.enable_sleep"])
    assert words == ["--a.b", "1", "--vllm.sync_backend", "gloo"]


@pytest.fixture
def finished(tmp_path):
    """A rehearsal that went well, as its records show it."""
    brain, run = brain_of(
        tmp_path,
        "[optimiser]\nsteps = 2\n[evaluation]\nevery = 2\n[openrlhf]\ncorrection = 'token'",
        rehearsal=True,
    )
    folder = run.path / "rehearsal"
    folder.mkdir()
    held_out = group([2, 0], [1, 0])
    brain.observe(0, held_out, 1.0)
    for step in (1, 2):
        given = brain.advantages([scored(brain, group([1, 2, 3], [1, 1, 0]))])
        samples = [[i, *[float(np.float32(a))] * 2, 5] for i, a in enumerate(given[0])]
        policy = {"a": [4, 2.0, 3.0], "q": [2, 1.0, 1.0], "k": [2, 1.0, 1.0]}
        engine = {"a": [4, 2.0, 3.0], "qk": [4, 2.0, 2.0]}
        for name, row in (
            ("buffer-0", {"step": step, "samples": samples}),
            ("weights", {"step": step, "policy": policy, "engines": [engine]}),
        ):
            with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        brain.record_step(step, {"vllm_kl": 1e-4})
    brain.observe(2, held_out, 1.0)
    return run


def test_a_good_rehearsal_passes(finished):
    proved = " ".join(check(finished))
    for words in ("2 steps and 2 evaluations", "stage 1 and 2", "6 rollouts", "1 engine"):
        assert words in proved


@pytest.mark.parametrize(
    ("name", "before", "after", "complaint"),
    [
        ("steps.jsonl", '"vllm_kl": 0.0001', '"vllm_kl": null', "vllm_kl"),
        ("steps.jsonl", '"vllm_kl": 0.0001', '"vllm_kl": 0.02', "vllm_kl"),
        ("steps.jsonl", '"stage": 2', '"stage": 1', "expected the stages"),
        ("evaluations.jsonl", '"step": 0', '"step": 1', "expected evaluations"),
        ("rehearsal/weights.jsonl", '"qk": [4, 2.0, 2.0]', '"qk": [4, 2.1, 2.0]', "fused"),
        (
            "rehearsal/weights.jsonl",
            '{"a": [4, 2.0, 3.0], "qk',
            '{"a": [4, 2.0, 3.1], "qk',
            "a dif",
        ),
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
