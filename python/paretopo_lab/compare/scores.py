"""The values of models, question by question, from the rows of logs."""

from __future__ import annotations

import itertools
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from paretopo.config import ConfigError
from paretopo.records.files import Row
from paretopo.records.measures import Measure
from paretopo.records.schema import DataError
from paretopo_lab.compare.columns import (
    describe_columns,
    find_value,
    list_examples,
    shorten,
    to_number,
)
from paretopo_lab.document.report import join_some
from paretopo_lab.read.logs import Log
from paretopo_lab.statistics.bootstrap import Floats

NO_QUESTION = "none"  # of --question: rows are independent of each other
MISSING = ("pairs", "models", "worst")
_LOST = 0.1  # of the questions; from this share on, missing answers are warned of
_DECADE = 10.0
_LONGEST_NAME = 60  # characters
_SPENT = re.compile(r"tokens|cost|price|dollars|seconds|latency|error|loss", re.IGNORECASE)
_LABEL = re.compile(r"(^|[_.])(id|seed|rank|index|step)$", re.IGNORECASE)  # no objective


@dataclass(frozen=True)
class Scores:
    """The values of each model.

    Attributes:
        objectives: At least two.
        models: Their names, in the order of their first row.
        values: For each model (questions, objectives), means over the answers to a question; NaN
            where it has no answer. Models of one group have the same questions in the same order.
        answers: For each model its number of answers.
        groups: For each model the number of the group with which it shares questions; -1 if its
            questions have no names.
        fronts: For each model the front that it belongs to; "" if there is one front.
        notes: Sentences on guesses, and on rows that were left out.
        within: For each model (objectives, objectives), the covariance that answers to the same
            questions add to its means.
    """

    objectives: tuple[Measure, ...]
    models: tuple[str, ...]
    values: tuple[Floats, ...]
    answers: tuple[int, ...]
    groups: tuple[int, ...]
    fronts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    within: tuple[Floats, ...] = ()

    @cached_property
    def answered(self) -> tuple[Floats, ...]:
        """Return the values of each model without the questions that it did not answer."""
        return tuple(one[~np.isnan(one[:, 0])] for one in self.values)

    @cached_property
    def means(self) -> Floats:
        """Return (models, objectives), means over questions."""
        return np.array([one.mean(axis=0) for one in self.answered])

    @cached_property
    def errors(self) -> Floats:
        """Return (models, objectives), standard errors of the means; NaN for one question."""
        return np.array([_standard_error(one) for one in self.answered])

    @property
    def paired(self) -> bool:
        """Return whether all models share questions, directly or through other models."""
        return set(self.groups) == {0}

    @property
    def senses(self) -> tuple[float, ...]:
        """Return for each objective 1 if larger is better, -1 if smaller is."""
        return tuple(one.sense for one in self.objectives)

    @property
    def wide(self) -> tuple[bool, ...]:
        """Return for each objective whether its means span a decade: its axis is logarithmic."""
        return tuple(
            bool(column.min() > 0 and column.max() >= _DECADE * column.min())
            for column in self.means.T
        )

    @cached_property
    def shifts(self) -> Floats | None:
        """Return how far the difference of two models on shared questions is from that of means.

        Returns:
            (models, models, objectives); None if no two models of a group miss different answers.
        """
        gaps = [np.isnan(one[:, 0]) for one in self.values]
        if not any(one.any() for one in gaps):
            return None
        count = len(self.models)
        shifts = np.zeros((count, count, len(self.objectives)))
        for one, other in itertools.combinations(range(count), 2):
            differences = self.pair(one, other)
            if differences is not None:
                own = self.means[one] - self.means[other]
                shifts[one, other] = differences.mean(axis=0) - own
                shifts[other, one] = -shifts[one, other]
        return shifts

    def pair(self, one: int, other: int) -> Floats | None:
        """Return (questions, objectives), the differences on the questions that two models share.

        Returns:
            None if they share none.
        """
        if self.groups[one] != self.groups[other] or self.groups[one] < 0:
            return None
        differences = self.values[one] - self.values[other]
        known: Floats = differences[~np.isnan(differences[:, 0])]
        return known if len(known) else None

    def list_models(self, front: str) -> list[int]:
        """Return the places of the models that belong to a front."""
        return [at for at, name in enumerate(self.fronts) if name == front]


