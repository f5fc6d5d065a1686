"""Make rollouts of OpenRLHF's samples, and check the measurements of agents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paretopo.config import MEASURES, SKIPPED, UNASKED
from paretopo.config.keys import nearest
from paretopo.controller.reward_vectors import check_number
from paretopo.integrations.agents.responses import write_completion
from paretopo.rewards.own import OwnRewards
from paretopo.rollout import BadRollout, Rollout, digest_prompt, format_answer, split_tokens

# Our agents return it in the extra_logs of their last turn: a mapping of names to numbers.
REWARD_COMPONENTS = "reward_components"
FINISHED = "finished"
# Key of an Experience's info: a list with the rollout of each row. OpenRLHF joins such lists as it
# joins tensors.
ROLLOUTS = "rollouts"

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


class UnexpectedOpenRLHF(RuntimeError):
    """OpenRLHF's data differ from those of the supported release."""


def label_fields(label: Any) -> dict[str, Any]:
    """Return the label as a JSON object; ``{"answer": label}`` if it is not one.

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
    """Return the prompt's name, for minima of calls and for errors: the label's, or a digest."""
    name = label_fields(label).get("id")
    return str(name) if name is not None else digest_prompt(prompt)


_OF_A_RESPONSE = ("prompt", "label", "observation_tokens", "action_ranges")


def check_response(response: Any) -> None:
    """Refuse a malformed response, from an executor that is not derived from ours.

    Raises:
        BadRollout: The response is not a mapping, or lacks a field of a rollout.
    """
    there = response if isinstance(response, Mapping) else {}
    if any(name not in there for name in _OF_A_RESPONSE):
        raise BadRollout(
            "the agent's execute() must return a mapping as OpenRLHF's executors do, with "
            f"{', '.join(_OF_A_RESPONSE)}, got {response!r:.200}"
        )


def find_components(
    response: Mapping[str, Any], logs: Mapping[str, Any], objectives: Sequence[str]
) -> dict[str, float | None]:
    """Return the values that an agent or a reward function gives by name; None does not apply.

    They are the ``reward_components`` in extra_logs. If there are none, they are ``rewards``,
    ``scores`` and those of extra_logs.

    Raises:
        BadRollout: An objective has no value, or one is not a finite number; the message names
            prompt, key and value.
    """
    name = prompt_id(response["prompt"], response["label"])
    if REWARD_COMPONENTS in logs:
        measured = logs[REWARD_COMPONENTS]
        if not isinstance(measured, Mapping):
            raise BadRollout(
                f"the agent's rollout of prompt {name!r} has {REWARD_COMPONENTS!r} = "
                f"{measured!r:.200}, expected a mapping of names to numbers"
            )
        # A key that is no name has no number either.
        return {
            key: check_number(name, key, value if isinstance(key, str) else repr(value))
            for key, value in measured.items()
        }
    given = {"rewards": response.get("reward"), "scores": response.get("scores"), **logs}
    for one in objectives:
        if one not in given and one not in UNASKED:
            failed = given["rewards"] is None
            raise BadRollout(
                f"the rollout of prompt {name!r} has no {one!r}: "
                + (
                    "the reward function or server gave it no reward; OpenRLHF's log says why"
                    if failed
                    else "return it in extra_logs, None if it does not apply; the names here are "
                    f"{', '.join(map(repr, given))}; {nearest(one, given)}"
                )
            )
    known = [*objectives, *MEASURES, SKIPPED]
    components = {one: check_number(name, one, given[one]) for one in known if one in given}
    return {"turns": float(len(response["action_ranges"])), **components}


def make_rollout(
    experience: Any, components: Mapping[str, float | None], objectives: Sequence[str]
) -> Rollout:
    """Return the rollout of an OpenRLHF `Experience` of one row, with these measurements."""
    [prompt], [label] = experience.prompts, experience.labels
    fields = label_fields(label)
    # Records list the objectives first, in their order.
    names = dict.fromkeys([*objectives, *MEASURES, SKIPPED, *components])
    return Rollout(
        prompt_id(prompt, label),
        {name: components[name] for name in names if name in components},
        kind=str(fields.get("kind", "all")),
        preference=str(fields.get("preference", "")),
        tokens=int(experience.action_mask.sum()),
        truncated=bool(experience.truncated),
    )


def measure_own(
    own: OwnRewards,
    experiences: Sequence[Any],
    tokenizer: Any,
    objectives: Sequence[str],
    further: Mapping[str, Any],
) -> None:
    """Add the values of the user's rewards to the `Experience`s of one rollout each.

    Args:
        own: The rewards.
        experiences: The experiences of one call of the rewards.
        tokenizer: Decodes the policy's tokens.
        objectives: The objectives of the run.
        further: Further arguments of the functions.

    Raises:
        BadRollout: As :meth:`~paretopo.rewards.own.OwnRewards.measure`.
    """
    labels = [label_fields(one.labels[0]) for one in experiences]
    asked = [label.get("columns") or {} for label in labels]
    columns = {name: [one.get(name) for one in asked] for one in asked for name in one}
    prompts = columns.pop("prompt", [one.prompts[0] for one in experiences])
    columns["answer"] = [label.get("answer", "") for label in labels]
    columns["id"] = [prompt_id(one.prompts[0], one.labels[0]) for one in experiences]
    columns["kind"] = [str(label.get("kind", "all")) for label in labels]
    responses = [_read_response(one) for one in experiences]
    columns["completion_ids"] = [tokens for tokens, _ in responses]
    completions = [
        write_completion(prompt, tokens, mine, tokenizer)
        for prompt, (tokens, mine) in zip(prompts, responses, strict=True)
    ]
    measured = own.measure(prompts, completions, columns, further)
    for one, components in zip(experiences, measured, strict=True):
        [rollout] = one.info[ROLLOUTS]
        given = {**rollout.reward_components, **components}
        one.info[ROLLOUTS] = [make_rollout(one, given, objectives)]


def _read_response(experience: Any, row: int = 0) -> tuple[list[int], list[bool]]:
    """Return the tokens of a response, and for each whether the policy wrote it."""
    own = experience.action_mask[row].bool().tolist()  # for every token except the first
    tokens = experience.sequences[row].tolist()[1:]
    there = int(experience.attention_mask[row].sum()) - 1  # padding is on the right
    start = own.index(True) if any(own) else there
    return tokens[start:there], own[start:there]


def with_text(rollout: Rollout, experience: Any, row: int, tokenizer: Any) -> Rollout:
    """Return the rollout of a row of an OpenRLHF `Experience`, with its text."""
    response = _read_response(experience, row)
    return replace(
        rollout,
        prompt=experience.prompts[row],
        answer=format_answer(label_fields(experience.labels[row]).get("answer", "")),
        segments=split_tokens(*response, tokenizer.decode, tokenizer.eos_token),
    )


def read_status(status: Mapping[str, Any]) -> dict[str, float]:
    """Return OpenRLHF's numbers of a step under the names of our records.

    >>> read_status({"policy_loss": 0.5, "actor_lr": 1e-6, "reward": 1.0})
    {'loss': 0.5, 'learning_rate': 1e-06}
    """
    return {ours: float(status[name]) for ours, name in _FROM_STATUS.items() if name in status}
