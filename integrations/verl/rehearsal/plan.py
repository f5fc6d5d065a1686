"""Plan a rehearsal on a CPU: choose sizes, and replace GPUs and engine by stand-ins."""

from __future__ import annotations

from dataclasses import replace

from paretopo.config import FROM_TASK, TINY, ConfigError, RunConfig
from paretopo.integrations.rehearsals import shrink_run

PLATFORM = ENGINE = "paretopo_cpu"
TRAINER = "paretopo_rehearsal"
_MOST_PROMPTS = 4


def plan_rehearsal(
    config: RunConfig, *, steps: int | None = None, real_model: bool = False
) -> RunConfig:
    """Return the configuration at a size for two CPU cores.

    Methods, objectives, prompts and rewards stay as they are. A tiny policy replaces the model, and
    one process replaces all GPUs.

    Args:
        config: The configuration to rehearse.
        steps: Training steps, by default 4 or the number in the configuration if it is smaller.
        real_model: Keep the user's model and the size of a step.

    Raises:
        ConfigError: Prompts or policy are not those of the task. The vocabulary of a tiny policy
            contains only the words of its task.
    """
    if {config.verl.prompts, config.verl.held_out} != {FROM_TASK}:
        raise ConfigError(
            'a rehearsal on verl needs verl.prompts = verl.held_out = "task": the vocabulary of '
            "its tiny policy contains only the words of the task"
        )
    if config.model.path != TINY and not real_model:
        raise ConfigError(
            f'a rehearsal on verl needs model.path = "{TINY}", got {config.model.path!r}: pass '
            f"--set model.path={TINY}, or keep your model with --real-model"
        )
    return shrink_run(
        config,
        steps,
        real_model=real_model,
        most_prompts=None if real_model else _MOST_PROMPTS,
        verl=replace(
            config.verl,
            nodes=1,
            gpus_per_node=1,
            engine=ENGINE,
            engine_gpus=1,
            asynchronous=False,
            strategy="fsdp2",  # the other strategy does not support a CPU
            offload=False,
        ),
    )


def describe_gaps(before: RunConfig) -> list[str]:
    """Return a sentence for each part of this configuration that only a GPU can test."""
    gaps = [
        f"{before.verl.engine}: a Hugging Face model in a separate process generated instead",
        "CUDA, NCCL and engines that sleep; speed and memory",
    ]
    if before.verl.asynchronous:
        gaps.append("rollouts that continue in the next step")
    if before.verl.nodes * before.verl.gpus_per_node > 1:
        gaps.append("several processes of the policy")
    return gaps


def plan_options() -> list[str]:
    """Return verl's options for the stand-ins."""
    rollout = "actor_rollout_ref.rollout"
    return [
        f"trainer.v1.trainer_mode={TRAINER}",
        "trainer.device=cpu",
        "actor_rollout_ref.model.use_remove_padding=false",
        "+actor_rollout_ref.model.override_config.attn_implementation=eager",
        "actor_rollout_ref.actor.use_torch_compile=false",
        "actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
        # The engine's dtype, so that the probabilities of engine and policy are comparable.
        "+actor_rollout_ref.actor.fsdp_config.mixed_precision="
        "{param_dtype:fp32,reduce_dtype:fp32,buffer_dtype:fp32}",
        f"{rollout}.load_format=auto",  # the engine needs the frozen weights too
        f"{rollout}.agent.num_workers=1",
        "reward.num_workers=1",
        "data.dataloader_num_workers=0",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        "ray_kwargs.ray_init.num_cpus=32",  # the number that verl reserves
        "+ray_kwargs.ray_init.num_gpus=1",  # the stand-in's GPU
        "+ray_kwargs.ray_init.include_dashboard=false",
        # A whole policy is a few megabytes, and machines for rehearsals have little memory.
        "+ray_kwargs.ray_init.object_store_memory=200000000",
    ]


def worker_variables() -> dict[str, str]:
    """Return the environment variables with which verl's processes load the stand-ins."""
    return {
        "VERL_USE_EXTERNAL_MODULES": "paretopo.integrations.verl.rehearsal.platform",
        "VERL_PLATFORM": PLATFORM,
        "OMP_NUM_THREADS": "1",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "HYDRA_FULL_ERROR": "1",
    }
