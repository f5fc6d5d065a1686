"""Turn the adapter that OpenRLHF saved into a folder that `from_pretrained` takes.

Without this step `from_pretrained` needs the model that the run began with.
"""

from __future__ import annotations

from pathlib import Path

from paretopo.config import ModelConfig
from paretopo.integrations.huggingface.loading import load_model, load_tokenizer, save_policy

_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")


def merge_saved_adapter(folder: Path, base: str) -> None:
    """Merge peft's adapter in a folder into full weights; the adapter moves to ``adapter/``.

    Takes the memory of the model in float32. A folder without an adapter stays as it is.

    Args:
        folder: The folder that OpenRLHF saved.
        base: The policy at the start of the run.
    """
    if not (folder / _FILES[0]).is_file():
        return
    from peft import PeftModel

    own_folder = folder / "adapter"
    own_folder.mkdir(exist_ok=True)
    for name in _FILES:
        if (folder / name).is_file():
            (folder / name).replace(own_folder / name)
    started = ModelConfig(path=base)
    tokenizer = load_tokenizer(started)
    model = PeftModel.from_pretrained(load_model(started, tokenizer), str(own_folder))
    save_policy(model, tokenizer, folder)
