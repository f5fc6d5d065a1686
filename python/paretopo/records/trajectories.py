"""The lines of `trajectories.jsonl`: rollouts piece by piece, with their rewards.

A line is a *group*, the rollouts of one prompt. A training group has the rollouts of its step, with
Pareto ranks and advantages; a held-out question usually has one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from paretopo.config import ConfigError
from paretopo.records import files
from paretopo.rollout import Rollout, Segment, SegmentKind, annotate

_MOST_CHARACTERS = 20_000


@dataclass(frozen=True)
class Group:
    """The rollouts of one prompt, at least one.

    Attributes:
        rollouts: In the order in which they were sampled.
        step: Training step, 0 before the first.
        stage: 1 or 2; 0 outside of training.
        objectives: Names of the rewards.

    >>> wrote = (Segment("call", "<search> Nile </search>"), Segment("tool", "a river"))
    >>> one = Rollout("q1", {"calls": 1.0}, prompt="How long is it?", segments=wrote)
    >>> group = Group((one,), step=3, objectives=("calls",))
    >>> group.id, Group.from_row(group.to_row()) == group
    ('q1', True)
    """

    rollouts: tuple[Rollout, ...]
    step: int = 0
    stage: int = 0
    objectives: tuple[str, ...] = ("correct", "calls")

    @property
    def id(self) -> str:
        """Name of the prompt."""
        return self.rollouts[0].prompt_id

    @property
    def prompt(self) -> str:
        """Text that the policy read."""
        return self.rollouts[0].prompt

    @property
    def answer(self) -> str:
        """The file's answer; "" where it has none."""
        return self.rollouts[0].answer

    @property
    def answer_name(self) -> str:
        """Return the label of the answer: if it is not graded, it may only be for imitation."""
        return "right answer" if "correct" in self.objectives else "answer"

    @property
    def kind(self) -> str:
        """Kind of question, or its data set."""
        return self.rollouts[0].kind

    @property
    def held_out(self) -> bool:
        """Is it a held-out question?"""
        return self.rollouts[0].held_out

    @property
    def preference(self) -> str:
        """The text of the preference that it was given; "" for none."""
        return self.rollouts[0].preference

    def to_row(self) -> files.Row:
        """Return the group as JSON's own types; values that its rollouts share are stored once."""
        given = {"preference": self.preference} if self.preference else {}
        row: files.Row = files.to_json(
            given
            | {
                "id": self.id,
                "prompt": self.prompt,
                "answer": self.answer,
                "rollouts": [_rollout_row(one) for one in self.rollouts],
                "step": self.step,
                "stage": self.stage,
                "held_out": self.held_out,
                "kind": self.kind,
                "objectives": self.objectives,
            }
        )
        return row

    @classmethod
    def from_row(cls, row: files.Row) -> Group:
        """Make the group of a row.

        Raises:
            KeyError: An entry is missing.
            TypeError: An entry has another type.
            ValueError: There is no rollout, or a segment has an unknown kind.
        """
        shared = {
            "prompt_id": _check("id", row["id"], _TEXT),
            "prompt": _check("prompt", row["prompt"], _TEXT),
            "answer": _check("answer", row["answer"], _TEXT),
            "held_out": row["held_out"],
            "kind": _check("kind", row["kind"], _TEXT),
            "preference": row.get("preference", ""),
        }
        rollouts = tuple(_rollout(one, shared) for one in row["rollouts"])
        if not rollouts:
            raise ValueError("rollouts must hold at least one")
        objectives = tuple(_check("an objective", one, _TEXT) for one in row["objectives"])
        return cls(rollouts, row["step"], row["stage"], objectives)


def group_held_out(
    rollouts: Sequence[Rollout],
    gate: Callable[..., NDArray[np.float64]],
    step: int,
    stage: int,
    objectives: tuple[str, ...],
) -> list[Group]:
    """Return the prompts of an evaluation whose rollouts have their text.

    Args:
        rollouts: Of the evaluation, in the order of their prompts.
        gate: Gates the (rollouts, objectives) rewards of a prompt; `judged` says which ones.
        step: As for :class:`Group`.
        stage: As for :class:`Group`.
        objectives: As for :class:`Group`.
    """
    groups = []
    with_text = (one for one in rollouts if one.has_text)
    for _, same in groupby(with_text, key=lambda one: one.prompt_id):
        own = [*same]
        judged = [one.solved is not None for one in own]
        gated = gate([one.rewards for one in own], judged=judged)
        groups.append(Group(tuple(annotate(own, gated=gated)), step, stage, objectives))
    return groups


