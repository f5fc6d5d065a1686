"""The weights sent to engines: the policy's own, or the sums of matrices and LoRA adapters.

OpenRLHF sends a policy's parameters under PEFT's names, which engines do not know. Here each
transfer computes the sum of a matrix and its adapter and sends it under the matrix's own name. The
policy does not change, so repeated merging cannot accumulate errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

_WRAPPED, _LAYER, _ADAPTER = "base_model.model.", ".base_layer", ".lora_"


def merged_parameters(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield name and value of every parameter as an engine knows it."""
    if not hasattr(model, "peft_config"):
        yield from model.named_parameters()
        return
    adapted = {
        f"{name}{_LAYER}.weight": layer
        for name, layer in model.named_modules()
        if hasattr(layer, "get_delta_weight") and hasattr(layer, "base_layer")
    }
    for name, parameter in model.named_parameters():
        if _ADAPTER in name:
            continue
        if name in adapted:
            (adapter,) = adapted[name].active_adapters
            delta = adapted[name].get_delta_weight(adapter)
            parameter = (parameter.detach() + delta.to(parameter.dtype)).detach()
        yield name.removeprefix(_WRAPPED).replace(_LAYER, ""), parameter


@contextmanager
def merged_weights(trainer: Any) -> Iterator[None]:
    """Make OpenRLHF's transfer read `merged_parameters` inside the context."""
    actor = trainer.actor
    model = actor.model.module
    if not hasattr(model, "peft_config"):
        yield
        return
    shown = SimpleNamespace(named_parameters=lambda: merged_parameters(model))
    trainer.actor = SimpleNamespace(model=SimpleNamespace(module=shown), is_vlm=False)
    try:
        yield
    finally:
        trainer.actor = actor
