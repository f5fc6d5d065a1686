"""Named methods: those of the literature, and the paper's ablations.

``methods.toml`` holds them, one table each; a ``+`` applies an ablation to a method. A method lists
only its changes, so it works for a small task and at full size.

>>> config = with_method({"optimiser": {"steps": 40}}, "paper+without_stage_1")
>>> config.recipe, config.paretopo.stage1_steps, config.optimiser.steps
('paper', 0, 40)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paretopo.config.keys import ConfigError, nearest
from paretopo.config.run import RunConfig
from paretopo.config.toml import flatten_names, load, read_table

_TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("methods.toml").read_text(encoding="utf-8")
)


def _overrides_of(name: str) -> dict[str, Any]:
    table = {key: value for key, value in _TABLES[name].items() if key not in ("about", "like")}
    like = _TABLES[name].get("like")
    return ({} if like is None else _overrides_of(like)) | flatten_names(table)


# Maps a name to a line about it. A table without one is not a method: other tables use it.
ABOUT: Mapping[str, str] = MappingProxyType(
    {name: table["about"] for name, table in _TABLES.items() if "about" in table}
)

# Maps a name to the values that it sets, by dotted name.
METHODS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {name: MappingProxyType(_overrides_of(name)) for name in ABOUT}
)


def expand_method(
    name: str, switches: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the values that a method sets, by dotted name; for ``"a+b"`` those of a and then b.

    Args:
        name: A method, or several joined by ``+``; later ones override earlier ones.
        switches: Further names, from the plan of a study, with the values that each sets.

    Raises:
        ConfigError: There is no such name; the message names the nearest.

    >>> expand_method("without_stage_1+ranks", {"ranks": {"paretopo.stage2_estimator": "pareto"}})
    {'paretopo.stage1_steps': 0, 'paretopo.stage2_estimator': 'pareto'}
    """
    known = {**METHODS, **switches}
    overrides: dict[str, Any] = {}
    for part in name.split("+"):
        if part not in known:
            raise ConfigError(f"unknown method {part!r}; {nearest(part, known)}")
        overrides |= known[part]
    return overrides


def with_method(
    config: str | Path | Mapping[str, Any],
    name: str,
    overrides: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Return a configuration with a method applied to it.

    Args:
        config: A TOML file, or its table.
        name: A method, or several, ``"paper+without_stage_1"``; later ones override earlier ones.
        overrides: Values that override the method, by dotted name, e.g. ``{"optimiser.steps":
            20}``. Weights of ``config`` do too: ``apply_method``.

    Raises:
        ConfigError: As :func:`~paretopo.config.load`, or there is no such method.
    """
    return load(config, apply_method(read_table(config), name, overrides or {}))


def apply_method(
    table: Mapping[str, Any], name: str, overrides: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values to apply to a table: those of a method, and those that override it.

    A method with equal weights uses them only if no others are given: weights or
    ``paretopo.weighting`` in the table or the overrides take precedence.

    Args:
        table: The table of a file, unchecked.
        name: As for :func:`expand_method`.
        overrides: Values by dotted name.

    Raises:
        ConfigError: There is no such method.

    >>> file = {"objectives": [{"name": "correct", "weight": 3}, {"name": "calls", "weight": 1}]}
    >>> apply_method(file, "gdpo", {}).get("paretopo.weighting")
    >>> apply_method({}, "gdpo", {}).get("paretopo.weighting")
    'equal'
    """
    values = expand_method(name)
    if values.get("paretopo.weighting") == "equal" and _sets_weights(table, overrides):
        del values["paretopo.weighting"]
    return values | flatten_names(overrides)


def _sets_weights(table: Mapping[str, Any], overrides: Mapping[str, Any]) -> bool:
    section, tables = table.get("paretopo"), table.get("objectives")
    given = [*tables] if isinstance(tables, list | tuple) else []
    return (
        (isinstance(section, Mapping) and "weighting" in section)
        or any(isinstance(one, Mapping) and one.get("weight") is not None for one in given)
        or any(key.startswith("objectives.") and key.endswith(".weight") for key in overrides)
    )
