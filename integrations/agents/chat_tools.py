"""Tool calls in chat text: find them in a turn, and wrap results as the template does."""

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
    """Return the name and arguments of every well-formed call in a turn.

    Args:
        text: The policy's text, without its end-of-turn token.
        tokenizer: Its response template defines the form of a call, as on TRL; a turn that it
            cannot read has no calls. Without a response template, and with transformers older than
            5.13, a call is JSON between <tool_call> and </tool_call> or between <call> and </call>,
            or has the form of the bundled template, <<name key=value>>. Malformed calls are
            skipped.
        functions: Tools; the arguments of calls that are not JSON are converted to their types.

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
        except (ValueError, TypeError, KeyError):  # not a call
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
    """Convert an argument to the number that the tool takes; return the text if it is not one."""
    if kind not in (int, float):
        return value
    try:
        return kind(value)
    except ValueError:
        return value


def result_frame(tokenizer: Any) -> tuple[str, str]:
    """Return the chat template's text before and after a tool's result, up to the next turn.

    It excludes the end-of-turn token before the result, which the policy itself wrote.

    Raises:
        ValueError: The template does not render tool results, or not after the end of the turn.
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
            "the chat template does not render tool results after the assistant's turn: use a "
            "model trained for tool use"
        )
    return before[end + len(tokenizer.eos_token) :], after
