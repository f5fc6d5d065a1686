"""The reward functions of a script, one for each objective by its name, and the gate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from paretopo.config import MEASURES, NONE, ConfigError, Objective
from paretopo.config.keys import nearest
from paretopo.config.notes import Note, note_named
from paretopo.config.objectives import is_gate_name
from paretopo.integrations.trl.script_rewards import join_environments, join_gates, split_reward

_UNASKED = frozenset(MEASURES) - {"correct"}  # measured without a reward function
Names = tuple[str, ...]  # of one reward function, or of all environments


class Reward(NamedTuple):
    """One reward function."""

    name: str
    function: Any
    weight: float
    processing: Any = None  # the tokenizer of a reward model


class NamedRewards:
    """Splits and joins reward functions into one for each objective.

    Args:
        functions: The reward functions, those of environments last.
        names: A name for each function.
        given: The weights of the first functions; None without any.
        processing: The tokenizer of each reward model; None for other functions.
        suites: The class of each environment, by name.
        gated: The environments that need a gate, if `gate` is a mapping.
        objectives: The script's tables of objectives; None without any.
        overrides: Values of the script by dotted name.
        gate: As for `ScriptSession`.

    Attributes:
        rewards: The reward functions, by objective.
        tables: The tables of objectives.
        weighted: Is the weight of any reward function given?

    >>> def graded(**_): ...
    >>> graded.reward_components = {"right": 1.0, "polite": 0.5}
    >>> NamedRewards([graded, graded], ["graded", "brief"], gate="right").weights
    {'right': 1.0, 'polite': 0.5, 'brief': 1.0}
    """

    def __init__(
        self,
        functions: Sequence[Any],
        names: Sequence[str],
        *,
        given: Sequence[float] | None = None,
        processing: Sequence[Any] | None = None,
        suites: Mapping[str, type] | None = None,
        gated: Collection[str] = (),
        objectives: Any = None,
        overrides: Mapping[str, Any] | None = None,
        gate: str | Mapping[str, str] | None = None,
    ) -> None:
        if len(names) != len(functions):
            raise ConfigError(
                f"names must be one for each of the {len(functions)} reward functions, "
                f"got {[*names]}"
            )
        self.tables = [one for one in objectives or () if isinstance(one, Mapping)]
        self._gates = dict(gate) if isinstance(gate, Mapping) else {}  # by suite
        self._gate = gate if isinstance(gate, str) else None
        self._notes: list[Note] = []  # of gates that were found by their names
        self.weighted = given is not None
        # Environments' own rewards come last, and `GRPOConfig` has no weights for them.
        weights = [*(given or ()), *[1.0] * (len(names) - len(given or ()))]
        columns = names, functions, weights, processing or [None] * len(names)
        self.rewards = [Reward(*one) for one in zip(*columns, strict=True)]
        self._check_different()
        suites = suites or {}
        kinds = [
            kind
            for kind in dict.fromkeys(suites.values())
            if callable(getattr(kind, "get_reward", None))
        ]
        # TRL adds a function for each class with a reward after the script's own.
        environments = dict(zip(names[len(names) - len(kinds) :], kinds, strict=True))
        self._find_gates(suites, environments)
        self._split_functions(environments, overrides or {})
        if self._gates:
            self._join_gates({*gated})
        self._check_different()

    @property
    def weights(self) -> dict[str, float]:
        """Return the weights of the reward functions, by name."""
        return {one.name: one.weight for one in self.rewards}

    def make_tables(self) -> list[dict[str, Any]]:
        """Return a table for each reward function with a weight, and for the gate."""
        return [
            {"name": name}
            | ({"weight": abs(weight)} if self.weighted else {})
            # TRL subtracts it, so smaller is better.
            | ({"better": "fewer", "economy": "raw"} if weight < 0.0 else {})
            for name, weight in self.weights.items()
            if weight != 0.0 or name == self._gate
        ]

    def mark_gate(self, objectives: Any, threshold: float | None) -> Any:
        """Return the tables of the objectives, with the script's gate and its threshold."""
        named = isinstance(objectives, list | tuple) and all(
            isinstance(one, Mapping) and isinstance(one.get("name"), str) for one in objectives
        )
        if self._gate is None or not named:  # building reports the error
            return objectives
        if self._gates:
            objectives = self._join_tables(objectives)
        names = [one["name"] for one in objectives]
        if self._gate not in (*names, NONE):
            raise ConfigError(
                f"gate = {self._gate!r} is not an objective: it is the name of a reward function, "
                f'or "none"; {nearest(self._gate, names)}'
            )
        marked = {"gate": True} | ({} if threshold is None else {"threshold": threshold})
        return [
            {**one, **(marked if one["name"] == self._gate else {"gate": False})}
            for one in objectives
        ]

    def note_gate(self, first: Objective) -> list[Note]:
        """Return a note if `correct`, or a gate of each environment, was found by its name."""
        chosen = self._gate is not None or any("gate" in one for one in self.tables)
        return [note_named("correct")] if first.name == "correct" and not chosen else self._notes

    def check(self, objectives: Sequence[Objective]) -> None:
        """Check that objectives and reward functions match by name."""
        functions, names = [*self.weights], [one.name for one in objectives]
        for name in names:
            if name not in functions and name not in _UNASKED:
                raise ConfigError(
                    f"the objective {name!r} has no reward function: an objective is a function "
                    f"of reward_funcs with that name, or one of {', '.join(sorted(_UNASKED))}; "
                    f"{nearest(name, functions)}"
                )
        for name, weight in self.weights.items():
            if name not in names and weight != 0.0:
                raise ConfigError(
                    f"the reward function {name!r} is not an objective, so nothing would be "
                    "learnt from it: name it in objectives, or give it a weight of 0 in "
                    f"GRPOConfig.reward_weights to only record it; {nearest(name, names)}"
                )

    # ---- parts ---------------------------------------------------------------------------------

    def _check_different(self) -> None:
        names = [one.name for one in self.rewards]
        if len({*names}) < len(names) or "<lambda>" in names:
            raise ConfigError(
                f"reward functions and their reward_components need different names, got {names}: "
                "give each function one, also a lambda, by ScriptSession(names=[...])"
            )

    def _find_gates(self, suites: Mapping[str, Any], environments: Mapping[str, Any]) -> None:
        """Find the gate of each of several environments by its name, if the script names none."""
        chosen = self._gate or self._gates or any("gate" in one for one in self.tables)
        if chosen or len(suites) < 2:
            return
        gates = {}
        for suite, kind in suites.items():
            own = [name for name, one in environments.items() if one is kind]
            named = [*filter(is_gate_name, _read_declared(kind, kind.__name__) or own)]
            if len(named) != 1:
                return
            [gates[suite]] = named
        if len({*gates.values()}) > 1:
            self._gates, self._notes = gates, [note_named(*gates.values())]

    def _split_functions(
        self, environments: Mapping[str, Any], overrides: Mapping[str, Any]
    ) -> None:
        """Split each reward function that measures several objectives into one for each of them."""
        wanted = {one.get("name") for one in self.tables}
        functions = {one.name: one.function for one in self.rewards}
        splits: dict[Names, dict[str, float]] = {}
        for one in self.tables:
            key = f"objectives.{one.get('name')}.function"
            name = overrides.get(key, one.get("function"))
            if name is not None and name not in functions:
                raise ConfigError(
                    f"{key} = {name!r} is not a reward function of the trainer; "
                    f"{nearest(name, functions)}"
                )
            if name is not None:
                splits.setdefault((name,), {})[one["name"]] = 1.0
        claimed = {name for [name] in splits}
        for names, declared in _find_declared(functions, environments).items():
            if not claimed & {*names}:
                splits[names] = {
                    part: weight
                    for part, weight in declared.items()
                    if not wanted or part in wanted
                }
                self.weighted |= any(weight != 1.0 for weight in splits[names].values())
        for names, parts in splits.items():
            if not parts:
                continue
            function, weight = functions[names[0]], self.weights[names[0]]
            if len(names) > 1:
                function = join_environments(
                    [functions[name] for name in names],
                    [environments[name].reward_components for name in names],
                )
            split = split_reward(function, " and ".join(names), [*parts])
            shares = zip(parts.items(), split, strict=True)
            self._replace(
                names, [Reward(part, one, weight * share) for (part, share), one in shares]
            )

    def _join_gates(self, environments: set[str]) -> None:
        """Replace the gates of the suites by one reward function."""
        names = tuple(name for name in dict.fromkeys(self._gates.values()) if name != NONE)
        if not names:
            raise ConfigError(f'gate = {self._gates} has no gate: write gate = "none"')
        functions = {one.name: one.function for one in self.rewards}
        for suite, name in self._gates.items():
            if name != NONE and isinstance(functions.get(name), torch.nn.Module | None):
                raise ConfigError(
                    f'gate[{suite!r}] = {name!r} is not a reward function or "none"; '
                    f"{nearest(name, functions)}"
                )
        missing = environments - self._gates.keys()
        if missing:
            raise ConfigError(
                f"gate must name the gate of each environment, and lacks {sorted(missing)}: got "
                f"{self._gates}"
            )
        weights = {self.weights[name] for name in names}
        if len(weights) > 1:
            raise ConfigError(
                f"the gates {', '.join(names)} are one objective, so they need the same weight, "
                f"got {sorted(weights)}"
            )
        self._gate = "_or_".join(names)
        joined = join_gates({name: functions[name] for name in names}, self._gates)
        self._replace(names, [Reward(self._gate, joined, weights.pop())])

    def _join_tables(self, objectives: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the tables with one in place of those of the gates."""
        gates = {*self._gates.values()}
        joined = [{**one, "name": self._gate} for one in objectives if one["name"] in gates]
        if any(one != joined[0] for one in joined):
            raise ConfigError(
                f"the gates {', '.join(sorted(gates))} become one objective: give their tables the "
                "same keys"
            )
        return [*joined[:1], *(one for one in objectives if one["name"] not in gates)]

    def _replace(self, names: Names, added: list[Reward]) -> None:
        """Replace reward functions by others, in the place of the first."""
        self.rewards = [
            one
            for old in self.rewards
            for one in ([old] if old.name not in names else added if old.name == names[0] else [])
        ]


def _find_declared(
    functions: Mapping[str, Any], environments: Mapping[str, Any]
) -> dict[Names, dict[str, float]]:
    """Return the values that reward functions and environments declare as `reward_components`.

    They declare a mapping of names to weights, or a sequence of names, whose weights are then 1.

    Environments share one entry, by all their names: each rollout has one environment, so a value
    of one name is one objective.

    Raises:
        ConfigError: A declaration is neither, or is empty; or two environments give one name
            different weights.
    """
    read = {
        name: _read_declared(environments.get(name, function), name)
        for name, function in functions.items()
    }
    found: dict[Names, dict[str, float]] = {
        (name,): weights for name, weights in read.items() if name not in environments
    }
    shared = tuple(name for name in environments if read[name])
    merged = found[shared] = {}
    for name in shared:
        for part, weight in read[name].items():
            if merged.setdefault(part, weight) != weight:
                raise ConfigError(
                    f"reward_components of {' and '.join(shared)} give {part!r} different weights, "
                    f"{merged[part]:g} and {weight:g}: it is one objective, so give it one weight"
                )
    return found


def _read_declared(owner: Any, name: str) -> dict[str, float]:
    declared = getattr(owner, "reward_components", None)
    if declared is None:
        return {}
    weights = dict.fromkeys(declared, 1.0) if isinstance(declared, list | tuple) else declared
    names = weights if isinstance(weights, Mapping) else ()
    if not names or not all(isinstance(one, str) for one in names):
        raise ConfigError(
            f"{name}.reward_components must be names of objectives, or a mapping of names to "
            f"weights, got {declared!r:.80}"
        )
    return dict(weights)
