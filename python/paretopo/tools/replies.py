"""The replies of tools: which of them say that the call failed."""

from __future__ import annotations

import re

# TRL replies with {'error': ...} for a function that raised; our agents with "error: ...".
_FAILED = re.compile(
    r"""Traceback\ \(most\ recent
    | (?![{\s]*["']\w+["']\s*:\s*(?:null|None|[Ff]alse|0|""|\'\'|\[\]|\{\})\s*[,}])  # no error
      \W*(?:[Ee]rror|ERROR|[\w.]*(?:Error|Exception))\b\W?\s*(?::|\Z)
    | \W*(?:\[[Ee]rror\]|ERROR\b)
    | [\w.]*(?:Error|Exception)\(.*\)\s*\Z  # its repr
    | \W*[Aa]n\ (?:\w+\ )?error\ (?:has\ )?occurred\b[^.:\n]*(?::|\.?\s*\Z)""",
    re.DOTALL | re.VERBOSE,
)


def is_failure(reply: object) -> bool:
    r"""Return whether a tool's reply says that the call failed.

    A failed call's reply begins with ``error:``, ``[error]``, ``ERROR``, ``An error occurred``, the
    name of an exception and a colon, or a traceback. It may also be the repr of an exception, or a
    mapping whose first key is ``error``, unless the value is null, false, zero or empty. Other
    contents of a message, such as images, are no failures.

    >>> is_failure("{'error': 'no such part'}"), is_failure("KeyError: 'wheel'")
    (True, True)
    >>> is_failure("Error analysis is a field of mathematics"), is_failure("408")
    (False, False)
    """
    return isinstance(reply, str) and _FAILED.match(reply) is not None
