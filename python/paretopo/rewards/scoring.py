"""Compute the rewards of rollouts, as each objective defines them.

Training and held-out rollouts have separate minima and references: knowledge from one side never
changes the rewards of the other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config import Objective
from paretopo.config.objectives import OF_THE_GROUP
from paretopo.rewards.economy import (
    arora_zanette_economy,
    gr3_economy,
    kimi_economy,
    laser_economy,
    otc_economy,
    pass_rate_economy,
    saving,
    tool_economy,
)
from paretopo.rewards.learnt_costs import CostMinimum, CostTargets, SuccessPrice
from paretopo.rollout import Rollout

Economy: TypeAlias = Callable[[ArrayLike, float | None], NDArray[np.float64]]


def make_economy(objective: Objective, max_calls: int) -> Economy | None:
    """Return ``f(costs, n_opt)`` of rollouts of one prompt; None for other economies."""
    if objective.economy == "otc":
        return partial(otc_economy, max_calls=max_calls)
    if objective.economy == "paretopo":
        return partial(tool_economy, alpha=objective.alpha)
    return None


def make_targets(objective: Objective) -> CostTargets | None:
    """Return the cost targets that LASER-D learns; None for other economies."""
    return CostTargets() if objective.economy == "laser_d" else None


class Scores:
    """The rewards of rollouts, by the costs that the run has met.

    Args:
        objectives: The objectives of the run.
        max_calls: Largest number of calls of a rollout; only the economy "otc" needs it.

    >>> from paretopo.config import loads
    >>> config = loads('recipe = "paper"')
    >>> scores = Scores(config.objectives)
    >>> rollouts = [Rollout("q", {"correct": 1.0, "calls": n}, solved=True) for n in (1, 2)]
    >>> scores.learn(rollouts)
    >>> scores.rewards_of(rollouts).round(4).tolist()
    [[1.0, 1.0], [1.0, 0.4966]]
    """

    def __init__(self, objectives: Sequence[Objective], *, max_calls: int = 0) -> None:
        self._objectives = tuple(objectives)
        made = {one.name: make_economy(one, max_calls) for one in objectives}
        self._economies = {name: economy for name, economy in made.items() if economy is not None}
        # A held-out question has one answer per evaluation: by itself it would always be the best.
        self._minima = {
            held_out: {name: CostMinimum() for name in self._economies}
            for held_out in (False, True)
        }
        savings = [one.name for one in objectives if one.economy == "saving"]
        # By objective and kind of question: one price would suit no kind if their costs differ.
        self._prices: dict[bool, dict[str, dict[str, SuccessPrice]]] = {
            held_out: {name: {} for name in savings} for held_out in (False, True)
        }
        targets = {one.name: make_targets(one) for one in objectives}
        self._targets = {name: one for name, one in targets.items() if one is not None}

    def learn(self, rollouts: Sequence[Rollout]) -> None:
        """Learn from the costs of rollouts: all of a prompt, or of an evaluation, at once."""
        held_out_now = [one for one in rollouts if one.held_out]
        if held_out_now:
            self._learn_prices(held_out_now)
        by_prompt: dict[tuple[bool, str], list[Rollout]] = {}
        for rollout in rollouts:
            by_prompt.setdefault((rollout.held_out, rollout.prompt_id), []).append(rollout)
        for (held_out, name), group in by_prompt.items():
            if not held_out:
                self._learn_prices(group)
                for objective in self._objectives:
                    if objective.name in self._targets:
                        _, paid, right = _costs_of(objective, group)
                        self._targets[objective.name].update(paid, right)
            for measure, minimum in self._minima[held_out].items():
                costs = [(one.reward_components.get(measure), self._succeeds(one)) for one in group]
                known = [(cost, solved) for cost, solved in costs if cost is not None]
                minimum.update(name, [cost for cost, _ in known], [solved for _, solved in known])

    def rewards_of(self, rollouts: Sequence[Rollout]) -> NDArray[np.float64]:
        """Return (rollouts, objectives) of a group or an evaluation; NaN if one does not apply.

        A held-out question has one answer, which would always be the best of its group. Economies
        relative to the group therefore count raw there.
        """
        columns = [self._column(one, rollouts) for one in self._objectives]
        return np.array(columns, np.float64).reshape(len(columns), len(rollouts)).T.copy()

    def prices(self) -> dict[str, dict[str, float]]:
        """Return the prices of training: objective → kind of question → price, where known."""
        return {
            name: {kind: one.value for kind, one in of_kind.items() if one.value is not None}
            for name, of_kind in self._prices[False].items()
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the learnt costs, JSON-able."""
        return {
            "training": _states(self._minima[False]),
            "held_out": _states(self._minima[True]),
            "prices": {name: _states(one) for name, one in self._prices[False].items()},
            "held_out_prices": {name: _states(one) for name, one in self._prices[True].items()},
            "targets": _states(self._targets),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        for held_out, saved in ((False, state["training"]), (True, state["held_out"])):
            for name, minimum in self._minima[held_out].items():
                minimum.load_state_dict(saved[name])
        for held_out, key in ((False, "prices"), (True, "held_out_prices")):
            for name in self._prices[held_out]:
                for kind, saved in state[key][name].items():
                    self._price_of(name, kind, held_out=held_out).load_state_dict(saved)
        for name, targets in self._targets.items():
            targets.load_state_dict(state["targets"][name])

    def _succeeds(self, rollout: Rollout) -> bool:
        """Return whether a rollout solved its prompt, or the gate of the run does not apply."""
        return bool(rollout.solved or (self._objectives[0].gate and rollout.solved is None))

    def _column(self, objective: Objective, rollouts: Sequence[Rollout]) -> ArrayLike:
        values = [one.reward_components.get(objective.name) for one in rollouts]
        if objective.name in self._economies:
            economy, held_out = self._economies[objective.name], (False, True)
            fewest = {side: self._minima[side][objective.name].n_opt for side in held_out}
            return [
                np.nan
                if cost is None
                else float(economy([cost], fewest[one.held_out](one.prompt_id))[0])
                for cost, one in zip(values, rollouts, strict=True)
            ]
        if objective.economy == "saving":
            return self._compute_savings(objective, rollouts)
        if objective.economy in OF_THE_GROUP and not any(one.held_out for one in rollouts):
            return self._compute_group_economies(objective, rollouts)
        return [np.nan if value is None else objective.to_reward(value) for value in values]

    def _compute_group_economies(
        self, objective: Objective, rollouts: Sequence[Rollout]
    ) -> NDArray[np.float64]:
        """Return economies relative to the group; NaN if the objective does not apply."""
        known, costs, right = _costs_of(objective, rollouts)
        paid = np.full(known.shape, np.nan)
        if objective.name in self._targets:
            target = self._targets[objective.name].target(right)
            paid[known] = laser_economy(costs, right, target)
        else:
            paid[known] = GROUP_ECONOMIES[objective.economy](costs, right)
        return paid

    def _compute_savings(
        self, objective: Objective, rollouts: Sequence[Rollout]
    ) -> NDArray[np.float64]:
        """Return the saved shares of the price; NaN if the objective does not apply."""
        shares = np.full(len(rollouts), np.nan)
        for price, places in self._price_kinds(objective, rollouts):
            known, costs, right = _costs_of(objective, [rollouts[at] for at in places])
            value = price.value if rollouts[0].held_out else price.of_groups(costs, right)
            shares[places[known]] = saving(costs, value)
        return shares

    def _learn_prices(self, rollouts: Sequence[Rollout]) -> None:
        """Learn prices from a group, or from an evaluation, in which each rollout is a group."""
        for objective in self._objectives:
            if objective.economy != "saving":
                continue
            for price, places in self._price_kinds(objective, rollouts):
                _, costs, right = _costs_of(objective, [rollouts[at] for at in places])
                if rollouts[0].held_out:
                    price.update(costs[:, None], right[:, None])
                    # Keep the price of the first evaluation: all evaluations are comparable.
                    price.freeze()
                else:
                    price.update(costs, right)

    def _price_kinds(
        self, objective: Objective, rollouts: Sequence[Rollout]
    ) -> list[tuple[SuccessPrice, NDArray[np.int64]]]:
        """Return the price of each kind of question, and the places of its rollouts."""
        kinds: dict[str, list[int]] = {}
        for at, one in enumerate(rollouts):
            kinds.setdefault(one.kind, []).append(at)
        return [
            (self._price_of(objective.name, kind, held_out=rollouts[0].held_out), np.array(places))
            for kind, places in kinds.items()
        ]

    def _price_of(self, objective: str, kind: str, *, held_out: bool) -> SuccessPrice:
        """Return the price of a right answer to a kind of question."""
        # All right answers of an evaluation count, and the most expensive is the price: later ones
        # hardly ever cost more.
        made = SuccessPrice(1.0, sys.maxsize) if held_out else SuccessPrice()
        return self._prices[held_out][objective].setdefault(kind, made)


def _states(learnt: Mapping[str, CostMinimum | SuccessPrice | CostTargets]) -> dict[str, Any]:
    return {name: one.state_dict() for name, one in learnt.items()}


def _costs_of(
    objective: Objective, rollouts: Sequence[Rollout]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.bool_]]:
    """Return (rollouts,) to which it applies; the cost of each, and whether it is right."""
    values = [one.reward_components.get(objective.name) for one in rollouts]
    known = np.array([value is not None for value in values], np.bool_)
    costs = [objective.to_group_cost(value) for value in values if value is not None]
    # Without a gate, every answer counts.
    right = np.array([one.solved is not False for one in rollouts], np.bool_)[known]
    return known, np.array(costs, np.float64), right


def _scale_to_unit(costs: NDArray[np.float64], solved: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return places between the worst, 0, and the best, 1; if all are equal, 1."""
    del solved
    low, high = costs.min(initial=np.inf), costs.max(initial=-np.inf)
    if not low < high:
        return np.ones(costs.shape)
    share: NDArray[np.float64] = (high - costs) / (high - low)
    return share


# Functions of (points,) costs and of the correctness of each answer.
GROUP_ECONOMIES: Mapping[str, Callable[..., NDArray[np.float64]]] = {
    "share of the group": _scale_to_unit,
    "arora_zanette": arora_zanette_economy,
    "kimi": kimi_economy,
    "gr3": lambda costs, _: gr3_economy(costs),
    "pass_rate": pass_rate_economy,
}
