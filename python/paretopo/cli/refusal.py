"""How commands end on wrong input: in one line that says what to do."""

from __future__ import annotations

import importlib.util
from typing import NoReturn


class Refusal(Exception):
    """Wrong input, told in one line."""


def refuse(reason: str) -> NoReturn:
    """End the command."""
    raise Refusal(reason) from None


def need(*packages: str, extra: str = "train") -> None:
    """End the command if a package is missing, and name the extra that brings it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        refuse(f"{', '.join(missing)} not installed; run: pip install 'paretopo[{extra}]'")
