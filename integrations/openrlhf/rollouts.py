"""What a rollout brings to the brain, and how it is read out of OpenRLHF's samples."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paretopo.run.transcripts import Transcript, answer_text, of_tokens

# What every agent must say about every rollout, in the extra_logs of its last turn.
CORRECT, CALLS = "correct", "calls"
# What is added to it here.
ECONOMY, FINISHED = "economy", "finished"


class BadRollout(ValueError):
    """An agent's rollout that cannot be used; the message names the prompt and what is wrong."""


class UnexpectedOpenRLHF(RuntimeError):
    """OpenRLHF handed over something else than releases 0.10.2 to 0.11.2 do."""


@dataclass(frozen=True)
class Rollout:
    """One finished rollout.

    Attributes:
        prompt_id: "id" of the label where that is a JSON object, else a digest of the prompt.
        kind: "kind" of such a label, else "all".
        correct: Task reward, from 0 to 1.
        calls: Tool executions.
        economy: As the brain scored it; 0 before.
        tokens: Tokens that the policy wrote.
        truncated: Did it end for want of room?
        transcript: What it wrote, for those whose text is kept.
    """

    prompt_id: str
    kind: str
    correct: float
    calls: int
    economy: float = 0.0
    tokens: int = 0
    truncated: bool = False
    transcript: Transcript | None = None


def label_fields(label: Any) -> dict[str, Any]:
    """The label as a JSON object; ``{"answer": label}`` where it is none.

    >>> label_fields('{"id": "q7", "answer": "42"}')["id"], label_fields("42")
    ('q7', {'answer': '42'})
    """
    if isinstance(label, Mapping):
        return dict(label)
    try:
        fields = json.loads(label)
    except (TypeError, ValueError):
        fields = None
    return fields if isinstance(fields, dict) else {"answer": label}


def prompt_id(prompt: str, label: Any) -> str:
    """What a prompt is called, in the minima of calls and in error messages."""
    name = label_fields(label).get("id")
    return str(name) if name is not None else hashlib.sha1(prompt.encode()).hexdigest()[:12]


def checked_logs(prompt: str, label: Any, logs: Mapping[str, Any]) -> tuple[float, int]:
    """``(correct, calls)`` of a rollout's extra_logs.

    Raises:
        BadRollout: a key is missing, or not a number of its range; names prompt and key.
    """
    name = prompt_id(prompt, label)
    values = []
    for key, meaning in (
        (CORRECT, "the task reward, a number from 0 to 1"),
        (CALLS, "tool executions, an integer of at least 0"),
    ):
        if key not in logs:
            raise BadRollout(
                f"the agent's rollout of prompt {name!r} has no {key!r} in its extra_logs: every "
                f"turn must say it ({meaning}); got keys {sorted(logs)}"
            )
        try:
            value = float(logs[key])
        except (TypeError, ValueError):
            value = math.nan
        wrong = not math.isfinite(value) or value < 0
        wrong = wrong or (value > 1 if key == CORRECT else value != int(value))
        if wrong:
            raise BadRollout(
                f"the agent's rollout of prompt {name!r} has {key!r} = {logs[key]!r} in its "
                f"extra_logs, expected {meaning}"
            )
        values.append(value)
    return values[0], int(values[1])


def rollouts_of(experience: Any) -> list[Rollout]:
    """The rollouts of an OpenRLHF `Experience`, one per row."""
    info = experience.info
    economy = info[ECONOMY].tolist() if ECONOMY in info else [0.0] * len(experience.prompts)
    rows: Sequence[Any] = list(
        zip(
            experience.prompts,
            experience.labels,
            info[CORRECT].tolist(),
            info[CALLS].tolist(),
            economy,
            experience.action_mask.sum(dim=-1).tolist(),
            experience.truncated.tolist(),
            strict=True,
        )
    )
    return [
        Rollout(
            prompt_id(prompt, label),
            str(label_fields(label).get("kind", "all")),
            float(correct),
            int(calls),
            float(paid),
            int(tokens),
            bool(cut),
        )
        for prompt, label, correct, calls, paid, tokens, cut in rows
    ]


def transcript_of(experience: Any, row: int, tokenizer: Any) -> Transcript:
    """What one row of an OpenRLHF `Experience` wrote."""
    own = experience.action_mask[row].bool().tolist()  # of every token but the first
    tokens = experience.sequences[row].tolist()[1:]
    there = int(experience.attention_mask[row].sum()) - 1  # padding stands on the right
    start = own.index(True) if any(own) else there
    return Transcript(
        prompt=experience.prompts[row],
        answer=answer_text(label_fields(experience.labels[row]).get("answer", "")),
        segments=of_tokens(
            tokens[start:there], own[start:there], tokenizer.decode, tokenizer.eos_token
        ),
        truncated=bool(experience.truncated[row]),
    )
