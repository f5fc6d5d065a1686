"""Convert a question to the policy's prompt: apply the chat template, and tokenise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paretopo.tasks.task import Prompt


def prompt_text(
    tokenizer: Any, prompt: Prompt, functions: Sequence[Callable[..., str]] = ()
) -> str:
    """Return the prompt as one text, up to the beginning of the policy's turn.

    Args:
        tokenizer: Its chat template frames messages; base models without one read them unframed.
        prompt: Chat messages, or a text, which stays as it is.
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
    """Return the prompt's tokens.

    A chat template writes the markers of its model itself. A bare text gets them here, such as the
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
