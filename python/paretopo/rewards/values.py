"""Check the values that reward functions return, and shape the responses that they get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from paretopo.controller.reward_vectors import check_number
from paretopo.rewards.calls import name_prompts
from paretopo.rewards.functions import Reward
from paretopo.rollout import BadRollout

Measured = list[dict[str, float | None]]


def check_components(reward: Reward, prompts: Sequence[str], values: Any) -> Measured:
    """Return the values of a reward function, by objective for each rollout.

    Args:
        reward: The function.
        prompts: The prompt of each rollout.
        values: Numbers; or mappings of the objectives' names to numbers, one for each rollout; or
            one mapping of the names to a list each.

    Raises:
        BadRollout: As :func:`check_values`, or a mapping lacks an objective.
    """
    name, names = reward.name, reward.objectives
    if isinstance(values, Mapping):
        columns = {one: check_values(one, prompts, _pick(reward, values, one)) for one in names}
        return [{one: columns[one][at] for one in names} for at in range(len(prompts))]
    listed = check_length(name, prompts, values)
    if not any(isinstance(one, Mapping) for one in listed):
        if len(names) > 1 and any(one is not None for one in listed):
            raise BadRollout(
                f"the reward {name!r} must return a mapping with {', '.join(names)} for each "
                f"rollout, got {listed[:1]!r:.80}"
            )
        return [dict.fromkeys(names, one) for one in check_values(name, prompts, listed)]
    return [
        {
            one: None if row is None else check_number(prompt, one, _pick(reward, row, one))
            for one in names
        }
        for prompt, row in zip(prompts, listed, strict=True)
    ]


def _pick(reward: Reward, row: Any, objective: str) -> Any:
    if not isinstance(row, Mapping) or objective not in row:
        got = sorted(map(str, row)) if isinstance(row, Mapping) else row
        raise BadRollout(
            f"the reward {reward.name!r} returned nothing for {objective!r}, got {got!r:.200}: "
            "None says that an objective does not apply"
        )
    return row[objective]


def check_length(name: str, prompts: Sequence[str], values: Any) -> Sequence[Any]:
    """Return the values of a reward function as a list, one entry for each rollout.

    Raises:
        BadRollout: It is not a list, tuple, array or tensor, or has another length.
    """
    if not isinstance(values, list | tuple) and not hasattr(values, "tolist"):
        raise BadRollout(
            f"the reward {name!r} must return a list, got {values!r} for {name_prompts(prompts)}"
        )
    listed = values if isinstance(values, list | tuple) else values.tolist()
    count = len(listed) if isinstance(listed, list | tuple) else 1
    if count != len(prompts) or not isinstance(listed, list | tuple):
        raise BadRollout(
            f"the reward {name!r} returned {count} values for the {len(prompts)} rollouts of "
            f"{name_prompts(prompts)}: one for each is expected, None if it does not apply"
        )
    return listed


def check_values(name: str, prompts: Sequence[str], values: Any) -> list[float | None]:
    """Return the values of a reward function, one number or None for each rollout.

    Args:
        name: The function's name.
        prompts: The prompt of each rollout.
        values: A list, tuple, array or tensor.

    Raises:
        BadRollout: It is none of these, has another length, or a value is not finite.
    """
    listed = check_length(name, prompts, values)
    return [check_number(prompt, name, one) for prompt, one in zip(prompts, listed, strict=True)]


def shape_completion(prompt: Any, response: Any) -> Any:
    """Return a response for a reward function: a text if the prompt is a text, else messages.

    Args:
        prompt: As it stands in the file, a text or messages.
        response: The policy's response, as a text or as messages.

    >>> shape_completion("why?", [{"role": "assistant", "content": "so"}])
    'so'
    >>> shape_completion([{"role": "user", "content": "why?"}], "so")
    [{'role': 'assistant', 'content': 'so'}]
    """
    if not isinstance(prompt, str):
        is_text = isinstance(response, str)
        return [{"role": "assistant", "content": response}] if is_text else response
    if isinstance(response, str):
        return response
    written = (one.get("content") or "" for one in response if one["role"] == "assistant")
    return "\n".join(written)
