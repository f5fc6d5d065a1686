"""Convert a run's configuration to OpenRLHF's options."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import MAX_GRAD_NORM, NONE, WEIGHT_DECAY, ConfigError, RunConfig, dumps
from paretopo.records.folder import RunFolder
from paretopo.records.provenance import check_release
from paretopo.rewards.overlong import overlong

_PROMPT_ROOM = 512  # tokens
ENGINE_MEMORY = 0.6  # share of a GPU's memory for an engine
# Both mask tokens outside [0.5, 5] and weight the rest by the token's own ratio.
CORRECTIONS = {"off": "off", "token": "token", "sequence": "seq"}
_LOSSES = {"dapo": "token-mean", "grpo": "seq-mean-token-mean"}

# The configuration travels to the engines in this variable, so that they need no shared files.
CONFIG_VARIABLE = "PARETOPO_CONFIG"

# OpenRLHF would set these for its workers if it started Ray itself.
_VARIABLES = {
    "TOKENIZERS_PARALLELISM": "true",
    "TQDM_DISABLE": "1",  # the bars of many processes would hide ours
    "NCCL_DEBUG": "WARN",
    "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS": "1",
}
_HANDED_ON = ("WANDB_", "HF_", "NCCL_")


def check_openrlhf() -> None:
    """Raise `ConfigError` unless the tested release of OpenRLHF is installed."""
    check_release(
        "openrlhf",
        "0.11.2",
        'on GPUs: pip install ".[openrlhf]" in a clone, for a rehearsal on a CPU: '
        "scripts/install_openrlhf_cpu.sh",
    )


@dataclass(frozen=True)
class Files:
    """Files that a run's options point to.

    Attributes:
        model: Folder or name of the initial policy.
        agent: Python file of the environment.
        prompts: Training prompts: file and number.
        held_out: Held-out prompts: file and number.
    """

    model: str
    agent: Path
    prompts: Path
    prompt_count: int
    held_out: Path
    held_out_count: int


def penalise_overlong(config: RunConfig, tokens: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return (rollouts,) the penalties of responses with so many tokens near their limit."""
    cluster, longest = config.openrlhf, config.optimiser.max_completion_tokens
    return cluster.overlong_penalty * overlong(tokens, longest, cluster.overlong_buffer)


def longest_sequence(config: RunConfig) -> int:
    """Return the longest sequence in tokens, prompt and response together."""
    return config.optimiser.max_completion_tokens + _PROMPT_ROOM


def micro_batch(config: RunConfig) -> int:
    """Return the number of rollouts per forward and backward pass on each GPU."""
    gpus = config.openrlhf.nodes * config.openrlhf.gpus_per_node
    return config.optimiser.micro_batch_of(gpus, "openrlhf.nodes * gpus_per_node")


def openrlhf_options(config: RunConfig, run: RunFolder, files: Files, *, resume: bool) -> list[str]:
    """Return OpenRLHF's options for a configuration.

    Args:
        config: The configuration.
        run: Folder of checkpoints and model.
        files: The prepared files.
        resume: Load the last checkpoint.

    Raises:
        ConfigError: OpenRLHF does not support a setting.
    """
    words = [
        *_model_options(config, run, files),
        *_data_options(config, files),
        *_cluster_options(config),
        *_algorithm_options(config),
    ]
    every = config.run.checkpoint_every
    words += ["--ckpt.path", str(run.checkpoints / "openrlhf"), "--ckpt.max_num", "2"]
    words += ["--ckpt.save_steps", str(every or -1)]
    words += ["--ckpt.load_enable"] if resume else []
    if config.openrlhf.options != "none":
        words += shlex.split(config.openrlhf.options)
    return words


def gpus_needed(words: Sequence[str]) -> int:
    """Count the GPUs that OpenRLHF will request from Ray; of repeated options the last counts.

    >>> gpus_needed("--actor.num_nodes 2 --actor.num_gpus_per_node=8 --vllm.num_engines 4".split())
    28
    >>> gpus_needed("--train.colocate_actor_ref --vllm.num_engines 4".split())
    12
    """
    flat = [part for word in words for part in word.split("=", 1)]

    def last(name: str, otherwise: float) -> int:
        places = [place for place, word in enumerate(flat) if word == name]
        return math.ceil(float(flat[places[-1] + 1]) if places else otherwise)

    policy = last("--actor.num_nodes", 1) * last("--actor.num_gpus_per_node", 8)
    shares = "--train.colocate_all" in words
    if not shares and "--train.colocate_actor_ref" not in words and last("--algo.kl.init_coef", 1):
        policy += last("--ref.num_nodes", 1) * last("--ref.num_gpus_per_node", 8)
    if shares and "--train.async_enable" not in words:
        return policy
    return policy + last("--vllm.num_engines", 0) * last("--vllm.tensor_parallel_size", 1)


def refuse_options(options: Any) -> None:
    """Refuse options with which the advantages or the checkpoints would not be the session's.

    Args:
        options: OpenRLHF's, as its own parser reads them.

    Raises:
        ConfigError: Names the option.
    """
    kl, rollout, penalty = options.algo.kl, options.rollout, options.reward
    if kl.init_coef > 0 and not kl.use_loss:
        raise ConfigError(
            f"--algo.kl.init_coef = {kl.init_coef:g} takes a KL penalty off the advantages, which "
            "are ranks of several rewards: add --algo.kl.use_loss, or set 0"
        )
    if penalty.stop_properly_penalty_coef is not None:
        raise ConfigError(
            "--reward.stop_properly_penalty_coef scales one reward, and here are several: leave it "
            "out, and return an objective for it from the agent or the reward function"
        )
    generated = getattr(rollout, "vllm_generate_batch_size", None) or 0
    if generated > rollout.batch_size and options.ckpt.save_steps > 0:
        raise ConfigError(
            f"rollout.vllm_generate_batch_size must be at most rollout.batch_size = "
            f"{rollout.batch_size}, got {generated}: OpenRLHF's checkpoints lose the rollouts of "
            "later steps (OpenRLHF issue 1322); leave it out and set --train.async_queue_size, or "
            "set run.checkpoint_every = 0"
        )


