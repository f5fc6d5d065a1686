"""A tokenizer's special tokens: the end of a turn, and padding, as the model knows them.

A tokenizer that says something else than its model trains a policy that never stops, or that stops
at once. GGUF files are the usual case: transformers reads of one that a text ends with the token
with which a turn begins.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from paretopo.config import ConfigError

_LOG = logging.getLogger("paretopo")
_MARK = "x\u00a7x"  # stands in a rendered turn where its text is


def settle_special_tokens(tokenizer: Any, ends: Sequence[int], path: str) -> None:
    """Make the tokenizer end a turn as the model does, and give it a token to pad with.

    The end of a turn is the token that the chat template writes after one; without a template, what
    tokenizer and model agree on. What the tokenizer said of it is corrected, with a line on
    standard error. Padding is never read: the end of a turn serves where there is none of its own.

    Args:
        tokenizer: Changed in place.
        ends: Tokens that end a text for the model, `eos_token_id` of its generation settings and
            its configuration; none where they name none.
        path: The model's, for messages.

    Raises:
        ConfigError: No end is known, or tokenizer and model disagree and no template decides.
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
    """The special token that the chat template writes after an assistant's turn.

    None where there is no template, it does not render a turn, or no special token follows.
    """
    if tokenizer.chat_template is None:
        return None
    turns = [{"role": "user", "content": "x"}, {"role": "assistant", "content": _MARK}]
    try:
        text = tokenizer.apply_chat_template(turns, tokenize=False)
    except Exception:  # Jinja's own, and whatever the template raises
        return None
    _, mark, after = text.rpartition(_MARK)
    special = set(tokenizer.all_special_ids) | {
        token for token, about in tokenizer.added_tokens_decoder.items() if about.special
    }
    tokens = tokenizer(after, add_special_tokens=False)["input_ids"] if mark else []
    return next((token for token in tokens if token in special), None)


def _name(tokenizer: Any, token: int | None) -> str:
    return "nothing" if token is None else f"{tokenizer.convert_ids_to_tokens(token)!r} ({token})"
