"""The rules of a reward vector. Every door to the controller calls them; errors name the reward."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config import OF_UNKNOWN_UNITS, ConfigError, ParetoPOConfig
from paretopo.controller.estimators.groups import ROUNDING
from paretopo.rollout import BadRollout

_ANY = (-math.inf, math.inf)
_TO_ONE = (-math.inf, 1.0)
# Valid values of the first reward and of the others, for estimators with a fixed scale.
_RANGES = {
    "worth": ((0.0, math.inf), _ANY),
    "gr3": ((0.0, math.inf), _ANY),
    "tchebycheff": (_TO_ONE, _TO_ONE),
}


def name_objectives(config: ParetoPOConfig, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the rewards; without names, their numbers.

    Raises:
        ConfigError: There is not one weight for each.
    """
    count = len(config.weights)
    if names is None:
        return tuple(f"objective {at}" for at in range(count))
    if len(names) != count:
        raise ConfigError(
            f"there are {len(names)} rewards, {', '.join(names)}, and ParetoPOConfig has weights "
            f"for {count}, {list(config.weights)}: give one to each, such as "
            f'ParetoPOConfig(stage2_estimator="{OF_UNKNOWN_UNITS}", '
            f"weights=(1 / {len(names)},) * {len(names)})"
        )
    return tuple(names)


def to_number(value: object) -> float:
    """Return a value as a float; NaN if it is not a number."""
    try:
        return math.nan if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):  # of a tensor of several numbers
        return math.nan


def check_number(
    prompt: Hashable,
    name: str,
    value: object,
    bounds: tuple[float, float] = _ANY,
    *,
    whole: bool = False,
    gate: bool = False,
    why: str = "",
) -> float | None:
    """Return a measure or a reward as a float; None if it does not apply.

    A value beyond a bound by rounding gets the bound.

    Args:
        prompt: Names the prompt of the rollout in errors.
        name: Of the objective.
        value: A number, or None.
        bounds: The smallest and the largest valid value.
        whole: True if only integers are valid.
        gate: True for the gate, which applies to every rollout of a prompt, or to none.
        why: The end of the message.

    Raises:
        BadRollout: Names prompt, objective and value, and says which values are valid.
    """
    if value is None and not gate:
        return None
    number, (low, high) = to_number(value), bounds
    if math.isfinite(number) and (number.is_integer() or not whole):
        margin = ROUNDING * abs(number)
        if low - margin <= number <= high + margin:
            return min(max(number, low), high)
    if value is None:
        expected = ": the gate applies to every rollout of a prompt, or to none"
    else:
        ends = [f"at least {low:g}"] * (low > -math.inf) + [f"at most {high:g}"] * (high < math.inf)
        kind = ("an integer" if whole else "a finite number") + " of " * bool(ends)
        expected = f", expected {kind}{' and '.join(ends)}, or None if it does not apply"
    raise BadRollout(
        f"the rollout of prompt {prompt!r} has {name!r} = {value!r} among its measures"
        f"{expected}{why}"
    )


def as_array(rewards: ArrayLike) -> NDArray[Any]:
    """Return rewards as an array of numbers, or of objects if one is None or no number."""
    given = np.asarray(rewards)
    # NumPy would write the numbers next to a text as texts.
    return given if given.dtype.kind in "biuf" else np.asarray(rewards, object)


