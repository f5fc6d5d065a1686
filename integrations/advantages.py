"""Pass advantages to a trainer as the result of an advantage estimator of its own.

verl and SkyRL give an estimator no reward vectors. Our mixins for their trainers therefore compute
the advantages first, and then call the trainer's computation, which calls this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paretopo.config import OF_UNKNOWN_UNITS, ConfigError, ParetoPOConfig

# Trainers do not know the units of their rewards, and have no prices to learn shares from.
DEFAULT = ParetoPOConfig(stage2_estimator=OF_UNKNOWN_UNITS)

_given: ContextVar[NDArray[np.float64] | None] = ContextVar("advantages", default=None)


@contextmanager
def hand_over(advantages: NDArray[np.float64]) -> Iterator[None]:
    """Set the advantages of a batch inside the context: (rows,) in the order of its rows."""
    token = _given.set(advantages)
    try:
        yield
    finally:
        _given.reset(token)


def spread(
    token_level_rewards: Any, response_mask: Any, **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Spread the advantages of the context over the tokens that the policy wrote.

    Args:
        token_level_rewards: (rows, tokens); the result has its device and its dtype, or float32
            if that is narrower.
        response_mask: (rows, tokens), 1 where the policy wrote the token.

    Returns:
        (rows, tokens) advantages, and the returns, which are equal to them.

    Raises:
        ConfigError: The caller is not a trainer with one of our mixins.
    """
    given = _given.get()
    if given is None:
        raise ConfigError(
            "the advantage estimator is one of paretopo's, and the trainer is not. verl needs "
            "trainer.use_v1=true and trainer.v1.trainer_mode=sync or colocate_async; its "
            "deprecated RayPPOTrainer (trainer.use_v1=false) is not supported. SkyRL needs a "
            "trainer with paretopo.integrations.skyrl.ParetoTraining"
        )
    advantages = spread_over_tokens(given, token_level_rewards, response_mask)
    return advantages, advantages.clone()


def spread_over_tokens(
    advantages: NDArray[np.float64], like: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return (rows, tokens) advantages, 0 where the mask is, on the device of ``like``.

    Integers and half precision would round them, so the result is float32 there.
    """
    dtype = torch.promote_types(like.dtype, torch.float32)
    values = torch.as_tensor(advantages).to(like.device, dtype)
    return values[:, None] * mask.to(like.device, dtype)
