"""Chat templates: each renders messages as text, and parses text into messages.

A template is a pair of files, like the one here. NAME.jinja renders a conversation; NAME.json is
transformers' `response_template`, which finds tool calls in the policy's text. `{eos}` in it
stands for the tokenizer's end of a turn, as `eos_token` does in the template.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from paretopo.config import CHATML_TOOLS, OWN, ConfigError

_CHATML = ("<|im_start|>", "<|im_end|>")


def set_chat_template(tokenizer: Any, name: str, path: str) -> dict[str, Any] | None:
    """Set another chat template on a tokenizer; return its response template from the file.

    Args:
        tokenizer: Changed in place.
        name: As `model.chat_template`.
        path: The model's path, for errors.

    Raises:
        ConfigError: There is no such template, its response template is not a JSON object, or the
            tokenizer lacks the template's tokens.
    """
    template, response = _read_template(name)
    if name == CHATML_TOOLS:
        missing = [one for one in _CHATML if one not in tokenizer.get_vocab()]
        if missing:
            raise ConfigError(
                f'model.chat_template = "{name}" needs a tokenizer with {" and ".join(_CHATML)}, '
                f"and that of {path!r} has no {' and no '.join(missing)}: use a .jinja file"
            )
        tokenizer.eos_token = _CHATML[1]
    tokenizer.chat_template = template
    return response


def fill_response(value: Any, end: str) -> Any:
    r"""Insert the end of a turn into the patterns of a response template.

    >>> fill_response({"close_pattern": "{eos}\\s*"}, "</s>")
    {'close_pattern': '</s>\\s*'}
    """
    if isinstance(value, dict):
        return {name: fill_response(one, end) for name, one in value.items()}
    return value.replace("{eos}", re.escape(end)) if isinstance(value, str) else value


def _read_template(name: str) -> tuple[str, dict[str, Any] | None]:
    """Return the template, and its response template if the file comes with one."""
    file = Path(__file__).with_name(f"{name}.jinja") if name == CHATML_TOOLS else Path(name)
    if file.suffix != ".jinja" or not file.is_file():
        raise ConfigError(
            f'model.chat_template must be "{OWN}", "{CHATML_TOOLS}" or a .jinja file, got {name!r}'
        )
    text = file.read_text(encoding="utf-8")
    back = file.with_suffix(".json")
    if not back.is_file():
        return text, None
    try:
        response = json.loads(back.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"model.chat_template: {back} is not JSON: {error}") from None
    if not isinstance(response, dict):
        raise ConfigError(f"model.chat_template: {back} must be an object, a response_template")
    return text, response
