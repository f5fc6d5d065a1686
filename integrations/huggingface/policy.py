"""Policies made on the spot, saved where the processes of a framework find them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretopo.config import ConfigError, RunConfig
from paretopo.run.folder import RunFolder
from paretopo.tasks.task import Task

TINY = "tiny"
SMALL = "small:"  # before a name: a small model with random weights, and the tokenizer of that name
_MADE = "start"  # under checkpoints/


def make_policy(
    config: RunConfig,
    run: RunFolder,
    task: Task,
    interrupted: Callable[[], bool],
    *,
    positions: int,
    least_head: int = 1,
) -> Path:
    """The folder of the policy that `model.path` asks for, made or found again.

    Args:
        config: What to make.
        run: Keeps it.
        task: Its words are the tokenizer's.
        interrupted: Asked during the warm-up; True stops it.
        positions: Tokens of the longest sequence.
        least_head: Smallest size of a head that the engines take.

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
    if sizes.width // sizes.heads < least_head:
        raise ConfigError(
            f"model.width / model.heads must be at least {least_head} for the engines, got "
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
        positions=positions,
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
