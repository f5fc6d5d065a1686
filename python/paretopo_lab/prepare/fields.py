"""The names that data sets give to the same fields: question, answer, id, split."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from paretopo.records.schema import is_text
from paretopo.rewards.mathematics import last_box
from paretopo_lab.read.data_files import Raw

_QUESTION = ("problem", "Problem", "question", "Question", "input")
_ANSWER = ("answer", "Answer", "final_answer", "golden_answers", "ground_truth", "target")
_ALIASES = "answer_aliases"  # MuSiQue's further right answers
_BODY = ("Body", "body")  # of SVAMP and ASDiv: the text before the question
_ID = ("unique_id", "id", "ID", "_id", "problem_idx")
_EXTRA_ID = ("id", "index")
_IMAGES = ("image", "images", *(f"image_{number}" for number in range(1, 10)))
_IMAGE_MARK = re.compile(r"<image_?\d*>")
_RATIONALE_END = "####"  # GSM8K's answer follows it
_UNIT = re.compile(r"(.*?\S)\s+\([^()]*\)")  # ASDiv's "9 (apples)"
# Instructions on the form of the answer, which copies append to a question or put before it.
_HOW_TO_ANSWER = re.compile(
    r"(?:^|(?<=[\s.?!$:}]))(?:(?:please|let's|let us)\s)?(?:reason|think|put|give|return|write"
    r"|present|output|enclose|express|provide|solve|answer|make sure|remember|your"
    r"|the (?:final )?answer)\b"
    r"[^?.\n]{0,200}\\boxed\s*\{\s*\}[^?.\n]{0,60}",
    re.IGNORECASE,
)
_STEP_BY_STEP = re.compile(
    r"\s(?:(?:please|let's|let us)\s)?(?:reason|think|solve)[^?.\n]{0,60}step[ -]by[ -]step\W*\Z",
    re.IGNORECASE,
)
_INSTRUCTION, _BEFORE_QUESTION = "Answer the given question.", "Question: "  # Search-R1's prompt

COLUMNS = frozenset(
    {*_QUESTION, *_ANSWER, *_ID, *_IMAGES, "prompt", "reward_model", "extra_info", "data_source"}
    | {"context", "is_multiple_answer", "error", "split", "solution", *_BODY, _ALIASES}
)


class UnusableRow(Exception):
    """A row that cannot be used; reasons are counted, so they do not name the row."""


def question_of(raw: Raw) -> str:
    """Return the question after its context, without instructions on how to answer.

    It is a column of its own, or the user's message of a prompt.

    Raises:
        UnusableRow: There is no question, it is not Unicode, or it needs an image.
    """
    if any(raw.get(name) is not None and raw[name] not in ("", [], {}) for name in _IMAGES):
        raise UnusableRow("needs an image")
    question = _question_in(raw)
    if not isinstance(question, str) or not question.strip():
        raise UnusableRow("no question")
    question = _strip_instruction(question)
    if body := next((raw[name].strip() for name in _BODY if is_text(raw.get(name))), None):
        question = f"{body}{'' if body[-1] in '.?!,:;' else '.'} {question}"
    context = _parse_cell(raw.get("context"))  # no text where it is the documents of HotpotQA
    if isinstance(context, str) and context.strip():
        question = f"{context.strip()}\n{question}"
    if _IMAGE_MARK.search(question):
        raise UnusableRow("needs an image")
    if not is_text(question):
        raise UnusableRow("broken text")
    return question.strip()


def answers_of(raw: Raw) -> list[str]:
    """Return the answers as the source has them; "" for anything but texts and numbers.

    For GSM8K's rationale this is the text after "####", for MATH's solution its last box. ASDiv's
    units in brackets are left out.

    Raises:
        UnusableRow: There is no answer, or one is not Unicode.
    """
    found = next((raw[name] for name in _ANSWER if _is_given(raw.get(name))), None)
    if found is None:
        found = _as_mapping(raw.get("reward_model")).get("ground_truth")
    found = _parse_cell(found)
    if isinstance(found, Mapping):
        found = found.get("target")
    if found is None and isinstance(raw.get("solution"), str):
        found = last_box(raw["solution"])
    values = list(found) if isinstance(found, (list, tuple)) else [found]
    aliases = _parse_cell(raw.get(_ALIASES))
    values += aliases if isinstance(aliases, (list, tuple)) else []
    answers = [_answer_text(value) for value in values]
    if any(is_text(raw.get(name)) for name in _BODY):
        answers = [_UNIT.sub(r"\1", one) if _UNIT.fullmatch(one) else one for one in answers]
    if not any(answers):
        raise UnusableRow("no answer")
    if not all(map(is_text, filter(None, answers))):
        raise UnusableRow("broken text")
    return answers


def has_instruction(raw: Raw) -> bool:
    """Return whether the question had instructions on how to answer, which were left out."""
    question = _question_in(raw)
    return isinstance(question, str) and _strip_instruction(question) != question.strip()


def wants_all_answers(raw: Raw) -> bool:
    """Return whether several answers of the source belong together (OlympiadBench)."""
    return raw.get("is_multiple_answer") in (True, "True", "true")


def has_tolerance(raw: Raw) -> bool:
    """Return whether the source allows a numerical error (OlympiadBench)."""
    return _is_given(raw.get("error"))


def id_of(raw: Raw) -> str | None:
    """Return the source's own name of a row, None without one."""
    extra = _as_mapping(raw.get("extra_info"))
    for value in (*(raw.get(name) for name in _ID), *(extra.get(name) for name in _EXTRA_ID)):
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if is_text(value):
            return str(value).strip()
    return None


