"""Limits of a back end, which its adapter declares in ``paretopo.integrations.NAME.backend``."""

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
    """Values of a key that a back end does not take.

    Attributes:
        key: Its dotted name.
        takes: The values that the back end takes; all others are refused.
        why: The reason, and what to do instead.
        when: The limit holds for these configurations only; None for all.
    """

    key: str
    takes: tuple[Any, ...]
    why: str
    when: Callable[[RunConfig], bool] | None = None


@dataclass(frozen=True)
class Backend:
    """One back end.

    Attributes:
        name: As the key ``backend`` has it.
        packages: Names of the packages that it imports.
        extra: The extra of this package that installs them.
        limits: Settings that it refuses.
    """

    name: str
    packages: tuple[str, ...]
    extra: str
    limits: tuple[Limit, ...] = ()

    def check(self, config: RunConfig) -> None:
        """Refuse a run that it cannot do.

        Raises:
            ConfigError: names the key, its value and the reason.
        """
        for limit in self.limits:
            value = attrgetter(limit.key)(config)
            if value not in limit.takes and (limit.when is None or limit.when(config)):
                raise ConfigError(
                    f'{limit.key} = {value!r} is not for backend = "{self.name}": {limit.why}'
                )


def find_backend(name: str) -> Backend:
    """The back end of a name, as its adapter declares it; its packages need not be installed."""
    declared: Backend = import_module(f"paretopo.integrations.{name}.backend").BACKEND
    return declared


def check_backend(config: RunConfig) -> None:
    """Refuse a run that its back end cannot do: :meth:`Backend.check`."""
    find_backend(config.backend).check(config)