@dataclass(frozen=True)
class _Answer:
    model: str
    question: str | None
    front: str
    values: tuple[float | None, ...]


def collect_scores(
    logs: Sequence[Log],
    objectives: Sequence[Measure],
    by: Sequence[str] = (),
    question: str | None = None,
    front: str | None = None,
    missing: str = "pairs",
) -> Scores:
    """Collect the values of each model from logs.

    Args:
        logs: At least one.
        objectives: At least two; the key of each is the path of its column.
        by: The columns that name a model; none for the column that is known for the format.
        question: The column that names the question; None for the one that is known, "none" for
            rows that are independent of each other.
        front: The column that names the front of a model; None for one front.
        missing: If a model lacks answers that others have: "pairs" compares each pair on the
            questions that both answered, "models" leaves out the models that cost most questions,
            and "worst" counts a missing answer as the worst one.

    Raises:
        ConfigError: fewer than two objectives, one twice, or models that share no question.
        DataError: a column is missing, or a value is not a number; names file, line and column.
    """
    logs = [_keep_last_evaluation(log) for log in logs]
    _check_objectives(objectives, logs)
    guessed = not by
    by = tuple(by) or _guess_models(logs)
    notes = [] if question is not None else _describe_guess(logs)
    notes += _describe_senses(objectives)
    files: dict[str, set[str]] = {}
    answers: list[_Answer] = []
    for log in logs:
        _check_columns(log, [*(one.key for one in objectives), *by, *([front] if front else [])])
        key = log.question if question is None else question
        key = None if key == NO_QUESTION else key
        if key is not None:
            _check_columns(log, [key])
        found = [_read_answer(log, at, objectives, by, key, front) for at in range(len(log.rows))]
        known = [one for one in found if missing == "worst" or None not in one.values]
        if len(known) < len(found):
            notes.append(
                f"{log.name}: {len(found) - len(known)} of {len(found)} rows lack a value of an "
                "objective and are left out."
            )
        answers += known
        for one in known:
            files.setdefault(one.model, set()).add(log.name)
        if key is None and question is None:
            notes += _describe_variants(log, by, [one.model for one in found])
    if guessed:
        notes += _describe_files(files)
        if by[0] not in ("file", *(log.by for log in logs)):
            notes.append(f"Each row counts as one model, named by {by[0]}; --by file joins them.")
        if by == ("file",):
            columns = join_some([*list_examples(logs[0])], 8)
            notes.append(f"Each file counts as one model; --by names its column, of {columns}.")
    if not any(set(one.values) > {None} or None not in one.values for one in answers):
        raise DataError(
            f"no row of {', '.join(str(log.name) for log in logs)} has a value of every objective: "
            f"{', '.join(one.key for one in objectives)}"
        )
    return _arrange(objectives, answers, notes, missing, named=question not in (None, NO_QUESTION))


def _keep_last_evaluation(log: Log) -> Log:
    """Leave out the training questions and the earlier evaluations of a training of paretopo."""
    if log.format != "paretopo":
        return log
    asked = [at for at, row in enumerate(log.rows) if row.get("held_out", True)]
    if not asked:
        raise DataError(
            f"{log.name} holds training questions only: ask the policy with paretopo evaluate"
        )
    last = max(log.rows[at].get("step", 0) for at in asked)
    kept = [at for at in asked if log.rows[at].get("step", 0) == last]
    rows, places = tuple(log.rows[at] for at in kept), tuple(log.places[at] for at in kept)
    return replace(log, rows=rows, places=places)


