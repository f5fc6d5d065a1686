"""The size of a rehearsal, on every trainer that has one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paretopo.config import NONE, RunConfig

MOST_TOKENS = 96
_STEPS, _MOST_POINTS = 4, 4


def shrink_run(
    config: RunConfig,
    steps: int | None,
    *,
    real_model: bool,
    most_prompts: int | None,
    **sections: Any,
) -> RunConfig:
    """Return the configuration with few steps, which cross both stages if it has two.

    Args:
        config: The configuration to rehearse.
        steps: Training steps, by default 4 or the number in the configuration if it is smaller.
        real_model: Keep the micro-batches, which fit the user's model.
        most_prompts: Largest number of prompts in a step; None keeps the size of a step.
        sections: Sections that replace those of the configuration.
    """
    optimiser, given = config.optimiser, config.paretopo.stage1_steps
    count = steps or min(optimiser.steps, _STEPS)
    half = max(1, count // 2)
    sized: dict[str, Any] = {"steps": count} | ({} if real_model else {"micro_batch": 0})
    if most_prompts is not None:
        sized |= {
            "prompts_per_step": min(optimiser.prompts_per_step, most_prompts),
            "group_size": min(optimiser.group_size, _MOST_POINTS),
            "max_completion_tokens": min(optimiser.max_completion_tokens, MOST_TOKENS),
        }
    first = min(given, half) if isinstance(given, int) else {"all": count, "epoch": half}[given]
    return replace(
        config,
        optimiser=replace(optimiser, **sized),
        paretopo=replace(config.paretopo, stage1_steps=first),
        evaluation=replace(config.evaluation, every=min(config.evaluation.every, half)),
        run=replace(
            config.run,
            checkpoint_every=min(config.run.checkpoint_every, half),
            wandb_project=NONE,
        ),
        **sections,
    )
