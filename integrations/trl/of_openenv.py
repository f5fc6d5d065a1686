"""The rubric of an OpenEnv environment for TRL's `environment_factory`.

OpenEnv keeps the latest score of each part of a rubric. TRL uses an environment for one rollout
after another, so the scores must be cleared between them.
"""

from __future__ import annotations

from typing import Any


def clear_scores(rubric: Any) -> None:
    """Forget the scores of a rubric and all its parts; call it in the environment's `reset`.

    Otherwise a rollout that takes no step gets the scores of the rollout before it.

    Args:
        rubric: An `openenv.core.rubrics.Rubric`.
    """
    rubric.last_score = None
    for part in rubric.rubrics():
        part.last_score = None


def read_scores(rubric: Any, without_step: float | None = None) -> dict[str, float | None]:
    """Return the latest score of each direct part of a rubric; return it in `get_reward`.

    Args:
        rubric: An `openenv.core.rubrics.Rubric`, of an environment in this process: over HTTP,
            OpenEnv sends only the reward of a step.
        without_step: The value of a part that has not scored since `clear_scores`. None means that
            the objective does not apply to the rollout.

    Returns:
        The scores, by the attribute's name.

    Raises:
        ValueError: The rubric has no parts, so it has only one score.
    """
    scores = {name: part.last_score for name, part in rubric.named_children()}
    if not scores:
        raise ValueError(
            f"the rubric {type(rubric).__name__} has no parts: assign other rubrics to its "
            "attributes, or return its last_score in get_reward"
        )
    return {name: without_step if one is None else one for name, one in scores.items()}
