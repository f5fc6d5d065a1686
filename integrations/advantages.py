"""Pass advantages to a trainer as the result of an advantage estimator of its own.

verl and SkyRL give an estimator no reward vectors. Our trainers for both therefore compute the
advantages first, and then call the trainer's computation, which calls this module.
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
        token_level_rewards: (rows, tokens); the result has its device and dtype.
        response_mask: (rows, tokens), 1 where the policy wrote the token.

    Returns:
        (rows, tokens) advantages, and the returns, which are equal to them.

    Raises:
        ConfigError: The caller is not one of our trainers.
    """
    given = _given.get()
    if given is None:
        raise ConfigError(
            "the advantage estimator is one of paretopo's, and the trainer is not. verl needs "
            "trainer.use_v1=true and trainer.v1.trainer_mode=paretopo_sync or "
            "paretopo_colocate_async; its deprecated RayPPOTrainer (trainer.use_v1=false) is not "
            "supported. SkyRL needs a trainer with paretopo.integrations.skyrl.ParetoTraining"
        )
    values = torch.as_tensor(given).to(token_level_rewards)
    advantages = values[:, None] * response_mask.to(token_level_rewards)
    return advantages, advantages.clone()
