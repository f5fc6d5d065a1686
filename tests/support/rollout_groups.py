"""Groups of rollouts as training meets them: solved or not, with a few tool calls each."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from paretopo.rewards.economy import tool_economy
from paretopo.rewards.learnt_costs import CostMinimum

rollout = st.tuples(st.booleans(), st.integers(0, 5))


def groups(min_points: int = 1, max_points: int = 8):
    """Lists of (solved, calls)."""
    return st.lists(rollout, min_size=min_points, max_size=max_points)


# Vectors on a coarse grid, so that ties and duplicates are the rule.
vectors = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8).map(
    lambda pairs: np.array(pairs, np.float64)[None] / 3
)


def reward_vectors(rollouts, *, history: int | None = None, alpha: float = 0.7) -> np.ndarray:
    """The paper's reward vectors (1, points, 2) of one group, the tracker updated first."""
    solved = [bool(success) for success, _ in rollouts]
    calls = [count for _, count in rollouts]
    tracker = CostMinimum()
    if history is not None:
        tracker.update("q", [history], [True])
    tracker.update("q", calls, solved)
    economy = tool_economy(calls, tracker.n_opt("q"), alpha)
    return np.stack([np.array(solved, np.float64), economy], axis=-1)[None]
