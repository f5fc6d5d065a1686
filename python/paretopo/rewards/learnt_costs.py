"""What is learnt of costs: the fewest of a success, and what the starting policy pays."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from paretopo.rewards.economy import check_costs, check_successes


class CostMinimum:
    """The fewest tool calls, seconds, or what else is a cost, with which each prompt was solved.

    One step is ``update`` with a group of rollouts, then the reward of all of them with
    ``n_opt``: the group at hand counts already.

    Args:
        scope: "running" keeps the minimum over all updates of a prompt, as the paper does;
            "group" knows the last update only, so that a lucky guess does not bind for ever.
        min_support: how many successes that cost at most ``n`` make ``n`` count; 1 is the
            paper. With scope "running" they add up over updates.

    Source: arXiv 2606.16111, section 2.3 (``N_optimal``).

    >>> calls = CostMinimum()
    >>> calls.update("q1", costs=[3, 1, 0], successes=[True, True, False])
    >>> calls.n_opt("q1"), calls.n_opt("q2")
    (1.0, None)
    """

    def __init__(
        self, *, scope: Literal["running", "group"] = "running", min_support: int = 1
    ) -> None:
        if scope not in ("running", "group"):
            raise ValueError(f'scope must be "running" or "group", got {scope!r}')
        if isinstance(min_support, bool) or not isinstance(min_support, int) or min_support < 1:
            raise ValueError(f"min_support must be an integer of at least 1, got {min_support!r}")
        self.scope = scope
        self.min_support = min_support
        # The `min_support` fewest costs of each prompt's successes, ascending: the last of them is
        # n_opt once there are that many.
        self._fewest: dict[str, list[float]] = {}

    def update(self, prompt_id: str, costs: ArrayLike, successes: ArrayLike) -> None:
        """Take in the rollouts of one prompt.

        Args:
            prompt_id: the prompt.
            costs: (points,) of each rollout, finite numbers of at least 0.
            successes: (points,) did the rollout solve its task?

        Raises:
            ValueError: shapes differ, costs are not finite numbers of at least 0, or a success is
                NaN; names the prompt.
        """
        counts = check_costs(costs, prompt_id)
        solved = check_successes(successes, counts.shape, prompt_id)
        new = [float(count) for count in counts[solved]]
        known = self._fewest.get(prompt_id, []) if self.scope == "running" else []
        fewest = sorted(known + new)[: self.min_support]
        if fewest:
            self._fewest[prompt_id] = fewest
        else:
            self._fewest.pop(prompt_id, None)

    def n_opt(self, prompt_id: str) -> float | None:
        """The fewest of a success, None while too few successes are known."""
        fewest = self._fewest.get(prompt_id, [])
        return fewest[-1] if len(fewest) == self.min_support else None

    def __len__(self) -> int:
        """Number of prompts with a known optimum."""
        return sum(len(fewest) == self.min_support for fewest in self._fewest.values())

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able."""
        return {
            "scope": self.scope,
            "min_support": self.min_support,
            "fewest": {
                prompt: [shorten(one) for one in few] for prompt, few in self._fewest.items()
            },
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`.

        Raises:
            ValueError: the state comes from another scope or support.
        """
        for name in ("scope", "min_support"):
            if state[name] != getattr(self, name):
                raise ValueError(
                    f"the saved minimum has {name} = {state[name]!r}, this one "
                    f"{getattr(self, name)!r}: resume with the configuration of the run"
                )
        self._fewest = {
            str(prompt): [float(count) for count in counts]
            for prompt, counts in state["fewest"].items()
        }


class CostReference:
    """What the policy pays before it has learnt to save: a high quantile of its costs.

    The quantile is that of all costs so far, successes and failures alike, until there are
    ``first`` of them and one is above 0; then it stays. It is of the costs themselves and of no
    unit: a factor on all of them is a factor on it.

    Args:
        quantile: from 0 to 1, by linear interpolation.
        first: how many costs are learnt from.

    >>> reference = CostReference(first=4)
    >>> reference.update([2, 4])
    >>> reference.value
    3.5
    >>> reference.update([2, 3, 900])  # the last comes too late
    >>> reference.value
    3.25
    """

    def __init__(self, quantile: float = 0.75, first: int = 1024) -> None:
        if not 0.0 <= quantile <= 1.0:
            raise ValueError(f"quantile must be a number from 0 to 1, got {quantile!r}")
        if isinstance(first, bool) or not isinstance(first, int) or first < 1:
            raise ValueError(f"first must be an integer of at least 1, got {first!r}")
        self.quantile = quantile
        self.first = first
        self._costs: list[float] = []  # in the order in which they came; empty once it stays
        self._value: float | None = None
        self._stays = False

    def update(self, costs: ArrayLike) -> None:
        """Learn from costs, in their order; does nothing once the reference stays.

        Args:
            costs: any shape, finite numbers of at least 0.

        Raises:
            ValueError: a cost is none.
        """
        new = check_costs(costs, None).ravel().tolist()
        if self._stays:
            return
        room = max(self.first - len(self._costs), 0)
        self._costs += new[:room]
        if not any(self._costs):  # enough of them, and all 0: the first above 0 is waited for
            self._costs += [cost for cost in new[room:] if cost > 0.0][:1]
        self._value = self._of_the_costs()
        if len(self._costs) >= self.first:
            self.freeze()

    def freeze(self) -> None:
        """Keep the value as it is; while there is none, learning goes on."""
        if self._value is not None:
            self._stays, self._costs = True, []

    @property
    def value(self) -> float | None:
        """The quantile, the largest cost where that is 0; None while no cost above 0 is known."""
        return self._value

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able; a few characters once the reference stays."""
        return {
            "quantile": self.quantile,
            "first": self.first,
            "costs": [shorten(cost) for cost in self._costs],
            "value": self._value,
            "stays": self._stays,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: the state is of another quantile or number of costs.
        """
        for name in ("quantile", "first"):
            if state[name] != getattr(self, name):
                raise ValueError(
                    f"the saved reference has {name} = {state[name]!r}, this one "
                    f"{getattr(self, name)!r}: resume with the configuration of the run"
                )
        self._costs = [float(cost) for cost in state["costs"]]
        self._value = None if state["value"] is None else float(state["value"])
        self._stays = bool(state["stays"])

    def _of_the_costs(self) -> float | None:
        if not any(self._costs):
            return None
        return float(np.quantile(self._costs, self.quantile)) or max(self._costs)


def shorten(cost: float) -> float:
    """A cost for JSON: whole ones as integers, two characters less."""
    return int(cost) if cost.is_integer() else cost
