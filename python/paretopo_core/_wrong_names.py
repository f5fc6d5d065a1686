"""Keyword arguments under the names that other libraries give them.

Every function that takes `maximise` collects unknown keywords in ``**wrong``, because Python's own
error names the wrong word only.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

# True if the sense of the value is inverted.
_SENSES = {"minimise": True, "minimize": True, "maximize": False}
_REFERENCES = {"ref_point", "reference_point", "refpoint", "reference", "r"}


def refuse_names(wrong: Mapping[str, Any]) -> NoReturn:
    """Raise TypeError for the caller's unknown keywords, with the right name of the first."""
    code = sys._getframe(1).f_code
    count = code.co_argcount + code.co_kwonlyargcount
    known = [name for name in code.co_varnames[:count] if name != "self"]
    function = "ParetoArchive" if code.co_name == "__init__" else code.co_name
    name, value = next(iter(wrong.items()))
    raise TypeError(f"{function}() has no argument {name!r}; {_suggest(name, value, known)}")


def _suggest(name: str, value: Any, known: list[str]) -> str:
    if name.lower() in {*_SENSES, "maximise"} and "maximise" not in known:
        return "larger is always better: negate an objective that should be small"
    if name.lower() in _SENSES:
        turned = _turn(value) if _SENSES[name.lower()] else value
        return "pass maximise=" + ("" if turned is None else repr(turned))
    if name.lower() in _REFERENCES and "ref" in known:
        return "the reference point is ref="
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}=?" if close else f"it has {', '.join(known)}"


def _turn(value: Any) -> Any:
    """Invert senses; None for anything but a bool or a list of bools."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (list, tuple)) and all(isinstance(each, bool) for each in value):
        return [not each for each in value]
    return None
