"""The objectives of a run: their measures, directions, and conversion to rewards.

A file names them in tables ``[[objectives]]``. A file without objectives trains on ``correct`` and
``calls``, as the paper does.

>>> Objective("seconds", weight=0.2).better
'fewer'
>>> [one.name for one in arrange_objectives([Objective("polite"), Objective("routed", gate=True)])]
['routed', 'polite']
>>> [one.gate for one in arrange_objectives([Objective("accuracy_reward"), Objective("polite")])]
[True, False]
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from paretopo.config.keys import (
    A_NUMBER,
    ConfigError,
    argument,
    check_section,
    key,
    keys,
    nearest,
)

# Measured without user code, each in its own unit.
MEASURES = ("correct", "calls", "failed_calls", "tokens", "turns", "seconds", "dollars")
COUNTS = frozenset({"calls", "failed_calls", "tokens", "turns"})  # integers
UNASKED = ("tokens", "turns", "dollars")  # measured even if the environment gives nothing
# The number of a rollout's rewards that are missing because a call failed, with failing = "skip".
SKIPPED = "skipped_rewards"
_WORST, _KEEPS = "worst", "keeps"

# The reward of a failed rollout: a number, the worst of its group, or its own.
Floor: TypeAlias = float | Literal["worst", "keeps"]

# The weights of correctness and calls in a file without objectives, for each recipe.
DEFAULT_WEIGHTS: Mapping[str, tuple[float, float]] = {
    "recommended": (0.5, 0.5),
    "paper": (0.6, 0.4),
}

# The advice for costs below 0, at every door: savings are shares of a price, so costs need a zero.
FROM_ZERO = ": add a constant to all costs, so that the cheapest possible answer costs 0"

# A name makes its objective the gate if its words are one of these and _PLAIN_WORDS.
GATE_WORDS: tuple[tuple[str, ...], ...] = (
    ("correct",),
    ("correctness",),
    ("accuracy",),
    ("accurate",),
    ("solved",),
    ("right",),
    ("exact", "match"),
)
_PLAIN_WORDS = frozenset(
    {"is", "the", "answer", "answers", "final", "reward", "rewards", "score", "function", "func"}
    | {"fn", "reasoning"}
)

# Economies relative to the fewest of a success, from 0 to 1.
BY_FEWEST = frozenset({"paretopo", "otc"})
# Economies that need to know which rollouts solved their prompts.
OF_SUCCESSES = BY_FEWEST | {"arora_zanette", "kimi", "pass_rate", "laser", "laser_d"}
# Economies that compare the rollouts of a group; held-out rollouts have no group and count raw.
OF_THE_GROUP = frozenset(
    {"share of the group", "arora_zanette", "kimi", "gr3", "pass_rate", "laser", "laser_d"}
)
# Economies that need a cost of at least 0; if more is better, the shortfall from high is the cost.
_OF_COSTS = frozenset({"saving", "gr3", "pass_rate", "laser", "laser_d"})


@dataclass(frozen=True)
class Objective:
    """One objective; its name and its economy fill the keys that are not given.

    Raises:
        ConfigError: A value has the wrong type or is out of range, or values do not fit each other;
            the message names the objective and the key.
    """

    name: str = key(
        "correct",
        "Name in rollouts and records. It names a built-in measure (correct, calls, "
        "failed_calls, tokens, turns, seconds or dollars), a reward function, or a value that an "
        "agent or an environment reports.",
        shown_default="none",
    )
    function: str | None = key(
        None,
        "Reward function, if its name differs from the objective's: a name in rewards.file, "
        '"package.module:name", "package.module:name(parameter=1)", or a reward model, '
        '"model:NAME".',
        shown_default="by name, from rewards.file",
    )
    weight: float | None = key(
        None,
        "Weight relative to the other objectives.",
        low=0.0,
        shown_default="all equal",
    )
    start_weight: tuple[float, ...] | None = key(
        None,
        "[w, a, b]: the weight is w until step a, and then changes linearly to the value of "
        '"weight" at step b.',
        low=0.0,
        shown_default="none",
    )
    limit: float | None = key(
        None,
        "Upper limit on the mean over all rollouts, or lower limit if more is better: "
        "docs/constraints.md.",
        low=0.0,
        open_low=True,
        shown_default="none",
    )
    share: float | None = argument(
        None,
        "Smallest share of the rollouts that must stay within the limit; without it, the limit "
        "applies to the mean.",
        low=0.0,
        high=1.0,
        open_low=True,
        open_high=True,
        shown_default="none",
        of={"limit": (A_NUMBER,)},
    )
    better: Literal["more", "fewer"] = key(
        None,
        "Direction of improvement.",
        shown_default='"fewer" for the built-in costs, else "more"',
    )
    economy: Literal[
        "raw",
        "share of the group",
        "paretopo",
        "otc",
        "saving",
        "arora_zanette",
        "kimi",
        "gr3",
        "pass_rate",
        "laser",
        "laser_d",
    ] = key(
        None,
        "Formula that converts the measure into a reward: docs/objectives.md.",
        shown_default='"saving" for a cost, else "raw". With recipe = "paper": "paretopo" for '
        'calls, else "raw"',
    )
    alpha: float = argument(
        0.7,
        "Decay of the economy exp(-alpha * d), where d is the cost minus the lowest cost of a "
        "success.",
        low=0.0,
        open_low=True,
        of={"economy": ("paretopo",)},
    )
    most: int = argument(
        0,
        "Largest number of calls of a rollout; 0 means optimiser.max_tool_calls.",
        low=0,
        of={"economy": ("otc",)},
    )
    price: float = key(
        1.0,
        "Price of one unit; the measure is multiplied by this price.",
        low=0.0,
        open_low=True,
    )
    budget: float | None = key(
        None,
        "Budget for a cost. The measure becomes the unspent part of the budget, and more is "
        "better.",
        low=0.0,
        open_low=True,
        shown_default="none",
    )
    budgets: tuple[float, ...] | None = key(
        None,
        'Budgets for a cost, with preference.kind = "budget". Each group gets one of them as the '
        "most that a rollout may spend.",
        low=0.0,
        shown_default="none",
    )
    gate: bool | None = key(
        None,
        "true makes this objective the gate, which decides whether a rollout has solved its "
        "prompt.",
        shown_default="by its name",
    )
    threshold: float = key(
        0.0,
        "A rollout passes the gate if its value is above the threshold.",
    )
    failure: float | Literal["worst", "keeps"] = key(
        None,
        "Reward of a failed rollout. worst: the worst of its group. keeps: its own reward.",
        shown_default='0 with an economy of "paretopo" or "otc", else "worst"',
    )
    low: float | None = key(None, "Smallest valid value.", shown_default="0 for built-in measures")
    high: float | None = key(None, "Largest valid value.", shown_default="1 for correct")
    reference: float | None = key(
        None,
        "Coordinate of the hypervolume's reference point: docs/objectives.md.",
        shown_default="by paretopo.reference",
    )
    recipe: Literal["recommended", "paper"] = key(
        "recommended", "Says which economy is not given.", in_file=False
    )

    def __post_init__(self) -> None:
        built_in = self.name in MEASURES
        counted = built_in and self.name != "correct" and self.budget is None
        self._fill("better", "fewer" if counted else "more")
        self._fill("economy", self._own_economy())
        cost = self.economy in BY_FEWEST or (self.economy in _OF_COSTS and self.better == "fewer")
        self._fill("low", 0.0 if (built_in or cost) and self.budget is None else None)
        self._fill("high", 1.0 if self.name == "correct" else self.budget)
        if self.gate or self.limit is not None:
            self._fill("failure", _KEEPS)
        self._fill("failure", 0.0 if self.economy in BY_FEWEST else _WORST)
        check_section(self, f"objectives.{self.name}")
        self._check_schedule()
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", self.name):
            raise ConfigError(
                "objectives: a name must be of letters, digits, - . and _, and begin with a letter "
                f"or _, got {self.name!r}"
            )
        if self.low is not None and self.high is not None and self.low >= self.high:
            self._refuse("low", f"must be below high, {self.high:g}, got {self.low:g}")
        if self.economy in BY_FEWEST and self.better != "fewer":
            self._refuse("economy", f'= "{self.economy}" is for costs: better = "fewer"')
        if cost and self.low is not None and self.low < 0.0:
            self._refuse("low", f"must be at least 0 for a cost, got {self.low:g}{FROM_ZERO}")
        if self.economy in _OF_COSTS and self.better == "more" and self.high is None:
            self._refuse(
                "high",
                f'must be given for economy = "{self.economy}": its cost is the distance from high',
            )
        if self.budget is not None and self.better != "more":
            self._refuse("budget", 'measures the rest: better = "more"')
        if self.name == "correct" and (self.budget is not None or self.price != 1.0):
            self._refuse("price", "and budget are for costs")
        if self.gate:
            self._check_gate()
        if self.gate and self.failure != _KEEPS:
            self._refuse("failure", "must not be given for the gate")
        self._check_failure()
        self._check_reference()
        if self.limit is not None:
            self._check_limit(self.limit)

    @property
    def teaches(self) -> bool:
        """Return whether training uses it: it has a weight above 0, or a limit."""
        return bool(self.weight or self.limit)

    @property
    def floor(self) -> Floor:
        """Return the reward of a failed rollout."""
        if isinstance(self.failure, float) and self.economy not in BY_FEWEST:
            return self.to_reward(self.failure)
        return self.failure

    @property
    def best(self) -> float | None:
        """Return the largest possible reward; None if there is no bound."""
        if self.economy in BY_FEWEST or self.economy == "saving":
            return 1.0
        bound = self.high if self.better == "more" else self.low
        return None if bound is None else self.to_reward(bound)

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the smallest and the largest valid value, infinite if there is none."""
        low, high = self.low, self.high
        return (-math.inf if low is None else low, math.inf if high is None else high)

    @property
    def is_share(self) -> bool:
        """Return whether its reward is a share, 1 for the whole."""
        return self.economy != "raw" or self.best == 1.0

    @property
    def worst(self) -> float | None:
        """Return the smallest possible reward; None if there is no bound."""
        if self.economy in BY_FEWEST:
            return 0.0
        if self.economy == "saving":
            return None
        bound = self.low if self.better == "more" else self.high
        return None if bound is None else self.to_reward(bound)

    @property
    def learns_bound(self) -> bool:
        """Return whether the first evaluation shows how bad it can be, as nothing else does."""
        return self.worst is None and self.reference is None and self.economy != "saving"

    def to_reward(self, value: float) -> float:
        """Convert a value in its own unit to a reward, larger is better."""
        return 0.0 - value if self.better == "fewer" else value

    def to_measure(self, amount: float) -> float:
        """Convert a raw amount to the value that is scored: its price, or the remaining budget.

        >>> Objective("tokens", price=0.5, budget=100.0).to_measure(30.0)
        85.0
        """
        paid = self.price * amount
        return paid if self.budget is None else self.budget - paid

    def to_amount(self, measure: float) -> float:
        """Convert a measure back to an amount: the inverse of `to_measure`."""
        return (measure if self.budget is None else self.budget - measure) / self.price

    def to_cost(self, value: float) -> float:
        """Convert a value in its own unit to a cost; of a remaining budget, the shortfall.

        Raises:
            ValueError: More is better, and ``high`` is not given.
        """
        if self.better == "fewer":
            return value
        if self.high is None:
            raise ValueError(
                f"objectives.{self.name} needs high: its cost is the shortfall from it"
            )
        return self.high - value

    def to_group_cost(self, value: float) -> float:
        """Return a value's cost within its group; below 0 is allowed if a shift does not matter."""
        if self.economy in _OF_COSTS:
            return self.to_cost(value)
        return 0.0 - self.to_reward(value)

    def reference_reward(self, otherwise: Literal["initial", "zero"]) -> float | None:
        """Return its coordinate of the reference, as a reward; None for the first evaluation's.

        Args:
            otherwise: ``paretopo.reference``. "zero" takes the worst possible reward; for a saving,
                0. A cost without a bound takes the first evaluation's, since no cost is better than
                0.
        """
        if self.reference is not None:
            return self.to_reference(self.reference)
        if otherwise == "initial":
            return None
        if self.worst is None and (self.better == "more" or self.economy == "saving"):
            return 0.0
        return self.worst

    def to_reference(self, value: float) -> float:
        """Convert the key `reference` to a reward, or back."""
        in_unit = self.economy not in BY_FEWEST and self.economy != "saving"
        return self.to_reward(value) if in_unit else value

    def _own_economy(self) -> str:
        if self.limit is not None:
            return "raw"
        if self.recipe == "paper":
            return "paretopo" if self.name == "calls" else "raw"
        return "saving" if self.better == "fewer" or self.budget is not None else "raw"

    def _fill(self, name: str, value: Any) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _refuse(self, name: str, why: str) -> None:
        raise ConfigError(f"objectives.{self.name}.{name} {why}")

    def _check_schedule(self) -> None:
        given = self.start_weight
        if self.limit is not None and (self.weight is not None or given is not None):
            name = "start_weight" if self.weight is None else "weight"
            self._refuse(name, "and limit exclude each other: training adapts a limit's weight")
        if given is None:
            return
        if len(given) != 3 or given[1] >= given[2] or not (given[1] + given[2]).is_integer():
            self._refuse(
                "start_weight",
                f"must be a weight and two steps, such as [0.0, 20, 60], got {list(given)}",
            )
        if self.weight is None:
            self._refuse("weight", "must be given with start_weight")

    def _check_limit(self, limit: float) -> None:
        """Refuse a limit that another key contradicts, or that every or no value keeps."""
        if self.economy != "raw":
            self._refuse("economy", f'must be "raw" with a limit, got "{self.economy}": remove it')
        if self.failure != _KEEPS:
            self._refuse(
                "failure", "has no effect on a limit, which counts every rollout: remove it"
            )
        if self.budgets is not None:
            self._refuse("budgets", "and limit exclude each other: remove one of them")
        if self.share is not None and limit == (self.low if self.better == "fewer" else self.high):
            return  # a share of the rollouts can have the best value
        for bound, beyond in ((self.low, "above low"), (self.high, "below high")):
            if bound is not None and (limit <= bound if bound == self.low else limit >= bound):
                self._refuse(
                    "limit",
                    f"must be {beyond}, {bound:g}, or every value or none keeps it, got {limit:g}",
                )

    def _check_gate(self) -> None:
        """Refuse a gate whose values never exceed the threshold: every rollout would fail."""
        if self.better != "more":
            self._refuse(
                "gate",
                'cannot be true: a cost (better = "fewer") cannot be the gate; choose an objective '
                "that measures success",
            )
        if self.economy != "raw":
            self._refuse("gate", f'is for economy = "raw", got "{self.economy}"')
        if self.high is not None and self.high <= self.threshold:
            self._refuse(
                "gate",
                f"cannot be true if high = {self.high:g} is not above threshold = "
                f"{self.threshold:g}: no rollout would ever solve its prompt",
            )

    def _check_failure(self) -> None:
        """Refuse a failure value that beats other rewards: training would learn to fail."""
        if not isinstance(self.failure, float):
            return
        if self.economy in BY_FEWEST:
            if self.failure > 0.0:
                self._refuse(
                    "failure",
                    "must be at most 0, the least economy, or a failed rollout could get more than "
                    f"a correct one, got {self.failure:g}",
                )
            return
        bound = "low" if self.better == "more" else "high"
        if self.economy != "raw" or self.worst is None:
            way = f"needs {bound}" if self.economy == "raw" else "needs economy = raw"
            self._refuse(
                "failure",
                f"= {self.failure:g} {way}, or a failed rollout could get more than a correct "
                'one: set it, or failure = "worst"',
            )
        elif self.to_reward(self.failure) > self.worst:
            self._refuse(
                "failure",
                f"must not be better than {bound}, or a failed rollout could get more than a "
                f"correct one, got {self.failure:g}",
            )

    def _check_reference(self) -> None:
        reference = self.reference_reward("initial")
        if reference is not None and self.best is not None and reference >= self.best:
            self._refuse(
                "reference",
                f"must be worse than the best value there can be, got {self.reference:g}: nothing "
                "would ever gain hypervolume",
            )


