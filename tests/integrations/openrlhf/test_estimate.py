"""The estimated memory and time of a run; without OpenRLHF."""

import sys

import pytest

from paretopo import cli
from paretopo.config import ConfigError, ModelConfig, loads
from paretopo.integrations.openrlhf import estimate
from paretopo.integrations.openrlhf.estimate import Shape, count_bytes, count_seconds, estimate_run

QWEN_7B = Shape(parameters=7_615_616_512, vocabulary=152_064, cache_bytes=57_344)
TOML = """
backend = "openrlhf"
model = { path = "Qwen/Qwen2.5-7B" }
task = { prompts = 1024 }
warmup = { steps = 0 }
[optimiser]
prompts_per_step = 128
micro_batch = 2
max_completion_tokens = 3072
steps = 500
[evaluation]
every = 2
"""


@pytest.mark.parametrize(
    ("settings", "gigabytes"),
    [
        ({}, 2 * 7.6156 + 14 * 7.6156 / 8),
        ({"openrlhf.zero_stage": 0}, 16 * 7.6156),
        ({"openrlhf.zero_stage": 1}, 4 * 7.6156 + 12 * 7.6156 / 8),
        ({"openrlhf.zero_stage": 3}, 16 * 7.6156 / 8),
        ({"optimiser.kl": 0.1}, 4 * 7.6156 + 14 * 7.6156 / 8),
        ({"model.lora.rank": 8}, 2 * 7.6156),
    ],
)
def test_the_states_of_training_follow_the_zero_stage(settings, gigabytes):
    states, logits = count_bytes(loads(TOML, settings), QWEN_7B)
    assert states / 1e9 == pytest.approx(gigabytes, rel=1e-3)
    assert logits == 152_064 * 14 * 2 * 3584


def test_a_step_takes_its_decoding_its_update_and_its_share_of_an_evaluation():
    decoding = 3072 * (2 * QWEN_7B.parameters / 3.35e12 + 0.003)
    update = 10 * QWEN_7B.parameters * 1024 * 3072 / (8 * 0.4 * 990e12)
    assert count_seconds(loads(TOML), QWEN_7B) == pytest.approx(1.5 * decoding + update)
    more = loads(TOML, {"openrlhf.dynamic_sampling": True, "evaluation.every": 1})
    assert count_seconds(more, QWEN_7B) == pytest.approx(3 * decoding + update)


def test_engines_on_gpus_of_their_own_cost_gpu_hours(monkeypatch):
    monkeypatch.setattr(estimate, "read_shape", lambda _: QWEN_7B)
    shared = estimate_run(loads(TOML))
    assert "8 steps take each of 1,024 prompts once" in shared[0]
    assert "571,4" in shared[2]
    assert "110 s a step, 15 hours, 123 GPU hours" in shared[3]
    assert "245 GPU hours" in estimate_run(loads(TOML, {"openrlhf.colocate": False}))[3]
    monkeypatch.setattr(estimate, "ENGINE_MEMORY", 0.1)
    with pytest.raises(ConfigError, match=r"engine_gpus: .* do not hold the engine's 15 GB"):
        estimate_run(loads(TOML))


def test_the_sizes_of_a_model_are_those_of_its_weights(tmp_path):
    pytest.importorskip("transformers")
    from support.small_models import make_llama, make_tokenizer, save_folder

    model, tokenizer = make_llama(make_tokenizer()), make_tokenizer()
    folder = save_folder(tmp_path / "model", tokenizer)
    shape = estimate.read_shape(ModelConfig(path=str(folder)))
    kept = 2 * 2 * 2 * 2 * 16  # bytes, keys and values, layers, heads, width
    assert shape == Shape(sum(one.numel() for one in model.parameters()), len(tokenizer), kept)
    with pytest.raises(ConfigError, match=r"model\.path: cannot read the configuration of .*nowh"):
        estimate.read_shape(ModelConfig(path=str(tmp_path / "nowhere")))


@pytest.mark.parametrize("backend", ["openrlhf", "trl"])
def test_a_dry_run_needs_no_trainer_and_makes_no_folder(tmp_path, monkeypatch, capsys, backend):
    for name in ("openrlhf", "ray", "trl"):
        monkeypatch.setitem(sys.modules, name, None)
    file = tmp_path / "run.toml"
    file.write_text(TOML.replace("Qwen/Qwen2.5-7B", "tiny"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", str(file), "--dry-run", "--backend", backend]) == 0
    told = capsys.readouterr().out
    assert "passed the checks" in told
    assert ("128 rollouts on each of 8 GPUs" in told) == (backend == "openrlhf")
    assert [one.name for one in tmp_path.iterdir()] == ["run.toml"]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (["optimiser.prompts_per_step=2000"], "prompts_per_step must be at most the number of"),
        (["openrlhf.gpus_per_node=7", "openrlhf.engines=7"], "must be a multiple of the 7 GPUs"),
        (["optimiser.lr=1"], "optimiser"),
        (["rewards.file=none.py", "backend=trl"], "rewards.file: there is no file none.py"),
        (["model.path=x", "model.chat_template=no.jinja"], "_template: there is no file no.jinja"),
    ],
)
def test_a_dry_run_refuses_the_faults_of_a_training(tmp_path, capsys, settings, complaint):
    file = tmp_path / "run.toml"
    file.write_text(TOML.replace("Qwen/Qwen2.5-7B", "tiny"), encoding="utf-8")
    words = [word for one in settings for word in ("--set", one)]
    assert cli.main(["train", str(file), "--dry-run", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_all_that_a_rehearsal_lacks_stands_in_one_error(tmp_path, monkeypatch, capsys):
    script = "scripts/install_openrlhf_cpu.sh"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    words = ["--backend", "openrlhf", "--rehearse", "--set", "task.name=questions"]
    words += ["--set", "task.train=a.jsonl", "--set", "task.held_out=b.jsonl"]
    file = tmp_path / "run.toml"
    file.write_text('model = { path = "x" }\nwarmup = { steps = 0 }\n', encoding="utf-8")
    assert cli.main(["train", str(file), *words]) == 2
    error = capsys.readouterr().err
    assert f"not installed; run in a clone: {script}; task.train: there is no file a.jsonl" in error
    assert "task.held_out: there is no file b.jsonl" in error
