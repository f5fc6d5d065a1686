"""Pieces of rollouts by transformers' `generate`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from paretopo_core.integrations.huggingface.rollouts import Piece, Rollout


def generate_pieces(
    model: Any,
    tokenizer: Any,
    rollouts: Sequence[Rollout],
    stop: tuple[str, ...],
    *,
    settings: Any,
    ends: Sequence[int],
    device: Any,
    **further: Any,
) -> list[Piece]:
    """One piece for each rollout, all in one batch.

    Args:
        model: A causal language model.
        tokenizer: Its own.
        rollouts: What to go on with.
        stop: Strings that end a piece and belong to it.
        settings: A `GenerationConfig`; lengths and stop strings are filled in.
        ends: Tokens that end a text.
        device: Where the tokens go.
        further: For `generate`.
    """
    room = [rollout.room for rollout in rollouts]
    batch = tokenizer.pad(
        {"input_ids": [rollout.prompt + rollout.tokens for rollout in rollouts]},
        padding=True,
        padding_side="left",
        return_tensors="pt",
    ).to(device)
    settings = copy.deepcopy(settings)
    settings.update(max_new_tokens=max(room), stop_strings=list(stop) or None)
    with torch.no_grad():
        whole = model.generate(**batch, generation_config=settings, tokenizer=tokenizer, **further)
    rows = whole[:, batch["input_ids"].shape[1] :].tolist()
    return [
        _own_piece(row[:limit], limit, tokenizer, ends, stop)
        for row, limit in zip(rows, room, strict=True)
    ]


def _own_piece(
    row: list[int], limit: int, tokenizer: Any, ends: Sequence[int], stop: tuple[str, ...]
) -> Piece:
    """What the model wrote, without the padding behind it."""
    last = next(
        (i for i, token in enumerate(row) if token in ends or token == tokenizer.pad_token_id),
        len(row),
    )
    before = row[:last]
    text = tokenizer.decode(before, skip_special_tokens=True)
    if any(string in text for string in stop):
        return Piece(before, "stop")  # the padding behind it can look like an end of text
    if last < len(row) and row[last] in ends:
        return Piece(row[: last + 1], "end")
    # A stop string that began in the prompt is not found in the text.
    return Piece(before, "length" if len(before) == limit else "stop")
