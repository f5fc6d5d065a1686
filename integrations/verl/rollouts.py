"""Read rollouts from the rows that verl's agent loops put into the TransferQueue.

A row is one output of one agent loop, under the key ``{uid}_{session}_{index}``. The uid names a
prompt of the batch, and the session names one of its rollouts, which can have several outputs. All
outputs carry the reward of the last one, which represents the rollout in the ranking.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paretopo.config import MEASURES, SKIPPED, UNASKED
from paretopo.config.keys import nearest
from paretopo.integrations.agents.responses import write_completion
from paretopo.rewards.own import OwnRewards
from paretopo.rollout import (
    BadRollout,
    Rollout,
    digest_prompt,
    format_answer,
    format_prompt,
    split_tokens,
)

# The fields of a row; the queue leaves out those that a batch does not have.
FIELDS = (
    *("prompts", "responses", "response_mask", "num_turns", "raw_prompt"),
    *("data_source", "reward_model", "extra_info", "extra_fields"),
)

# Our name in steps.jsonl, verl's in its metrics.
_FROM_METRICS = {
    "loss": "actor/loss",
    "grad_norm": "actor/grad_norm",
    "learning_rate": "actor/lr",
    "kl": "actor/kl_loss",
}
# Our name, verl's timer.
_FROM_TIMING = {
    "seconds_generation": "gen",
    "seconds_update": "update_actor",
}


class UnexpectedVerl(RuntimeError):
    """verl's data differ from those of release 0.9.1."""


@dataclass(frozen=True)
class RolloutRows:
    """One rollout among the rows of a batch.

    Attributes:
        uid: Names its prompt within this batch.
        number: Index among the rollouts of the prompt.
        rows: Row numbers of its outputs, in order; the last one is ranked.
    """

    uid: str
    number: int
    rows: tuple[int, ...]


def group_rows(keys: Sequence[str], tags: Sequence[Mapping[str, Any]]) -> list[list[RolloutRows]]:
    """Group the rollouts of a batch by prompt, in the order in which prompts first appear.

    Args:
        keys: The key of every row.
        tags: The tags of every row; verl's padding is left out.

    Raises:
        UnexpectedVerl: A key has another form.

    >>> group_rows(["b_1_0", "a_0_1", "b_0_0", "a_0_0"], [{}] * 4)[0][0]
    RolloutRows(uid='b', number=0, rows=(2,))
    >>> group_rows(["a_0_1", "a_0_0", "pad_0_0"], [{}, {}, {"is_padding": True}])
    [[RolloutRows(uid='a', number=0, rows=(1, 0))]]
    """
    found: dict[str, dict[int, dict[int, int]]] = {}
    for row, (key, tag) in enumerate(zip(keys, tags, strict=True)):
        if tag.get("is_padding", False):
            continue
        uid, session, index = _split_key(key)
        found.setdefault(uid, {}).setdefault(session, {})[index] = row
    return [
        [
            RolloutRows(uid, number, tuple(row for _, row in sorted(outputs.items())))
            for number, outputs in sorted(sessions.items())
        ]
        for uid, sessions in found.items()
    ]


def _split_key(key: str) -> tuple[str, int, int]:
    uid, *numbers = key.rsplit("_", 2)
    if len(numbers) != 2 or not all(one.isdecimal() for one in numbers):
        raise UnexpectedVerl(f"a row's key must be UID_SESSION_INDEX, got {key!r}")
    return uid, int(numbers[0]), int(numbers[1])


