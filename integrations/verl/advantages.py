"""From the session's advantages to what verl takes for the answer of an estimator.

verl hands an estimator no reward vectors, and the outputs of one rollout as rows of their own: our
trainer asks the session before it calls verl's computation, and what that calls is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paretopo.config import ConfigError
from paretopo.integrations.verl.options import TRAINERS

_given: ContextVar[NDArray[np.float64] | None] = ContextVar("advantages", default=None)


@contextmanager
def hand_over(advantages: NDArray[np.float64]) -> Iterator[None]:
    """While verl computes advantages: those of the rows of its batch, (rows,) in its order."""
    token = _given.set(advantages)
    try:
        yield
    finally:
        _given.reset(token)


def spread(
    token_level_rewards: Any, response_mask: Any, **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """The session's advantages on every token that the policy wrote.

    Args:
        token_level_rewards: (rows, tokens); its place and type are the answer's.
        response_mask: (rows, tokens), 1 where the policy wrote the token.

    Returns:
        (rows, tokens) advantages, and returns, which are the same.

    Raises:
        ConfigError: Another trainer asks than ours.
    """
    given = _given.get()
    if given is None:
        raise ConfigError(
            "algorithm.adv_estimator is one of paretopo's, and the trainer that asks is not: take "
            f"trainer.use_v1=true and trainer.v1.trainer_mode={' or '.join(TRAINERS)}; the "
            "deprecated RayPPOTrainer (trainer.use_v1=false) hands no reward vectors over and is "
            "not supported"
        )
    values = torch.as_tensor(given).to(token_level_rewards)
    advantages = values[:, None] * response_mask.to(token_level_rewards)
    return advantages, advantages.clone()
