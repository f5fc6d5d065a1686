"""Micro-batches without columns of padding.

TRL pads all rollouts of a step to the longest of them, and every micro-batch is computed at that
width.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    """A micro-batch without the columns in which no row has a token.

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


def sort_by_length(batches: Sequence[Batch]) -> list[Batch]:
    """The micro-batches of an optimiser step with the rows in order of their lengths.

    Sums over the step are the same. Where a value is neither of a row nor of the whole step, as
    those of images, the batches stay as they are.
    """
    first = batches[0]
    rows = len(first["completion_mask"])
    for value in first.values():
        whole = value is None or (isinstance(value, torch.Tensor) and value.dim() == 0)
        of_rows = isinstance(value, torch.Tensor) and value.dim() > 0 and len(value) == rows
        if not (whole or of_rows or isinstance(value, int | float)):
            return list(batches)
    lengths = torch.cat(
        [one["prompt_mask"].sum(1) + one["completion_mask"].sum(1) for one in batches]
    )
    order = lengths.argsort(stable=True).chunk(len(batches))
    return [
        {
            name: torch.cat([one[name] for one in batches])[own]
            if isinstance(value, torch.Tensor) and value.dim() > 0
            else value
            for name, value in first.items()
        }
        for own in order
    ]