def _model_options(config: RunConfig, run: RunFolder, files: Files) -> list[str]:
    optimiser, model = config.optimiser, config.model
    words = ["--actor.model_name_or_path", files.model, "--ckpt.output_dir", str(run.model)]
    words += ["--train.agent_func_path", str(files.agent)]
    words += ["--actor.adam.lr", str(optimiser.learning_rate)]
    words += ["--actor.adam.weight_decay", str(WEIGHT_DECAY)]
    words += ["--actor.adam.betas", "0.9", "0.999"]  # AdamW's own, as on one machine
    words += ["--actor.max_norm", str(MAX_GRAD_NORM)]
    words += ["--actor.lr_scheduler", optimiser.learning_rate_schedule]
    words += ["--actor.lr_warmup_ratio", "0.0"]
    words += ["--train.seed", str(config.seed % 2**31)]
    words += ["--ds.attn_implementation", "flash_attention_2"]
    words += ["--actor.gradient_checkpointing_enable"] if model.gradient_checkpointing else []
    if model.lora.rank:
        words += ["--ds.lora.rank", str(model.lora.rank), "--ds.lora.alpha", str(model.lora.alpha)]
        words += ["--ds.lora.dropout", "0.0"]
    return words


def _data_options(config: RunConfig, files: Files) -> list[str]:
    optimiser, cluster = config.optimiser, config.openrlhf
    rollouts, size = optimiser.prompts_per_step * optimiser.group_size, micro_batch(config)
    passes = -(-optimiser.steps // optimiser.steps_per_epoch(files.prompt_count)) + 1
    # Dropped groups use up prompts: the passes suffice for 19 dropped of 20; beyond, the run fails.
    passes *= 20 if cluster.dynamic_sampling else 1
    longest = longest_sequence(config)
    words = ["--data.prompt_dataset", str(files.prompts), "--eval.dataset", str(files.held_out)]
    words += ["--data.input_key", "prompt", "--data.label_key", "label"]
    words += ["--data.max_len", str(longest), "--train.num_episodes", str(passes)]
    words += ["--rollout.batch_size", str(optimiser.prompts_per_step)]
    words += ["--rollout.n_samples_per_prompt", str(optimiser.group_size)]
    words += ["--rollout.temperature", str(optimiser.temperature)]
    words += ["--rollout.micro_batch_size", str(size), "--train.micro_batch_size", str(size)]
    words += ["--train.batch_size", str(rollouts)]
    words += [
        "--eval.n_samples_per_prompt",
        "1",
        "--eval.temperature",
        str(config.evaluation.temperature),
    ]
    return words


def _cluster_options(config: RunConfig) -> list[str]:
    cluster = config.openrlhf
    words = []
    for part in ("actor", "ref"):
        words += [f"--{part}.num_nodes", str(cluster.nodes)]
        words += [f"--{part}.num_gpus_per_node", str(cluster.gpus_per_node)]
    words += ["--vllm.num_engines", str(cluster.engines)]
    words += ["--vllm.tensor_parallel_size", str(cluster.engine_gpus)]
    words += ["--vllm.gpu_memory_utilization", str(ENGINE_MEMORY)]
    words += ["--vllm.enable_prefix_caching"]
    if cluster.colocate:
        words += ["--train.colocate_all", "--vllm.enable_sleep", "--ds.enable_sleep"]
    else:
        words += ["--train.colocate_actor_ref"]
    if cluster.asynchronous:
        words += ["--train.async_enable", "--train.async_queue_size", "1"]
    words += ["--ds.zero_stage", str(cluster.zero_stage), "--ds.param_dtype", "bf16"]
    return words


def _algorithm_options(config: RunConfig) -> list[str]:
    optimiser, cluster = config.optimiser, config.openrlhf
    if optimiser.loss not in _LOSSES:
        raise ConfigError(
            f"optimiser.loss must be one of {', '.join(_LOSSES)} for OpenRLHF, got {optimiser.loss}"
        )
    words = ["--actor.eps_clip_low_high", str(optimiser.clip_low), str(optimiser.clip_high)]
    words += ["--algo.kl.init_coef", str(optimiser.kl)]
    if optimiser.kl > 0:
        words += ["--algo.kl.use_loss", "--algo.kl.estimator", "k3"]
    if cluster.dynamic_sampling:
        words += ["--algo.dynamic_filtering_enable"]
    words += ["--actor.loss_agg_mode", _LOSSES[optimiser.loss]]
    return [*words, "--algo.advantage.is_correction_level", CORRECTIONS[cluster.correction]]


def worker_variables(config: RunConfig) -> dict[str, str]:
    """Return the environment variables of every worker process; variables already set win.

    A running cluster has the variables of its own start, so this adds those that trackers, the Hub
    and NCCL read here.
    """
    defaults = {name: os.environ.get(name, value) for name, value in _VARIABLES.items()}
    here = {name: value for name, value in os.environ.items() if name.startswith(_HANDED_ON)}
    return defaults | here | {CONFIG_VARIABLE: dumps(_with_absolute_paths(config))}


def _with_absolute_paths(config: RunConfig) -> RunConfig:
    """Make paths absolute: workers run elsewhere, where a relative path is another file."""
    if config.task.tools == NONE:
        return config
    return replace(config, task=replace(config.task, tools=str(Path(config.task.tools).resolve())))
