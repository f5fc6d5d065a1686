"""The rewards of a user's own training script: checked numbers of its functions, as rollouts."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch

from paretopo.config import NONE, SKIPPED
from paretopo.integrations.trl.advantages import ParetoAdvantages
from paretopo.integrations.trl.names import name_prompt
from paretopo.integrations.trl.rewards import HANDED_OVER, count_turns
from paretopo.integrations.trl.session_trainer import SessionTrainer
from paretopo.rewards.calls import Limits, await_again, call_again, is_async
from paretopo.rewards.functions import describe_function
from paretopo.rewards.values import check_components, check_values
from paretopo.rollout import BadRollout, Rollout

_LOGGER = logging.getLogger("paretopo")


def read_rollouts(trainer: SessionTrainer, objectives: Collection[str]) -> list[Rollout]:
    """Return this process's rollouts of a script's latest batch, in TRL's order, not scored.

    Args:
        trainer: The script's trainer.
        objectives: Names of the rewards to train on; the others are only recorded.
    """
    columns = {name: at for at, name in enumerate(trainer.reward_func_names) if name in objectives}
    inputs, held_out = trainer.generated.inputs, not trainer.model.training
    start = trainer.accelerator.process_index * len(inputs)
    local = []
    for at, (row, completion) in enumerate(zip(inputs, trainer.generated.completions, strict=True)):
        given = trainer.rewards[start + at].tolist()
        components: dict[str, float | None] = {
            # A `rollout_func` hands over one number for each rollout.
            **count_turns(
                completion, {name: row[name] for name in HANDED_OVER if row.get(name) is not None}
            ),
            **{
                name: None if math.isnan(given[column]) else given[column]
                for name, column in columns.items()
            },
        }
        if trainer.failed:
            components[SKIPPED] = len(trainer.failed)
        suites = (row.get("kind"), row.get("environment"))
        kind = next((one for one in suites if isinstance(one, str)), "all")
        local.append(Rollout(name_prompt(row), components, kind, held_out=held_out))
    return local


def check_rewards(
    trainer: ParetoAdvantages, limits: Limits | None = None, skipped: Collection[str] = ()
) -> None:
    """Wrap the trainer's reward functions to check and keep their numbers: TRL rounds them.

    Args:
        trainer: Its functions are replaced, except reward models.
        limits: Limits of each call.
        skipped: Functions whose failing calls leave their rollouts without the objective.
    """
    inside: Any = trainer  # TRL's trainer, too
    inside.reward_funcs = [
        function
        if isinstance(function, torch.nn.Module)
        else _check_reward(function, name, trainer, at, limits or Limits(), name in skipped)
        for at, (function, name) in enumerate(
            zip(inside.reward_funcs, inside.reward_func_names, strict=True)
        )
    ]


def _check_reward(
    function: Callable[..., Any],
    name: str,
    trainer: ParetoAdvantages,
    at: int,
    limits: Limits,
    skips: bool,
) -> Callable[..., Any]:
    def keep(values: list[float | None]) -> list[float | None]:
        trainer.values[at] = values
        return values

    def fail(names: Sequence[str], error: BadRollout) -> list[float | None]:
        if not skips:
            raise error
        _LOGGER.warning("%s: %s does not apply to these rollouts", error, name)
        trainer.failed.add(at)
        return keep([None for _ in names])

    if is_async(function):

        @functools.wraps(function)
        async def waited(*, prompts: Any, **kwargs: Any) -> Any:
            names = [name_prompt({"prompt": prompt}) for prompt in prompts]
            call = functools.partial(function, prompts=prompts, **kwargs)
            try:
                values = await await_again(name, call, names, limits)
            except BadRollout as error:
                return fail(names, error)
            return keep(check_undivided(name, names, values))

        return waited

    @functools.wraps(function)
    def called(*, prompts: Any, **kwargs: Any) -> Any:
        names = [name_prompt({"prompt": prompt}) for prompt in prompts]
        call = functools.partial(function, prompts=prompts, **kwargs)
        try:
            values = call_again(name, call, names, limits)
        except BadRollout as error:
            return fail(names, error)
        return keep(check_undivided(name, names, values))

    return called


def check_undivided(name: str, prompts: Sequence[str], values: Any) -> list[float | None]:
    """Return the values of a reward function with one objective, one for each rollout.

    Raises:
        BadRollout: As `check_values`, or the function returned mappings without declaring them.
    """
    rows = values if isinstance(values, list | tuple) else [values]
    for row in rows:
        if isinstance(row, Mapping):
            names = ", ".join(map(repr, row))
            raise BadRollout(
                f"the reward {name!r} returned a mapping with {names}: to make each of them an "
                f"objective, declare {name}.reward_components = [{names}]"
            )
    return check_values(name, prompts, values)


def _has_failed(result: Any) -> bool:
    """Return whether a started call failed, so that another attempt must call again."""
    done = isinstance(result, asyncio.Future) and result.done()
    return done and (result.cancelled() or result.exception() is not None)


def join_environments(
    functions: Sequence[Callable[..., Any]], declared: Sequence[Collection[str]]
) -> Callable[..., Any]:
    """Join the rewards of environments; each rollout has one environment.

    Args:
        functions: The reward function of each environment, with None for rollouts of others.
        declared: The names of its values; those of others do not apply.
    """
    every = {name for names in declared for name in names}

    def join(_given: Any, columns: list[Any]) -> list[Any]:
        return [
            next(
                (
                    {**dict.fromkeys(every.difference(names)), **value}
                    if isinstance(value, Mapping)
                    else value
                    for value, names in zip(row, declared, strict=True)
                    if value is not None
                ),
                None,
            )
            for row in zip(*columns, strict=True)
        ]

    return _combine(functions, join)


def join_gates(
    functions: Mapping[str, Callable[..., Any]], gates: Mapping[str, str]
) -> Callable[..., Any]:
    """Join the gates of several suites: each rollout gets the value of its suite's gate.

    Args:
        functions: The reward function of each gate, by its name.
        gates: The name of each suite's gate, or "none". A suite is an environment or a kind of
            question.
    """

    def choose(given: Mapping[str, Any], columns: list[Any]) -> list[Any]:
        prompts = [name_prompt({"prompt": one}) for one in given["prompts"]]
        values = {
            name: check_undivided(name, prompts, column)
            for name, column in zip(functions, columns, strict=True)
        }
        chosen = []
        for at, prompt in enumerate(prompts):
            row = {key: given[key][at] for key in ("environment", "kind") if key in given}
            suite = next((one for one in row.values() if one in gates), None)
            if suite is None:
                raise BadRollout(
                    f"gate has no entry for the suite of prompt {prompt!r}, got {row or 'none'}: "
                    f"the columns environment and kind name it, and gate has {', '.join(gates)}; "
                    'the gate "none" leaves a suite without a gate'
                )
            chosen.append(None if gates[suite] == NONE else values[gates[suite]][at])
        return chosen

    return _combine(list(functions.values()), choose)


def _combine(
    functions: Sequence[Callable[..., Any]], combine: Callable[[Mapping[str, Any], list[Any]], Any]
) -> Callable[..., Any]:
    """Return a reward function, asynchronous if one of several is, of all their values."""
    if not any(map(is_async, functions)):
        return lambda **given: combine(given, [one(**given) for one in functions])

    async def waited(**given: Any) -> Any:
        started = [one(**given) for one in functions]
        return combine(given, [await one if inspect.isawaitable(one) else one for one in started])

    return waited


def split_reward(
    function: Callable[..., Any], name: str, objectives: Sequence[str]
) -> list[Callable[..., Any]]:
    """Split one function with several values into a function per objective; TRL calls it once.

    Args:
        function: A reward function of TRL whose values are a mapping for each rollout, or one
            mapping of names to lists.
        name: Its name in errors.
        objectives: The names of its values.
    """
    reward = describe_function(name, tuple(objectives), function)
    seen: dict[str, Any] = {}  # the latest batch and its values

    def begin(given: Mapping[str, Any]) -> Any:
        if seen.get("batch") is not given["completions"] or _has_failed(seen["result"]):
            result = function(**given)
            if inspect.isawaitable(result):
                result = asyncio.ensure_future(result)
            seen.update(batch=given["completions"], result=result)
        return seen["result"]

    def choose(objective: str, given: Mapping[str, Any], values: Any) -> list[float | None]:
        names = [name_prompt({"prompt": prompt}) for prompt in given["prompts"]]
        return [row[objective] for row in check_components(reward, names, values)]

    def part(objective: str) -> Callable[..., Any]:
        if is_async(function):

            async def waited(**given: Any) -> Any:
                return choose(objective, given, await begin(given))

            return waited

        return lambda **given: choose(objective, given, begin(given))

    return [part(objective) for objective in objectives]
