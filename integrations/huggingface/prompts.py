"""From a question to what a policy reads: its tokenizer, and its chat template around messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paretopo.config import ConfigError
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


def load_tokenizer(model: str) -> Any:
    """The tokenizer of a model.

    Raises:
        ConfigError: There is none.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load the tokenizer of {model!r}: {error}") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
