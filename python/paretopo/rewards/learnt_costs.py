"""Knowledge about costs: the fewest of a success, the price of a success, and targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.rewards.economy import check_costs, check_successes


class CostMinimum:
    """The fewest tool calls, seconds or other costs with which each prompt was solved.

    Call ``update`` with a group of rollouts, then score them with ``n_opt``, which includes this
    group.

    Source: arXiv 2606.16111, section 2.3 (``N_optimal``).

    >>> calls = CostMinimum()
    >>> calls.update("q1", costs=[3, 1, 0], successes=[True, True, False])
    >>> calls.n_opt("q1"), calls.n_opt("q2")
    (1.0, None)
    """

    def __init__(self) -> None:
        self._fewest: dict[str, float] = {}  # of each prompt's successes

    def update(self, prompt_id: str, costs: ArrayLike, successes: ArrayLike) -> None:
        """Record the rollouts of one prompt.

        Args:
            prompt_id: the prompt.
            costs: (points,) of each rollout, finite numbers of at least 0.
            successes: (points,) did the rollout solve its task?

        Raises:
            ValueError: shapes differ, costs are not finite numbers of at least 0, or a success is
                NaN.
        """
        counts = check_costs(costs)
        solved = check_successes(successes, counts.shape)
        if solved.any():
            known = self._fewest.get(prompt_id, math.inf)
            self._fewest[prompt_id] = min(known, float(counts[solved].min()))

    def n_opt(self, prompt_id: str) -> float | None:
        """Return the fewest of a success; None before the first success."""
        return self._fewest.get(prompt_id)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able."""
        return {"fewest": {prompt: [shorten(few)] for prompt, few in self._fewest.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self._fewest = {str(prompt): float(few) for prompt, [few] in state["fewest"].items()}


class SuccessPrice:
    """The price of a right answer, learnt from the right answers themselves.

    Each group contributes its most expensive right answer, if that costs anything. The price is a
    low quantile of the latest ``groups`` of these. Once there are that many it never falls, so a
    policy that has learnt to save does not lower its own standard.

    Only right answers enter. A policy that starts with wrong answers for free, or far too expensive
    ones, does not change the price. A factor on all costs is a factor on the price.

    Args:
        quantile: from 0 to 1, by linear interpolation.
        groups: how many groups the price is learnt from.

    Source: here; docs/estimators.md. Quantile and number: research/tried.md.

    >>> price = SuccessPrice()
    >>> price.update([[3, 8, 0], [4, 1, 9]], [[True, True, False], [True, True, False]])
    >>> price.value  # the dearest right answers cost 8 and 4
    5.0
    >>> price.of_groups([[2, 6], [9, 1]], [[True, True], [True, False]]).tolist()
    [6.0, 5.0]
    """

    def __init__(self, quantile: float = 0.25, groups: int = 128) -> None:
        self.quantile, self.groups = quantile, groups
        self._dearest: list[float] = []  # of the latest groups, in the order in which they came
        self._value: float | None = None
        self._rises = False  # there were enough groups: from now on it does not fall
        self._stays = False

    def update(self, costs: ArrayLike, successes: ArrayLike) -> None:
        """Learn from groups; does nothing once the price is frozen.

        Args:
            costs: (points,) of one group, or (..., points), finite numbers of at least 0.
            successes: alike, did the rollout solve its task?

        Raises:
            ValueError: shapes differ, a cost is no finite number of at least 0, or a success is
                NaN.
        """
        dearest = _dearest_right(costs, successes)
        if self._stays:
            return
        self._dearest += dearest[dearest > 0.0].tolist()
        self._dearest = self._dearest[-self.groups :]
        if not self._dearest:
            return
        now = _quantile(self._dearest, self.quantile)
        self._value = max(now, self._value or 0.0) if self._rises else now
        self._rises = self._rises or len(self._dearest) >= self.groups

    def freeze(self) -> None:
        """Keep the price as it is; while there is none, learning goes on."""
        if self._value is not None:
            self._stays, self._dearest = True, []

    @property
    def value(self) -> float | None:
        """The price; None while no right answer is known that costs anything."""
        return self._value

    def of_groups(self, costs: ArrayLike, successes: ArrayLike) -> NDArray[np.float64]:
        """Return the price for each group: at least its dearest right answer, if several are right.

        If one right answer costs more than another of its group, the more expensive one is the
        price of a right answer there, whatever the other groups pay.

        Args:
            costs: as for :meth:`update`.
            successes: as for :meth:`update`.

        Returns:
            (...) float64, one for each group; 0 while no price is known.

        Raises:
            ValueError: as :meth:`update`.
        """
        dearest = _dearest_right(costs, successes)
        several = np.asarray(successes, np.bool_).sum(axis=-1) > 1
        prices: NDArray[np.float64] = np.maximum(
            self._value or 0.0, np.where(several, dearest, 0.0)
        )
        return prices

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able."""
        return {
            "dearest": [shorten(cost) for cost in self._dearest],
            "value": self._value,
            "rises": self._rises,
            "stays": self._stays,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit."""
        self._dearest = [float(cost) for cost in state["dearest"]]
        self._value = None if state["value"] is None else float(state["value"])
        self._rises, self._stays = bool(state["rises"]), bool(state["stays"])


def _quantile(values: Sequence[float], quantile: float) -> float:
    """Compute ``np.quantile`` of some dozens of numbers, ten times as fast."""
    ordered = sorted(values)
    below, share = divmod(quantile * (len(ordered) - 1), 1.0)
    low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
    return low + (high - low) * share if share < 0.5 else high - (high - low) * (1.0 - share)


def _dearest_right(costs: ArrayLike, successes: ArrayLike) -> NDArray[np.float64]:
    """Return the cost of the dearest right answer of each group, (...); 0 without any."""
    paid = check_costs(costs)
    solved = check_successes(successes, paid.shape)
    dearest: NDArray[np.float64] = np.max(paid, axis=-1, where=solved, initial=0.0)
    return dearest


class CostTargets:
    """LASER-D's target costs, by difficulty.

    A group is easy if at least 2/3 of its rollouts are right, of medium difficulty if at least 1/3
    are, else hard. Training groups form blocks. The latest complete block gives the targets; before
    there is one, the current block does. The target is a quantile of all costs of a difficulty's
    groups, right and wrong. Its share is such that one right answer can be expected of a group at
    the lower end of the difficulty: 1 / floor(2 n / 3) for easy groups of n rollouts, 1 / floor(n /
    3) for medium ones, and 1 for hard ones. With n = 8 these are the 0.2 quantile, the median, and
    the largest.

    Args:
        groups: Number of groups in a block.

    Source: Liu et al. (2025), arXiv 2505.15612, section 5; hkust-nlp/Laser,
    ``verl/utils/reward_score/length_penalty.py``, lines 249 to 363 (``round_method = "floor"``) and
    ``count_length_distribution.py``. LASER-D answers a set of 500 questions again every 20 steps;
    here a block of training groups replaces it. Its targets are steps of 1,024 tokens from a
    smallest one on, the method's setting; here they are the quantiles themselves, in any unit, from
    0 on.

    >>> targets = CostTargets()
    >>> targets.update([1, 2, 3, 4, 5, 6, 7, 8], [True] * 7 + [False])
    >>> targets.update([1, 9, 9, 9], [False] * 4)
    >>> targets.target([True] * 8), targets.target([True, False]), targets.target([False] * 8)
    (2.0, inf, 9.0)
    """

    def __init__(self, groups: int = 256) -> None:
        self.groups = groups
        # The current block: costs by difficulty, number of groups, rollouts of the largest group.
        self._costs: list[list[float]] = [[], [], []]
        self._seen = 0
        self._size = 0
        self._targets: list[float | None] | None = None  # of the latest complete block

    def update(self, costs: ArrayLike, successes: ArrayLike) -> None:
        """Record the rollouts of one group.

        Args:
            costs: (points,) finite numbers of at least 0.
            successes: (points,) did the rollout solve its task?

        Raises:
            ValueError: shapes differ, or a cost is no finite number of at least 0.
        """
        paid = check_costs(costs)
        solved = check_successes(successes, paid.shape)
        if not len(paid):
            return
        self._costs[_rate_difficulty(solved)] += paid.tolist()
        self._seen += 1
        self._size = max(self._size, len(paid))
        if self._seen == self.groups:
            self._targets = self._compute_targets()
            self._costs, self._seen, self._size = [[], [], []], 0, 0

    def target(self, successes: ArrayLike) -> float:
        """Return the largest cost of a success in a group; infinity if no such group was seen.

        Args:
            successes: (points,) of the group.
        """
        targets = self._compute_targets() if self._targets is None else self._targets
        target = targets[_rate_difficulty(np.asarray(successes, np.bool_))]
        return np.inf if target is None else target

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able."""
        return {
            "costs": [[shorten(cost) for cost in costs] for costs in self._costs],
            "seen": self._seen,
            "size": self._size,
            "targets": self._targets,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit."""
        self._costs = [[float(cost) for cost in costs] for costs in state["costs"]]
        self._seen, self._size = int(state["seen"]), int(state["size"])
        self._targets = state["targets"]

    def _compute_targets(self) -> list[float | None]:
        """Return the targets of hard, medium and easy groups."""
        parts = (1, max(self._size // 3, 1), max(2 * self._size // 3, 1))
        return [
            _bound_of_cheapest(sorted(some), part)
            for some, part in zip(self._costs, parts, strict=True)
        ]


def _rate_difficulty(successes: NDArray[np.bool_]) -> int:
    """Return 0 for a hard group, 1 for a medium one, 2 for an easy one."""
    right, rollouts = int(successes.sum()), len(successes)
    return int(3 * right >= rollouts) + int(3 * right >= 2 * rollouts)


def _bound_of_cheapest(ascending: list[float], parts: int) -> float | None:
    """Return the smallest bound that 1 / ``parts`` of the costs stay within; None without costs."""
    return ascending[-(-len(ascending) // parts) - 1] if ascending else None


def shorten(cost: float) -> float:
    """Write whole costs as integers, which are two characters shorter in JSON."""
    return int(cost) if cost.is_integer() else cost
