"""Named changes of a configuration: every method of the literature, and every ablation of ours.

``methods.toml`` holds them, one table each; a ``+`` puts several on top of each other. A method
says only what it changes, so that the same one runs on a small task and at full size.

>>> config = with_method({"optimiser": {"steps": 40}}, "grpo+gated")
>>> config.paretopo.stage2_estimator, config.paretopo.gate, config.optimiser.steps
('grpo', 'success', 40)
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from paretopo.config.keys import ConfigError, nearest
from paretopo.config.run import RunConfig, load, of_table

_ABOUT = "about"
_FILE = Path(__file__).with_name("methods.toml")


def _read() -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["methods"]
    return table


_TABLE = _read()

# Name -> the keys it changes, by section.
METHODS: MappingProxyType[str, dict[str, Any]] = MappingProxyType(
    {
        name: {key: value for key, value in method.items() if key != _ABOUT}
        for name, method in _TABLE.items()
    }
)

# Name -> what it is, in one line.
ABOUT: MappingProxyType[str, str] = MappingProxyType(
    {name: method[_ABOUT] for name, method in _TABLE.items()}
)


def overrides(name: str) -> dict[str, Any]:
    """What a method changes, by dotted name; of ``"a+b"`` what a changes and then b.

    Raises:
        ConfigError: there is no such method; names the nearest.

    >>> overrides("without_stage_1+gated")
    {'paretopo.stage1_steps': 0, 'paretopo.gate': 'success'}
    """
    changes: dict[str, Any] = {}
    for part in name.split("+"):
        if part not in METHODS:
            raise ConfigError(f"unknown method {part!r}; {nearest(part, METHODS)}")
        for section, value in METHODS[part].items():
            if isinstance(value, Mapping):
                changes |= {f"{section}.{key}": inner for key, inner in value.items()}
            else:
                changes[section] = value
    return changes


def with_method(
    config: str | Path | Mapping[str, Any],
    name: str,
    also: Mapping[str, Any] | None = None,
) -> RunConfig:
    """A configuration with a method on top.

    Args:
        config: a TOML file, or what one would hold as a mapping.
        name: a method, or several, ``"mo_grpo+gated"``, of which the later wins.
        also: values that win over the method, by dotted name, e.g. ``{"optimiser.steps": 20}``.

    Raises:
        ConfigError: as :func:`~paretopo.config.run.load`, or there is no such method.
    """
    changes = overrides(name) | dict(also or {})
    if isinstance(config, Mapping):
        return of_table(config, changes)
    return load(config, changes)