class Rows:
    """The rows of a batch, read from the queue.

    Args:
        keys: The key of every row.
        columns: For each available field of :data:`FIELDS`, a value for each row.
        objectives: Names of the run's objectives.
        longest: Longest response in tokens.
        tokenizer: The policy's tokenizer.
    """

    def __init__(
        self,
        keys: Sequence[str],
        columns: Mapping[str, Sequence[Any]],
        *,
        objectives: Sequence[str],
        longest: int,
        tokenizer: Any,
    ) -> None:
        self._keys, self._columns = keys, columns
        self._objectives, self._longest, self._tokenizer = objectives, longest, tokenizer

    def rollout(self, session: RolloutRows, *, held_out: bool = False) -> Rollout:
        """Return a rollout with the values of the reward function.

        Raises:
            BadRollout: It lacks a value for an objective; the message names prompt and row.
        """
        last = session.rows[-1]
        name = self.prompt_id(last)
        responses, masks = self._columns["responses"], self._columns["response_mask"]
        tokens = sum(int(sum(_plain(masks[row]))) for row in session.rows)
        response = _plain(responses[last])
        ends = bool(response) and response[-1] == self._tokenizer.eos_token_id
        cut = self._extra_fields(last).get("truncated", len(response) >= self._longest and not ends)
        more = self._field("extra_info", last)
        return Rollout(
            name,
            self._components(last, name),
            kind=str(self._field("data_source", last) or "all"),
            preference=str(more.get("preference", "")) if isinstance(more, Mapping) else "",
            held_out=held_out,
            tokens=tokens,
            truncated=bool(cut),
        )

    def with_text(self, rollout: Rollout, session: RolloutRows) -> Rollout:
        """Return the rollout with the texts of prompt and response; of several outputs the last."""
        last, decode = session.rows[-1], self._tokenizer.decode
        graded = self._field("reward_model", last)
        answer = graded.get("ground_truth", "") if isinstance(graded, Mapping) else ""
        return replace(
            rollout,
            prompt=decode(_plain(self._columns["prompts"][last])),
            answer=format_answer(answer),
            segments=split_tokens(
                _plain(self._columns["responses"][last]),
                _plain(self._columns["response_mask"][last]),
                decode,
                self._tokenizer.eos_token,
            ),
        )

    def prompt_id(self, row: int) -> str:
        """Return the prompt's name: ``id`` of its ``extra_info``, or a digest of its messages."""
        more = self._field("extra_info", row)
        if isinstance(more, Mapping) and more.get("id") is not None:
            return str(more["id"])
        return digest_prompt(format_prompt(_plain(self._columns["raw_prompt"][row])))

    def _components(self, row: int, name: str) -> dict[str, float | None]:
        extra = self._extra_fields(row).get("reward_extra_info")
        extra = dict(extra) if isinstance(extra, Mapping) else {}
        for objective in self._objectives:
            if objective not in extra and objective not in UNASKED:
                raise BadRollout(
                    f"the rollout of prompt {name!r} (row {self._keys[row]}) has no "
                    f"{objective!r} in its reward_extra_info: compute_score must return it with "
                    f"'score', None if it does not apply; {nearest(objective, extra)}"
                )
        known = dict.fromkeys([*self._objectives, *MEASURES, SKIPPED])
        components = {one: extra[one] for one in known if one in extra}
        turns = self._field("num_turns", row)
        if turns is not None:  # turns of user, policy and tools
            components.setdefault("turns", int(turns) // 2)
        return components

    def _extra_fields(self, row: int) -> Mapping[str, Any]:
        """Return the agent loop's output other than tokens."""
        fields = self._field("extra_fields", row)
        return fields if isinstance(fields, Mapping) else {}

    def _field(self, name: str, row: int) -> Any:
        return self._columns[name][row] if name in self._columns else None


def measure_own(
    own: OwnRewards,
    messages: Sequence[Mapping[str, Any]],
    label: Mapping[str, Any],
    tokens: Sequence[int],
    mask: Sequence[int],
    tokenizer: Any,
) -> dict[str, float | None]:
    """Return the values of the user's rewards for one rollout.

    Args:
        own: The rewards.
        messages: The prompt, for a question that does not keep its own.
        label: The question's ``answer``, ``id``, ``kind`` and further ``columns``.
        tokens: Tokens of the response.
        mask: For each token, whether the policy wrote it.
        tokenizer: Decodes the tokens.

    Raises:
        BadRollout: As :meth:`~paretopo.rewards.own.OwnRewards.measure`.
    """
    columns = {**label["columns"], **{one: label[one] for one in ("answer", "id", "kind")}}
    prompt = columns.pop("prompt", None) or format_prompt(messages)
    completion = write_completion(prompt, tokens, [bool(one) for one in mask], tokenizer)
    given = {name: [value] for name, value in columns.items()}
    given["completion_ids"] = [list(tokens)]
    [measured] = own.measure([prompt], [completion], given, _FURTHER)
    return measured


def _log(name: str, value: Any) -> None:
    """Write a value that a reward function logs as a line of the log; verl has no table."""
    _LOGGER.info("reward: %s = %r", name, value)


_LOGGER = logging.getLogger("paretopo")
# TRL's arguments of reward functions, without the trainer's state, which agent loops do not get.
_FURTHER = {"log_metric": _log, "log_extra": _log}


def column(values: Any) -> list[Any]:
    """Return the values of a field in the queue's reply, one for each row.

    They arrive as a nested tensor, as a stack of objects, or as an array.
    """
    if hasattr(values, "unbind") and hasattr(values, "layout"):
        return list(values.unbind())
    return list(values.tolist() if hasattr(values, "tolist") else values)


def measured(
    metrics: Mapping[str, Any], timing: Mapping[str, float], seconds: float
) -> dict[str, float]:
    """Return verl's numbers of a step under the names of our records.

    >>> measured({"actor/loss": 0.5, "actor/lr": 1e-6}, {"gen": 2.0}, 3.0)
    {'loss': 0.5, 'learning_rate': 1e-06, 'seconds': 3.0, 'seconds_generation': 2.0}
    """
    numbers = {
        ours: float(metrics[name]) for ours, name in _FROM_METRICS.items() if name in metrics
    }
    numbers["seconds"] = seconds
    return numbers | {
        ours: float(timing[name]) for ours, name in _FROM_TIMING.items() if name in timing
    }


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values
