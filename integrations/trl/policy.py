"""The policy and its tokenizer: any Hugging Face model that suits the task, or `tiny`."""

from __future__ import annotations

from typing import Any

from trl.chat_template_utils import add_response_schema, supports_tool_calling

from paretopo.config import ConfigError, RunConfig
from paretopo.integrations.huggingface.loading import load_tokenizer
from paretopo.integrations.huggingface.policy import open_policy
from paretopo.tasks.task import Task


def load_policy(config: RunConfig, task: Task, device: str = "cpu") -> tuple[Any, Any]:
    """Load model and tokenizer of `[model]`, and prepare them for the task's tool calls.

    Args:
        config: The run's configuration.
        task: Gives the vocabulary of the tiny model, and the functions for the chat template.
        device: Device of the model.

    Returns:
        (model, tokenizer), as from `open_policy`.

    Raises:
        ConfigError: There is no such model. Or the task has functions, and the chat template
            does not render tool calls, or TRL cannot parse them in a response.
    """
    tokenizer = None
    if not config.model.is_made:
        tokenizer = load_tokenizer(config.model)
        if task.functions:
            tokenizer = _enable_tool_calls(tokenizer, config.model.path)
    return open_policy(config, task, tokenizer=tokenizer, device=device)


def _enable_tool_calls(tokenizer: Any, path: str) -> Any:
    if not supports_tool_calling(tokenizer):
        has = "does not render tool calls and tool results"
        if tokenizer.chat_template is None:
            has = "is missing, and the task calls tools"
        raise ConfigError(
            f"model.path: the chat template of {path!r} {has}: give it one that does, "
            'model.chat_template = "chatml-tools" (if the tokenizer has <|im_start|>) or a .jinja '
            "file, or use a model trained for tool use, such as Qwen/Qwen3-0.6B"
        )
    if getattr(tokenizer, "response_template", None) is None:
        try:
            tokenizer = add_response_schema(tokenizer)
        except ValueError as error:
            raise ConfigError(
                f"model.chat_template: TRL cannot parse the tool calls of {path!r}: it does not "
                "know the template; put a response template next to it, NAME.json "
                'next to NAME.jinja (docs/models.md has one), or use "chatml-tools"'
            ) from error
    return tokenizer
