r"""One notation for mathematical answers, so that equal answers read the same.

Rules for the normal form after Lewkowycz et al. (2022), "Minerva", arXiv 2206.14858, appendix D.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

_SYMBOLS = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{MULTIPLICATION SIGN}": r"\times ",
    "\N{MIDDLE DOT}": r"\cdot ",
    "\N{DOT OPERATOR}": r"\cdot ",
    "\N{DIVISION SIGN}": "/",
    "\N{LESS-THAN OR EQUAL TO}": r"\le ",
    "\N{GREATER-THAN OR EQUAL TO}": r"\ge ",
    "<=": r"\le ",
    ">=": r"\ge ",
    "...": r"\ldots ",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots ",
    "\N{INFINITY}": r"\infty ",
    "\N{UNION}": r"\cup ",
    "\N{INTERSECTION}": r"\cap ",
    "\N{EMPTY SET}": r"\emptyset ",
    "\N{ELEMENT OF}": r"\in ",
    "\N{DEGREE SIGN}": r"^{\circ}",
    "\N{GREEK SMALL LETTER PI}": r"\pi ",
}
_SYNONYMS = {
    "leq": r"\le",
    "leqslant": r"\le",
    "geq": r"\ge",
    "geqslant": r"\ge",
    "lt": "<",
    "gt": ">",
    "varnothing": r"\emptyset",
    "infin": r"\infty",
    "lbrace": r"\{",
    "rbrace": r"\}",
    "lor": r"\text{ or }",
    "vee": r"\text{ or }",
    "lg": r"\log_{10}",
    "dots": r"\ldots",
    "cdots": r"\ldots",
    "bar": r"\overline",
}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+")
_VULGAR = re.compile("[¼½¾⅐-⅞↉]")
_ROOT = re.compile(
    r"(?:√|(?<![\\a-zA-Z])sqrt)\s*(?:(\d+(?:\.\d+)?|[a-zA-Z])|\(([^()]*)\)|\{([^{}]*)\})"
)
_COMMAND = re.compile(r"\\([a-zA-Z]+)")
_BIG = re.compile(r"\\[bB]igg?[lmr]?(?![a-zA-Z])")
_MIXED = re.compile(r"(?<![\d.])(\d+) +(\d+) */ *(\d+)(?!\d)")
_LARGE = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_IN_WORDS = re.compile(rf"(?<=\d)\s*(\\text\s*\{{)?\s*({'|'.join(_LARGE)})\b")
_COUNTED = re.compile(r"\\text\s*\{\s*(-?\d[\d.,/]*)\s+((?!(?:or|and|to)\b)[a-zA-Z ]+)\}")
# As SymPy prints: 2*cos(pi*x), x**2.
_FUNCTION = re.compile(
    r"(?<![\\a-zA-Z])((?:arc)?(?:sin|cos|tan)h?|cot|sec|csc|exp|log|ln)(?=\s*\()|(?<![\\a-zA-Z])pi(?![a-zA-Z])"
)
_RAISED_TO = re.compile(r"\*\*\s*(-?\w+|\([^()]*\))")

# A repeating decimal has a line or dots above its period, or shows it in brackets or thrice.
_OVERLINED = re.compile("((?:[0-9][\u0304\u0305])+)")
_DOTTED = re.compile(r"(?<=[\d.])\\dot\s*\{?(\d)\}?(?:(\d*)\\dot\s*\{?(\d)\}?)?")
_IN_BRACKETS = re.compile(r"(\.\d*)\((\d+)\)(?![\w^])")
_GOES_ON = re.compile(r"(\.\d{0,12}?)(?:(\d)\2{2,}|(\d{2,12}?)\3+)\s*\\ldots(?![a-zA-Z])")
_REPEATING = re.compile(r"(?<![\d.,])(\d*)\.(\d*)\\overline\s*(?:\{\s*(\d+)\s*\}|(\d))")

_WRAPPED = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s*\{([^{}]*)\}"
)
_SPACES = re.compile(r"\\[,;:! ]|\\q?quad|~|\s+")
_SIZES = re.compile(r"\\(?:left|middle|right)(?![a-zA-Z])")
_FRACTION = re.compile(r"\\[dtc]?frac(?![a-zA-Z])")
_BARE_FRACTION = re.compile(r"\\frac(?:\{([^{}]*)\}|(\w))(?:\{([^{}]*)\}|(\w))")
_BARE_ROOT = re.compile(r"\\sqrt(\w)")
_LISTED = re.compile(r",(?:\s|\\ |\\q?quad|~)+")
_LIST_COMMA = "\ue000"  # of the private area, which means nothing in an answer
_LATEX_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d{3}(?!\d))")
_BRACKETS = re.compile(r"[(\[]|\\\{")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_DEGREES = re.compile(r"\^\{?\\circ\}?|\\degree")
_UNITS = re.compile(
    r"(?<=[\d}])(?:square|cubic)?(?:units?|dollars?|cents?|degrees?|points?|inch(?:es)?|feet|foot|miles?"
    r"|met(?:er|re)s?|cm|mm|km|hours?|minutes?|seconds?|days?|mph|percent)(?:\^\{?[23]\}?)?$"
)
_CHOICE = re.compile(
    r"(?:\(([A-J])\)[.:]?(?=\s|$)|([A-J])[.:)]|([A-J])$)"
    r"(?:\s*(?!\\(?:cdot|times|c[au]p))((?!.*\([A-J]\))(?!(?:(?:and|or) )?[A-J]\W*$)[\w\\$-].*))?"
)
_NAMED = re.compile(r"^[a-zA-Z](?:\([a-zA-Z]\))?=(?!=)")  # x = …, f(x) = …

_VARIABLE = r"(?:[a-zA-Z]|\\[a-z]+)"
_RELATION = r"(\\[lg]e(?![a-zA-Z])|<|>)"
_BOUND = r"([^<>=,\\]*(?:\\(?!le|ge|in\b|cup|cap)[^<>=,\\]*)*)"
_CHAIN = re.compile(rf"{_BOUND}{_RELATION}\s*{_VARIABLE}\s*{_RELATION}{_BOUND}")
_ONE_SIDED = re.compile(rf"{_VARIABLE}\s*{_RELATION}{_BOUND}")
_REVERSED = re.compile(rf"{_BOUND}{_RELATION}\s*{_VARIABLE}")
_OR = re.compile(r"\\text\s*\{\s*or\s*\}|(?<![\\a-zA-Z])or(?![a-zA-Z])")
_PARAMETER = re.compile(r"(?<![\\a-zA-Z])[kmn](?![a-zA-Z])")
_MULTIPLE_OF_PI = re.compile(r"(?<![\\a-zA-Z])[kmn]\s*\\pi|\\pi\s*[kmn](?![a-zA-Z])")
_MEMBER = re.compile(rf"{_VARIABLE}\s*\\in(?![a-zA-Z])(.*)")
_BUILT = re.compile(rf"\\\{{\s*{_VARIABLE}\s*(?:\||\\mid(?![a-zA-Z])|:)(.*)\\\}}")


def to_latex(text: str) -> str:
    r"""Write the answer as plain LaTeX on one line: without Unicode symbols, sizes and dollar
    signs.

    >>> to_latex("8√10"), to_latex(r"\bigl(½, 3 1/2\bigr)"), to_latex(r"x ≤ \varnothing")
    ('8\\sqrt{10}', '(\\frac{1}{2}, 3\\frac{1}{2})', 'x \\le  \\emptyset')
    """
    text = " ".join(text.replace("\\$", "").replace("$", "").split())
    text = _OVERLINED.sub(lambda m: rf"\overline{{{re.sub('[^0-9]', '', m[1])}}}", text)
    text = re.sub("([0-9])\u0307", r"\\dot{\1}", text)
    text = _VULGAR.sub(_expand_fraction, text)
    text = _RAISED.sub(lambda m: f"^{{{m[0].translate(_SUPERSCRIPTS)}}}", text)
    text = _ROOT.sub(lambda m: rf"\sqrt{{{m[1] or m[2] or m[3]}}}", text)
    for symbol, command in _SYMBOLS.items():
        text = text.replace(symbol, command)
    text = _COMMAND.sub(lambda m: _SYNONYMS.get(m[1], m[0]), _BIG.sub("", text))
    text = _FUNCTION.sub(r"\\\g<0> ", _RAISED_TO.sub(r"^{\1}", text))
    text = _COUNTED.sub(r"\1\\text{ \2}", text)
    text = _IN_WORDS.sub(lambda m: rf"\cdot 10^{{{_LARGE[m[2]]}}}{m[1] or ''}", text)
    text = _MIXED.sub(r"\1\\frac{\2}{\3}", text.replace(r"\text{}", ""))
    return _write_repeating_decimals(text).strip().rstrip(".")


def normalise_answer(text: str, *, join_groups: bool = True) -> str:
    r"""Return the answer without meaningless parts: spaces, wrappings, sizes, units, names.

    Args:
        text: The answer.
        join_groups: Are commas between groups of three digits thousands separators? Never where a
            bracket says that it is a tuple or a set, where another comma parts a list, or where a
            blank follows the comma.

    >>> normalise_answer(r"x = \dfrac12\text{ units}"), normalise_answer(r"\$1,234.")
    ('\\frac{1}{2}', '1234')
    >>> normalise_answer("(2,251)"), normalise_answer("27,108,135,5"), normalise_answer("1, 200")
    ('(2,251)', '27,108,135,5', '1,200')
    """
    text = _LISTED.sub(_LIST_COMMA, to_latex(text))
    text = _WRAPPED.sub(r"\1", text.replace("\\%", "").replace("%", ""))
    text = _SIZES.sub("", _SPACES.sub("", text))
    text = _FRACTION.sub(r"\\frac", _DEGREES.sub("", text))
    text = _BARE_FRACTION.sub(lambda m: rf"\frac{{{m[1] or m[2]}}}{{{m[3] or m[4]}}}", text)
    text = _BARE_ROOT.sub(r"\\sqrt{\1}", text)
    text = _UNITS.sub("", _NAMED.sub("", _LATEX_COMMA.sub("", text).rstrip(".")))
    if join_groups and not _BRACKETS.search(text):
        joined = _GROUPED.sub(lambda m: m[0].replace(",", ""), text)
        text = text if "," in joined or _LIST_COMMA in joined else joined
    text = re.sub(r"(?<=\d)\.0+(?!\d)", "", text.replace(_LIST_COMMA, ","))
    text = re.sub(r"(?<!\d)\.(?=\d)", "0.", text).lower()
    return "doesnotexist" if text == "dne" else text


def write_as_sets(known: str, given: str) -> tuple[str, str]:
    r"""Both answers in the same form: sets for inequalities, one name for the integer in n\pi.

    Args:
        known: In plain LaTeX, as `to_latex` writes it.
        given: In plain LaTeX.

    >>> write_as_sets("[2, 5)", r"2 \le x < 5"), write_as_sets(r"x \in [-2,7]", "[-2,7]")
    (('[2, 5)', '[2,5)'), ('[-2,7]', '[-2,7]'))
    >>> write_as_sets(r"x \le 3", r"y \ge 3"), write_as_sets(r"n\pi", r"k\pi")
    (('x \\le 3', 'y \\ge 3'), ('n\\pi', 'n\\pi'))
    """
    known, given = _strip_membership(known), _strip_membership(given)
    if _MULTIPLE_OF_PI.search(known) and _MULTIPLE_OF_PI.search(given):
        names = [set[str](_PARAMETER.findall(side)) for side in (known, given)]
        if len(names[0]) == len(names[1]) == 1:
            given = _PARAMETER.sub(names[0].pop(), given)
    sets = _write_set(known), _write_set(given)
    # Two inequalities keep the names of their variables, which a set has not.
    if None not in sets and not (_OR.search(known) or _OR.search(given)):
        return known, given
    return sets[0] or known, sets[1] or given


def split_choice(text: str) -> tuple[str, str] | None:
    r"""Return letter and text of a choice of an exercise; None for anything else.

    >>> split_choice(r"\textbf{(B)}\ 12"), split_choice("B"), split_choice("(A, 3)")
    (('B', '12'), ('B', ''), None)
    """
    bare = _SPACES.sub(" ", _WRAPPED.sub(r"\1", to_latex(text))).strip()
    found = _CHOICE.fullmatch(bare)
    return (found[1] or found[2] or found[3], found[4] or "") if found else None


def _strip_membership(text: str) -> str:
    r"""Reduce `x \in S` to S, and `\{x \mid 1 < x\}` to `1 < x`."""
    if found := _MEMBER.fullmatch(text):
        return found[1].strip()
    if found := _BUILT.fullmatch(text):
        return found[1].strip()
    return text


def _write_set(text: str) -> str | None:
    """Return the set of an inequality, or of several with "or" between; None for another text."""
    parts = [_write_interval(part.strip()) for part in _OR.split(text)]
    return r"\cup ".join(map(str, parts)) if None not in parts else None


def _write_interval(text: str) -> str | None:
    """Return the interval that an inequality of one variable describes; None for anything else."""
    if found := _CHAIN.fullmatch(text):
        low, first, second, high = (part.strip() for part in found.groups())
        if not low or not high or _opens_upwards(first) != _opens_upwards(second):
            return None
        if not _opens_upwards(first):
            low, first, second, high = high, second, first, low
    elif (found := _REVERSED.fullmatch(text)) and found[1].strip():
        return _write_interval(f"x {_TURNED[found[2]]} {found[1]}")
    elif found := _ONE_SIDED.fullmatch(text):
        relation, bound = (part.strip() for part in found.groups())
        if not bound:
            return None
        low, first, second, high = "-\\infty", "<", relation, bound
        if not _opens_upwards(relation):
            low, first, second, high = bound, relation, "<", "\\infty"
    else:
        return None
    opening, closing = "(" if first in "<>" else "[", ")" if second in "<>" else "]"
    return f"{opening}{low},{high}{closing}"


def _write_repeating_decimals(text: str) -> str:
    r"""Write every repeating decimal as a fraction: `0.1(6)` as `\frac{1}{6}`."""
    text = _DOTTED.sub(lambda m: rf"\overline{{{m[1]}{m[2] or ''}{m[3] or ''}}}", text)
    text = _GOES_ON.sub(r"\1\\overline{\2\3}", _IN_BRACKETS.sub(r"\1\\overline{\2}", text))

    def write(found: re.Match[str]) -> str:
        start, period = found[1] + found[2], found[3] or found[4]
        nines = (10 ** len(period) - 1) * 10 ** len(found[2])
        value = Fraction(int(start + period) - int(start or "0"), nines)
        whole = value.denominator == 1
        return str(value) if whole else rf"\frac{{{value.numerator}}}{{{value.denominator}}}"

    return _REPEATING.sub(write, text)


_TURNED = {"<": ">", ">": "<", r"\le": r"\ge", r"\ge": r"\le"}


def _opens_upwards(relation: str) -> bool:
    return relation in ("<", "\\le")


def _expand_fraction(found: re.Match[str]) -> str:
    parts = unicodedata.normalize("NFKC", found[0]).split("\N{FRACTION SLASH}")
    return rf"\frac{{{parts[0]}}}{{{parts[1]}}}" if len(parts) == 2 else found[0]
