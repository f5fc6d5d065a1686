"""The values of models, question by question, from the rows of logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paretopo.compare.bootstrap import Floats
from paretopo.compare.columns import describe_columns, find_value, to_number
from paretopo.compare.logs import Log
from paretopo.config import ConfigError
from paretopo.data.schema import DataError
from paretopo.run.files import Row
from paretopo.run.history import Measure

NO_QUESTION = "none"  # of --question: rows are independent of each other


@dataclass(frozen=True)
class Scores:
    """The values of each model.

    Attributes:
        objectives: At least two.
        models: Their names, in the order of their first row.
        values: For each model (questions, objectives), means over the answers to a question. If
            `paired`, the rows of all models are the same questions in the same order.
        answers: For each model its number of answers.
        paired: Whether all models answered the same questions.
        fronts: For each model the front that it belongs to; "" if there is one front.
        notes: Sentences on guesses, and on rows that were left out.
    """

    objectives: tuple[Measure, ...]
    models: tuple[str, ...]
    values: tuple[Floats, ...]
    answers: tuple[int, ...]
    paired: bool
    fronts: tuple[str, ...]
    notes: tuple[str, ...]

    @cached_property
    def means(self) -> Floats:
        """Return (models, objectives), means over questions."""
        return np.array([one.mean(axis=0) for one in self.values])

    @cached_property
    def errors(self) -> Floats:
        """Return (models, objectives), standard errors of the means; NaN for one question."""
        return np.array([_standard_error(one) for one in self.values])

    @property
    def senses(self) -> tuple[float, ...]:
        """Return for each objective 1 if larger is better, -1 if smaller is."""
        return tuple(one.sense for one in self.objectives)

    def list_models(self, front: str) -> list[int]:
        """Return the places of the models that belong to a front."""
        return [at for at, name in enumerate(self.fronts) if name == front]


@dataclass(frozen=True)
class _Answer:
    model: str
    question: str | None
    front: str
    values: tuple[float, ...]


def collect_scores(
    logs: Sequence[Log],
    objectives: Sequence[Measure],
    by: Sequence[str] = (),
    question: str | None = None,
    front: str | None = None,
) -> Scores:
    """Collect the values of each model from logs.

    Args:
        logs: At least one.
        objectives: At least two; the key of each is the path of its column.
        by: The columns that name a model; none for the column that is known for the format.
        question: The column that names the question; None for the one that is known, "none" for
            rows that are independent of each other.
        front: The column that names the front of a model; None for one front.

    Raises:
        ConfigError: fewer than two objectives, one twice, or models that share no question.
        DataError: a column is missing, or a value is not a number; names file, line and column.
    """
    _check_objectives(objectives)
    guessed = not by
    by = tuple(by) or _guess_models(logs)
    notes = [] if question is not None else _describe_guess(logs)
    files: dict[str, set[str]] = {}
    answers: list[_Answer] = []
    for log in logs:
        _check_columns(log, [*(one.key for one in objectives), *by, *([front] if front else [])])
        key = log.question if question is None else question
        key = None if key == NO_QUESTION else key
        if key is not None:
            _check_columns(log, [key])
        found = [_read_answer(log, at, objectives, by, key, front) for at in range(len(log.rows))]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            notes.append(
                f"{log.name}: {len(found) - len(known)} of {len(found)} rows lack a value of an "
                "objective and are left out."
            )
        answers += known
        for one in known:
            files.setdefault(one.model, set()).add(log.name)
    if guessed:
        notes += _describe_files(files)
    if not answers:
        raise DataError(
            f"no row of {', '.join(str(log.name) for log in logs)} has a value of every objective: "
            f"{', '.join(one.key for one in objectives)}"
        )
    return _arrange(tuple(objectives), answers, notes, named=question not in (None, NO_QUESTION))


def _check_objectives(objectives: Sequence[Measure]) -> None:
    if len(objectives) < 2:
        raise ConfigError(
            f"a front needs two objectives or more, got {len(objectives)}; for example "
            "--objective accuracy:max --objective tokens:min"
        )
    names = [one.name for one in objectives]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--objective {name} is given twice; name each objective once")


def _guess_models(logs: Sequence[Log]) -> tuple[str, ...]:
    guesses = {log.by for log in logs}
    return (guesses.pop(),) if len(guesses) == 1 else ("file",)


def _describe_guess(logs: Sequence[Log]) -> list[str]:
    guesses = {log.question for log in logs}
    if None in guesses:
        return []
    return [f"Questions are named by the column {' or '.join(sorted(filter(None, guesses)))}."]


def _describe_files(files: Mapping[str, set[str]]) -> list[str]:
    """Say which models have rows of several files, which may be different runs."""
    several = [f"{model} ({len(own)})" for model, own in files.items() if len(own) > 1]
    if not several:
        return []
    more = f" and {len(several) - 5} more models" if len(several) > 5 else ""
    return [
        f"Rows of several files are one model: {', '.join(several[:5])}{more}; --by file tells "
        "files apart."
    ]


def _check_columns(log: Log, paths: Iterable[str]) -> None:
    """Refuse a column that no row of a log has."""
    for path in paths:
        if all(find_value(row, path) is None for row in log.rows):
            raise DataError(
                f"{log.name} has no column {path!r}: {describe_columns(log.rows, path)}"
            )


def _read_answer(
    log: Log,
    at: int,
    objectives: Sequence[Measure],
    by: Sequence[str],
    question: str | None,
    front: str | None,
) -> _Answer | None:
    """Return a row's values; None if one is missing."""
    row, place = log.rows[at], f"{log.name} {log.places[at]}"
    values = [_read_number(row, one.key, place) for one in objectives]
    if any(value is None for value in values):
        return None
    model = ", ".join(_read_name(row, path, place) for path in by)
    name = None if question is None else _read_name(row, question, place)
    own = "" if front is None else _read_name(row, front, place)
    return _Answer(model, name, own, tuple(value for value in values if value is not None))