def _check_objectives(objectives: Sequence[Measure], logs: Sequence[Log]) -> None:
    if len(objectives) < 2:
        columns = {path: one for log in logs for path, one in list_examples(log).items()}
        named = {log.question for log in logs}
        numbers = [
            path
            for path, (_, known) in columns.items()
            if known and path not in named and not _LABEL.search(path)
        ]
        spent = [path for path in numbers if _SPENT.search(path)]
        gained = [path for path in numbers if path not in spent]
        # One of each kind; without one, another column, and without that, a place to fill in.
        chosen = [*gained[:1], *spent[:1], *gained[1:], *spent[1:], "COLUMN", "COLUMN"][:2]
        senses = ["min" if path in spent else "max" for path in chosen]
        raise ConfigError(
            f"a front needs two objectives or more, got {len(objectives)}. Choose columns, each "
            "with its better direction, max or min. The columns, with an example of each:\n"
            + "".join(f"  {path:<24} {example}\n" for path, (example, _) in columns.items())
            + "For example:"
            + "".join(
                f" --objective {shlex.quote(f'{path}:{sense}')}"
                for path, sense in zip(chosen, senses, strict=True)
            )
        )
    names = [one.name for one in objectives]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--objective {name} is given twice; name each objective once")


def _describe_senses(objectives: Sequence[Measure]) -> list[str]:
    """Warn of objectives that are maximised, but have the name of a cost."""
    return [
        f"{one.key}:max counts more {one.name} as better; write {one.key}:min if fewer are."
        for one in objectives
        if one.sense > 0 and _SPENT.search(one.key)
    ]


def _guess_models(logs: Sequence[Log]) -> tuple[str, ...]:
    guesses = {log.by for log in logs}
    [guess, *others] = guesses
    names = _find_names(logs[0]) if len(logs) == 1 and guess == "file" else []
    if len(names) == 1:
        return (names[0],)
    return ("file",) if others else (guess,)


def _find_names(log: Log) -> list[str]:
    """Return the columns of a leaderboard that could name its rows: text, different in each."""
    if log.question is not None:
        return []
    columns = {name: [row.get(name) for row in log.rows] for name in log.rows[0] if name != "file"}
    return [
        name
        for name, values in columns.items()
        if all(isinstance(one, str) and _is_name(one) for one in values)
        and len(set(values)) == len(values) > 1
    ]


def _is_name(text: str) -> bool:
    try:
        to_number(text)
    except ValueError:
        return len(text) <= _LONGEST_NAME
    return False  # a number, or missing


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
    return [
        f"Rows of several files are one model: {join_some(several)}; --by file tells them apart."
    ]


def _describe_variants(log: Log, by: Sequence[str], models: Sequence[str]) -> list[str]:
    """Say how rows of one model are taken if no column names the question."""
    counts = Counter(models)
    several = [f"{model} ({count})" for model, count in counts.items() if count > 1]
    if not several:
        return []
    if len(several) == len(counts):  # no leaderboard
        columns = join_some([name for name in list_examples(log) if name not in by], 8)
        return [
            f"Rows of {log.name} are compared as independent ones: no column is known to name the "
            f"question. --question names it, of {columns}."
        ]
    most = counts.most_common(1)[0][0]
    rows = [row for row, model in zip(log.rows, models, strict=True) if model == most]
    texts = [name for name in rows[0] if all(isinstance(row.get(name), str) for row in rows)]
    apart = [name for name in texts if len({row[name] for row in rows}) == len(rows)]
    named = [name for name in apart if any(map(_is_name, (row[name] for row in rows)))]
    options = " ".join(f"--by {shlex.quote(name)}" for name in [*by, *named[:1]])
    way = f"{options} tells them apart" if named else "repeat --by to tell them apart"
    return [f"Rows of one model are averaged: {join_some(several)}; {way}."]


def _check_columns(log: Log, paths: Iterable[str]) -> None:
    """Refuse a column that no row of a log has."""
    for path in paths:
        if all(find_value(row, path) is None for row in log.rows):
            raise DataError(f"{log.name} has no column {path!r}: {describe_columns(log, path)}")


