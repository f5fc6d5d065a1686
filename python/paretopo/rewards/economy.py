"""Economy: how far a rollout's calls, or other costs, are from the fewest of a success."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
        counts, solved = _costs(costs, prompt_id), np.asarray(successes)
        if solved.shape != counts.shape:
            raise ValueError(
                f"prompt {prompt_id!r}: successes must have the shape of costs, {counts.shape}, "
                f"got {solved.shape}"
            )
        if solved.dtype.kind == "f" and np.isnan(solved).any():
            raise ValueError(f"prompt {prompt_id!r}: successes must be yes or no, got nan")
        new = [float(count) for count in counts[solved.astype(bool)]]
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


def tool_economy(calls: ArrayLike, n_opt: float | None, alpha: float = 0.7) -> NDArray[np.float64]:
    """``exp(-alpha * |calls - n_opt|)`` of every rollout of one prompt; 0 where nobody solved it.

    Args:
        calls: (points,) or any shape, tool calls of each rollout, or another cost of at least 0.
        n_opt: fewest calls of a success, None while no success is known.
        alpha: fall per call, positive.

    Returns:
        float64 of the shape of ``calls``, in (0, 1], 1 at the optimum; all 0 for ``n_opt=None``.

    Source: arXiv 2606.16111, equation 1.

    >>> tool_economy([1, 2, 3], n_opt=1).round(4)
    array([1.    , 0.4966, 0.2466])
    """
    if not (math.isfinite(alpha) and alpha > 0):
        raise ValueError(f"alpha must be a positive number, got {alpha!r}")
    counts = _costs(calls, None)
    if n_opt is None:
        return np.zeros(counts.shape)
    return _by_table(np.abs(counts - n_opt), lambda distance: math.exp(-alpha * distance))


def otc_economy(calls: ArrayLike, n_opt: float | None, max_calls: int) -> NDArray[np.float64]:
    """OTC's tool reward of every rollout of one prompt; 0 where nobody solved it.

    With m calls it is ``cos(m pi / (2 m + max_calls))`` for ``n_opt = 0``, else
    ``sin(m pi / (m + n_opt))``: 1 at the optimum, falling more slowly than :func:`tool_economy`.
    OTC multiplies it with correctness; here that is gate "success" and all the weight on economy.

    Args:
        calls: (points,) or any shape, tool calls of each rollout, or another cost of at least 0.
        n_opt: fewest calls of a success, None while no success is known.
        max_calls: most calls of a rollout.

    Returns:
        float64 of the shape of ``calls``, from 0 to 1; all 0 for ``n_opt=None``.

    Source: Wang et al. (2025), "OTC: optimal tool calls via reinforcement learning", arXiv
    2504.14870, section 3: with f = 2 m n / (m + n), it is sin(f pi / (2 n)).

    >>> otc_economy([0, 1, 2, 3], n_opt=0, max_calls=3).round(4)
    array([1.    , 0.809 , 0.6235, 0.5   ])
    >>> otc_economy([0, 1, 2, 3], n_opt=1, max_calls=3).round(4)
    array([0.    , 1.    , 0.866 , 0.7071])
    """
    counts = _costs(calls, None)
    if n_opt is None:
        return np.zeros(counts.shape)
    if n_opt == 0:
        # No calls first: without calls allowed, 0 / 0.
        return _by_table(counts, lambda m: math.cos(m * math.pi / (2 * m + max_calls)) if m else 1)
    return _by_table(counts, lambda m: math.sin(m * math.pi / (m + n_opt)))


def _by_table(counts: NDArray[np.float64], value: Callable[[float], float]) -> NDArray[np.float64]:
    """The value of each count, worked out once per count.

    Rollouts with equal calls get bit-equal rewards on every machine, so that ranks see them as
    ties.
    """
    distinct, at = np.unique(counts, return_inverse=True)
    table = np.array([value(count) for count in distinct.tolist()], np.float64)
    values: NDArray[np.float64] = table[at].reshape(counts.shape)
    return values


def shorten(cost: float) -> float:
    """A cost for JSON: whole ones as integers, two characters less."""
    return int(cost) if cost.is_integer() else cost


def _costs(costs: ArrayLike, prompt_id: str | None) -> NDArray[np.float64]:
    given = np.asarray(costs)
    of = "" if prompt_id is None else f"prompt {prompt_id!r}: "
    if given.size == 0:
        return np.zeros(given.shape)
    exact = given.astype(np.float64) if given.dtype.kind in "iuf" else None
    if exact is None or not np.isfinite(exact).all() or (exact < 0).any():
        seen: Sequence[object] = given.ravel().tolist()[:8]
        raise ValueError(f"{of}costs must be finite numbers of at least 0, got {seen}")
    return exact
