"""Policies made on the spot, saved where OpenRLHF's processes find them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretopo.config import ConfigError, RunConfig
from paretopo.integrations.openrlhf.options import longest_sequence
from paretopo.run.folder import RunFolder
from paretopo.tasks.task import Task

TINY = "tiny"
SMALL = "small:"  # before a name: a small model with random weights, and the tokenizer of that name
_MADE = "start"  # under checkpoints/
_LEAST_HEAD = 32  # of vLLM's attention on a CPU


def make_policy(
    config: RunConfig, run: RunFolder, task: Task, interrupted: Callable[[], bool]
) -> Path:
    """The folder of the policy that `model.path` asks for, made or found again.

    Raises:
        ConfigError: It does not suit the engines, or its tokenizer cannot be loaded.
        KeyboardInterrupt: `interrupted` said so during the warm-up.
    """
    import torch

    from paretopo.integrations.huggingface.tiny_model import make_model, make_task_tokenizer
    from paretopo.integrations.huggingface.warmup import make_trace_source, warm_up

    folder = run.checkpoints / _MADE
    if (folder / "whole").exists():
        return folder
    sizes, path = config.model, config.model.path
    if sizes.width // sizes.heads < _LEAST_HEAD:
        raise ConfigError(
            f"model.width / model.heads must be at least {_LEAST_HEAD} for vLLM's attention, got "
            f"{sizes.width} / {sizes.heads}"
        )
    if config.run.threads > 0:
        torch.set_num_threads(config.run.threads)
    tokenizer = (
        make_task_tokenizer(task) if path == TINY else load_tokenizer(path.removeprefix(SMALL))
    )
    model = make_model(
        tokenizer,
        layers=sizes.layers,
        width=sizes.width,
        heads=sizes.heads,
        mlp_width=sizes.mlp_width,
        seed=config.seed,
        positions=longest_sequence(config),
    )
    if starts_warmed_up(config):
        traces, state = make_trace_source(task, config.warmup), run.checkpoints / "warmup.pt"
        if not warm_up(model, tokenizer, traces, config.warmup, state, interrupted):
            raise KeyboardInterrupt
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "whole").touch()
    return folder


def starts_warmed_up(config: RunConfig) -> bool:
    """Is the policy warmed up before the first evaluation? Here the tiny one alone."""
    return config.model.path == TINY and config.warmup.steps > 0


def load_tokenizer(model: str) -> Any:
    """The tokenizer of a model.

    Raises:
        ConfigError: There is none of that name, or it cannot be reached.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path: cannot load the tokenizer of {model!r}: {error}") from error
