"""Responses in the form that the user's reward functions take, from a framework's tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any


def write_completion(
    prompt: Any, tokens: Sequence[int], written: Sequence[bool], tokenizer: Any
) -> str | list[dict[str, str]]:
    """Return the policy's response: a text for a text prompt, messages for messages.

    Messages are the policy's turns, with their calls as it wrote them, and tool results.

    Args:
        prompt: The prompt as it stands in the file.
        tokens: Tokens of the response.
        written: For each token, whether the policy wrote it.
        tokenizer: Decodes the tokens.
    """

    def decode(ids: Sequence[int]) -> str:
        text: str = tokenizer.decode(ids, skip_special_tokens=True)
        return text

    pairs = list(zip(tokens, map(bool, written), strict=True))
    if isinstance(prompt, str):
        return decode([token for token, mine in pairs if mine])
    return [
        {"role": "assistant" if mine else "tool", "content": decode([token for token, _ in run])}
        for mine, run in groupby(pairs, lambda pair: pair[1])
    ]
