"""Make a tokenizer's special tokens, end of turn and padding, agree with its model.

If a tokenizer disagrees with its model, the trained policy never stops, or stops at once. GGUF
files are the usual case: transformers reads the token that begins a turn as the end of a text.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from paretopo.config import ConfigError

_LOG = logging.getLogger("paretopo")
_MARK = "x\u00a7x"  # the text of a turn that is rendered to see the template's text after it


def settle_special_tokens(tokenizer: Any, ends: Sequence[int], path: str) -> None:
    """Make the tokenizer end a turn as the model does, and give it a padding token.

    The end of a turn is the token that the chat template writes after a turn. Without a template,
    it is the token on which tokenizer and model agree. A correction is reported on standard error.
    Padding is never read, so the end of a turn serves as padding if there is no padding token.

    Args:
        tokenizer: Changed in place.
        ends: Tokens that end a text for the model, `eos_token_id` of its generation settings and
            its configuration; empty if they name none.
        path: The model's path, for messages.

    Raises:
        ConfigError: No end is known, or tokenizer and model disagree and there is no template to
            decide.
    """
    own, turn = tokenizer.eos_token_id, find_turn_end(tokenizer)
    end = own if turn is None else turn
    if turn is None and own not in ends and ends:
        if own is None or own == tokenizer.bos_token_id:
            end = ends[0]
        else:
            raise ConfigError(
                f"model.path: the tokenizer of {path!r} ends a text with "
                f"{_name(tokenizer, own)}, the model with "
                f"{' or '.join(_name(tokenizer, one) for one in ends)}: save one of them with the "
                "other's eos_token"
            )
    if end is None:
        raise ConfigError(
            f"model.path: the tokenizer of {path!r} has no token that ends a text, and neither "
            "its model nor its chat template names one: save it with an eos_token"
        )
    if end != own:
        said = "none" if own is None else _name(tokenizer, own)
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(end)
        _LOG.warning(
            "%s: a turn ends with %s, not with %s as its tokenizer says",
            path,
            _name(tokenizer, end),
            said,
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token


def find_turn_end(tokenizer: Any) -> int | None:
    """Return the special token that the chat template writes after an assistant's turn.

    Returns None without a template, if the template does not render a turn, or if no special token
    follows the turn.
    """
    if tokenizer.chat_template is None:
        return None
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": _MARK}]
    try:
        text = tokenizer.apply_chat_template(turns, tokenize=False)
    except Exception:  # errors of Jinja and of the template
        return None
    _, mark, after = text.rpartition(_MARK)
    special = set(tokenizer.all_special_ids) | {
        token for token, about in tokenizer.added_tokens_decoder.items() if about.special
    }
    tokens = tokenizer(after, add_special_tokens=False)["input_ids"] if mark else []
    return next((token for token in tokens if token in special), None)


def _name(tokenizer: Any, token: int | None) -> str:
    return "nothing" if token is None else f"{tokenizer.convert_ids_to_tokens(token)!r} ({token})"
