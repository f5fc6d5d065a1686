"""What a policy reads of a question: a text, or a message that its chat template frames."""

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
