"""Groups of rollouts as training meets them: solved or not, with a few tool calls each."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from paretopo.rollout import Rollout

rollout = st.tuples(st.booleans(), st.integers(0, 5))


def groups(min_points: int = 1, max_points: int = 8):
    """Lists of (solved, calls)."""
    return st.lists(rollout, min_size=min_points, max_size=max_points)


# Vectors on a coarse grid, so that ties and duplicates are the rule.
vectors = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8).map(
    lambda pairs: np.array(pairs, np.float64)[None] / 3
)


def rollouts_of(answers, **about):
    """The rollouts of one prompt with these (calls, solved)."""
    return [
        Rollout("q", {"correct": float(yes), "calls": float(calls)}, solved=yes, **about)
        for calls, yes in answers
    ]
