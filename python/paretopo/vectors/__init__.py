"""Test vectors: exact advantages of every estimator. docs/vectors.md has the format.

>>> case = load("scalarised")[0]
>>> case["name"], case["rewards"][0], case["advantages"][0]
('grpo: four', [1, 0.9], 1.0502063865632894)
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

FAMILIES = ("scalarised", "decoupled", "ranked", "volume", "controller")


def load(family: str) -> list[dict[str, Any]]:
    """Return the cases of a family.

    Args:
        family: One of :data:`FAMILIES`.

    Raises:
        ValueError: There is no such family.
    """
    if family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    text = files(__name__).joinpath(f"{family}.json").read_text(encoding="utf-8")
    cases: list[dict[str, Any]] = json.loads(text)["cases"]
    return cases