def read_vectors(
    rewards: ArrayLike,
    inside: NDArray[np.bool_],
    config: ParetoPOConfig,
    columns: NDArray[np.intp],
    names: Sequence[str],
    prompts: Sequence[Hashable],
) -> NDArray[np.float64]:
    """Return the rewards of a step as float64, with the mean of its group in place of a None.

    A group whose gate is None for all rollouts has no gate: they count as right.

    Args:
        rewards: (groups, points, objectives), None if an objective does not apply.
        inside: (groups, points), False for padding, which becomes 0.
        config: The gate, and the estimators, which may bound rewards.
        columns: The objectives that teach.
        names: Of the objectives.
        prompts: A name for each group.

    Raises:
        BadRollout: As :func:`check_number`.
    """
    numbers = as_array(rewards)
    missing = np.zeros(numbers.shape, np.bool_)
    if numbers.dtype != object:
        vectors = numbers.astype(np.float64)
    else:
        missing = np.frompyfunc(lambda one: one is None, 1, 1)(numbers).astype(np.bool_)
        vectors = np.frompyfunc(to_number, 1, 1)(numbers).astype(np.float64)
    (low, high), why = _bound(config, columns)
    gated = (np.arange(len(names)) == 0) & (config.gate == "success")
    judged = np.any(~missing[..., 0] & inside, axis=1)
    optional = missing & ~(gated & judged.reshape(-1, 1, 1))
    valid = np.isfinite(vectors) & (low <= vectors) & (vectors <= high)
    for group, point, at in np.argwhere(~(valid | optional) & inside[..., None]):
        given = numbers[group, point, at]
        vectors[group, point, at] = check_number(
            prompts[group],
            names[at],
            given.item() if isinstance(given, np.generic) else given,
            (float(low[at]), float(high[at])),
            gate=bool(gated[at]),
            why=why if np.isfinite(vectors[group, point, at]) else "",
        )
    vectors = np.where(missing | ~inside[..., None], np.nan, vectors)
    best = np.where(np.isfinite(high), high, np.where(gated, config.threshold + 1.0, 0.0))
    filled = fill_missing(vectors, best)
    return np.where(inside[..., None], filled, 0.0)


def _bound(config: ParetoPOConfig, columns: NDArray[np.intp]) -> tuple[NDArray[np.float64], str]:
    """Return the bounds of each reward, (2, objectives), and the estimators that need them."""
    bounds = np.array([_ANY] * len(config.weights)).T
    ranges = {
        f"the estimator {name!r}": _RANGES[name]
        for name in sorted(config.estimators & _RANGES.keys())
    }
    if config.economies == "least":
        ranges['economies = "least", that of the recommended recipe,'] = _TO_ONE, (-1.0, 1.0)
    for at in columns:
        for first, others in ranges.values():
            low, high = others if at else first
            bounds[:, at] = max(bounds[0, at], low), min(bounds[1, at], high)
    return bounds, (
        f": {' or '.join(ranges)} has a fixed scale. Give shares of the "
        f'best value, or use stage2_estimator = "{OF_UNKNOWN_UNITS}", which takes any unit'
    )


def fill_missing(vectors: NDArray[np.float64], fill: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rewards, with the group's mean if an objective does not apply to a rollout.

    Such an objective is then neutral for the rollout.

    Args:
        vectors: (..., points, objectives), NaN if one does not apply.
        fill: (objectives,) the value of an objective that applies to no rollout of a group.

    >>> fill_missing(np.array([[1.0, 3.0], [1.0, np.nan], [0.0, 5.0]]), np.zeros(2))[1].tolist()
    [1.0, 4.0]
    """
    missing = np.isnan(vectors)
    if not missing.any():
        return vectors
    count = (~missing).sum(axis=-2, keepdims=True)
    mean = np.where(missing, 0.0, vectors).sum(axis=-2, keepdims=True) / count.clip(1)
    # The mean of equal numbers can differ by rounding, which would break a tie.
    lowest = np.where(missing, np.inf, vectors).min(axis=-2, keepdims=True, initial=np.inf)
    highest = np.where(missing, -np.inf, vectors).max(axis=-2, keepdims=True, initial=-np.inf)
    mean = np.where(count > 0, np.clip(mean, lowest, highest), fill)
    filled: NDArray[np.float64] = np.where(missing, mean, vectors)
    return filled


def check_weights(
    weights: ArrayLike, names: Sequence[str], prompts: Sequence[Hashable]
) -> NDArray[np.float64]:
    """Return the weights of each group as float64.

    Args:
        weights: (groups, objectives).
        names: Of the objectives.
        prompts: A name for each group.

    Raises:
        ValueError: There is not one weight, finite and not negative, for each.
    """
    given = np.asarray(weights, np.float64)
    if given.shape != (len(prompts), len(names)):
        raise ValueError(
            f"weights must have a row for each of the {len(prompts)} groups and a column for each "
            f"of {', '.join(names)}, got shape {given.shape}"
        )
    for group, at in np.argwhere(~(np.isfinite(given) & (given >= 0.0))):
        raise ValueError(
            f"weights must be finite and not negative, got {given[group, at]} for {names[at]!r} "
            f"in the group of prompt {prompts[group]!r}"
        )
    return given
