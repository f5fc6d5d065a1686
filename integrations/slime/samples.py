"""Rollouts out of slime's samples.

A sample is what slime trains on. One rollout is one sample, or several with the same `rollout_id`
where a generate function splits it (subagents, a compacted context); the last is what it is ranked
by, and all get its advantage.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from paretopo.config import MEASURES
from paretopo.config.keys import nearest
from paretopo.rollout import BadRollout, Rollout, format_answer, format_prompt, split_tokens

_UNASKED = ("tokens", "turns", "dollars")  # objectives that need no reward of that name
_SCORED = "paretopo"  # key of `metadata`


@dataclass(frozen=True)
class RolloutSamples:
    """One rollout among samples.

    Attributes:
        rows: Where its samples stand.
        samples: They themselves, in order; the last is ranked.
    """

    rows: tuple[int, ...]
    samples: tuple[Any, ...]

    @property
    def last(self) -> Any:
        """The sample that is ranked."""
        return self.samples[-1]


def split_rollouts(samples: Sequence[Any]) -> list[RolloutSamples]:
    """The rollouts of samples, in the order in which each begins.

    >>> from types import SimpleNamespace as Sample
    >>> parts = [Sample(rollout_id=one) for one in (7, None, 7, None)]
    >>> [one.rows for one in split_rollouts(parts)]
    [(0, 2), (1,), (3,)]
    """
    found: dict[tuple[str, int], list[int]] = {}
    for row, one in enumerate(samples):
        rollout_id = getattr(one, "rollout_id", None)
        name = ("row", row) if rollout_id is None else ("rollout", rollout_id)
        found.setdefault(name, []).append(row)
    return [
        RolloutSamples(tuple(rows), tuple(samples[row] for row in rows)) for rows in found.values()
    ]


def group_rollouts(samples: Sequence[Any]) -> list[list[RolloutSamples]]:
    """The rollouts of a batch by prompt, in the order in which prompts first appear.

    Raises:
        BadRollout: A sample does not say which prompt of the batch it answers.
    """
    found: dict[int, list[int]] = {}
    for row, one in enumerate(samples):
        if one.group_index is None:
            raise BadRollout(
                f"{_describe(one)} has no group_index: the samples of a prompt share one, which "
                "slime's data sources set; a data source or rollout function of your own must keep "
                "it"
            )
        found.setdefault(one.group_index, []).append(row)
    return [
        [
            RolloutSamples(tuple(rows[at] for at in one.rows), one.samples)
            for one in split_rollouts([samples[row] for row in rows])
        ]
        for rows in found.values()
    ]


def flatten(samples: Sequence[Any]) -> list[Any]:
    """The samples of a group, whose rollouts are samples or lists of them."""
    flat: list[Any] = []
    for one in samples:
        flat += flatten(one) if isinstance(one, list) else [one]
    return flat


def read_rollout(
    rollout: RolloutSamples,
    objectives: Sequence[str],
    *,
    kind: str = "all",
    held_out: bool = False,
) -> Rollout:
    """A rollout, with what the reward function said of it.

    Args:
        rollout: Its samples.
        objectives: Names of those of the run.
        kind: Where the sample names no source.
        held_out: Is it an evaluation's?

    Raises:
        BadRollout: Nothing is said of an objective; names the sample.
    """
    last = rollout.last
    masks = [_mask(one) for one in rollout.samples]
    components = _components(last, objectives)
    components.setdefault("turns", sum(own for mask in masks for own, _ in groupby(mask)))
    source = getattr(last, "source", None) or (last.metadata or {}).get("source_name")
    return Rollout(
        _prompt_id(last),
        components,
        kind=str(source or kind),
        held_out=held_out,
        tokens=sum(map(sum, masks)),
        truncated=last.status.value == "truncated",
    )


def with_text(
    rollout: Rollout, sample: Any, decode: Callable[[Sequence[int]], str], end: str | None
) -> Rollout:
    """The rollout with what was asked and written.

    Args:
        rollout: Without its text.
        sample: Of its samples the last.
        decode: From tokens to text.
        end: The tokenizer's end of text.
    """
    response = sample.tokens[len(sample.tokens) - sample.response_length :]
    return replace(
        rollout,
        prompt=format_prompt(sample.prompt),
        answer="" if sample.label is None else format_answer(sample.label),
        segments=split_tokens(response, _mask(sample), decode, end),
    )


def keep_scores(sample: Any, rollout: Rollout, scorer: str) -> None:
    """Let a sample carry what its rollout was worth, until its group is trained on or dropped.

    Args:
        sample: Of its samples the last.
        rollout: As it was scored.
        scorer: Names the session that scored it: samples can be dumped, and loaded by another.
    """
    sample.metadata = sample.metadata or {}
    sample.metadata[_SCORED] = {
        "scorer": scorer,
        "components": dict(rollout.reward_components),
        "solved": rollout.solved,
        "rewards": list(rollout.rewards),
    }


def has_scores(sample: Any, scorer: str) -> bool:
    """Was its rollout scored by this session already?"""
    kept = (sample.metadata or {}).get(_SCORED)
    return kept is not None and kept["scorer"] == scorer


def with_scores(rollout: Rollout, sample: Any) -> Rollout:
    """The rollout as it was scored."""
    kept = sample.metadata[_SCORED]
    return replace(
        rollout,
        reward_components=kept["components"],
        solved=kept["solved"],
        rewards=tuple(kept["rewards"]),
    )


def _components(sample: Any, objectives: Sequence[str]) -> dict[str, float | None]:
    told = sample.reward
    if not isinstance(told, Mapping):
        raise BadRollout(
            f"{_describe(sample)} has the reward {told!r}: the function of --custom-rm-path must "
            f"return a dictionary with {', '.join(map(repr, objectives))}"
        )
    for name in objectives:
        if name not in told and name not in _UNASKED:
            raise BadRollout(
                f"{_describe(sample)} has no {name!r} in its reward: the function of "
                "--custom-rm-path must return it, None where it does not apply; "
                f"{nearest(name, map(str, told))}"
            )
    return {name: told[name] for name in dict.fromkeys([*objectives, *MEASURES]) if name in told}


def _describe(sample: Any) -> str:
    return f"sample {sample.index} of prompt {_prompt_id(sample)!r} ({sample.status.value})"


def _prompt_id(sample: Any) -> str:
    """The prompt's name: ``id`` of its metadata, or a digest of its text."""
    name = (sample.metadata or {}).get("id")
    if name is not None:
        return str(name)
    return hashlib.sha1(format_prompt(sample.prompt).encode()).hexdigest()[:12]


def _mask(sample: Any) -> list[int]:
    """For each token of the response, 1 where the policy wrote it."""
    if sample.loss_mask is None:
        return [1] * sample.response_length
    return list(map(int, sample.loss_mask))
