"""Pieces of rollouts by transformers' `generate`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from transformers import StoppingCriteria, StoppingCriteriaList

from paretopo.integrations.huggingface.rollouts import Piece, RolloutState


def generate_pieces(
    model: Any,
    tokenizer: Any,
    rollouts: Sequence[RolloutState],
    stop: tuple[str, ...],
    *,
    settings: Any,
    ends: Sequence[int],
    device: Any,
    **options: Any,
) -> list[Piece]:
    """Generate one piece for each rollout, all in one batch.

    Args:
        model: A causal language model.
        tokenizer: The model's tokenizer.
        rollouts: The rollouts to continue.
        stop: Strings that end a piece and are part of it.
        settings: A `GenerationConfig`; this function sets its lengths.
        ends: Tokens that end a text.
        device: Device of the tokens.
        **options: Further arguments of `generate`.
    """
    given = [rollout.prompt + rollout.tokens for rollout in rollouts]
    room = [rollout.room for rollout in rollouts]

    batch = tokenizer.pad(
        {"input_ids": given}, padding=True, padding_side="left", return_tensors="pt"
    ).to(device)
    settings = copy.deepcopy(settings)
    settings.update(max_new_tokens=max(room))
    read = batch["input_ids"].shape[1]
    if stop:
        stops = StopStrings(tokenizer, stop, read)
        options["stopping_criteria"] = StoppingCriteriaList([stops])
    with torch.no_grad():
        whole = model.generate(**batch, generation_config=settings, **options)
    rows = zip(whole[:, read:].tolist(), room, strict=True)
    return [_trim_piece(row[:limit], tokenizer, ends, stop) for row, limit in rows]


class GenerationStopped(KeyboardInterrupt):
    """Ctrl-C came while a policy generated; the unfinished text is dropped."""


def stop_generation(model: Any, should_stop: Callable[[], bool]) -> None:
    """Make a model stop at the next token once `should_stop` returns True.

    A pass with gradients runs to its end.

    Args:
        model: Raises `GenerationStopped` then.
        should_stop: Called before each pass without gradients.
    """

    def check(*_: Any) -> None:
        if not torch.is_grad_enabled() and should_stop():
            raise GenerationStopped

    inner = model.get_base_model() if hasattr(model, "peft_config") else model
    inner.register_forward_pre_hook(check)


class StopStrings(StoppingCriteria):
    """Ends a row when its text contains a stop string.

    It decodes the text, so it works for every tokenizer; transformers' own class analyses the
    vocabulary instead. Stop strings in the prompt are ignored.

    Args:
        tokenizer: Decodes the tokens.
        stop: The strings.
        read: Length of the prompt in tokens, padding included.
    """

    def __init__(self, tokenizer: Any, stop: Sequence[str], read: int) -> None:
        self._tokenizer, self._stop, self._read = tokenizer, stop, read
        # Each token of the string has at least one of its bytes.
        self._tail = max(len(string.encode()) for string in stop)

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:  # noqa: ARG002
        """Return for each row whether it has ended, shape (rows,)."""
        tails = input_ids[:, max(self._read, input_ids.shape[1] - self._tail) :]
        texts = self._tokenizer.batch_decode(tails, skip_special_tokens=True)
        found = [any(string in text for string in self._stop) for text in texts]
        return torch.tensor(found, device=input_ids.device)


def _trim_piece(
    row: list[int], tokenizer: Any, ends: Sequence[int], stop: tuple[str, ...]
) -> Piece:
    """Return the piece that the model wrote, without the padding after it."""
    last = next(
        (i for i, token in enumerate(row) if token in ends or token == tokenizer.pad_token_id),
        len(row),
    )
    before = row[:last]
    text = tokenizer.decode(before, skip_special_tokens=True)
    if any(string in text for string in stop):
        return Piece(before, "stop")  # the padding after it can look like an end of text
    if last < len(row) and row[last] in ends:
        return Piece(row[: last + 1], "end")
    # Keep padding that the model itself wrote first: TRL does not accept an empty response.
    return Piece(before or row[:1], "length")
