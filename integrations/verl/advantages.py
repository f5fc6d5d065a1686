"""Pass the session's advantages to verl as the result of an advantage estimator.

verl gives an estimator no reward vectors, and each output of a rollout is a row. Our trainer
therefore asks the session before it calls verl's computation, which then calls this module.
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
    """Set the advantages of verl's batch inside the context: (rows,) in the order of its rows."""
    token = _given.set(advantages)
    try:
        yield
    finally:
        _given.reset(token)


def spread(
    token_level_rewards: Any, response_mask: Any, **_: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Spread the session's advantages over the tokens that the policy wrote.

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
            "algorithm.adv_estimator is one of paretopo's, and the trainer is not: use "
            f"trainer.use_v1=true and trainer.v1.trainer_mode={' or '.join(TRAINERS)}; the "
            "deprecated RayPPOTrainer (trainer.use_v1=false) passes no reward vectors and is "
            "not supported"
        )
    values = torch.as_tensor(given).to(token_level_rewards)
    advantages = values[:, None] * response_mask.to(token_level_rewards)
    return advantages, advantages.clone()