def _read_answer(
    log: Log,
    at: int,
    objectives: Sequence[Measure],
    by: Sequence[str],
    question: str | None,
    front: str | None,
) -> _Answer:
    row, place = log.rows[at], f"{log.name} {log.places[at]}"
    values = tuple(_read_number(row, one.key, place) for one in objectives)
    # A further column is named, so that its value is never read as a part of the model's name.
    model = _read_name(row, by[0], place)
    further = [path for path in by[1:] if find_value(row, path) not in (None, "")]
    model += "".join(f" {path}={_read_name(row, path, place)}" for path in further)
    name = None if question is None else _read_name(row, question, place)
    own = "" if front is None else _read_name(row, front, place)
    return _Answer(model, name, own, values)


def _read_number(row: Row, path: str, place: str) -> float | None:
    value: Any = find_value(row, path)
    try:
        return to_number(value)
    except ValueError:
        raise DataError(
            f"{place}: column {path} must hold finite numbers, got {shorten(repr(value))}; name a "
            "column of numbers, len(COLUMN) for the length of a text, or leave the cell empty"
        ) from None


def _read_name(row: Row, path: str, place: str) -> str:
    value = find_value(row, path)
    if value is None or value == "" or isinstance(value, dict | list):
        shown = shorten(repr(value))
        raise DataError(f"{place}: column {path} must hold a name or a number, got {shown}")
    return str(value)


def _arrange(
    objectives: Sequence[Measure],
    answers: Sequence[_Answer],
    notes: list[str],
    missing: str,
    *,
    named: bool,
) -> Scores:
    """Group the answers by model, and models by the questions that they share."""
    owners: dict[str, list[_Answer]] = {}
    for one in answers:
        owners.setdefault(one.model, []).append(one)
    fronts = []
    for model, own in owners.items():
        different = dict.fromkeys(one.front for one in own)
        if len(different) > 1:
            raise ConfigError(
                f"--front: a model belongs to one front, but {model} has rows of "
                f"{' and '.join(list(different)[:2])}; add the column to --by"
            )
        fronts.append(own[0].front)
    asked = {
        model: {one.question for one in own if one.question is not None}
        for model, own in owners.items()
    }
    if missing == "models" and all(asked.values()):
        out = _choose_costly(asked)
        if out:
            notes.append(f"--missing models leaves out {join_some(out)}.")
        kept = [model not in out for model in owners]
        fronts = [front for front, keep in zip(fronts, kept, strict=True) if keep]
        common = set.intersection(*(own for model, own in asked.items() if model not in out))
        asked = {model: common for model in asked if model not in out}
        owners = {model: [a for a in owners[model] if a.question in common] for model in asked}
    worst = _find_worst(objectives, answers) if missing == "worst" else None
    filled = worst is not None and all(asked.values())
    groups = [0] * len(asked) if filled else _group_models(asked)
    notes += _describe_sharing(asked, groups, filled, named)
    values, within, most = [], [], 1
    for (model, own), group in zip(owners.items(), groups, strict=True):
        together = [asked[one] for one, other in zip(owners, groups, strict=True) if other == group]
        names = sorted(set.union(*together), key=str) if group >= 0 and asked[model] else []
        order = {name: at for at, name in enumerate(names)}
        table, spread, repeats = _average(own, order, worst)
        values.append(table)
        within.append(spread)
        most = max(most, repeats)
    if most > 1:
        notes.append(
            f"Models answered a question up to {most} times: answers count as their mean, and "
            "replicates also draw among the answers to a question."
        )
    counts = tuple(map(len, owners.values()))
    return Scores(
        tuple(objectives), tuple(owners), tuple(values), counts, tuple(groups), tuple(fronts),
        tuple(notes), tuple(within),
    )  # fmt: skip


def _find_worst(objectives: Sequence[Measure], answers: Sequence[_Answer]) -> Floats:
    table = np.array([one.values for one in answers], float)
    senses = np.array([one.sense for one in objectives])
    worst: Floats = np.nanmin(table * senses, axis=0) * senses
    return worst


def _choose_costly(asked: Mapping[str, set[str]]) -> list[str]:
    """Return the models without which the others share nine tenths of their questions."""
    left, out = dict(asked), []
    while len(left) > 1:
        if len(set.intersection(*left.values())) > (1 - _LOST) * len(set.union(*left.values())):
            break
        counts = Counter(name for own in left.values() for name in own)
        costs = {
            # The questions that only this model lacks, and those that only this one has.
            model: sum(
                count == (1 if name in own else len(left) - 1) for name, count in counts.items()
            )
            for model, own in left.items()
        }
        costly = max(left, key=lambda model: (costs[model], -len(left[model])))
        out.append(costly)
        del left[costly]
    return out


