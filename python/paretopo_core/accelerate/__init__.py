"""Acceleration of other libraries: their slow functions run on this core until undone."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

from paretopo_core._machinery.settings import Undoable

# The versions whose own tests pass with it, with compared results: scripts/test_hosts.sh.
VERSIONS = {
    "pymoo": ("0.6.2",),
    "optuna": ("5.0.0",),
    "botorch": ("0.18.1",),
    "deap": ("1.4.4",),
    "evox": ("1.4.0",),
    "evotorch": ("0.6.1",),
}


class Replacement:
    """A replacement for a name of a module or of a class, and the name's own value."""

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self._owner, self._name, self._value = owner, name, value
        if not hasattr(owner, name):
            raise AttributeError(f"{self.dotted} is not there")
        # A class may inherit the name; then there is nothing of its own to give back.
        self._was = vars(owner).get(name, _INHERITED)

    @property
    def dotted(self) -> str:
        """The name with those of its module and class."""
        owner = self._owner
        module = f"{owner.__module__}." if isinstance(owner, type) else ""
        return f"{module}{owner.__name__}.{self._name}"

    def replace(self) -> None:
        """Put the value in its place."""
        setattr(self._owner, self._name, self._value)

    def restore(self) -> bool:
        """Restore the name; False if something else has replaced it since."""
        if vars(self._owner).get(self._name) is not self._value:
            return False
        if self._was is _INHERITED:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._was)
        return True


_INHERITED = object()
_in_effect: dict[str, tuple[list[Replacement], set[Acceleration]]] = {}  # and their users
_lock = threading.Lock()


class Acceleration(Undoable):
    """The replacements of :func:`~paretopo_core.accelerate` in a host; ``undo`` reverts them.

    Each call of ``accelerate`` is one user. The host's own code returns when the last of them,
    in any thread, has called ``undo`` or left its ``with`` statement.

    Attributes:
        host: the library's name.
        version: its version.
    """

    def __init__(self, host: str, version: str, replacements: Sequence[Replacement]) -> None:
        self.host = host
        self.version = version
        self._replacements = replacements

    @property
    def replaced(self) -> tuple[str, ...]:
        """The replaced names, dotted; Optuna's of Gaussian processes from their first use."""
        return tuple(one.dotted for one in self._replacements)

    def undo(self) -> None:
        """Restore the host's own code, unless another call uses it; a second time do nothing.

        Raises:
            RuntimeError: something else has replaced a name since, which is left as it is; the
                others are the host's own again.
        """
        with _lock:
            if not self._is_user():
                return
            replacements, users = _in_effect[self.host]
            users.remove(self)
            if users:
                return
            del _in_effect[self.host]
            foreign = [one.dotted for one in replacements if not one.restore()]
        if foreign:
            raise RuntimeError(
                f"{', '.join(foreign)} was replaced by something else after accelerate("
                f"{self.host!r}), and is left as it is: undo that first, the last one first"
            )

    def _is_user(self) -> bool:
        return self.host in _in_effect and self in _in_effect[self.host][1]

    def __repr__(self) -> str:
        state = "on" if self._is_user() else "undone"
        return f"<{self.host} {self.version} accelerated: {', '.join(self.replaced)}; {state}>"


def accelerate(host: str) -> Acceleration:
    """Run the slow inner functions of another library on this core.

    The caller's code does not change. The replacement lasts, in this process, until
    :meth:`~paretopo_core.accelerate.Acceleration.undo` or the end of a ``with`` statement. Results
    equal those of the library; docs/coming_from.md lists the cases in which ties or last digits can
    differ. Calls are counted: the last one that ends restores the library.

    Args:
        host: "pymoo" (0.6.2), "optuna" (5.0.0), "botorch" (0.18.1), "deap" (1.4.4), "evox" (1.4.0)
            or "evotorch" (0.6.1). It is imported by this call, not by ``import paretopo_core``.

    Returns:
        the replacements, with ``undo()``; a context manager.

    Raises:
        ValueError: another library.
        ModuleNotFoundError: it is not installed.
        RuntimeError: it is installed in a version that this was not tested with. The replaced names
            are private, and their meaning may differ between versions.

    Cost: the import of the library; nothing per call of it.

    >>> accelerate("platypus")
    Traceback (most recent call last):
        ...
    ValueError: host must be one of pymoo, optuna, botorch, deap, evox, evotorch, got 'platypus'
    """
    if not isinstance(host, str) or host not in VERSIONS:
        raise ValueError(f"host must be one of {', '.join(VERSIONS)}, got {host!r}")
    version = check_version(host)
    module = importlib.import_module(f"{__name__}.{host}")
    with _lock:
        if host not in _in_effect:
            _in_effect[host] = module.replacements(), set()
            for one in _in_effect[host][0]:
                one.replace()
        replacements, users = _in_effect[host]
        acceleration = Acceleration(host, version, replacements)
        users.add(acceleration)
    return acceleration


def check_version(host: str) -> str:
    """Return the installed version of a host; raise an error for one that was not tested."""
    from importlib import metadata  # which loads a parser of mails: not with the package

    tested = VERSIONS[host]
    try:
        version = metadata.version(host)
    except metadata.PackageNotFoundError:
        raise ModuleNotFoundError(
            f"{host} is not installed: pip install {host}=={tested[-1]}", name=host
        ) from None
    if version not in tested:
        raise RuntimeError(
            f"{host} {version} is installed, and this was tested with {', '.join(tested)}: "
            f"pip install {host}=={tested[-1]}, or go on without accelerate"
        )
    return version


def extend(host: str, replacements: Sequence[Replacement]) -> None:
    """Replace names of a module that the host has loaded late, unless they are replaced already."""
    with _lock:
        if host in _in_effect:
            known = _in_effect[host][0]
            names = {one.dotted for one in known}
            for one in replacements:
                if one.dotted not in names:
                    one.replace()
                    known.append(one)
