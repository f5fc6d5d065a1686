"""Advantages of rollouts in any order and in groups of any sizes; every adapter calls these.

>>> vectors = [[1.0, 1.0], [1.0, 1.0], [1.0, 0.5], [0.0, 0.0], [0.0, 1.0]]
>>> config = ParetoPOConfig(stage2_estimator="pareto")
>>> advantages, state = advantages_by_group(vectors, ["a", "b", "a", "b", "a"], config)
>>> advantages.round(3).tolist()
[1.0, 0.5, 0.0, -0.5, -1.0]
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config import ParetoPOConfig
from paretopo.controller.reward_vectors import as_array
from paretopo.controller.two_stages import Gated, ParetoPO, Step


def advantages_by_group(
    vectors: ArrayLike,
    group_ids: Sequence[Hashable],
    config: ParetoPOConfig,
    state: Mapping[str, Any] | None = None,
    *,
    steps_per_epoch: int | None = None,
    steps: int | None = None,
    names: Sequence[str] | None = None,
) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the advantages of one training step, and the controller's next state; pure.

    Args:
        vectors: (rollouts, objectives) rewards, larger is better, finite, not gated; None if an
            objective does not apply.
        group_ids: (rollouts,) the prompt of each rollout; in any order, groups of any sizes.
        config: The switches.
        state: The state returned by the previous step, JSON-able; None before the first.
        steps_per_epoch: As for :class:`~paretopo.controller.two_stages.ParetoPO`.
        steps: As for :class:`~paretopo.controller.two_stages.ParetoPO`.
        names: A name for each reward, for errors and warnings.

    Returns:
        (rollouts,) float64 in the order of ``vectors``, and the state.

    Raises:
        ValueError: As :func:`step_by_group` and
            :meth:`~paretopo.controller.two_stages.ParetoPO.load_state_dict`.
    """
    controller = ParetoPO(config, steps_per_epoch=steps_per_epoch, steps=steps, names=names)
    if state is not None:
        controller.load_state_dict(dict(state))
    step = step_by_group(controller, vectors, group_ids)
    return step.advantages, controller.state_dict()


def step_by_group(
    controller: ParetoPO,
    vectors: ArrayLike,
    group_ids: Sequence[Hashable],
    weights: ArrayLike | None = None,
    informative: ArrayLike | None = None,
) -> Step:
    """Take a step of the controller for rollouts in any order; the results keep that order.

    Args:
        controller: Takes one step.
        vectors: (rollouts, objectives) rewards.
        group_ids: (rollouts,) the group of each rollout.
        weights: (groups, objectives), the preference of each group, in the order in which groups
            first appear; None takes the weights of the configuration.
        informative: (groups,) bool in that order, for vectors that are already gated, as
            :meth:`~paretopo.controller.two_stages.ParetoPO.gate_groups` gates each group.

    Returns:
        advantages (rollouts,), gated (rollouts, objectives), ranks (rollouts,), and informative
        (groups,) in the order in which groups first appear.

    Raises:
        ValueError: Another shape, or as :meth:`~paretopo.controller.two_stages.ParetoPO.step`.
    """
    rows = as_array(vectors)
    if rows.ndim != 2 or len(rows) != len(group_ids):
        raise ValueError(
            "vectors must have shape (rollouts, objectives) with a group id for each, got "
            f"{rows.shape} and {len(group_ids)} ids"
        )
    numbers: dict[Hashable, int] = {}
    group = np.array([numbers.setdefault(name, len(numbers)) for name in group_ids], np.int64)
    sizes = np.bincount(group, minlength=len(numbers))
    # Positions inside a group follow the order of the rollouts.
    order = np.argsort(group, kind="stable")
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    points = int(sizes.max(initial=0))
    padded = np.zeros((len(sizes), points, rows.shape[1]), rows.dtype)
    padded[group, place] = rows
    inside = np.arange(points) < sizes[:, None]
    mask = None if inside.all() else inside
    if informative is None:
        step = controller.step(padded, mask=mask, weights=weights, prompts=[*numbers])
    else:
        groups = Gated(padded, np.asarray(informative, np.bool_), mask, padded, [*numbers])
        step = controller.step_gated(groups, weights)
    own = {name: getattr(step, name)[group, place] for name in ("advantages", "gated", "ranks")}
    return replace(step, **own)
