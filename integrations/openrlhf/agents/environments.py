"""What all rollouts of an engine share, opened when the first of them asks."""

from __future__ import annotations

import atexit
import functools
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from paretopo.config import RunConfig
from paretopo.tasks.choice import load_own_tools
from paretopo.tasks.environment import Environment, open_environment

_opening = threading.Lock()  # each rollout has a thread of its own


def environment_of(config: RunConfig) -> Environment:
    """The task's: rollouts share sandboxes, and waiting queries go together."""
    with _opening:
        return _open(config)


def functions_of(config: RunConfig) -> Mapping[str, Callable[..., Any]]:
    """The functions of `task.tools` by name; what they share must bear threads."""
    with _opening:
        return _load(config)


@functools.cache
def _open(config: RunConfig) -> Environment:
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(open_environment(config))


@functools.cache
def _load(config: RunConfig) -> Mapping[str, Callable[..., Any]]:
    return {one.__name__: one for one in load_own_tools(config)}
