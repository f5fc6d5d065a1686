"""Pieces of rollouts by transformers' `generate`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from paretopo.integrations.huggingface.rollouts import Piece, RolloutState
from paretopo.integrations.huggingface.turns import Turns


def generate_pieces(
    model: Any,
    tokenizer: Any,
    rollouts: Sequence[RolloutState],
    stop: tuple[str, ...],
    *,
    settings: Any,
    ends: Sequence[int],
    device: Any,
    turns: Turns | None = None,
    options_of: Callable[[list[int]], dict[str, Any]] = lambda _: {},
) -> list[Piece]:
    """One piece for each rollout, all in one batch.

    Args:
        model: A causal language model.
        tokenizer: Its own.
        rollouts: What to go on with.
        stop: Strings that end a piece and belong to it.
        settings: A `GenerationConfig`; lengths are filled in.
        ends: Tokens that end a text.
        device: Where the tokens go.
        turns: Keeps what was read from piece to piece, for models of which it can.
        options_of: Further arguments of `generate` for some of the rollouts, by their places.
    """
    given = [rollout.prompt + rollout.tokens for rollout in rollouts]
    room = [rollout.room for rollout in rollouts]

    def make_options(rows: list[int], begin: int) -> dict[str, Any]:
        options = options_of(rows)
        if stop:
            stops = StopStrings(tokenizer, stop, begin)
            options["stopping_criteria"] = StoppingCriteriaList([stops])
        return options

    def trim(tokens: list[int]) -> Piece:
        return _trim_piece(tokens, tokenizer, ends, stop)

    def find_end(tokens: list[int]) -> int | None:
        piece = trim(tokens)
        return None if piece == Piece(tokens, "length") else len(piece.tokens)

    if turns is not None:
        rows = turns.generate(model, given, room=room, find_end=find_end, options=make_options)
        return [trim(row) for row in rows]
    batch = tokenizer.pad(
        {"input_ids": given}, padding=True, padding_side="left", return_tensors="pt"
    ).to(device)
    settings = copy.deepcopy(settings)
    settings.update(max_new_tokens=max(room))
    read = batch["input_ids"].shape[1]
    options = make_options(list(range(len(given))), read)
    with torch.no_grad():
        whole = model.generate(**batch, generation_config=settings, **options)
    return [trim(row[:limit]) for row, limit in zip(whole[:, read:].tolist(), room, strict=True)]


class GenerationStopped(KeyboardInterrupt):
    """Ctrl-C came while a policy generated: what it was writing is given up."""


def stop_generation(model: Any, should_stop: Callable[[], bool]) -> None:
    """Let a model give up what it generates, at the next token, once `should_stop` says so.

    Passes that gradients flow through are finished.

    Args:
        model: Raises `GenerationStopped` then.
        should_stop: Asked before each pass without gradients.
    """

    def check(*_: Any) -> None:
        if not torch.is_grad_enabled() and should_stop():
            raise GenerationStopped

    inner = model.get_base_model() if hasattr(model, "peft_config") else model
    inner.register_forward_pre_hook(check)


class StopStrings(StoppingCriteria):
    """Ends a row when its text has a stop string.

    Unlike transformers' own: for every tokenizer, since it reads the text instead of taking the
    vocabulary apart; and what stands in the prompt does not count.

    Args:
        tokenizer: Reads the tokens.
        stop: The strings.
        read: Tokens of the prompt, padding included.
    """

    def __init__(self, tokenizer: Any, stop: Sequence[str], read: int) -> None:
        self._tokenizer, self._stop, self._read = tokenizer, stop, read
        # A token of the string has at least one of its bytes.
        self._tail = max(len(string.encode()) for string in stop)

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002
        """(rows,) is each at its end?"""
        tails = input_ids[:, max(self._read, input_ids.shape[1] - self._tail) :]
        texts = self._tokenizer.batch_decode(tails, skip_special_tokens=True)
        found = [any(string in text for string in self._stop) for text in texts]
        return torch.tensor(found, device=input_ids.device)


def _trim_piece(
    row: list[int], tokenizer: Any, ends: Sequence[int], stop: tuple[str, ...]
) -> Piece:
    """The piece that the model wrote, without the padding behind it."""
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
    # Padding that the model itself wrote at once is a token of it: TRL takes no empty response.
    return Piece(before or row[:1], "length")
