"""Rollouts out of OpenRLHF's samples, and the checks of what agents say of them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paretopo.rollout import Rollout, format_answer, split_tokens

# Every agent must give these two for every rollout, in the extra_logs of its last turn.
CORRECT, CALLS = "correct", "calls"
# These are added here.
ECONOMY, FINISHED = "economy", "finished"

# Our name in steps.jsonl, OpenRLHF's in its status.
_FROM_STATUS = {
    "loss": "policy_loss",
    "grad_norm": "actor_grad_norm",
    "learning_rate": "actor_lr",
    "kl": "kl",
    "vllm_kl": "vllm_kl",
    "seconds": "timing/step_total",
    "seconds_generation": "timing/generation",
    "seconds_experience": "timing/make_experience",
    "seconds_update": "timing/ppo_train",
    "seconds_weights": "timing/broadcast",
}


class BadRollout(ValueError):
    """An agent's rollout that cannot be used; the message names the prompt and what is wrong."""


class UnexpectedOpenRLHF(RuntimeError):
    """OpenRLHF handed over something else than releases 0.10.2 to 0.11.2 do."""


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
    """The prompt's name, in the minima of calls and in error messages: the label's, or a digest."""
    name = label_fields(label).get("id")
    return str(name) if name is not None else hashlib.sha1(prompt.encode()).hexdigest()[:12]


def check_logs(prompt: str, label: Any, logs: Mapping[str, Any]) -> tuple[float, int]:
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


def read_rollouts(experience: Any) -> list[Rollout]:
    """The rollouts of an OpenRLHF `Experience`, one per row, with rewards where it is scored."""
    info = experience.info
    economy = info[ECONOMY].tolist() if ECONOMY in info else [None] * len(experience.prompts)
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
            float(correct),
            int(calls),
            kind=str(label_fields(label).get("kind", "all")),
            tokens=int(tokens),
            truncated=bool(cut),
            rewards=() if paid is None else (float(correct), float(paid)),
        )
        for prompt, label, correct, calls, paid, tokens, cut in rows
    ]


def with_text(rollout: Rollout, experience: Any, row: int, tokenizer: Any) -> Rollout:
    """The rollout of a row of an OpenRLHF `Experience`, with its text."""
    own = experience.action_mask[row].bool().tolist()  # of every token but the first
    tokens = experience.sequences[row].tolist()[1:]
    there = int(experience.attention_mask[row].sum()) - 1  # padding stands on the right
    start = own.index(True) if any(own) else there
    return replace(
        rollout,
        prompt=experience.prompts[row],
        answer=format_answer(label_fields(experience.labels[row]).get("answer", "")),
        segments=split_tokens(
            tokens[start:there], own[start:there], tokenizer.decode, tokenizer.eos_token
        ),
    )


def measured(status: Mapping[str, Any], learning_rate_factor: float) -> dict[str, float]:
    """OpenRLHF's numbers of a step under the names of our records.

    >>> measured({"policy_loss": 0.5, "actor_lr": 1e-6, "reward": 1.0}, 0.5)
    {'loss': 0.5, 'learning_rate': 5e-07}
    """
    numbers = {ours: float(status[name]) for ours, name in _FROM_STATUS.items() if name in status}
    if "learning_rate" in numbers:
        numbers["learning_rate"] *= learning_rate_factor
    return numbers
