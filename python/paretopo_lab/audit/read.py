"""Dumps of trainers: for each rollout its group, its rewards by name, and its advantage."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from paretopo.records.files import Row
from paretopo.records.schema import DataError
from paretopo_lab.compare.columns import WORDS, find_value, list_values, shorten
from paretopo_lab.read.logs import read_logs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_GROUPS = ("group", "group_id", "uid", "prompt_id", "question", "problem_id", "prompt", "input")
_ADVANTAGES = ("advantage", "advantages", "info.advantage")
_BATCHES = ("step", "global_step", "file")
_LENGTHS = (
    *("length", "completion_length", "response_length", "num_output_tokens", "tokens"),
    *("len(completion)", "len(output)"),
)
# Columns of numbers that are no rewards, and the sum of the rewards, if these are there.
_NUMBERS = {"idx", "index", "sample_id", "row", "num_input_tokens", "input_lengths", "gts"}
_SUMS = ("reward", "rewards", "score", "total_reward")


class Known(NamedTuple):
    """The records of one trainer.

    Attributes:
        name: The trainer.
        keys: Those of each row.
        group: The columns that name the group; none if the trainer does not write it.
        rewards: The column or the object that holds the rewards; None if they are columns.
    """

    name: str
    keys: frozenset[str]
    group: tuple[str, ...]
    rewards: str | None = None


# TRL: completions_*.parquet of `log_completions`. verl: `trainer.rollout_data_dir`, which lacks
# advantages. NeMo-RL: train_data_step*.jsonl. prime-rl: traces.jsonl, and samples in Parquet.
KNOWN = (
    Known("TRL", frozenset({"step", "prompt", "completion", "advantage"}), ("prompt",)),
    Known("verl", frozenset({"step", "input", "output", "gts", "score"}), ("input",)),
    Known("NeMo-RL", frozenset({"rewards", "advantages", "token_loss_mask"}), (), "rewards"),
    Known("prime-rl", frozenset({"question", "rewards", "info"}), ("question",), "rewards"),
    Known("prime-rl", frozenset({"problem_id", "sample_id", "advantage"}), ("problem_id",)),
    Known("paretopo", frozenset({"reward_components", "gated"}), ("question",), "gated"),
)


@dataclass(frozen=True)
class Dump:
    """The rollouts of a dump.

    Attributes:
        trainer: The trainer that writes such records; "" if none is known.
        names: Of the rewards.
        rewards: (rows, rewards); NaN where a rollout has none.
        advantages: (rows,); NaN where it is missing or NaN. None if the dump has none.
        groups: (rows,) the number of the group.
        labels: The name of each group.
        batches: (rows,) the number of the training step.
        lengths: (rows,) tokens or characters of the response; None if the dump has none.
        guessed_length: Their column, if it was found by its name; "" otherwise.
    """

    trainer: str
    names: tuple[str, ...]
    rewards: Floats
    advantages: Floats | None
    groups: Ints
    labels: tuple[str, ...]
    batches: Ints
    lengths: Floats | None
    guessed_length: str = ""

    @property
    def is_partial(self) -> bool:
        """Return whether groups of its steps are missing, as in the records of paretopo."""
        return self.trainer == KNOWN[-1].name

    def list_groups(self) -> list[Ints]:
        """Return the rows of each group."""
        return split_groups(self.groups)


def split_groups(groups: Ints) -> list[Ints]:
    """Return the rows of each group, given the group of each row."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.cumsum(np.bincount(groups))[:-1])


