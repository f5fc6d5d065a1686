"""What a policy wrote, piece by piece, with what it was worth: the lines of `trajectories.jsonl`.

A line is a *group*, the rollouts of one prompt. A training group has the rollouts of its step, with
Pareto ranks and advantages; a held-out question usually has one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from paretopo.config import ConfigError
from paretopo.run import jsonl

Kind = Literal["model", "call", "tool"]

_MOST_CHARACTERS = 20_000


@dataclass(frozen=True)
class Segment:
    """A piece of a rollout.

    Attributes:
        kind: "model" for what the policy wrote, "call" for that part of it which calls a tool,
            "tool" for what the tool answered.
        text: The piece.
    """

    kind: Kind
    text: str


@dataclass(frozen=True)
class Rollout:
    """One response and what it was worth.

    Attributes:
        segments: Its pieces in order.
        solved: Was the answer right?
        calls: Tool executions.
        truncated: Did it end for want of room?
        rewards: One number for each of the group's objectives, () where nothing was scored.
        gated: The same behind the gate.
        rank: Pareto rank in its group, 0 is best; None where nothing was ranked.
        advantage: What the update got; None outside of training.
    """

    segments: tuple[Segment, ...]
    solved: bool
    calls: int
    truncated: bool = False
    rewards: tuple[float, ...] = ()
    gated: tuple[float, ...] = ()
    rank: int | None = None
    advantage: float | None = None


@dataclass(frozen=True)
class Group:
    """The rollouts of one prompt.

    Attributes:
        id: What the prompt is called.
        prompt: What the policy read.
        answer: The right answer.
        rollouts: In the order in which they were sampled.
        step: Training step, 0 before the first.
        stage: 1 or 2; 0 outside of training.
        held_out: Is it a held-out question?
        kind: Kind of question, or its data set; "" for none.
        objectives: Names of the rewards.

    >>> wrote = (Segment("call", "<search> Nile </search>"), Segment("tool", "a river"))
    >>> group = Group("q1", "How long is it?", "6650", (Rollout(wrote, solved=False, calls=1),))
    >>> Group.of_row(group.row()) == group
    True
    """

    id: str
    prompt: str
    answer: str
    rollouts: tuple[Rollout, ...]
    step: int = 0
    stage: int = 0
    held_out: bool = False
    kind: str = ""
    objectives: tuple[str, ...] = ("correct", "economy")

    def row(self) -> jsonl.Row:
        """The group as JSON's own types."""
        row: jsonl.Row = jsonl.plain(dataclasses.asdict(self))
        return row

    @classmethod
    def of_row(cls, row: jsonl.Row) -> Group:
        """The group of a row.

        Raises:
            ConfigError: a field is missing or of another type; names it.
        """
        return cls(
            id=_field(row, "id", str),
            prompt=_field(row, "prompt", str),
            answer=_field(row, "answer", str),
            rollouts=tuple(_rollout(one) for one in _field(row, "rollouts", list)),
            step=_field(row, "step", int),
            stage=_field(row, "stage", int),
            held_out=_field(row, "held_out", bool),
            kind=_field(row, "kind", str),
            objectives=tuple(str(name) for name in _field(row, "objectives", list)),
        )


def append_group(path: Path, group: Group) -> None:
    """Add a group to a file, as one line."""
    jsonl.append(path, group.row())


def read_groups(path: Path) -> Iterator[Group]:
    """The groups of a file in its order; a torn last line is left out, a missing file is empty.

    Raises:
        ConfigError: a line is no group; names file, line and field.
    """
    for number, row in enumerate(jsonl.rows(path), start=1):
        try:
            yield Group.of_row(row)
        except ConfigError as error:
            raise ConfigError(f"{path} line {number} is not a group of rollouts: {error}") from None


def shortened(group: Group, most: int = _MOST_CHARACTERS) -> Group:
    """The group with rollouts of at most about `most` characters; the longest pieces lose some.

    The middle of a piece is left out, and says how much it was.
    """
    rollouts = tuple(
        dataclasses.replace(one, segments=_shortened(one.segments, most)) for one in group.rollouts
    )
    return dataclasses.replace(group, prompt=_cut(group.prompt, most), rollouts=rollouts)


def _shortened(segments: tuple[Segment, ...], most: int) -> tuple[Segment, ...]:
    left, share = most, most
    # From the shortest on, each may take an equal part of what the shorter ones left.
    lengths = sorted(len(segment.text) for segment in segments)
    for taken, length in enumerate(lengths):
        share = left // (len(lengths) - taken)
        left -= min(length, share)
    return tuple(Segment(one.kind, _cut(one.text, share)) for one in segments)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return (
        f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n"
        f"{text[len(text) - half :]}"
    )


def _rollout(row: Any) -> Rollout:
    if not isinstance(row, dict):
        raise ConfigError(f"a rollout must be an object, got {row!r:.80}")
    rank, advantage = row.get("rank"), row.get("advantage")
    return Rollout(
        segments=tuple(_segment(one) for one in _field(row, "segments", list)),
        solved=_field(row, "solved", bool),
        calls=_field(row, "calls", int),
        truncated=_field(row, "truncated", bool),
        rewards=_numbers(row, "rewards"),
        gated=_numbers(row, "gated"),
        rank=None if rank is None else _field(row, "rank", int),
        advantage=None if advantage is None else _field(row, "advantage", float),
    )


def _segment(row: Any) -> Segment:
    if not isinstance(row, dict) or row.get("kind") not in get_args(Kind):
        raise ConfigError(f"a segment must have a kind of {get_args(Kind)}, got {row!r:.80}")
    return Segment(row["kind"], _field(row, "text", str))


def _numbers(row: jsonl.Row, name: str) -> tuple[float, ...]:
    """Rewards; null, as NaN is written, comes back as NaN."""
    numbers = _field(row, name, list)
    return tuple(math.nan if one is None else _number(name, one) for one in numbers)


def _field(row: jsonl.Row, name: str, kind: type) -> Any:
    """A field that must be there and of a type."""
    if name not in row:
        raise ConfigError(f"{name} is missing")
    value = row[name]
    if kind is float:
        return _number(name, value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ConfigError(f"{name} must be of type {kind.__name__}, got {value!r:.80}")
    return value


def _number(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ConfigError(f"{name} must be of numbers, got {value!r:.80}")
    return float(value)
