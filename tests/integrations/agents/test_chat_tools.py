"""Tool calls in chat text."""

from types import SimpleNamespace

import pytest

from paretopo.integrations.agents.chat_tools import find_calls, result_frame


def test_calls_are_found_and_broken_ones_are_not():
    text = (
        '<call>{"name": "f", "arguments": {"x": 1}}</call> <tool_call>\n{"name": "g", '
        '"arguments": {}}\n</tool_call><call>{"name": 3, "arguments": {}}</call><call>{</call>'
    )
    assert find_calls(text) == [("f", {"x": 1}), ("g", {})]


def test_results_are_framed_as_the_template_does():
    def render(messages, **_):
        said = "".join(f"<{m['role']}>{m['content']}<end>\n" for m in messages)
        return said + "<assistant>"

    tokenizer = SimpleNamespace(apply_chat_template=render, eos_token="<end>")
    assert result_frame(tokenizer) == ("\n<tool>", "<end>\n<assistant>")
    tokenizer.apply_chat_template = lambda messages, **_: "no results here"
    with pytest.raises(ValueError, match="does not render tool results"):
        result_frame(tokenizer)
