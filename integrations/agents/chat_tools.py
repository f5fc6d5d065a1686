"""Tool calls in chat text: finding them in a turn, and wrapping results as the template does."""

from __future__ import annotations

import json
import re
from typing import Any

_CALL = re.compile(r"<(?:tool_)?call>\s*(\{.*?\})\s*</(?:tool_)?call>", re.DOTALL)
_MARK = "\u00a7result\u00a7"


def find_calls(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Name and arguments of every well-formed call in a turn.

    >>> find_calls('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>')
    [('add', {'a': 1})]
    """
    found = []
    for written in _CALL.findall(text):
        try:
            call = json.loads(written)
            name, arguments = call["name"], call["arguments"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(name, str) and isinstance(arguments, dict):
            found.append((name, arguments))
    return found


def result_frame(tokenizer: Any) -> tuple[str, str]:
    """The text that the chat template puts before and after a tool's result, up to the next turn.

    The policy's own end-of-turn token is not part of it: the policy wrote that itself.

    Raises:
        ValueError: the template does not render tool results, or not after the end of the turn.
    """
    call = {"type": "function", "function": {"name": "tool", "arguments": {}}}
    conversation = [
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "tool", "content": _MARK},
    ]
    text = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
    before, mark, after = text.partition(_MARK)
    end = before.rfind(tokenizer.eos_token)
    if not mark or end < 0:
        raise ValueError(
            "the chat template does not render tool results after the assistant's turn: take a "
            "model trained for tool use"
        )
    return before[end + len(tokenizer.eos_token) :], after
