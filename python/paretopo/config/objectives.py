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
from typing import Any, Literal, TypeAlias

from paretopo.config.keys import (
    A_NUMBER,
    ConfigError,
    key,
    keys,
    nearest,
    settled,
)

# Measured without user code, each in its own unit.
MEASURES = ("correct", "calls", "failed_calls", "tokens", "turns", "seconds", "dollars")
COUNTS = frozenset({"calls", "failed_calls", "tokens", "turns"})  # integers
UNASKED = ("tokens", "turns", "dollars")  # measured even if the environment gives nothing
# The number of a rollout's rewards that are missing because a call failed, with failing = "skip".
SKIPPED = "skipped_rewards"
WORST, KEEPS = "worst", "keeps"

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
OF_SUCCESSES = BY_FEWEST | {"arora_zanette", "kimi", "pass_rate", "laser_d"}
# Economies that compare the rollouts of a group; held-out rollouts have no group and count raw.
OF_THE_GROUP = frozenset(
    {"share of the group", "arora_zanette", "kimi", "gr3", "pass_rate", "laser_d"}
)
# Economies that need a cost of at least 0; if more is better, the shortfall from high is the cost.
OF_COSTS = frozenset({"saving", "gr3", "pass_rate", "laser_d"})


@settled("objectives.{name}")
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
    limit: float | None = key(
        None,
        "Upper limit on the mean over all rollouts, or lower limit if more is better: "
        "docs/constraints.md.",
        low=0.0,
        open_low=True,
        shown_default="none",
    )
    share: float | None = key(
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
        "laser_d",
    ] = key(
        None,
        "Formula that converts the measure into a reward: docs/objectives.md.",
        shown_default='"saving" for a cost, else "raw". With recipe = "paper": "paretopo" for '
        'calls, else "raw"',
    )
    alpha: float = key(
        0.7,
        "Decay of the economy exp(-alpha * d), where d is the cost minus the lowest cost of a "
        "success.",
        low=0.0,
        open_low=True,
        of={"economy": ("paretopo",)},
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
        "Reward of a failed rollout. worst: the worst of its group, and of a held-out answer the "
        "reference. keeps: its own reward.",
        shown_default='0 with an economy of "paretopo" or "otc", else "worst"',
    )
    low: float | None = key(None, "Smallest valid value.", shown_default="0 for built-in measures")
    high: float | None = key(None, "Largest valid value.", shown_default="1 for correct")
    reference: float | None = key(
        None,
        "Coordinate of the hypervolume's reference point: docs/objectives.md.",
        shown_default="by paretopo.reference",
    )

    @staticmethod
    def fill(written: dict[str, Any]) -> dict[str, Any]:
        """Fill the keys that name and economy decide."""
        name, budget, limit = written["name"], written["budget"], written["limit"]
        built_in = name in MEASURES
        counted = built_in and name != "correct" and budget is None
        given = {key: value for key, value in written.items() if value is not None}
        better = given.get("better", "fewer" if counted else "more")
        saves = limit is None and (better == "fewer" or budget is not None)
        economy = given.get("economy", "saving" if saves else "raw")
        fewest = _is_one_of(economy, BY_FEWEST)
        zero = built_in or fewest or (_is_one_of(economy, OF_COSTS) and better == "fewer")
        return written | {
            "better": better,
            "economy": economy,
            "low": 0.0 if zero and budget is None else None,
            "high": 1.0 if name == "correct" else budget,
            "failure": KEEPS if written["gate"] or limit is not None else 0.0 if fewest else WORST,
            **given,
        }

    @property
    def has_cost(self) -> bool:
        """Return whether its economy needs costs of at least 0, and it is a cost."""
        return self.economy in BY_FEWEST or (self.economy in OF_COSTS and self.better == "fewer")

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

    def to_group_cost(self, value: float) -> float:
        """Return a value's cost within its group; below 0 is allowed if a shift does not matter.

        If more is better, the cost is the shortfall from `high`.
        """
        if self.economy not in OF_COSTS:
            return 0.0 - self.to_reward(value)
        if self.better == "fewer":
            return value
        assert self.high is not None  # by a rule of its own
        return self.high - value

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
        ConfigError: There are no objectives, two gates, or only some weights.
    """
    if not objectives:
        raise ConfigError("objectives must be at least one, got none")
    gates = find_gates(objectives)
    if len(gates) > 1 and any(one.gate for one in objectives):
        raise ConfigError(f"only one objective can be the gate: gate is true for {gates}")
    first = gates[0] if len(gates) == 1 else None
    for one in objectives:
        if one.name != first and one.threshold != 0.0:
            raise ConfigError(f"objectives.{one.name}.threshold is for the gate: set gate = true")
    weighed = [one for one in objectives if one.limit is None]
    if not weighed:
        raise ConfigError(
            "one objective needs no limit, the one to improve; all of "
            f"{[one.name for one in objectives]} have one"
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
        if one.name == first and one.failure == (0.0 if one.economy in BY_FEWEST else WORST):
            values["failure"] = None  # filled again, with the gate's own
        arranged.append(dataclasses.replace(one, **values, gate=one.name == first))
    return tuple(sorted(arranged, key=lambda one: not one.gate))


def _is_one_of(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, str) and value in names


def merge_objectives(
    tables: Any,
    overrides: Mapping[str, Mapping[str, Any]],
    *,
    recipe: Literal["recommended", "paper"],
) -> list[dict[str, Any]]:
    """Return the tables of the objectives with the overrides applied, and check their keys.

    Args:
        tables: The tables of a file's ``[[objectives]]``; None without any: correct and calls.
        overrides: Maps objective and key to values that override the file.
        recipe: Fills weights without tables; "paper" also fills economies.

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
        if recipe == "paper" and table.get("economy") is None and table.get("limit") is None:
            table["economy"] = "paretopo" if name == "calls" else "raw"
    return list(by_name.values())


def check_key(objective: str, name: str) -> None:
    """Refuse an unknown key of an objective."""
    known = [known for known, about in keys(Objective).items() if about.in_file]
    if name not in known:
        raise ConfigError(f"unknown key objectives.{objective}.{name}; {nearest(name, known)}")


def _may_be_gate(one: Objective) -> bool:
    """Return whether an objective may be the gate by its name: it can exceed its threshold."""
    if one.gate is not None or not is_gate_name(one.name):
        return False
    rises = one.high is None or one.high > one.threshold
    return one.name == "correct" or (one.economy == "raw" and one.better == "more" and rises)
