"""What shows how much of an effect needs no reward at all."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import Array, library_of


def constant(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """1 for every rollout: the control that shows what a method does without any reward.

    Uncentred rank advantages are all positive; a policy trained on this control shows how much of
    their effect (shorter responses, fewer calls) comes from the sign alone.
    """
    del weights, mask
    return library_of(rewards).ones_like(rewards[..., 0])
