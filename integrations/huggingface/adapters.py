"""What OpenRLHF and verl save of a policy with adapters, made a folder like any other policy's.

OpenRLHF saves the adapter as peft does, verl all weights under the names that peft gives them;
`from_pretrained` takes neither without the model that the run began with.
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
    """Make of a folder with peft's adapter one with all weights; the adapter goes to ``adapter/``.

    Takes the memory of the model in float32. A folder without an adapter stays as it is.

    Args:
        folder: What OpenRLHF has saved.
        base: The policy as the run began.
    """
    if not (folder / _FILES[0]).is_file():
        return
    from peft import PeftModel

    apart = folder / "adapter"
    apart.mkdir(exist_ok=True)
    for name in _FILES:
        if (folder / name).is_file():
            (folder / name).replace(apart / name)
    started = ModelConfig(path=base)
    tokenizer = load_tokenizer(started)
    model = PeftModel.from_pretrained(load_model(started, tokenizer), str(apart))
    save_policy(model, tokenizer, folder)


def merge_saved_weights(folder: Path, scale: float) -> None:
    """Give weights under peft's names their own, with what the adapters add.

    A folder whose weights have their own names stays as it is.

    Args:
        folder: Of safetensors files, each replaced whole.
        scale: alpha / rank.
    """
    from safetensors.torch import load_file, save_file

    files = sorted(folder.glob("*.safetensors"))
    state = {name: value for file in files for name, value in load_file(file).items()}
    if not any(name.endswith(_DOWN) for name in state):
        return
    merged = merge_state(state, scale)
    beside = folder / "merged.part"
    save_file(merged, beside, metadata={"format": "pt"})
    for file in [*files, folder / "model.safetensors.index.json"]:
        file.unlink(missing_ok=True)
    beside.replace(folder / "model.safetensors")


def merge_state(state: Mapping[str, Any], scale: float) -> dict[str, Any]:
    """A state of peft's as one of the model's own.

    Args:
        state: Tensors under the names of a `PeftModel` with one adapter.
        scale: alpha / rank.

    Returns:
        Tensors under the names of the model, in their own dtype.
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
