"""Settings of the process, which calls may change for a while."""

from __future__ import annotations

import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

_ValueT = TypeVar("_ValueT")
_lock = threading.Lock()


class Undoable(ABC):
    """The result of a call that lasts until ``undo``, or until the end of a ``with`` statement."""

    @abstractmethod
    def undo(self) -> None:
        """End the effect of the call; a second time do nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.undo()


class Setting(Undoable, Generic[_ValueT]):
    """A value for all threads of this process, until ``undo`` or the end of a ``with`` statement.

    Each call is one user. The last one that has not ended decides, in whatever order they end; the
    value from before returns with the last of them. A call whose result no one keeps never ends.

    Attributes:
        value: the value that the call has set.

    >>> from paretopo_core import threads
    >>> setting = threads(2)
    >>> setting
    <threads of a call: 2 for all threads of this process>
    >>> setting.undo()
    """

    def __init__(self, users: Users[_ValueT], value: _ValueT) -> None:
        self.value = value
        self._users = users

    def undo(self) -> None:
        """End this use of the setting; a second time do nothing."""
        self._users.remove(self)

    def __repr__(self) -> str:
        return f"<{self._users.name}: {self.value!r} for all threads of this process>"


class Users(Generic[_ValueT]):
    """The calls that have changed one setting and have not ended, the first value below them."""

    def __init__(self, name: str, apply: Callable[[_ValueT], Any], first: _ValueT) -> None:
        self.name = name
        self._apply = apply
        self._values: list[tuple[Callable[[], Any], _ValueT]] = [(lambda: None, first)]
        apply(first)

    def add(self, value: _ValueT) -> Setting[_ValueT]:
        """Apply a value for a new user."""
        setting = Setting(self, value)
        with _lock:
            # Below a call that no one can end, no value will ever return.
            lasting = max(i for i, (user, _) in enumerate(self._values) if user() is None)
            self._values[:lasting] = []
            self._values.append((weakref.ref(setting), value))
            self._apply(value)
        return setting

    def remove(self, setting: Setting[_ValueT]) -> None:
        """Apply the value of the last user that is left."""
        with _lock:
            self._values = [each for each in self._values if each[0]() is not setting]
            self._apply(self._values[-1][1])