def _group_models(asked: Mapping[str, set[str]]) -> list[int]:
    """Return the number of each model's group, the largest first; -1 without names of questions."""
    groups: list[tuple[set[str], list[str]]] = []
    for model, own in asked.items():
        joined = [one for one in groups if one[0] & own]
        groups = [one for one in groups if not one[0] & own]
        members = itertools.chain([model], *(models for _, models in joined))
        groups.append((own.union(*(questions for questions, _ in joined)), list(members)))
    groups.sort(key=lambda one: -len(one[1]))
    places = {model: at for at, (own, models) in enumerate(groups) for model in models if own}
    return [places.get(model, -1) for model in asked]


def _describe_sharing(
    asked: Mapping[str, set[str]], groups: Sequence[int], filled: bool, named: bool
) -> list[str]:
    """Say which models share no question with others, and which lack most of them."""
    if len(asked) < 2 or -1 in groups:
        return []
    first = [model for model, group in zip(asked, groups, strict=True) if group == 0]
    if len(first) == 1:
        least = min(asked, key=lambda model: len(asked[model]))
        text = (
            f"the {len(asked)} models share no question; {least} has {len(asked[least])}, such as "
            f"{min(asked[least])!r}"
        )
        if named:
            raise ConfigError(f"{text}; name another column, or --question {NO_QUESTION}")
        return [f"Not paired: {text}."]
    notes = [
        f"{model} shares no question with {join_some(first)}: it has {len(own)}, such as "
        f"{min(own)!r}. It is compared without pairs."
        for (model, own), group in zip(asked.items(), groups, strict=True)
        if group
    ]
    every = set.union(*(asked[model] for model in first))
    common = set.intersection(*(asked[model] for model in first))
    if len(common) > (1 - _LOST) * len(every):
        return notes
    gaps = sorted(((len(every - asked[model]), model) for model in first), key=lambda one: -one[0])
    costly = join_some([f"{model} ({count})" for count, model in gaps if count])
    how = (
        "A missing answer counts as the worst one."
        if filled
        else "Means are over each model's own questions, and pairs are compared on those that both "
        "answered; --missing models leaves the costliest models out, and --missing worst counts a "
        "missing answer as the worst one."
    )
    return [
        *notes,
        f"Warning: all models answered only {len(common):,} of {len(every):,} questions. Missing "
        f"most: {costly}. {how}",
    ]


def _average(
    answers: Sequence[_Answer], order: Mapping[str, int], worst: Floats | None
) -> tuple[Floats, Floats, int]:
    """Return means over the answers to a question, their covariance within, and the most answers.

    Args:
        answers: Of a model.
        order: The place of each question; empty if they have no names.
        worst: (objectives,) in place of missing values; None to leave questions missing.

    Returns:
        (questions, objectives) means; (objectives, objectives), the covariance that the answers add
        to the mean over questions; the largest number of answers to a question.
    """
    table = np.array([one.values for one in answers], float)
    if worst is not None:
        table = np.where(np.isnan(table), worst, table)
    if not order:
        return table, np.zeros((table.shape[1],) * 2), 1
    places = np.array([order[one.question] for one in answers if one.question is not None])
    counts = np.bincount(places, minlength=len(order))
    sums = np.zeros((len(order), table.shape[1]))
    np.add.at(sums, places, table)
    with np.errstate(invalid="ignore"):
        means: Floats = sums / counts[:, None]
    gaps = (table - means[places]) / counts[places, None]
    within: Floats = gaps.T @ gaps / np.count_nonzero(counts) ** 2
    if worst is not None:
        means = np.where(np.isnan(means), worst, means)
    return means, within, int(counts.max())


def _standard_error(values: Floats) -> Floats:
    if len(values) < 2:
        return np.full(values.shape[1], np.nan)
    error: Floats = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return error
