"""Limits of a back end, declared by its adapter in ``paretopo.integrations.NAME.backend``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from paretopo.config.keys import ConfigError

if TYPE_CHECKING:
    from paretopo.config.run import RunConfig


@dataclass(frozen=True)
class Limit:
    """Values of a key that a back end does not support.

    Attributes:
        key: Its dotted name.
        takes: The supported values; all others are refused.
        why: The reason, and the remedy.
        when: The limit applies only to these configurations; None for all.
    """

    key: str
    takes: tuple[Any, ...]
    why: str
    when: Callable[[RunConfig], bool] | None = None


@dataclass(frozen=True)
class Backend:
    """One back end.

    Attributes:
        name: The value of the key ``backend``.
        packages: Names of the packages that it imports.
        extra: The extra of this package that installs them.
        rehearsal: The script that installs them for a rehearsal on a CPU; empty if there is none.
        limits: Settings that it refuses.
    """

    name: str
    packages: tuple[str, ...]
    extra: str
    limits: tuple[Limit, ...] = ()
    rehearsal: str = ""


def find_backend(name: str) -> Backend:
    """Return the back end of a name, as its adapter declares it; its packages may be missing."""
    declared: Backend = import_module(f"paretopo.integrations.{name}.backend").BACKEND
    return declared


def check_backend(config: RunConfig) -> None:
    """Refuse a run that its back end cannot perform.

    Raises:
        ConfigError: The message names the key, its value and the reason.
    """
    for limit in find_backend(config.backend).limits:
        value = attrgetter(limit.key)(config)
        if value not in limit.takes and (limit.when is None or limit.when(config)):
            raise ConfigError(
                f'{limit.key} = {value!r} is not for backend = "{config.backend}": {limit.why}'
            )
