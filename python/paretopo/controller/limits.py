"""Multipliers that keep means and shares at their limits: a PI controller for each limit.

A limit on a mean cost C says C <= L. With the multiplier m, training improves the Lagrangian ``V -
m C / u``, V the weighted sum of the other mean rewards. Where C exceeds L the multiplier rises,
otherwise it falls.

The unit u is the standard deviation of the costs of a step, averaged over the steps. The noise of
the violation ``(C - L) / u`` then depends on the number of rollouts only, so that the same gains
suit all costs. The unit is at most L, because a few extreme costs could otherwise hide a violation.

The best mixture of policies within L needs a multiplier of at most ``(V(L) - V(c)) u / (L - c)``, c
the least cost there is, because V is concave in L. For a V of 0 to 1, and L at least a tenth of u
above c, that is at most :data:`MOST`.

A limit on a share says that at least a share S of the rollouts keeps a bound. The reward is 1 for
a rollout that keeps it, else 0. Its standard deviation at the limit, ``sqrt(S (1 - S))``, is the
unit. Where all rollouts can keep the bound, the multiplier is at most ``u / (1 - S)``, 9.95 for a
share of 0.99.

Source: Stooke, Achiam and Abbeel (2020), "Responsive safety in reinforcement learning by PID
Lagrangian methods", arXiv 2007.03964, algorithm 2: the proportional term damps the oscillation of
pure integration. The unit, the bounds on violation and multiplier, the reaction to a kept limit,
and the pause of the integration are ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config import Objective
from paretopo.config.switches import Limit

# Chosen on the tuning tasks of research/tasks.py: see research/constraints.py.
INTEGRAL = 0.05  # per step, of the violation
PROPORTIONAL = 6.0
SMOOTHING = 0.8  # of the violations
UNIT_SMOOTHING = 0.95  # of the variances
LEAST_UNIT = 0.01  # in units of the limit
VIOLATION = 0.4  # that counts at most: from a costly start, the multiplier would overshoot
MOST = 10.0

Floats = NDArray[np.float64]


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


def judge_measures(
    limit: Limit, objectives: Sequence[Objective], values: Sequence[float]
) -> list[float]:
    """Return the judged rewards of measures of the limited objective.

    >>> few = Limit(1, -300.0, share=0.9)
    >>> judge_measures(few, [Objective("correct"), Objective("tokens")], [310, 300, 20])
    [0.0, 1.0, 1.0]
    """
    objective = objectives[limit.objective]
    judged: list[float] = judge(limit, [objective.to_reward(one) for one in values]).tolist()
    return judged


class Multipliers:
    """The multiplier of each limit, 0 at first.

    Args:
        bounds: (...) mean rewards to reach, larger is better: for a cost, minus its most. Not 0,
            except with a unit.
        units: (...) of the violations, above 0; NaN, as by default, for the standard deviation of
            the rewards.

    Attributes:
        values: (...) float64, from 0 to :data:`MOST`.
        units: (...) float64, of the values and the rewards in the next step.

    >>> held = Multipliers([-300.0])  # at most 300 tokens
    >>> held.update([-330.0], [100.0])
    >>> held.values.round(3)  # after a violation of 0.3: 0.05 * 0.3 + 6 * 0.3
    array([1.815])
    """

    def __init__(self, bounds: ArrayLike, units: ArrayLike = np.nan) -> None:
        self.bounds = np.asarray(bounds, np.float64)
        self._given = np.broadcast_to(np.asarray(units, np.float64), self.bounds.shape)
        self.units = np.where(np.isnan(self._given), np.abs(self.bounds), self._given)
        self._updates = np.zeros(self.bounds.shape)
        self._gaps = np.zeros(self.bounds.shape)
        self._variances = np.zeros(self.bounds.shape)
        self._integral = np.zeros(self.bounds.shape)
        self.values = np.zeros(self.bounds.shape)

    def update(self, means: ArrayLike, deviations: ArrayLike) -> None:
        """Update the multipliers from the rewards of a step.

        The proportional term takes the average of the violations, or the last one if it is lower.
        A multiplier at a bound does not integrate any further, so that it leaves the bound at once.

        Args:
            means: (...); NaN leaves a multiplier as it is.
            deviations: (...) standard deviations of the rewards, for limits without a given unit.
        """
        means = np.asarray(means, np.float64)
        known = ~np.isnan(means)
        updates = self._updates + known
        first = 1.0 - 1.0 / np.maximum(updates, 1.0)  # for the mean of the first steps
        gap = np.where(known, self.bounds - means, 0.0)
        gaps = _average(self._gaps, gap, np.minimum(first, SMOOTHING))
        variance = np.where(known, np.square(deviations), 0.0)
        variances = _average(self._variances, variance, np.minimum(first, UNIT_SMOOTHING))
        size = np.abs(self.bounds)
        units = np.sqrt(variances).clip(LEAST_UNIT * size, size)
        units = np.where(np.isnan(self._given), units, self._given)
        integral = self._integral * (units / self.units)  # to the new unit
        average, last = ((one / units).clip(-1.0, VIOLATION) for one in (gaps, gap))
        aim = integral + PROPORTIONAL * average
        outward = ((aim >= MOST) & (average > 0.0)) | ((aim <= 0.0) & (last < 0.0))
        integral = (integral + np.where(outward, 0.0, INTEGRAL * average)).clip(0.0, MOST)
        values = (integral + PROPORTIONAL * np.minimum(average, last)).clip(0.0, MOST)
        found = (updates, gaps, variances, integral, values, units)
        for name, new in zip(_STATE, found, strict=True):
            setattr(self, name, np.where(known, new, getattr(self, name)))

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


def _average(before: Floats, new: Floats, kept: Floats) -> Floats:
    averaged: Floats = kept * before + (1.0 - kept) * new
    return averaged


_STATE = ("_updates", "_gaps", "_variances", "_integral", "values", "units")
