"""What rollouts did, and what that is worth by the fewest calls known for their prompts.

Training and held-out rollouts have minima of their own: what is learnt from one side never moves
the rewards of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import RewardsConfig
from paretopo.rewards.held_out import Economy, HeldOut
from paretopo.rewards.tool_calls import CallMinimum, otc_economy, tool_economy


@dataclass(frozen=True)
class Scored:
    """One scored rollout.

    Attributes:
        row: Its row in the data set.
        id: Its prompt; several rows can hold the same prompt.
        held_out: Is it from the held-out data set?
        kind: The kind of question.
        solved: Was the answer right?
        calls: Tool executions.
    """

    row: int
    id: str
    held_out: bool
    kind: str
    solved: bool
    calls: int


def economy_by(config: RewardsConfig) -> Economy:
    """What the calls of rollouts of one prompt are worth, ``f(calls, n_opt)``."""
    if config.economy == "otc":
        return partial(otc_economy, max_calls=config.max_calls)
    return partial(tool_economy, alpha=config.alpha)


class CallScores:
    """The economy of rollouts, and what every held-out evaluation is worth.

    Args:
        config: Fall per call, scope and support of the minimum, what held-out minima do.

    >>> scores = CallScores(RewardsConfig())
    >>> rollouts = [Scored(0, "q", False, "one", True, calls) for calls in (1, 2)]
    >>> scores.learn(rollouts)
    >>> [round(scores.economy_of(one), 4) for one in rollouts]
    [1.0, 0.4966]
    """

    def __init__(self, config: RewardsConfig) -> None:
        self._config = config
        support = config.n_opt_min_support
        # A held-out question has one answer per evaluation: by itself it would always be the best.
        self._minima = {
            False: CallMinimum(scope=config.n_opt_scope, min_support=support),
            True: CallMinimum(scope="running", min_support=support),
        }
        self._economy = economy_by(config)
        self._held_out = HeldOut(economy=self._economy, min_support=support)
        self._frozen = False

    def learn(self, rollouts: Sequence[Scored]) -> None:
        """Take the fewest calls of these rollouts in, all rollouts of a prompt at once."""
        by_prompt: dict[tuple[bool, str], list[Scored]] = {}
        for rollout in rollouts:
            by_prompt.setdefault((rollout.held_out, rollout.id), []).append(rollout)
        for (held_out, name), group in by_prompt.items():
            if not (held_out and self._frozen):
                self._minima[held_out].update(
                    name, [one.calls for one in group], [one.solved for one in group]
                )

    def economy_of(self, rollout: Scored) -> float:
        """What its calls are worth, 0 where nobody solved the prompt."""
        fewest = self._minima[rollout.held_out].n_opt(rollout.id)
        return float(self._economy(np.array([rollout.calls]), fewest)[0])

    def evaluated(
        self, rollouts: Sequence[Scored], vectors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Take a whole evaluation in, and score it as `evaluation_n_opt` says.

        Args:
            rollouts: One per held-out row.
            vectors: (rows, 2) as they were scored when they came.

        Returns:
            The vectors to go by, (rows, 2); with "recompute", where this evaluation changed the
            score of earlier ones, also all of theirs, (evaluations, rows, 2), else None.
        """
        self._frozen = self._config.evaluation_n_opt == "frozen"
        if self._config.evaluation_n_opt != "recompute":
            return vectors, None
        before = self._held_out.vectors()
        self._held_out.add(
            [f"{one.row}: {one.id}" for one in rollouts],  # several rows can ask one fact
            [one.calls for one in rollouts],
            [one.solved for one in rollouts],
        )
        *earlier, latest = self._held_out.vectors()
        changed = not np.array_equal(before, np.reshape(earlier, before.shape))
        return latest, np.array(earlier) if changed else None

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able."""
        return {
            "training": self._minima[False].state_dict(),
            "held_out": self._minima[True].state_dict(),
            "evaluations": self._held_out.state_dict(),
            "frozen": self._frozen,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        self._minima[False].load_state_dict(state["training"])
        self._minima[True].load_state_dict(state["held_out"])
        self._held_out.load_state_dict(state["evaluations"])
        self._frozen = bool(state["frozen"])
