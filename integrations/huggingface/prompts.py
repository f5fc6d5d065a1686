"""From a question to what a policy reads: the chat template around messages, and tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paretopo.tasks.task import Prompt


def prompt_text(
    tokenizer: Any, prompt: Prompt, functions: Sequence[Callable[..., str]] = ()
) -> str:
    """The prompt as one text, up to where the policy goes on.

    Args:
        tokenizer: Its chat template frames messages; base models without one read them bare.
        prompt: A text, which is left as it is, or chat messages.
        functions: Tools that the chat template presents.
    """
    if isinstance(prompt, str):
        return prompt
    if tokenizer.chat_template is None:
        return "\n".join(message["content"] for message in prompt)
    text: str = tokenizer.apply_chat_template(
        prompt, tools=list(functions) or None, tokenize=False, add_generation_prompt=True
    )
    return text


def prompt_tokens(
    tokenizer: Any, prompt: Prompt, functions: Sequence[Callable[..., str]] = ()
) -> list[int]:
    """The prompt's tokens.

    A chat template writes the markers of its model itself; a bare text gets them here, such as the
    token with which every text of the model begins.

    Args:
        tokenizer: As for `prompt_text`.
        prompt: As for `prompt_text`.
        functions: As for `prompt_text`.
    """
    bare = isinstance(prompt, str) or tokenizer.chat_template is None
    text = prompt_text(tokenizer, prompt, functions)
    tokens: list[int] = tokenizer(text, add_special_tokens=bare)["input_ids"]
    return tokens
