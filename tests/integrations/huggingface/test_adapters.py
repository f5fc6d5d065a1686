"""Adapters saved by OpenRLHF become the trained policy."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("peft")

from support.small_models import make_tokenizer, save_folder

from paretopo.config import LoraConfig, ModelConfig
from paretopo.integrations.huggingface.adapters import merge_saved_adapter
from paretopo.integrations.huggingface.loading import load_model, load_tokenizer, prepare_training

GIVEN = torch.arange(20)[None]


@pytest.fixture
def trained(tmp_path):
    """A model whose adapters were trained, its logits, and where it began."""
    base = save_folder(tmp_path / "base", make_tokenizer())
    config = ModelConfig(path=str(base), lora=LoraConfig(4, alpha=12))
    model = prepare_training(load_model(config, load_tokenizer(config)), config)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for one in model.parameters():
            if one.requires_grad:
                one.copy_(0.2 * torch.randn(one.shape, generator=generator))
        return model, model(GIVEN).logits, base


def logits(folder):
    config = ModelConfig(path=str(folder))
    with torch.no_grad():
        return load_model(config, load_tokenizer(config))(GIVEN).logits


def test_an_adapter_of_openrlhf_is_merged(trained, tmp_path):
    model, expected, base = trained
    assert not torch.allclose(logits(base), expected, atol=1e-2)
    model.save_pretrained(tmp_path / "saved")
    merge_saved_adapter(tmp_path / "saved", str(base))
    torch.testing.assert_close(logits(tmp_path / "saved"), expected, rtol=1e-4, atol=1e-4)
    assert (tmp_path / "saved" / "adapter" / "adapter_config.json").is_file()
    merge_saved_adapter(base, str(base))  # nothing to do
