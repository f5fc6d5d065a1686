"""Plan a rehearsal: choose its sizes, and replace options that a CPU does not support."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from paretopo.config import NONE, SMALL, TINY, RunConfig

_STEPS, _MOST_PROMPTS, _MOST_POINTS, _MOST_TOKENS = 4, 8, 4, 96
_ON_A_GPU_ONLY = {
    *("--vllm.enable_sleep", "--ds.enable_sleep"),
    *("--ds.packing_samples", "--train.dynamic_batch_enable"),  # need flash-attn
}


def plan_rehearsal(
    config: RunConfig, *, steps: int | None = None, real_model: bool = False
) -> RunConfig:
    """Return the configuration at a size for two CPU cores, on the same kind of cluster.

    Stages, methods, ZeRO stage, synchrony and the sharing of GPUs stay as they are. The policy and
    the engines have at most two processes each. A tiny model replaces the user's, and the step
    shrinks; the bundled tiny policy keeps its size. The steps cross both stages if there are two.

    Args:
        config: The configuration to rehearse.
        steps: Training steps, by default 4 or the number in the configuration if it is smaller.
        real_model: Keep the user's model and the size of a step.
    """
    cluster = config.openrlhf
    policies = min(cluster.nodes * cluster.gpus_per_node, 2)
    engines = policies if cluster.colocate else min(cluster.engines, 2)
    small: dict[str, Any] = {
        "nodes": 1,
        "gpus_per_node": policies,
        "engines": engines,
        "engine_gpus": 1,
    }
    model, optimiser, given = config.model, config.optimiser, config.paretopo.stage1_steps
    count = steps or min(optimiser.steps, _STEPS)
    half = max(1, count // 2)
    first = min(given, half) if isinstance(given, int) else {"all": count, "epoch": half}[given]
    sized: dict[str, Any] = {"steps": count} | ({} if real_model else {"micro_batch": 0})
    if model.path != TINY and not real_model:
        model = replace(model, path=f"{SMALL}{model.path}", layers=2, width=64, heads=2)
        tokens = min(optimiser.max_completion_tokens, _MOST_TOKENS)
        small["overlong_buffer"] = min(cluster.overlong_buffer, tokens // 2)
        sized |= {
            "prompts_per_step": min(optimiser.prompts_per_step, _MOST_PROMPTS),
            "group_size": min(optimiser.group_size, _MOST_POINTS),
            "max_completion_tokens": tokens,
        }
    return replace(
        config,
        model=model,
        optimiser=replace(optimiser, **sized),
        paretopo=replace(config.paretopo, stage1_steps=first),
        evaluation=replace(config.evaluation, every=min(config.evaluation.every, half)),
        run=replace(
            config.run,
            checkpoint_every=min(config.run.checkpoint_every, half),
            wandb_project=NONE,
        ),
        openrlhf=replace(cluster, **small),
    )


def plan_options(words: Sequence[str]) -> list[str]:
    """Remove the options that need a GPU from OpenRLHF's, and change the weight transfer."""
    kept = [word for word in words if word not in _ON_A_GPU_ONLY]
    eager = ("--vllm.enforce_eager", "--ds.attn_implementation", "eager")
    return [*kept, "--vllm.sync_backend", "gloo", *eager]


def describe_gaps(before: RunConfig, *, real_model: bool = False) -> list[str]:
    """Return a sentence for each part of this configuration that only a GPU can test."""
    cluster = before.openrlhf
    gaps = [
        "NCCL and CUDA IPC: weights went through a TCP store",
        "bfloat16 kernels, attention and CUDA graphs of a GPU; speed and memory",
    ]
    if before.model.path != TINY and not real_model:
        gaps.append(f"{before.model.path}: a small model with random weights and its tokenizer")
    if cluster.colocate:
        gaps.append("sleeping engines and policies: all stayed in memory")
    if cluster.engine_gpus > 1:
        gaps.append(f"engines on {cluster.engine_gpus} GPUs each: tensor parallel")
    if cluster.nodes * cluster.gpus_per_node > 2 or cluster.engines > 2:
        gaps.append(
            f"{cluster.nodes} x {cluster.gpus_per_node} policy GPUs and {cluster.engines} engines: "
            "at most two of each"
        )
    if before.run.wandb_project != NONE:
        gaps.append("Weights & Biases")
    return gaps
