"""Attention for generation on a CPU, where few heads of keys serve many heads of queries."""

from __future__ import annotations

from typing import Any

from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

_NAME = "paretopo-folded"


def fold_attention_heads(model: Any) -> None:
    """Let a model read its cache without copying it for every head of queries.

    transformers copies the keys and values of a shared head for each of its heads of queries, at
    every token. With SmolLM2 (9 heads of queries, 3 of keys) in bfloat16, and 16 prompts of 300
    tokens, a token of each took 223 ms of processor time that way and takes 70 ms this way. Results
    agree up to rounding.

    Args:
        model: A causal language model; unchanged unless its attention is "sdpa".
    """
    if model.config._attn_implementation == "sdpa":
        AttentionInterface.register(_NAME, _attend)
        AttentionMaskInterface.register(_NAME, sdpa_mask)
        model.set_attn_implementation(_NAME)


def _attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **further: Any
) -> tuple[Any, None]:
    """As `sdpa_attention_forward`, with the heads that share keys as positions of one head.

    Only for a single new position, which all of the mask is about.
    """
    rows, heads, new, size = query.shape
    shared = key.shape[1]
    is_same_for_heads = attention_mask is None or attention_mask.shape[1] == 1
    if new > 1 or heads == shared or not is_same_for_heads or further.get("dropout"):
        told: tuple[Any, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, **further
        )
        return told
    folded = scaled_dot_product_attention(
        query.reshape(rows, shared, heads // shared, size),
        key,
        value,
        attn_mask=attention_mask,
        scale=further.get("scaling"),
    )
    return folded.reshape(rows, 1, heads, value.shape[-1]), None