def _read_number(row: Row, path: str, place: str) -> float | None:
    value: Any = find_value(row, path)
    try:
        return to_number(value)
    except ValueError:
        raise DataError(
            f"{place}: column {path} must hold finite numbers, got {_quote(value)}; name a column "
            "of numbers, len(COLUMN) for the length of a text, or leave the cell empty"
        ) from None


def _read_name(row: Row, path: str, place: str) -> str:
    value = find_value(row, path)
    if value is None or value == "" or isinstance(value, dict | list):
        raise DataError(f"{place}: column {path} must hold a name or a number, got {_quote(value)}")
    return str(value)


def _quote(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _arrange(
    objectives: tuple[Measure, ...], answers: Sequence[_Answer], notes: list[str], *, named: bool
) -> Scores:
    """Group the answers by model, and pair models on the questions that all of them answered."""
    groups: dict[str, list[_Answer]] = {}
    for one in answers:
        groups.setdefault(one.model, []).append(one)
    fronts = []
    for model, own in groups.items():
        different = dict.fromkeys(one.front for one in own)
        if len(different) > 1:
            raise ConfigError(
                f"--front: a model belongs to one front, but {model} has rows of "
                f"{' and '.join(list(different)[:2])}; add the column to --by"
            )
        fronts.append(own[0].front)
    asked = {model: {one.question for one in own} for model, own in groups.items()}
    common = set.intersection(*asked.values())
    known = all(None not in questions for questions in asked.values())
    paired = known and bool(common)
    if known and not common:
        least = min(asked, key=lambda model: len(asked[model]))
        text = (
            f"the {len(asked)} models share no question; {least} has {len(asked[least])}, such as "
            f"{next(iter(asked[least]))!r}"
        )
        if named:
            raise ConfigError(f"{text}; name another column, or --question {NO_QUESTION}")
        notes.append(f"Not paired: {text}.")
    if paired and len(groups) > 1:
        notes += _describe_overlap(asked, len(common))
    values, counts = [], []
    order = {name: at for at, name in enumerate(sorted(common, key=str))} if paired else {}
    for own in groups.values():
        used = [one for one in own if one.question in order] if paired else own
        values.append(_average(used, order))
        counts.append(len(used))
    return Scores(
        objectives, tuple(groups), tuple(values), tuple(counts), paired, tuple(fronts), tuple(notes)
    )


def _describe_overlap(asked: dict[str, set[str | None]], common: int) -> list[str]:
    """Say which models answered other questions than the common ones."""
    more = {model: len(own) for model, own in asked.items() if len(own) > common}
    if not more:
        return []
    shown = ", ".join(f"{model} {count}" for model, count in list(more.items())[:5])
    rest = f" and {len(more) - 5} more models" if len(more) > 5 else ""
    return [
        f"Models answered different questions ({shown}{rest}): all are compared on the {common} "
        "that they share."
    ]


def _average(answers: Sequence[_Answer], order: Mapping[str | None, int]) -> Floats:
    """Return (questions, objectives): means over the answers to a question.

    Args:
        answers: Of a model.
        order: The place of each question; empty for the order of the answers.
    """
    table = np.array([one.values for one in answers])
    questions = dict.fromkeys(one.question for one in answers)
    if None in questions:
        return table
    order = order or {name: at for at, name in enumerate(questions)}
    places = np.array([order[one.question] for one in answers])
    sums = np.zeros((len(order), table.shape[1]))
    np.add.at(sums, places, table)
    return sums / np.bincount(places, minlength=len(order))[:, None]


def _standard_error(values: Floats) -> Floats:
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    error: Floats = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return error
