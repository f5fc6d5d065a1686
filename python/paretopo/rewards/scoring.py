"""The economy of rollouts, by the fewest calls known for their prompts.

Training and held-out rollouts have minima of their own: what is learnt from one side never moves
the rewards of the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import RewardsConfig
from paretopo.rewards.held_out import Economy, HeldOut
from paretopo.rewards.tool_calls import CallMinimum, otc_economy, tool_economy
from paretopo.rollout import Rollout


def make_economy(config: RewardsConfig) -> Economy:
    """The economy of calls of rollouts of one prompt, ``f(calls, n_opt)``."""
    if config.economy == "otc":
        return partial(otc_economy, max_calls=config.max_calls)
    return partial(tool_economy, alpha=config.alpha)


class CallScores:
    """The economy of rollouts, and of every held-out evaluation so far.

    Args:
        config: Fall per call, scope and support of the minimum, what held-out minima do.

    >>> scores = CallScores(RewardsConfig())
    >>> rollouts = [Rollout("q", correct=1.0, calls=calls) for calls in (1, 2)]
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
        self._economy = make_economy(config)
        self._held_out = HeldOut(economy=self._economy, min_support=support)
        self._frozen = False

    def learn(self, rollouts: Sequence[Rollout]) -> None:
        """Take the fewest calls of these rollouts in, all rollouts of a prompt at once."""
        by_prompt: dict[tuple[bool, str], list[Rollout]] = {}
        for rollout in rollouts:
            by_prompt.setdefault((rollout.held_out, rollout.prompt_id), []).append(rollout)
        for (held_out, name), group in by_prompt.items():
            if not (held_out and self._frozen):
                self._minima[held_out].update(
                    name, [one.calls for one in group], [one.solved for one in group]
                )

    def economy_of(self, rollout: Rollout) -> float:
        """The economy of its calls, 0 where nobody solved the prompt."""
        fewest = self._minima[rollout.held_out].n_opt(rollout.prompt_id)
        return float(self._economy(np.array([rollout.calls]), fewest)[0])

    def rescore(
        self, rollouts: Sequence[Rollout], vectors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Take a whole evaluation in, and score it as `evaluation_n_opt` says.

        Args:
            rollouts: One for each held-out question, in the same order of prompts every time.
            vectors: (rollouts, 2) as they were scored when they came.

        Returns:
            The vectors to go by, (rollouts, 2); with "recompute", where this evaluation changed
            the score of earlier ones, also all of theirs, (evaluations, rollouts, 2), else None.
        """
        self._frozen = self._config.evaluation_n_opt == "frozen"
        if self._config.evaluation_n_opt != "recompute":
            return vectors, None
        before = self._held_out.vectors()
        self._held_out.add(
            _question_names(rollouts),
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


def _question_names(rollouts: Sequence[Rollout]) -> list[str]:
    """One name for each rollout: several questions of a data set can share a prompt."""
    seen = Counter[str]()
    names = []
    for rollout in rollouts:
        names.append(f"{seen[rollout.prompt_id]}: {rollout.prompt_id}")
        seen[rollout.prompt_id] += 1
    return names
