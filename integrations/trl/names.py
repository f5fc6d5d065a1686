"""The names of prompts in errors and records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from paretopo.rollout import digest_prompt, format_prompt

_LONGEST_NAME = 200  # characters of a prompt without another name


def name_prompt(row: Mapping[str, Any]) -> str:
    """Return the prompt's name in errors and records: its column "id", or its text, shortened.

    A row without either has the name of its environment.

    >>> name_prompt({"prompt": "why?"}), name_prompt({"prompt": "why?", "id": 17})
    ('why?', '17')
    """
    if row.get("id") is not None:
        return str(row["id"])
    text = format_prompt(row.get("prompt", row.get("environment", "")))
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[:_LONGEST_NAME]}… ({digest_prompt(text)})"


def read_names(dataset: Any) -> Iterator[str]:
    """Yield the names of the prompts of a data set, which is read on demand."""
    if hasattr(dataset, "select_columns"):
        dataset = dataset.select_columns(
            [one for one in ("id", "prompt", "environment") if one in dataset.column_names]
        )
    yield from map(name_prompt, dataset)