def read_dump(
    paths: Sequence[Path],
    *,
    group: Sequence[str] = (),
    rewards: Sequence[str] = (),
    advantage: str | None = None,
    length: str | None = None,
    group_size: int | None = None,
) -> Dump:
    """Read rows of one or more files.

    Args:
        paths: JSONL, JSON, CSV or Parquet.
        group: The columns that name the group together; by default those of a known trainer.
        rewards: The columns of the rewards; by default those of a known trainer.
        advantage: The column of the advantage.
        length: The column of the response's length.
        group_size: The number of consecutive rows that form a group, instead of ``group``.

    Raises:
        DataError: A file cannot be read, or a column is missing or holds no numbers.
    """
    rows, places = _read_rows(paths)
    known = next((one for one in KNOWN if rows[0].keys() >= one.keys), None)
    at = advantage or _first(rows, _ADVANTAGES)
    of_length = length or _first(rows, _LENGTHS)
    columns = list(group) or list(known.group if known else filter(None, [_first(rows, _GROUPS)]))
    named = list(rewards) or _list_rewards(
        rows, known, {at, of_length, *columns, *_BATCHES, *_NUMBERS}
    )
    _require(rows, named, "--reward", "a reward")
    _require(rows, [one for one in [advantage] if one], "--advantage")
    _require(rows, [one for one in [length] if one], "--length")
    batch = _first(rows, _BATCHES)
    batches, steps = _number([None if batch is None else find_value(row, batch) for row in rows])
    if group_size is None:
        _require(rows, columns, "--group", "the group of a rollout, or give --group-size")
        keys = [tuple(_as_key(find_value(row, one)) for one in columns) for row in rows]
    elif group_size < 1 or len(rows) % group_size:
        raise DataError(
            f"--group-size must divide the number of rows, {len(rows)}, got {group_size}"
        )
    else:
        keys = [(str(1 + row // group_size),) for row in range(len(rows))]
    if len(steps) > 1:  # a prompt may return in a later step
        keys = [(*key, f"{batch} {steps[at]}") for key, at in zip(keys, batches, strict=True)]
    groups, labels = _number(keys)
    return Dump(
        trainer=known.name if known else "",
        names=tuple(_shorten(one, known) for one in named),
        rewards=np.stack([_read_column(rows, places, one) for one in named], axis=-1),
        advantages=None if at is None else _read_column(rows, places, at),
        groups=groups,
        labels=tuple(map(_describe_key, labels)),
        batches=batches,
        lengths=None if of_length is None else _read_column(rows, places, of_length),
        guessed_length="" if length or known else of_length or "",
    )


def _number(keys: Sequence[Any]) -> tuple[Ints, list[Any]]:
    """Return the number of each key, in the order in which they first appear, and the keys."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(one, len(numbers)) for one in keys], np.int64), [*numbers]


def _shorten(column: str, known: Known | None) -> str:
    """Return the name of a reward without the place that all rewards share."""
    if known is not None and known.rewards is not None:
        column = column.removeprefix(f"{known.rewards}.").removesuffix(".score")
    return column.removeprefix("reward/").removeprefix("rewards/").removeprefix("rewards.")


def _read_rows(paths: Sequence[Path]) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    places: list[str] = []
    for path in paths:
        if path.suffix.lower() in (".pkl", ".pt"):
            raise DataError(
                f"{path} is a pickle, as SkyRL and OpenRLHF keep their batches, and opening one "
                "can run any code: write its groups, rewards and advantages to JSONL, as "
                "docs/audit.md shows"
            )
        for log in read_logs([path]):
            rows += log.rows
            places += [f"{path} {place}" for place in log.places]
    # Held-out rollouts, which paretopo records as well, have no advantages.
    kept = [at for at, row in enumerate(rows) if row.get("held_out") is not True]
    return [_open_texts(rows[at]) for at in kept], [places[at] for at in kept]


def _open_texts(row: Row) -> Row:
    """Open `metrics`, which prime-rl's Parquet holds as JSON."""
    if isinstance(row.get("metrics"), str):
        return {**row, "metrics": json.loads(row["metrics"])}
    return row


def _first(rows: Sequence[Row], names: Iterable[str]) -> str | None:
    """Return the first of these columns that a row has."""
    return next((n for n in names if any(find_value(row, n) is not None for row in rows)), None)


def _require(rows: Sequence[Row], columns: Sequence[str], option: str, needed: str = "") -> None:
    """Refuse columns that no row has, and a lack of columns if one is needed."""
    if needed and not columns:
        raise DataError(f"{option} must name {needed}; {_describe_columns(rows)}")
    for one in columns:
        if all(find_value(row, one) is None for row in rows):
            raise DataError(f"{option}: no row has {one!r}; {_describe_columns(rows)}")


def _describe_columns(rows: Sequence[Row]) -> str:
    return f"the first row has the columns {', '.join(path for path, _ in list_values(rows[0]))}"


def _list_rewards(rows: Sequence[Row], known: Known | None, taken: set[Any]) -> list[str]:
    """Return the columns of named rewards, or else of the single one."""
    if known is not None and known.rewards is not None:
        held = rows[0][known.rewards]
        if isinstance(held, Mapping):
            return [f"{known.rewards}.{one}.score" for one in held]
        several = isinstance(held, list) and len(held) > 1
        return [f"{known.rewards}.{at}" for at in range(len(held))] if several else [known.rewards]
    columns = [path for path, value in list_values(rows[0]) if _is_number(value)]
    columns = [one for one in columns if one not in taken and not one.startswith("info.")]
    marked = [one for one in columns if one.startswith(("reward/", "rewards/", "rewards."))]
    if marked:
        return marked
    return [one for one in columns if one not in _SUMS] or [one for one in _SUMS if one in columns]


def _is_number(value: Any) -> bool:
    try:
        return value is not None and not math.isnan(_read_number(value))
    except (TypeError, ValueError):
        return False


def _as_key(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, list | dict) else value


def _describe_key(key: Any) -> str:
    return shorten(", ".join(map(str, key)) if isinstance(key, tuple) else str(key))


def _read_column(rows: Sequence[Row], places: Sequence[str], column: str) -> Floats:
    values = np.full(len(rows), np.nan)
    for at, row in enumerate(rows):
        value = find_value(row, column)
        if value is None or value == "":
            continue
        try:
            values[at] = _read_number(value)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"{places[at]}: {column!r} must be a number, got {str(value)[:60]!r}: {error}"
            ) from None
    return values


def _read_number(value: Any) -> float:
    """Return a number; of a list with a value for each token, the one that is not 0.

    Raises:
        ValueError: The tokens have several values.
    """
    if isinstance(value, str):
        number = WORDS.get(value.strip().lower())
        return float(value) if number is None else number
    if not isinstance(value, list):
        return float(value)
    flat = np.array(value, np.float64).ravel()
    own = np.unique(flat[flat != 0.0])
    if len(own) > 1:
        raise ValueError("its tokens differ; write one number for each rollout")
    return float(own[0]) if len(own) else 0.0