def choose_recorded(prompt_ids: Iterable[str], count: int) -> set[str]:
    """Choose the held-out prompts whose text adapters record: ``count`` of them, evenly spread.

    >>> sorted(choose_recorded(["c", "a", "d", "b", "a"], 2))
    ['b', 'd']
    """
    names = sorted(set(prompt_ids))
    if count >= len(names):
        return set(names)
    return {names[(2 * at + 1) * len(names) // (2 * count)] for at in range(count)}


def append_group(path: Path, group: Group) -> None:
    """Add a group to a file, as one line."""
    files.append_row(path, group.to_row())


def read_groups(path: Path) -> Iterator[Group]:
    """Yield the groups of a file in its order; a torn last line or a missing file yields nothing.

    Raises:
        ConfigError: a line is no group; names file, line and entry.
    """
    for number, row in enumerate(files.read_rows(path), start=1):
        try:
            yield Group.from_row(row)
        except (KeyError, TypeError, ValueError) as error:
            why = f"it lacks {error.args[0]}" if isinstance(error, KeyError) else error
            where = f"{path} line {number}"
            raise ConfigError(f"{where} is not a group of rollouts: {why}") from None


def shorten(group: Group, most: int = _MOST_CHARACTERS) -> Group:
    """Shorten the rollouts of a group to about `most` characters, the longest pieces first.

    The middle of a piece is left out, and says how much it was.
    """
    prompt = _cut(group.prompt, most)
    rollouts = tuple(
        dataclasses.replace(one, prompt=prompt, segments=_shortened(one.segments, most))
        for one in group.rollouts
    )
    return dataclasses.replace(group, rollouts=rollouts)


def _shortened(segments: tuple[Segment, ...], most: int) -> tuple[Segment, ...]:
    left, share = most, most
    # From the shortest on, each may use an equal part of the characters that are left.
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


def _rollout_row(rollout: Rollout) -> files.Row:
    return {
        "segments": [dataclasses.asdict(segment) for segment in rollout.segments],
        "reward_components": dict(rollout.reward_components),
        "solved": rollout.solved,
        "tokens": rollout.tokens,
        "truncated": rollout.truncated,
        "rewards": rollout.rewards,
        "gated": rollout.gated,
        "rank": rollout.rank,
        "advantage": rollout.advantage,
    }


def _rollout(row: files.Row, shared: dict[str, Any]) -> Rollout:
    components = dict(row["reward_components"]).items()
    return Rollout(
        **shared,
        reward_components={
            name: None if value is None else float(value) for name, value in components
        },
        solved=_check("solved", row["solved"], _TRUTH),
        tokens=row["tokens"],
        truncated=row["truncated"],
        segments=tuple(_segment(one) for one in row["segments"]),
        rewards=_numbers(row["rewards"]),
        gated=_numbers(row["gated"]),
        rank=_check("rank", row.get("rank"), _NUMBER),
        advantage=_check("advantage", row.get("advantage"), _NUMBER),
    )


def _segment(row: files.Row) -> Segment:
    if row["kind"] not in get_args(SegmentKind):  # pages and terminals print it as it is
        raise ValueError(f"a segment must have a kind of {get_args(SegmentKind)}, got {row!r:.80}")
    return Segment(row["kind"], _check("text", row["text"], _TEXT))


# Types of entries in JSON; true and false are not numbers.
_TEXT = ("a string", (str,))
_NUMBER = ("a number or null", (int, float, type(None)))
_TRUTH = ("true, false or null", (bool, type(None)))


def _check(name: str, value: Any, expected: tuple[str, tuple[type, ...]]) -> Any:
    """Return the value of an entry; refuse one that pages and terminals cannot print."""
    described, types = expected
    if type(value) not in types:
        raise TypeError(f"{name} must be {described}, got {value!r:.80}")
    return value


def _numbers(values: Iterable[float | None]) -> tuple[float, ...]:
    """Rewards; null, as NaN is written, comes back as NaN."""
    return tuple(math.nan if one is None else float(one) for one in values)
