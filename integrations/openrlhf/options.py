"""Convert a run's configuration to OpenRLHF's options."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
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
# Our key, OpenRLHF's option.
SAME = {
    "optimiser.learning_rate": "actor.adam.lr",
    "optimiser.prompts_per_step": "rollout.batch_size",
    "optimiser.group_size": "rollout.n_samples_per_prompt",
    "optimiser.temperature": "rollout.temperature",
    "optimiser.kl": "algo.kl.init_coef",
    "evaluation.temperature": "eval.temperature",
    "openrlhf.nodes": "actor.num_nodes",
    "openrlhf.gpus_per_node": "actor.num_gpus_per_node",
    "openrlhf.engines": "vllm.num_engines",
    "openrlhf.engine_gpus": "vllm.tensor_parallel_size",
    "openrlhf.zero_stage": "ds.zero_stage",
}

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
        prompts: Training prompts: file and number.
        held_out: Held-out prompts: file and number.
    """

    model: str
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
    optimiser, cluster, model = config.optimiser, config.openrlhf, config.model
    if optimiser.loss not in _LOSSES:
        raise ConfigError(
            f"optimiser.loss must be one of {', '.join(_LOSSES)} for OpenRLHF, got {optimiser.loss}"
        )
    passes = -(-optimiser.steps // optimiser.steps_per_epoch(files.prompt_count)) + 1
    values: dict[str, Any] = {option: attrgetter(key)(config) for key, option in SAME.items()}
    values |= {
        "actor.model_name_or_path": files.model,
        "actor.adam.weight_decay": WEIGHT_DECAY,
        "actor.adam.betas": (0.9, 0.999),  # AdamW's own, as on one machine
        "actor.max_norm": MAX_GRAD_NORM,
        "actor.lr_scheduler": optimiser.learning_rate_schedule,
        "actor.lr_warmup_ratio": 0.0,
        "actor.eps_clip_low_high": (optimiser.clip_low, optimiser.clip_high),
        "actor.loss_agg_mode": _LOSSES[optimiser.loss],
        "ref.num_nodes": cluster.nodes,
        "ref.num_gpus_per_node": cluster.gpus_per_node,
        "train.agent_func_path": Path(__file__).with_name("task_agent.py").resolve(),
        "train.seed": config.seed % 2**31,
        # Dropped groups use up prompts: the passes suffice for 19 dropped of 20; beyond, the run
        # fails.
        "train.num_episodes": passes * (20 if cluster.dynamic_sampling else 1),
        "train.batch_size": optimiser.prompts_per_step * optimiser.group_size,
        "train.micro_batch_size": micro_batch(config),
        "rollout.micro_batch_size": micro_batch(config),
        "data.prompt_dataset": files.prompts,
        "data.input_key": "prompt",
        "data.label_key": "label",
        "data.max_len": longest_sequence(config),
        "eval.dataset": files.held_out,
        "eval.n_samples_per_prompt": 1,
        "vllm.gpu_memory_utilization": ENGINE_MEMORY,
        "ds.attn_implementation": "flash_attention_2",
        "ds.param_dtype": "bf16",
        "algo.advantage.is_correction_level": CORRECTIONS[cluster.correction],
        "ckpt.output_dir": run.model,
        "ckpt.path": run.checkpoints / "openrlhf",
        "ckpt.max_num": 2,
        "ckpt.save_steps": config.run.checkpoint_every or -1,
    }
    if model.lora.rank:
        values |= {f"ds.lora.{name}": getattr(model.lora, name) for name in ("rank", "alpha")}
        values["ds.lora.dropout"] = 0.0
    if optimiser.kl > 0:
        values["algo.kl.estimator"] = "k3"
    if cluster.asynchronous:
        values["train.async_queue_size"] = 1
    flags = {
        "actor.gradient_checkpointing_enable": model.gradient_checkpointing,
        "algo.dynamic_filtering_enable": cluster.dynamic_sampling,
        "algo.kl.use_loss": optimiser.kl > 0,
        "train.async_enable": cluster.asynchronous,
        "train.colocate_actor_ref": not cluster.colocate,
        "train.colocate_all": cluster.colocate,
        "vllm.enable_prefix_caching": True,
        "vllm.enable_sleep": cluster.colocate,
        "ds.enable_sleep": cluster.colocate,
        "ckpt.load_enable": resume,
    }
    words = [f"--{name}" for name, chosen in flags.items() if chosen]
    for name, value in values.items():
        words += [f"--{name}", *map(str, value if isinstance(value, tuple) else (value,))]
    return words + ([] if cluster.options == NONE else shlex.split(cluster.options))


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

    def resolve(file: str) -> str:
        return file if file == NONE else str(Path(file).resolve())

    return replace(
        config,
        task=replace(config.task, tools=resolve(config.task.tools)),
        rewards=replace(config.rewards, file=resolve(config.rewards.file)),
    )
