"""JSON from strangers: of files and requests."""

from __future__ import annotations

import json
import re
from typing import Any

_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")  # UTF-8 has no other way to write a half
_HALF = re.compile("[\ud800-\udfff]")


class HalfPairError(ValueError):
    """A text holds half of a surrogate pair."""


class EncodingError(ValueError):
    """A text is not in UTF-8."""


def parse_json(text: bytes, *, halves: bool = False) -> Any:
    r"""Parse JSON, and refuse half of a surrogate pair, which no tokenizer and no file takes.

    Args:
        text: In UTF-8.
        halves: True to accept such halves.

    Raises:
        EncodingError: The text is not in UTF-8.
        HalfPairError: A text in it holds half of a surrogate pair.
        ValueError: The text is no JSON.

    >>> parse_json(rb'"\ud83d\ude00"') == "\N{GRINNING FACE}"
    True
    """
    try:
        content = json.loads(text.decode())
    except UnicodeDecodeError as error:
        raise EncodingError(f"no JSON in UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"no JSON ({error})") from None
    suspect = "" if halves or not _ESCAPED.search(text) else json.dumps(content, ensure_ascii=False)
    if found := _HALF.search(suspect):
        raise HalfPairError(f"{found[0]!a} is half of a surrogate pair: replace or drop it")
    return content
