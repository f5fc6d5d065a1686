"""Our names on verl's command line, and a run's configuration as verl's options."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paretopo.config import MAX_GRAD_NORM, NONE, WEIGHT_DECAY, ConfigError, RunConfig
from paretopo.preference import preferences_of
from paretopo.run.folder import RunFolder

ESTIMATOR = "paretopo"  # algorithm.adv_estimator; "paretopo_NAME" for another of stage 2
TRAINERS = ("paretopo_sync", "paretopo_colocate_async")  # trainer.v1.trainer_mode
INFORMATIVE = "paretopo_informative"  # algorithm.filter_groups.metric
AGENT = "paretopo_task"  # actor_rollout_ref.rollout.agent.default_agent_loop

_LOSSES = {
    "dapo": "token-mean",
    "grpo": "seq-mean-token-mean",
    "dr_grpo": "seq-mean-token-sum-norm",
}
_LONGEST_PROMPT = 512  # tokens, where optimiser.max_prompt_tokens is 0
_PLAIN = re.compile(r"[A-Za-z0-9_./:+-]+")


@dataclass(frozen=True)
class Files:
    """Files that a run's options point to.

    Attributes:
        model: Folder or name of the initial policy.
        prompts: Training prompts: file and number.
        held_out: Held-out prompts.
        reward: Python file with `compute_score`; None if the task's agents grade.
    """

    model: str
    prompts: Path
    prompt_count: int
    held_out: Path
    reward: Path | None


def verl_options(config: RunConfig, run: RunFolder, files: Files) -> list[str]:
    """Return verl's options for a configuration.

    Args:
        config: The configuration.
        run: Where checkpoints go.
        files: The prepared files.

    Raises:
        ConfigError: verl does not support a setting.
    """
    options = {
        **_data_options(config, files),
        **_policy_options(config, files),
        **_engine_options(config, files),
        **_trainer_options(config, run, files),
        "+paretopo.run": str(run.path),
    }
    if config.tool.search_url != NONE:  # maybe the address of this run's own server
        options["+paretopo.search_url"] = config.tool.search_url
    words = [f"{name}={_value(value)}" for name, value in options.items()]
    if config.verl.options != NONE:
        words += shlex.split(config.verl.options)
    return words


def longest_prompt(config: RunConfig) -> int:
    """Return the length of the longest prompt in tokens, for which verl sets memory aside."""
    return config.optimiser.max_prompt_tokens or _LONGEST_PROMPT


def _data_options(config: RunConfig, files: Files) -> dict[str, Any]:
    options: dict[str, Any] = {
        "data.train_files": str(files.prompts),
        "data.val_files": str(files.held_out),
        "data.val_max_samples": config.evaluation.prompts * _times_asked(config),
        "data.train_batch_size": config.optimiser.prompts_per_step,
        "data.max_prompt_length": longest_prompt(config),
        "data.max_response_length": config.optimiser.max_completion_tokens,
        "data.seed": config.seed % 2**31,
        "data.filter_overlong_prompts": True,
    }
    if files.reward is not None:
        options |= {
            "reward.custom_reward_function.path": str(files.reward),
            "reward.custom_reward_function.name": "compute_score",
        }
    return options


def _policy_options(config: RunConfig, files: Files) -> dict[str, Any]:
    optimiser, cluster, model = config.optimiser, config.verl, config.model
    actor = "actor_rollout_ref.actor"
    if optimiser.loss not in _LOSSES:
        raise ConfigError(
            f"optimiser.loss must be one of {', '.join(_LOSSES)} for verl, got {optimiser.loss}"
        )
    size = optimiser.micro_batch_of(
        cluster.nodes * cluster.gpus_per_node, "verl.nodes * gpus_per_node"
    )
    options = {
        "actor_rollout_ref.model.path": files.model,
        "actor_rollout_ref.model.enable_gradient_checkpointing": model.gradient_checkpointing,
        f"{actor}.strategy": cluster.strategy,
        f"{actor}.optim.lr": optimiser.learning_rate,
        f"{actor}.optim.lr_scheduler_type": optimiser.learning_rate_schedule,
        f"{actor}.optim.weight_decay": WEIGHT_DECAY,
        f"{actor}.optim.clip_grad": MAX_GRAD_NORM,
        f"{actor}.grad_clip": MAX_GRAD_NORM,
        f"{actor}.ppo_mini_batch_size": optimiser.prompts_per_step,  # one update a step
        f"{actor}.ppo_micro_batch_size_per_gpu": size,
        f"{actor}.clip_ratio": optimiser.clip_low,
        f"{actor}.clip_ratio_low": optimiser.clip_low,
        f"{actor}.clip_ratio_high": optimiser.clip_high,
        f"{actor}.loss_agg_mode": _LOSSES[optimiser.loss],
        f"{actor}.use_kl_loss": optimiser.kl > 0,
        f"{actor}.kl_loss_coef": optimiser.kl,
        f"{actor}.fsdp_config.param_offload": cluster.offload,
        f"{actor}.fsdp_config.optimizer_offload": cluster.offload,
        f"{actor}.checkpoint.save_contents": ["model", "optimizer", "extra", "hf_model"],
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu": size,
    }
    lora = model.lora
    if lora.rank:
        targets = lora.targets
        options |= {
            "actor_rollout_ref.model.lora_rank": lora.rank,
            "actor_rollout_ref.model.lora_alpha": lora.alpha,
            "actor_rollout_ref.model.target_modules": (
                targets if isinstance(targets, str) else list(targets)
            ),
        }
    if optimiser.kl > 0:
        options["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"] = size
    return options


def _engine_options(config: RunConfig, files: Files) -> dict[str, Any]:
    cluster, rollout = config.verl, "actor_rollout_ref.rollout"
    options: dict[str, Any] = {
        f"{rollout}.name": cluster.engine,
        f"{rollout}.n": config.optimiser.group_size,
        f"{rollout}.temperature": config.optimiser.temperature,
        f"{rollout}.tensor_model_parallel_size": cluster.engine_gpus,
        f"{rollout}.gpu_memory_utilization": cluster.engine_memory,
        f"{rollout}.val_kwargs.n": 1,
        f"{rollout}.val_kwargs.temperature": config.evaluation.temperature,
        f"{rollout}.val_kwargs.do_sample": config.evaluation.temperature > 0,
        f"{rollout}.agent.default_agent_loop": AGENT if files.reward is None else cluster.agent,
    }
    if cluster.tools != NONE:
        options |= {
            f"{rollout}.multi_turn.enable": True,
            f"{rollout}.multi_turn.function_tool_path": str(Path(cluster.tools).resolve()),
            f"{rollout}.multi_turn.max_assistant_turns": config.optimiser.max_tool_calls + 1,
        }
    return options


def _trainer_options(config: RunConfig, run: RunFolder, files: Files) -> dict[str, Any]:
    optimiser, cluster, every = config.optimiser, config.verl, config.run.checkpoint_every
    options: dict[str, Any] = {
        "algorithm.adv_estimator": ESTIMATOR,
        "trainer.use_v1": True,
        "trainer.v1.trainer_mode": TRAINERS[int(cluster.asynchronous)],
        "trainer.nnodes": cluster.nodes,
        "trainer.n_gpus_per_node": cluster.gpus_per_node,
        "trainer.total_training_steps": optimiser.steps,
        "trainer.total_epochs": -(-optimiser.steps // optimiser.steps_per_epoch(files.prompt_count))
        + 1,
        "trainer.val_before_train": True,
        "trainer.test_freq": config.evaluation.every,
        # The last step is always saved: its checkpoint contains the trained policy.
        "trainer.save_freq": every or optimiser.steps,
        "trainer.max_actor_ckpt_to_keep": 2,
        "trainer.resume_mode": "auto",
        "trainer.default_local_dir": str(run.checkpoints),
        "trainer.project_name": "paretopo",
        "trainer.experiment_name": run.path.name,
        "trainer.logger": ["console"],
        "hydra.run.dir": str(run.path / "verl"),
        "hydra.output_subdir": None,
    }
    if cluster.dynamic_sampling:
        options |= {
            "algorithm.filter_groups.enable": True,
            "algorithm.filter_groups.metric": INFORMATIVE,
        }
    return options


def _value(value: Any) -> str:
    """Write a value in the grammar of verl's command line.

    >>> _value(["a", 1]), _value(True), _value(None), _value("a file=1"), _value(1e-6)
    ("['a',1]", 'true', 'null', "'a file=1'", '1e-06')
    """
    if isinstance(value, list):
        return (
            "[" + ",".join(f"'{one}'" if isinstance(one, str) else str(one) for one in value) + "]"
        )
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    if _PLAIN.fullmatch(value):
        return str(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _times_asked(config: RunConfig) -> int:
    """Return the number of preferences under which an evaluation asks each question."""
    preferences = preferences_of(config)
    return 1 if preferences is None else len(preferences.grid)
