"""Tool calls in chat text: finding them in a turn, and wrapping results as the template does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, get_type_hints

_CALL = re.compile(r"<(?:tool_)?call>\s*(\{.*?\})\s*</(?:tool_)?call>", re.DOTALL)
_PLAIN = re.compile(r"<<([A-Za-z_]\w*)(?=[\s>])((?:(?!<<).)*?)>>", re.DOTALL)
_ARGUMENT = re.compile(r"([A-Za-z_]\w*)=(.*?)(?=\s+[A-Za-z_]\w*=|\s*\Z)", re.DOTALL)
_MARK = "\u00a7result\u00a7"

Call = tuple[str, dict[str, Any]]


def find_calls(
    text: str, tokenizer: Any = None, functions: Sequence[Callable[..., Any]] = ()
) -> list[Call]:
    """Name and arguments of every well-formed call in a turn.

    Args:
        text: What the policy wrote, without its end of a turn.
        tokenizer: Its response template says how a call looks, as on TRL: a turn that it cannot
            read has no calls. Without one, and with transformers older than 5.13, calls are JSON
            between <tool_call> and </tool_call>, or <call> and </call>, or those of the bundled
            templates, <<name key=value>>; malformed ones are passed over.
        functions: Tools whose arguments are brought to their types, where calls are no JSON.

    >>> find_calls('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>')
    [('add', {'a': 1})]
    >>> find_calls("<<calculator expression=12 * 34>>")
    [('calculator', {'expression': '12 * 34'})]
    """
    template = getattr(tokenizer, "response_template", None)
    if template is not None:
        try:
            from transformers.utils.chat_parsing import parse_response
        except ImportError:
            return _find_written(text, functions)
        try:
            message = parse_response(text, dict(template), prefix="", tools=list(functions))
            called = [one["function"] for one in message.get("tool_calls") or []]
            return [(one["name"], dict(one["arguments"])) for one in called]
        except (ValueError, TypeError, KeyError):  # of calls that are none
            return []
    return _find_written(text, functions)


def _find_written(text: str, functions: Sequence[Callable[..., Any]]) -> list[Call]:
    found: list[Call] = []
    for written in _CALL.findall(text):
        try:
            call = json.loads(written)
            name, arguments = call["name"], call["arguments"]
        except (ValueError, KeyError, TypeError):
            continue
        if isinstance(name, str) and isinstance(arguments, dict):
            found.append((name, arguments))
    if found:
        return found
    types = {one.__name__: get_type_hints(one) for one in functions}
    for name, written in _PLAIN.findall(text):
        arguments = dict(_ARGUMENT.findall(written))
        hints = types.get(name, {})
        found.append((name, {key: _fit(one, hints.get(key)) for key, one in arguments.items()}))
    return found


def _fit(value: str, kind: Any) -> Any:
    """An argument as the number that the tool takes; the text where it is none."""
    if kind not in (int, float):
        return value
    try:
        return kind(value)
    except ValueError:
        return value


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
