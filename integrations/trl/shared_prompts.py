"""Log-probabilities of rollouts whose prompts are read once, also in training.

The rollouts of a group share one prompt, and most prompts of a task begin alike: with the system
prompt and the tools. TRL computes every row in full. This module computes the common beginning
once, the rest of each prompt once for its group, and then the responses. Gradients flow back
through keys and values to all parts. The head computes only trained tokens. Sums and gradients are
equal up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache

from paretopo.integrations.huggingface.turns import can_keep
from paretopo.integrations.trl.batches import Batch

_MASKED = ("eager", "sdpa")  # attention that takes padding anywhere in a row


def can_share(model: Any) -> bool:
    """Return whether rollouts can share keys and values of a prompt, with gradients.

    They cannot with gradient checkpointing, which keeps no keys and values.
    """
    attention = getattr(model.config, "_attn_implementation", None)
    checkpointed = getattr(model, "is_gradient_checkpointing", False)
    return attention in _MASKED and not checkpointed and can_keep(model)


@dataclass(frozen=True)
class Shares:
    """The different prompts of a micro-batch.

    Attributes:
        common: (tokens,) the common beginning of all prompts.
        rests: (prompts, tokens) the rest of each different prompt without its last token, padded
            on the left.
        rests_mask: (prompts, tokens) 1 where `rests` has a token.
        prompt_of: (rows,) the prompt of each row.
    """

    common: torch.Tensor
    rests: torch.Tensor
    rests_mask: torch.Tensor
    prompt_of: torch.Tensor

    @property
    def tokens(self) -> int:
        """Return the number of computed prompt tokens."""
        return self.common.numel() + self.rests.numel()


def find_shares(prompts: torch.Tensor, mask: torch.Tensor) -> Shares:
    """Split prompts, padded on the left, into their common beginning and the rests.

    >>> prompts = torch.tensor([[0, 5, 6, 7], [0, 5, 6, 7], [5, 6, 8, 9]])
    >>> shares = find_shares(prompts, (prompts > 0).long())
    >>> shares.common.tolist(), shares.rests.tolist(), shares.prompt_of.tolist()
    ([5, 6], [[0], [8]], [0, 0, 1])
    """
    rows = [row[own.bool()].tolist() for row, own in zip(prompts, mask, strict=True)]
    numbers: dict[tuple[int, ...], int] = {}
    prompt_of = [numbers.setdefault(tuple(row), len(numbers)) for row in rows]
    least, most = min(numbers), max(numbers)  # all others share the common prefix of these two
    common = 0
    shortest = min(map(len, numbers)) - 1  # the last token of a prompt goes with the response
    while common < shortest and least[common] == most[common]:
        common += 1
    width = max(map(len, numbers)) - 1 - common
    rests = prompts.new_zeros((len(numbers), width))
    rests_mask = mask.new_zeros((len(numbers), width))
    for prompt, number in numbers.items():
        rest = prompt[common:-1]
        if rest:
            rests[number, -len(rest) :] = prompts.new_tensor(rest)
            rests_mask[number, -len(rest) :] = 1
    return Shares(
        prompts.new_tensor(rows[0][:common]), rests, rests_mask, prompts.new_tensor(prompt_of)
    )


def count_tokens(batch: Batch) -> int:
    """Count the tokens of a trimmed micro-batch when prompts are shared."""
    shares = find_shares(batch["prompt_ids"], batch["prompt_mask"])
    return int(shares.tokens + len(batch["prompt_ids"]) + batch["completion_ids"].numel())


def compute_log_probs(
    model: Any,
    shares: Shares,
    prompts: torch.Tensor,
    responses: torch.Tensor,
    mask: torch.Tensor,
    trained: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return (rows, tokens) log-probabilities and entropies of responses, 0 for untrained tokens.

    There are no entropies if the model's head computes none, as with a reference policy.

    Args:
        model: A model for which `can_share` is true, with TRL's head (`add_fused_lm_head`).
        shares: The prompts, from `find_shares`.
        prompts: (rows, any) padded on the left.
        responses: (rows, tokens) padded on the right.
        mask: (rows, tokens) 1 where `responses` has a token.
        trained: (rows, tokens) 1 for the tokens to compute; all of them by default.
    """
    cache = DynamicCache(config=model.config)
    start, rows = len(shares.common), len(responses)
    if start:
        _read(model, cache, shares.common[None], mask.new_ones((1, start)), 0)
    before = mask.new_ones((len(shares.rests), start))
    at = torch.zeros_like(shares.prompt_of)
    if shares.rests.shape[1]:
        if start:
            cache.batch_select_indices(torch.zeros_like(shares.rests[:, 0]))
        before = torch.cat([before, shares.rests_mask], dim=1)
        _read(model, cache, shares.rests, before, start)
        at = shares.prompt_of
    if cache.get_seq_length():
        cache.batch_select_indices(at)
    seen = torch.cat([before[shares.prompt_of], mask.new_ones((rows, 1)), mask], dim=1)
    asked = mask.bool() if trained is None else (mask * trained).bool()
    if not asked.any():  # an empty loss still needs a path to the weights
        asked[0, 0] = True
    last = torch.zeros_like(asked[:, :1])  # nothing follows the last token
    with _selecting(model, torch.cat([asked, last], dim=1)):
        outputs = model(
            input_ids=torch.cat([prompts[:, -1:], responses], dim=1),
            attention_mask=seen,
            position_ids=_positions(seen)[:, before.shape[1] :],
            past_key_values=cache,
            shift_labels=responses[asked][None],
            fused_lm_head=True,
        )
    empty = outputs.log_probs.new_zeros(asked.shape)
    log_probs = empty.masked_scatter(asked, outputs.log_probs)
    if outputs.entropy is None:
        return log_probs, None
    return log_probs, empty.masked_scatter(asked, outputs.entropy)


@contextmanager
def _selecting(model: Any, places: torch.Tensor) -> Iterator[None]:
    """Pass only these positions of the rows to the head, as one row, inside the context."""
    whole = model.get_base_model() if hasattr(model, "get_base_model") else model

    def select(_module: Any, _inputs: Any, outputs: Any) -> Any:
        outputs.last_hidden_state = outputs.last_hidden_state[places][None]
        return outputs

    hook = whole.base_model.register_forward_hook(select)
    try:
        yield
    finally:
        hook.remove()


def _read(model: Any, cache: Any, tokens: torch.Tensor, seen: torch.Tensor, start: int) -> None:
    model(
        input_ids=tokens,
        attention_mask=seen,
        position_ids=_positions(seen)[:, start:],
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )


def _positions(mask: torch.Tensor) -> torch.Tensor:
    return (mask.cumsum(1) - 1).clamp(min=0)
