"""Convert a run's configuration to the arguments of TRL's trainers."""

from __future__ import annotations

import argparse
import json
import math
import re
import shlex
from typing import Any, NoReturn

import torch
from transformers import HfArgumentParser
from trl import GRPOConfig, SFTConfig

from paretopo.config import MAX_GRAD_NORM, NONE, WEIGHT_DECAY, ConfigError, RunConfig
from paretopo.integrations.huggingface.loading import compute_dtype
from paretopo.records.folder import RunFolder

_BATCHING = "transformers_continuous_batching_config"  # an option whose value is JSON
_EVALUATED_AT_ONCE = 256  # held-out questions per batch, unless memory is short


def make_rollout_arguments(
    config: RunConfig, run: RunFolder, device: str, *, evaluate_first: bool, held_out: int
) -> GRPOConfig:
    """Return the arguments for learning from rewards, and for evaluations of some questions."""
    optimiser = config.optimiser
    rollouts = optimiser.prompts_per_step * optimiser.group_size
    at_once = optimiser.micro_batch or rollouts
    arguments = GRPOConfig(
        **_parse_generation(config.trl.generation),
        **_make_shared_arguments(config, run, device, evaluate_first=evaluate_first),
        # One generation per optimiser step: TRL generates for all its micro-batches together.
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=rollouts // at_once,
        per_device_eval_batch_size=min(
            # Keep the batch size even if the file has fewer questions: sampling depends on it.
            max(config.evaluation.prompts, held_out),
            rollouts if optimiser.micro_batch else max(rollouts, _EVALUATED_AT_ONCE),
        ),
        num_generations=optimiser.group_size,
        num_generations_eval=1,
        temperature=optimiser.temperature,
        max_completion_length=optimiser.max_completion_tokens,
        max_tool_calling_iterations=optimiser.max_tool_calls,
        loss_type=optimiser.loss,
        epsilon=optimiser.clip_low,
        epsilon_high=optimiser.clip_high,
        beta=optimiser.kl,
        shuffle_dataset=False,  # the rows already have the order of the schedule
    )
    if arguments.use_transformers_continuous_batching and arguments.bf16:
        raise ConfigError(
            "trl.generation: with continuous batching, TRL converts the trained weights to "
            'bfloat16, which loses small updates: set model.dtype = "float32"'
        )
    return arguments


def _parse_generation(options: str) -> dict[str, Any]:
    """Return the arguments of GRPOConfig in `trl.generation`.

    Raises:
        ConfigError: TRL does not know an option, or it does not concern an engine or a cache.
    """
    if options == NONE:
        return {}
    parser = HfArgumentParser(GRPOConfig)
    for action in parser._actions:
        action.default = argparse.SUPPRESS  # keep only written options

    def refuse(message: str) -> NoReturn:
        raise ConfigError(f"trl.generation: {message}, got {options!r}")

    parser.error = refuse
    try:
        written: dict[str, Any] = vars(parser.parse_args(shlex.split(options)))
        written |= {name: json.loads(written[name]) for name in {_BATCHING} & written.keys()}
    except ValueError as error:
        refuse(str(error))
    for name in written:
        if not re.match(r"(use_)?(vllm|transformers)|cache_implementation$", name):
            refuse(f"expected options of vLLM, continuous batching and the cache, not --{name}")
    return written


def make_answer_arguments(
    config: RunConfig, run: RunFolder, device: str, *, evaluate_first: bool
) -> SFTConfig:
    """Return the arguments for learning from right answers."""
    answers = config.optimiser.prompts_per_step
    at_once = math.gcd(answers, config.optimiser.micro_batch)  # all of them without micro-batches
    return SFTConfig(
        **_make_shared_arguments(config, run, device, evaluate_first=evaluate_first),
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=answers // at_once,
        max_length=None,  # a cut answer teaches nothing
        train_sampling_strategy="sequential",  # in the order of the schedule
        dataset_kwargs={"skip_prepare_dataset": True},  # the rows are tokens and labels already
    )


def _make_shared_arguments(
    config: RunConfig, run: RunFolder, device: str, *, evaluate_first: bool
) -> dict[str, Any]:
    optimiser = config.optimiser
    on_gpu = device != "cpu"
    return {
        "output_dir": str(run.checkpoints),
        "seed": config.seed,
        "max_steps": optimiser.steps,
        "optim": "adamw_torch_fused",
        "learning_rate": optimiser.learning_rate,
        "lr_scheduler_type": optimiser.learning_rate_schedule,
        "weight_decay": WEIGHT_DECAY,
        "max_grad_norm": MAX_GRAD_NORM,
        "eval_on_start": evaluate_first,
        "save_strategy": "steps" if config.run.checkpoint_every > 0 else "no",
        "save_steps": max(config.run.checkpoint_every, 1),
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": not on_gpu,
        "bf16": compute_dtype(config.model, device) == torch.bfloat16,
        "gradient_checkpointing": config.model.gradient_checkpointing,
        "dataloader_pin_memory": on_gpu,
    }
