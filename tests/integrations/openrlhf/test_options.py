"""Which OpenRLHF, and its options for a configuration; neither OpenRLHF nor Ray is needed."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from paretopo.config import ConfigError, load, loads
from paretopo.integrations.openrlhf import train as train_module
from paretopo.integrations.openrlhf.options import (
    CONFIG_VARIABLE,
    Files,
    check_openrlhf,
    gpus_needed,
    micro_batch,
    openrlhf_options,
    penalise_overlong,
    worker_variables,
)
from paretopo.integrations.openrlhf.rehearsal.plan import plan_rehearsal
from paretopo.records import provenance
from paretopo.records.folder import RunFolder

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = Files("model", Path("prompts.jsonl"), 320, Path("held_out.jsonl"), 64)


def words_of(text: str = "", resume=False) -> list[str]:
    config = loads(text)
    run = SimpleNamespace(
        path=Path("runs/x"), checkpoints=Path("runs/x/checkpoints"), model=Path("runs/x/model")
    )
    return openrlhf_options(config, run, FILES, resume=resume)


def value(words: list[str], name: str) -> str:
    (place,) = [i for i, word in enumerate(words) if word == name]
    return words[place + 1]


# ---- which OpenRLHF ------------------------------------------------------------------------------


def test_only_the_supported_release_is_accepted(monkeypatch):
    monkeypatch.setattr(provenance.metadata, "version", lambda _: "0.11.2")
    check_openrlhf()
    for found in ("0.11.1", "0.11.3", "0.11.2.post1"):
        monkeypatch.setattr(provenance.metadata, "version", lambda _, found=found: found)
        with pytest.raises(ConfigError, match=rf"openrlhf {found} .*==0\.11\.2"):
            check_openrlhf()


def test_without_openrlhf_the_way_to_it_is_named(monkeypatch):
    def missing(_):
        raise provenance.metadata.PackageNotFoundError

    monkeypatch.setattr(provenance.metadata, "version", missing)
    with pytest.raises(ConfigError, match="install_openrlhf_cpu"):
        check_openrlhf()


def test_importing_the_adapter_imports_no_framework():
    code = (
        "import sys, paretopo.integrations.openrlhf, "
        "paretopo.integrations.openrlhf.train, paretopo.integrations.openrlhf.rehearsal.stand_ins\n"
        "heavy = {'torch', 'ray', 'vllm', 'openrlhf', 'deepspeed', 'transformers'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# ---- options -------------------------------------------------------------------------------------


def test_options_follow_the_configuration():
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
    assert value(words, "--ckpt.max_num") == "2"  # as docs/training.md says
    assert value(words_of("seed = 7"), "--train.seed") == "7"


def test_the_end_of_the_budget_costs_advantage():
    text = "[optimiser]\nmax_completion_tokens = 100\n[openrlhf]\noverlong_penalty = 2.0\n"
    tokens = np.array([70, 90, 100, 120])
    for buffer, penalties in ((20, [0.0, 1.0, 2.0, 2.0]), (0, [0.0] * 4)):
        config = loads(f"{text}overlong_buffer = {buffer}")
        assert penalise_overlong(config, tokens).tolist() == penalties
    words = words_of("[openrlhf]\noverlong_buffer = 20")
    assert not any("overlong" in word for word in words)  # OpenRLHF's own is off


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
    ],
)
def test_unsupported_settings_are_refused(text, complaint):
    cluster = "nodes = 2\ngpus_per_node = 8\nengines = 16"
    head, found, rest = text.partition("[openrlhf]\n")
    with pytest.raises(ConfigError, match=complaint):
        words_of(f"{head}\n[openrlhf]\n{cluster}\n{rest if found else ''}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("asynchronous = true", "colocate = false"),
        ("engines = 3", "got engines = 3 and engine_gpus = 1"),
        ("zero_stage = 4", "from 0 to 3"),
    ],
)
def test_contradictions_are_refused_when_the_file_is_read(text, complaint):
    with pytest.raises(ConfigError, match=complaint):
        loads(f"[openrlhf]\n{text}")


def test_gpus_are_counted_as_openrlhf_asks_for_them():
    assert gpus_needed(words_of()) == 8  # shared
    assert gpus_needed([*words_of(), "--actor.num_nodes", "2"]) == 16
    split = "[openrlhf]\ncolocate = false\nengines = 4\nengine_gpus = 2\nasynchronous = true"
    assert gpus_needed(words_of(split)) == 16


def test_a_step_is_whole():
    assert loads("[optimiser]\nprompts_per_step = 24").optimiser.steps_per_epoch(320) == 13
    assert micro_batch(loads("[optimiser]\nmicro_batch = 4")) == 4


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*qwen*.toml")))
def test_the_papers_trainings_have_its_settings(name):
    config = load(EXAMPLES / name)
    optimiser, cluster = config.optimiser, config.openrlhf
    assert config.recipe == "paper"
    assert config.paretopo.weights == (0.6, 0.4)
    assert (config.paretopo.beta, config.paretopo.gamma) == (0.5, 0.5)
    assert config.objective("calls").alpha == 0.7
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
        words = openrlhf_options(spread, run, files, resume=False)
        assert value(words, "--vllm.num_engines") == str(8 * nodes)
        assert (1024 // (8 * nodes)) % micro_batch(spread) == 0
    assert plan_rehearsal(config).openrlhf.zero_stage == cluster.zero_stage


def test_there_are_four_of_them():
    assert len(list(EXAMPLES.glob("*qwen*.toml"))) == 4


@pytest.mark.parametrize("name", ["options", "rollouts"])
def test_docstring_examples_run(name):
    module = importlib.import_module(f"paretopo.integrations.openrlhf.{name}")
    found = doctest.testmod(module)
    assert (found.failed, found.attempted > 0) == (0, True)


def test_ray_workers_inherit_tracker_and_hub_variables(monkeypatch):
    for name in ("WANDB_API_KEY", "HF_HOME", "NCCL_SOCKET_IFNAME", "SECRET_OF_OTHERS"):
        monkeypatch.setenv(name, "here")
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    variables = worker_variables(loads(""))
    assert {variables[name] for name in ("WANDB_API_KEY", "HF_HOME", "NCCL_SOCKET_IFNAME")} == {
        "here"
    }
    assert variables["NCCL_DEBUG"] == "INFO"
    assert "SECRET_OF_OTHERS" not in variables


def test_workers_that_run_elsewhere_find_every_file(tmp_path, monkeypatch):
    """Ray's workers run where Ray was started: a relative path would be another file there."""
    for name in ("tools.py", "rewards.py"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    task = "[task]\nname = 'questions'\ntrain = 'a'\nheld_out = 'b'\ntools = 'tools.py'\n"
    config = loads(f"{task}[rewards]\nfile = 'rewards.py'")
    received = loads(worker_variables(config)[CONFIG_VARIABLE])
    assert received.task.tools == str(tmp_path / "tools.py")
    assert received.rewards.file == str(tmp_path / "rewards.py")
    seen = {}
    monkeypatch.setattr(train_module, "check_openrlhf", lambda: None)
    monkeypatch.setattr(train_module, "prepare", lambda *_: FILES)

    def run_openrlhf(words, *_, **_named):
        seen.update(words=words)
        return 100

    monkeypatch.setattr(train_module, "run_openrlhf", run_openrlhf)
    run = RunFolder.create("runs", loads("[optimiser]\nprompts_per_step = 16"))
    assert not run.path.is_absolute()
    with pytest.raises(RuntimeError, match=r"ended without a model in .*: do all machines see"):
        train_module.train(run.config, run)
    for name in ("--ckpt.path", "--ckpt.output_dir", "--logger.tensorboard_dir"):
        if name in seen["words"]:
            assert Path(value(seen["words"], name)).is_relative_to(tmp_path)
    assert "--ckpt.output_dir" in seen["words"]
