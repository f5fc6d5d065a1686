"""Multipliers that keep means and shares at their limits: a PI controller for each limit.

A limit on a mean cost C says C <= L. With the multiplier m, training improves the Lagrangian ``V -
m C / L``, V the weighted sum of the other mean rewards. Where C exceeds L the multiplier rises,
otherwise it falls.

The best mixture of policies within L needs a multiplier of at most ``(V(L) - V(c)) L / (L - c)``, c
the least cost there is, because V is concave in L. For a V of 0 to 1, and L at least 1.11 c, that
is at most :data:`MOST`.

A limit on a share says that at least a share S of the rollouts keeps a bound. The reward is 1 for
a rollout that keeps it, else 0. Its standard deviation at the limit, ``u = sqrt(S (1 - S))``, takes
the place of L, so that the noise of the violation depends on the number of rollouts only. Where all
rollouts can keep the bound, the multiplier is at most ``u / (1 - S)``, 9.95 for a share of 0.99.

Source: Stooke, Achiam and Abbeel (2020), "Responsive safety in reinforcement learning by PID
Lagrangian methods", arXiv 2007.03964, algorithm 2: the proportional term damps the oscillation of
pure integration. Units of the limit, the bounds on violation and multiplier, the reaction to
a kept limit, and the pause of the integration are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config.paretopo import Limit

# Chosen on the tuning tasks of research/tasks.py: see research/constraints.py.
INTEGRAL = 0.06  # per step, of a violation in units of the limit
PROPORTIONAL = 2.5
SMOOTHING = 0.8  # of the violations in the proportional term
VIOLATION = 0.15  # that counts at most: from a costly start, the multiplier would overshoot
MOST = 10.0


def judge(limit: Limit, rewards: ArrayLike) -> NDArray[np.float64]:
    """Return the rewards whose mean is limited: of a share, 1 where the bound is reached, else 0.

    Args:
        limit: On a mean or a share.
        rewards: (...) of its objective, larger is better.

    >>> judge(Limit(1, -300.0, share=0.9), [-310.0, -300.0, -20.0])
    array([0., 1., 1.])
    """
    given = np.asarray(rewards, np.float64)
    return given if limit.share is None else (given >= limit.bound).astype(np.float64)


class Multipliers:
    """The multiplier of each limit, 0 at first.

    Args:
        bounds: (...) mean rewards to reach, larger is better: for a cost, minus its most.
        units: (...) of the violations, above 0; None takes the sizes of the bounds, which must not
            be 0 then.

    Attributes:
        values: (...) float64, from 0 to :data:`MOST`.

    >>> held = Multipliers([-300.0])  # at most 300 tokens
    >>> held.update([-330.0])
    >>> held.values.round(3)  # after a violation of 0.1: 0.06 * 0.1 + 2.5 * 0.1
    array([0.256])
    """

    def __init__(self, bounds: ArrayLike, units: ArrayLike | None = None) -> None:
        self.bounds = np.asarray(bounds, np.float64)
        self.units = np.abs(self.bounds) if units is None else np.asarray(units, np.float64)
        self._updates = np.zeros(self.bounds.shape)
        self._smoothed = np.zeros(self.bounds.shape)
        self._integral = np.zeros(self.bounds.shape)
        self.values = np.zeros(self.bounds.shape)

    def update(self, means: ArrayLike) -> None:
        """Update the multipliers from the mean rewards of a step.

        The proportional term takes the average of the violations, or the last one if it is lower.
        A multiplier at a bound does not integrate any further, so that it leaves the bound at once.

        Args:
            means: (...); NaN leaves a multiplier as it is.
        """
        means = np.asarray(means, np.float64)
        known = ~np.isnan(means)
        over = np.where(known, (self.bounds - means) / self.units, 0.0)
        over = over.clip(-1.0, VIOLATION)
        updates = self._updates + known
        # The mean of the first violations, later an exponential average.
        kept = np.minimum(SMOOTHING, 1.0 - 1.0 / np.maximum(updates, 1.0))
        smoothed = kept * self._smoothed + (1.0 - kept) * over
        pressure = PROPORTIONAL * np.minimum(smoothed, over)
        aim = self._integral + pressure
        outward = ((aim >= MOST) & (over > 0.0)) | ((aim <= 0.0) & (over < 0.0))
        integral = (self._integral + np.where(outward, 0.0, INTEGRAL * over)).clip(0.0, MOST)
        values = (integral + pressure).clip(0.0, MOST)
        self._updates = updates
        self._smoothed = np.where(known, smoothed, self._smoothed)
        self._integral = np.where(known, integral, self._integral)
        self.values = np.where(known, values, self.values)

    def state_dict(self) -> dict[str, Any]:
        """Return the changing state, JSON-able."""
        return {name.lstrip("_"): getattr(self, name).tolist() for name in _STATE}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: The state has another number of limits.
        """
        for name in _STATE:
            saved = np.array(state.get(name.lstrip("_"), []), np.float64)
            if saved.shape != self.bounds.shape:
                raise ValueError(
                    f"the saved controller has limits of shape {saved.shape}, this one "
                    f"{self.bounds.shape}: resume with the configuration of the run"
                )
            setattr(self, name, saved)


_STATE = ("_updates", "_smoothed", "_integral", "values")
