"""The plan of a rehearsal on a CPU: sizes, and what stands in for GPUs and engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paretopo.config import FROM_TASK, NONE, TINY, ConfigError, RunConfig

PLATFORM = ENGINE = "paretopo_cpu"
TRAINER = "paretopo_rehearsal"
_STEPS = 4
_MOST_PROMPTS, _MOST_POINTS, _MOST_TOKENS = 4, 4, 96


def plan_rehearsal(
    config: RunConfig, *, steps: int | None = None, real_model: bool = False
) -> RunConfig:
    """The configuration at a size for two CPU cores.

    Methods, objectives, prompts and rewards are as they are; a tiny policy stands in for the
    model, one process for all GPUs.

    Args:
        config: What is to be rehearsed.
        steps: Training steps, by default 4 or as many as the configuration has.
        real_model: Keep the user's model and the size of a step.

    Raises:
        ConfigError: The prompts or the policy are others than those of the task, whose words a tiny
            policy knows.
    """
    if {config.verl.prompts, config.verl.held_out} != {FROM_TASK}:
        raise ConfigError(
            'a rehearsal on verl needs verl.prompts = verl.held_out = "task": its tiny policy '
            "knows the words of a task alone"
        )
    if config.model.path != TINY and not real_model:
        raise ConfigError(
            f'a rehearsal on verl needs model.path = "{TINY}", which knows the words of the '
            f"questions, got {config.model.path!r}: --set model.path={TINY}, or --real-model"
        )
    optimiser = config.optimiser
    count = steps or min(optimiser.steps, _STEPS)
    sized: dict[str, Any] = {"steps": count}
    if not real_model:
        sized |= {
            "micro_batch": 0,
            "prompts_per_step": min(optimiser.prompts_per_step, _MOST_PROMPTS),
            "group_size": min(optimiser.group_size, _MOST_POINTS),
            "max_completion_tokens": min(optimiser.max_completion_tokens, _MOST_TOKENS),
        }
    half, first = max(1, count // 2), config.paretopo.stage1_steps
    if first == "all":
        first = count
    return replace(
        config,
        verl=replace(
            config.verl,
            nodes=1,
            gpus_per_node=1,
            engine=ENGINE,
            engine_gpus=1,
            asynchronous=False,
            strategy="fsdp2",  # the other knows no CPU
            offload=False,
        ),
        optimiser=replace(optimiser, **sized),
        # Both stages are crossed where the configuration has two.
        paretopo=replace(
            config.paretopo, stage1_steps=min(first, half) if isinstance(first, int) else half
        ),
        evaluation=replace(config.evaluation, every=min(config.evaluation.every, half)),
        run=replace(
            config.run,
            checkpoint_every=min(config.run.checkpoint_every, half),
            wandb_project=NONE,
        ),
    )


def describe_gaps(before: RunConfig) -> list[str]:
    """The parts of this configuration that a rehearsal leaves to a GPU, a sentence each."""
    told = [
        f"{before.verl.engine}: a Hugging Face model in a process of its own generated",
        "CUDA, NCCL and engines that sleep; speed and memory",
    ]
    if before.verl.asynchronous:
        told.append("rollouts that go on in the next step")
    if before.verl.nodes * before.verl.gpus_per_node > 1:
        told.append("several processes of the policy")
    return told


def plan_options() -> list[str]:
    """verl's options for the stand-ins."""
    rollout = "actor_rollout_ref.rollout"
    return [
        f"trainer.v1.trainer_mode={TRAINER}",
        "trainer.device=cpu",
        "actor_rollout_ref.model.use_remove_padding=false",
        "+actor_rollout_ref.model.override_config.attn_implementation=eager",
        "actor_rollout_ref.actor.use_torch_compile=false",
        "actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
        # As the engine computes, so that their probabilities can be compared.
        "+actor_rollout_ref.actor.fsdp_config.mixed_precision="
        "{param_dtype:fp32,reduce_dtype:fp32,buffer_dtype:fp32}",
        f"{rollout}.load_format=auto",  # the engine begins with what adapters leave as it is
        f"{rollout}.agent.num_workers=1",
        "reward.num_workers=1",
        "data.dataloader_num_workers=0",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        "ray_kwargs.ray_init.num_cpus=32",  # what verl reserves, not what there is
        "+ray_kwargs.ray_init.num_gpus=1",  # of the stand-in
        "+ray_kwargs.ray_init.include_dashboard=false",
        # A whole policy is a few megabytes, and a machine for rehearsals has no memory to spare.
        "+ray_kwargs.ray_init.object_store_memory=200000000",
    ]


def worker_variables() -> dict[str, str]:
    """Environment variables by which verl's processes load the stand-ins."""
    return {
        "VERL_USE_EXTERNAL_MODULES": "paretopo.integrations.verl.rehearsal.platform",
        "VERL_PLATFORM": PLATFORM,
        "OMP_NUM_THREADS": "1",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "HYDRA_FULL_ERROR": "1",
    }
