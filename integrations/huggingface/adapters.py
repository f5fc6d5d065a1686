"""Turn the saved adapters of OpenRLHF and verl into a folder that `from_pretrained` takes.

OpenRLHF saves the adapter as peft does; verl saves all weights under peft's names. Without this
step `from_pretrained` needs the model that the run began with.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paretopo.config import ModelConfig
from paretopo.integrations.huggingface.loading import load_model, load_tokenizer, save_policy

_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")
_WRAPPED, _LAYER = "base_model.model.", ".base_layer"
_DOWN, _UP = ".lora_A.default.weight", ".lora_B.default.weight"


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


def merge_saved_weights(folder: Path, scale: float) -> None:
    """Rename weights from peft's names to the model's, and add the adapters to them.

    A folder whose weights have their own names stays as it is.

    Args:
        folder: A folder of safetensors files; each file is replaced as a whole.
        scale: alpha / rank.
    """
    from safetensors.torch import load_file, save_file

    files = sorted(folder.glob("*.safetensors"))
    state = {name: value for file in files for name, value in load_file(file).items()}
    if not any(name.endswith(_DOWN) for name in state):
        return
    merged = merge_state(state, scale)
    temporary = folder / "merged.part"
    save_file(merged, temporary, metadata={"format": "pt"})
    for file in [*files, folder / "model.safetensors.index.json"]:
        file.unlink(missing_ok=True)
    temporary.replace(folder / "model.safetensors")


def merge_state(state: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """Convert a state dictionary of peft to one of the model.

    Args:
        state: Tensors under the names of a `PeftModel` with one adapter.
        scale: alpha / rank.

    Returns:
        Tensors under the names of the model, in their own dtypes.
    """
    merged = {}
    for name, value in state.items():
        if ".lora_" in name:
            continue
        layer = name.removesuffix(f"{_LAYER}.weight")
        if layer + _DOWN in state:
            added = state[layer + _UP].float() @ state[layer + _DOWN].float()
            value = (value.float() + scale * added).to(value.dtype)
        merged[name.removeprefix(_WRAPPED).replace(_LAYER, "")] = value.contiguous()
    return merged