def data_source_of(raw: Raw) -> str | None:
    """Return the data set that a row names, None without one."""
    value = raw.get("data_source")
    return value.strip() if isinstance(value, str) and is_text(value) else None


def split_of(raw: Raw) -> str | None:
    """Return the split that a row names, in lower case, None without one."""
    value = _as_mapping(raw.get("extra_info")).get("split", raw.get("split"))
    return value.strip().lower() if isinstance(value, str) else None


def search_r1_message(raw: Raw) -> str | None:
    """Return the question in Search-R1's published prompt, None without such a prompt."""
    message = _user_message(raw.get("prompt"))
    is_one = isinstance(message, str) and message.startswith(_INSTRUCTION)
    return str(message) if is_one else None


def _question_in(raw: Raw) -> object:
    question = next((raw[name] for name in _QUESTION if _is_given(raw.get(name))), None)
    if question is None and (message := search_r1_message(raw)):
        return message.rpartition(_BEFORE_QUESTION)[2]
    return _user_message(raw.get("prompt")) if question is None else question


def _strip_instruction(question: str) -> str:
    r"""Remove a sentence that asks for `\boxed{}`, at the end or on a line before the question."""
    question = question.strip()
    if "boxed" not in question:
        return question
    for found in _HOW_TO_ANSWER.finditer(question):
        before = _STEP_BY_STEP.sub("", f" {question[: found.start()]}").strip()
        behind = question[found.end() :]
        if before and not behind.strip(" .$"):
            return before
        if not before and behind.lstrip(" .").startswith("\n") and behind.strip(" .\n"):
            return behind.strip(" .\n")
    return question


def _is_given(value: object) -> bool:
    return value is not None and value != "" and value != []


def _as_mapping(value: object) -> Mapping[str, Any]:
    value = _parse_cell(value)
    return value if isinstance(value, Mapping) else {}


def _parse_cell(value: object) -> object:
    """Parse a cell of a CSV file that holds a JSON list or object."""
    if not isinstance(value, str) or value[:1] not in ("[", "{"):
        return value
    try:
        content = json.loads(value)
    except (ValueError, RecursionError):
        return value  # mathematics: [0, 1) or {1, 2}
    if isinstance(content, list) and not all(isinstance(one, (str, dict)) for one in content):
        return value  # an interval or a vector: [1, 2]
    return content


def _user_message(prompt: object) -> object:
    """Return the last message of a user, or a prompt that is a text."""
    prompt = _parse_cell(prompt)
    if isinstance(prompt, (list, tuple)):
        said = [one for one in prompt if isinstance(one, Mapping) and one.get("role") == "user"]
        return said[-1].get("content") if said else None
    return prompt


def _answer_text(value: object) -> str:
    """Return a text as it is, a whole number without its point; "" for anything else."""
    if isinstance(value, str):
        return value.rpartition(_RATIONALE_END)[2].strip()
    if isinstance(value, float) and isfinite(value):
        return f"{value:.0f}" if value.is_integer() else str(value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