def is_gate_name(name: str) -> bool:
    """Return whether a name means that values above 0 mark a solved prompt.

    >>> named = ("correct", "accuracy_reward", "isCorrect", "exact-match", "correctness_func")
    >>> all(map(is_gate_name, named))
    True
    >>> any(map(is_gate_name, ("incorrect", "correct_format", "right_length", "copyright")))
    False
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name)
    said = tuple(word for word in map(str.lower, words) if word not in _PLAIN_WORDS)
    return said in GATE_WORDS


def find_gates(objectives: Sequence[Objective]) -> list[str]:
    """Return the gates: the objectives with ``gate = true``, else the candidates by name.

    By name these are the measure ``correct``, else all whose names say so; only one can be the
    gate.
    """
    chosen = [one.name for one in objectives if one.gate]
    named = [one.name for one in objectives if _may_be_gate(one)]
    return chosen or (["correct"] if "correct" in named else named)


def arrange_objectives(objectives: Sequence[Objective]) -> tuple[Objective, ...]:
    """Return the objectives with weights that sum to 1; the gate comes first.

    Objectives with a limit have no weight. Without a gate the order stays, and no objective has
    ``gate = True``.

    Raises:
        ConfigError: There are no objectives, two of one name or two gates, or only some weights.
    """
    names = [one.name for one in objectives]
    if not names or len(set(names)) != len(names):
        raise ConfigError(
            f"objectives must be at least one, each with a different name, got {names}"
        )
    gates = find_gates(objectives)
    if len(gates) > 1 and any(one.gate for one in objectives):
        raise ConfigError(f"only one objective can be the gate: gate is true for {gates}")
    first = gates[0] if len(gates) == 1 else None
    for one in objectives:
        if one.name != first and one.threshold != 0.0:
            raise ConfigError(f"objectives.{one.name}.threshold {_THRESHOLD_ONLY}")
    weighed = [one for one in objectives if one.limit is None]
    if not weighed:
        raise ConfigError(
            f"one objective needs no limit, the one to improve; all of {names} have one"
        )
    given = [one.weight for one in weighed]
    if None in given and any(weight is not None for weight in given):
        lacking = [one.name for one in weighed if one.weight is None]
        raise ConfigError(
            f"give all objectives a weight, or none of them: there is none for {lacking}"
        )
    weights = {one.name: 1.0 if one.weight is None else one.weight for one in weighed}
    total = sum(weights.values())
    if total <= 0.0:
        raise ConfigError(f"objectives need a weight above 0 among them, got {[*weights.values()]}")
    if abs(total - 1.0) <= 1e-6:
        total = 1.0
    arranged = []
    for one in objectives:
        values: dict[str, Any] = {}
        if one.name in weights:
            values["weight"] = weights[one.name] / total
        if one.start_weight is not None:
            values["start_weight"] = (one.start_weight[0] / total, *one.start_weight[1:])
        if one.name == first:  # fill the gate's own failure value again
            values["failure"] = _own_failure(one)
        arranged.append(dataclasses.replace(one, **values, gate=one.name == first))
    return tuple(sorted(arranged, key=lambda one: not one.gate))


def make_objectives(
    tables: Any = None,
    overrides: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    *,
    recipe: Literal["recommended", "paper"] = "recommended",
) -> tuple[Objective, ...]:
    """Return the objectives of a file.

    Args:
        tables: The tables of its ``[[objectives]]``; None without any: correct and calls.
        overrides: Maps objective and key to values that override the file.
        recipe: Fills the open keys.

    Raises:
        ConfigError: As :func:`merge_objectives`, :class:`Objective` and :func:`arrange_objectives`.
    """
    merged = merge_objectives(tables, overrides, recipe=recipe)
    return arrange_objectives([Objective(**table, recipe=recipe) for table in merged])


def merge_objectives(
    tables: Any,
    overrides: Mapping[str, Mapping[str, Any]],
    *,
    recipe: Literal["recommended", "paper"],
) -> list[dict[str, Any]]:
    """Return the tables of the objectives with the overrides applied, and check their keys.

    Args:
        tables: As for :func:`make_objectives`.
        overrides: As for :func:`make_objectives`.
        recipe: As for :func:`make_objectives`.

    Raises:
        ConfigError: There are no tables, or a key or objective is unknown (with the nearest known).
    """
    if tables is None:
        weights = zip(("correct", "calls"), DEFAULT_WEIGHTS[recipe], strict=True)
        tables = [
            {"name": name} | ({} if "limit" in overrides.get(name, {}) else {"weight": weight})
            for name, weight in weights
        ]
    if not isinstance(tables, list | tuple) or not all(isinstance(one, Mapping) for one in tables):
        raise ConfigError(
            f"objectives must be tables, [[objectives]], one for each, got {tables!r}"
        )
    by_name: dict[str, dict[str, Any]] = {}
    for table in tables:
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise ConfigError(f"each of [[objectives]] must have a name, a text, got {dict(table)}")
        if name in by_name:
            raise ConfigError(f"[[objectives]] has {name!r} twice: each needs a unique name")
        by_name[name] = dict(table)
    for name, values in overrides.items():
        if name not in by_name:
            raise ConfigError(
                f"there is no objective {name!r} to set, because [[objectives]] does not name it; "
                f"{nearest(name, by_name)}"
            )
        by_name[name] |= values
    for name, table in by_name.items():
        for given in table:
            check_key(name, given)
    return list(by_name.values())


def check_key(objective: str, name: str) -> None:
    """Refuse an unknown key of an objective."""
    known = [known for known, about in keys(Objective).items() if about.in_file]
    if name not in known:
        raise ConfigError(f"unknown key objectives.{objective}.{name}; {nearest(name, known)}")


_THRESHOLD_ONLY = "is for the gate: set gate = true"


def _may_be_gate(one: Objective) -> bool:
    """Return whether an objective may be the gate by its name: it can exceed its threshold."""
    if one.gate is not None or not is_gate_name(one.name):
        return False
    rises = one.high is None or one.high > one.threshold
    return one.name == "correct" or (one.economy == "raw" and one.better == "more" and rises)


def _own_failure(one: Objective) -> Any:
    default = 0.0 if one.economy in BY_FEWEST else _WORST
    return None if one.failure in (default, _KEEPS) else one.failure
