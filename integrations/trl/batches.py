"""Micro-batches without columns of padding.

TRL pads all rollouts of a step to the longest of them, and computes every micro-batch at that
width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Batch = dict[str, Any]

_PER_TOKEN = (  # of responses
    "completion_ids",
    "completion_mask",
    "tool_mask",
    "old_per_token_logps",
    "ref_per_token_logps",
    "sampling_per_token_logps",
    "importance_sampling_ratio",
)


def trim(batch: Batch) -> Batch:
    """Remove the columns of a micro-batch in which no row has a token.

    >>> ids, mask = torch.tensor([[0, 0, 5], [0, 6, 7]]), torch.tensor([[0, 0, 1], [0, 1, 1]])
    >>> trim({"prompt_ids": ids, "prompt_mask": mask})["prompt_ids"].tolist()
    [[0, 5], [6, 7]]
    """
    trimmed = dict(batch)
    if "prompt_mask" in batch:
        longest = max(int(batch["prompt_mask"].sum(1).max()), 1)
        for name in ("prompt_ids", "prompt_mask"):
            trimmed[name] = batch[name][:, -longest:]
    if "completion_mask" in batch:
        width = batch["completion_mask"].shape[1]
        longest = max(int(batch["completion_mask"].sum(1).max()), 1)
        for name in _PER_TOKEN:
            whole = batch.get(name)
            if isinstance(whole, torch.Tensor) and whole.dim() == 2 and whole.shape[1] == width:
                trimmed[name] = whole[:, :longest]
    return trimmed


def sort_rows(batches: Sequence[Batch], count_tokens: Callable[[Batch], int]) -> list[Batch]:
    """Sort the rows of an optimiser step's micro-batches to compute fewer tokens.

    Rows are sorted by length, or by prompt and then by length, whichever costs less. Sums over the
    step do not change. The order stays if a value belongs neither to a row nor to the whole step,
    as with images.

    Args:
        batches: The micro-batches as TRL splits them.
        count_tokens: Counts the computed tokens of a micro-batch.
    """
    first = batches[0]
    rows = len(first["completion_mask"])
    for value in first.values():
        whole = value is None or (isinstance(value, torch.Tensor) and value.dim() == 0)
        of_rows = isinstance(value, torch.Tensor) and value.dim() > 0 and len(value) == rows
        if not (whole or of_rows or isinstance(value, int | float)):
            return list(batches)
    step = {
        name: torch.cat([one[name] for one in batches])
        if isinstance(value, torch.Tensor) and value.dim() > 0
        else value
        for name, value in first.items()
    }
    lengths = step["prompt_mask"].sum(1) + step["completion_mask"].sum(1)
    by_length = lengths.argsort(stable=True)
    _, prompt_of = step["prompt_ids"].unique(dim=0, return_inverse=True)
    longest = lengths.new_zeros(len(lengths)).scatter_reduce(0, prompt_of, lengths, "amax")
    keys = longest[prompt_of] * len(lengths) + prompt_of
    by_prompt = by_length[keys[by_length].argsort(stable=True)]
    sorted_ = [
        [
            {
                name: value[own] if isinstance(value, torch.Tensor) and value.dim() > 0 else value
                for name, value in step.items()
            }
            for own in order.chunk(len(batches))
        ]
        for order in (by_length, by_prompt)
    ]
    return min(sorted_, key=lambda parts: sum(count_tokens(trim(one)) for one in parts))


def count_tokens(batch: Batch) -> int:
    """Count the tokens of a trimmed micro-batch when every row is computed whole."""
    return int(batch["prompt_ids"].numel() + batch["completion_ids"].numel())
