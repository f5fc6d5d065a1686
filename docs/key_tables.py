"""The tables of keys on the page on the configuration file, from the declarations of the keys."""

from __future__ import annotations

import dataclasses
import re
import typing

from paretopo.config import RULES, SECTIONS, Objective, RunConfig
from paretopo.config.keys import Key, describe_values

HEADINGS: dict[str, type] = {
    "## Top of the file": RunConfig,
    "## `[[objectives]]`": Objective,
    **{f"## `[{name}]`": section for name, section in SECTIONS.items()},
}
SIGNS = (("of at least", "≥"), ("greater than", ">"), ("at most", "≤"), ("less than", "<"))


def add_key_tables(page: str) -> str:
    """Return the page with a table of keys in each section, and the rules between keys at its end.

    Raises:
        ValueError: A section has no heading on the page.
    """
    for heading, section in HEADINGS.items():
        before, found, after = page.partition(f"{heading}\n")
        if not found:
            raise ValueError(f"docs/configuration.md must have the heading {heading!r}, got none")
        prose, ends, rest = after.partition("\n## ")
        page = f"{before}{found}{prose.rstrip()}\n\n{tabulate_keys(section)}\n{ends}{rest}"
    rules = [f"* {text}" for of_class in RULES.values() for text, *_ in of_class]
    listed = "\n".join(rules).replace("{name}", "NAME")
    return f"{page.rstrip()}\n\n## Rules between keys\n\n{listed}\n"


def tabulate_keys(section: type) -> str:
    """Return the table of a section's keys, and after it the arguments of their values."""
    hints = typing.get_type_hints(section)
    rows = ["| key | values | default | meaning |", "|---|---|---|---|"]
    further = ["", "| argument | used with | values | default | meaning |", "|---|---|---|---|---|"]
    for field in dataclasses.fields(section):
        about = field.metadata.get("key")
        if about is None or not about.in_file:
            continue
        takes = _shorten(describe_values(hints[field.name], about))
        if about.in_module:
            takes = "an estimator"
        end = f"{takes} | {_show_default(field, about)} | {about.doc} |"
        if not about.of:
            rows.append(f"| `{field.name}` | {end}")
            continue
        owners = "; ".join(f"`{owner}` {', '.join(values)}" for owner, values in about.of.items())
        further.append(f"| `{field.name}` | {owners} | {end}")
    return "\n".join([*rows, *further] if len(further) > 3 else rows)


def _show_default(field: dataclasses.Field[typing.Any], about: Key) -> str:
    if about.shown_default is not None:
        return about.shown_default
    value = field.default
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"  # as TOML writes it
    return f"`{list(value) if isinstance(value, tuple) else value!r}`".replace("'", '"')


def _shorten(values: str) -> str:
    """Write the allowed values for a table: ``an integer of at least 1`` as ``integer ≥ 1``."""
    values = re.sub(r"\ban? (?=integer|number|string|list)", "", values)
    for words, sign in SIGNS:
        values = values.replace(words, sign)
    return values.replace('" or "', '", "')
