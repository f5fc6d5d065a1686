"""The state of all random number generators that a trainer samples with."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

RandomState = tuple[Any, ...]


def read_random_state() -> RandomState:
    """Return the state of this process's generators."""
    gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    return random.getstate(), np.random.get_state(), torch.get_rng_state(), gpus  # noqa: NPY002


def set_random_state(state: RandomState) -> None:
    """Restore a state from `read_random_state`."""
    python, numpy, cpu, gpus = state
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    torch.set_rng_state(cpu)
    if gpus:
        torch.cuda.set_rng_state_all(gpus)


@contextmanager
def keep_random_state() -> Iterator[None]:
    """Restore the state after the context."""
    state = read_random_state()
    try:
        yield
    finally:
        set_random_state(state)
