"""The policy and its tokenizer: any Hugging Face model that suits the task, or `tiny`."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl.chat_template_utils import add_response_schema, supports_tool_calling

from paretopo.config import ConfigError, ModelConfig
from paretopo.integrations.huggingface.tiny_model import (
    make_model,
    make_task_tokenizer,
)
from paretopo.tasks.task import Task

TINY = "tiny"


def load_policy(config: ModelConfig, task: Task, seed: int) -> tuple[Any, Any]:
    """Model and tokenizer, as `[model]` says.

    Args:
        config: Hugging Face name or folder, or "tiny" with its sizes.
        task: Gives the vocabulary of the tiny model, and the functions for the chat template.
        seed: Fixes the weights of the tiny model.

    Returns:
        (model, tokenizer). Weights are float32 also for models stored in half precision: steps of
        a reinforcement learning rate would be lost in bfloat16; a GPU computes in bfloat16 anyway.

    Raises:
        ConfigError: There is no such model; or the task has functions, and the chat template does
            not render tool calls, or TRL does not know how to read them out of a response.
    """
    if config.path == TINY:
        tokenizer = make_task_tokenizer(task)
        model = make_model(
            tokenizer,
            layers=config.layers,
            width=config.width,
            heads=config.heads,
            mlp_width=config.mlp_width,
            seed=seed,
        )
        return model, tokenizer
    try:
        tokenizer = AutoTokenizer.from_pretrained(config.path, padding_side="left")
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path: cannot load {config.path!r}: {error}") from error
    if task.functions:
        tokenizer = _enable_tool_calls(tokenizer, config.path)
    try:
        model = AutoModelForCausalLM.from_pretrained(config.path, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path: cannot load {config.path!r}: {error}") from error
    return model, tokenizer


def _enable_tool_calls(tokenizer: Any, path: str) -> Any:
    if not supports_tool_calling(tokenizer):
        raise ConfigError(
            f"model.path: the chat template of {path!r} does not render tool calls and tool "
            "results; take a model trained for tool use, for example Qwen/Qwen3-0.6B"
        )
    if getattr(tokenizer, "response_template", None) is None:
        try:
            tokenizer = add_response_schema(tokenizer)
        except ValueError as error:
            raise ConfigError(
                f"model.path: TRL cannot read tool calls out of the responses of {path!r}: "
                f"{error}; save its tokenizer with a response_template"
            ) from error
    return tokenizer
