"""The reward function of a task's questions, which verl loads from this file.

It runs in verl's reward processes, for one rollout at a time.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from paretopo.rewards.own import OwnRewards, load_own_rewards
from paretopo.run.folder import RunFolder
from paretopo.tasks.environment import Environment, open_environment


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any],
    run: str,
    **_: Any,
) -> dict[str, float | None]:
    """What a rollout measured: is it right, and what the rewards of the user's own say.

    Args:
        data_source: The question's kind.
        solution_str: What the policy wrote.
        ground_truth: The right answer, or several.
        extra_info: The question's `id` and `columns`.
        run: The run folder.

    Returns:
        `score`, which verl logs, the first objective; and a number for each that is measured here.
    """
    environment, own, first = _open(run)
    right = environment.grade(solution_str, ground_truth)
    components: dict[str, float | None] = {} if right is None else {"correct": float(right)}
    components["calls"] = 0.0
    if own is not None:
        columns = {
            **dict(extra_info.get("columns") or {}),
            "answer": ground_truth,
            "id": str(extra_info["id"]),
            "kind": data_source,
        }
        prompt = columns.pop("prompt", None)
        [measured] = own.measure(
            [prompt], [solution_str], {name: [value] for name, value in columns.items()}
        )
        components |= measured
    return {"score": float(components.get(first) or 0.0), **components}


@functools.cache
def _open(run: str) -> tuple[Environment, OwnRewards | None, str]:
    config = RunFolder.open(run).config
    opened = ExitStack()
    atexit.register(opened.close)
    environment = opened.enter_context(open_environment(config))
    return environment, load_own_rewards(config), config.objectives[0].name
