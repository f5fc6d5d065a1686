"""The hypervolume gained on held-out prompts, smoothed, and the multiplier computed from it.

Source: arXiv 2606.16111, equations 2 and 3, Algorithm 1, lines 1, 2 and 14 to 18.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import paretopo_core
from paretopo.config import ParetoPOConfig


@dataclass(frozen=True)
class Signal:
    """The outcome of one held-out evaluation.

    Attributes:
        gain: Hypervolume that the outcome added to the archive, in the objectives' units.
        smoothed_gain: Exponential average of the gains, 0 until the second evaluation.
        multiplier: Factor of stage 1 from now on, in [0.5, 2); 1 until the second evaluation.
        archived: True if the outcome entered the archive.
        hypervolume: Volume of the archive after the outcome, in the objectives' units.
    """

    gain: float
    smoothed_gain: float
    multiplier: float
    archived: bool
    hypervolume: float


def compute_multiplier(smoothed_gain: float) -> float:
    """Return ``0.5 + 1.5 tanh(smoothed_gain)``; without any gain 0.5.

    >>> round(compute_multiplier(0.1), 6), compute_multiplier(0.0)
    (0.649502, 0.5)
    """
    return 0.5 + 1.5 * math.tanh(smoothed_gain)


class HypervolumeGain:
    """The archive of held-out outcomes and its growth.

    Args:
        config: Its reference point and ``gamma`` apply.

    >>> gain = HypervolumeGain(ParetoPOConfig(reference="zero"))
    >>> gain.observe([0.5, 0.5]).multiplier  # the policy as it starts
    1.0
    >>> gain.observe([0.7, 0.5]).gain.__round__(3)
    0.1
    """

    def __init__(self, config: ParetoPOConfig) -> None:
        self._gamma = config.gamma
        self.observations = 0
        self.smoothed = 0.0
        self.multiplier = 1.0
        self.archive: paretopo_core.ParetoArchive | None = None
        # NaN marks coordinates of the first evaluation.
        self._given = np.array(
            [np.nan if one == "initial" else one for one in config.reference_point], np.float64
        )

    def observe(self, outcome: ArrayLike, *, bounds: ArrayLike | None = None) -> Signal:
        """Record an outcome: gain before it enters, average, multiplier, archive.

        Arguments and errors: :meth:`~paretopo.controller.two_stages.ParetoPO.observe`.
        """
        point, shape = np.array(outcome, np.float64), self._given.shape
        if point.shape != shape:
            raise ValueError(
                f"outcome must have shape {shape}, a mean per weight, got {point.shape}"
            )
        if not np.isfinite(point).all():
            raise ValueError(f"outcome must be finite, got {point.tolist()}")
        if self.archive is None:
            first = np.where(np.isnan(self._given), point, self._given)
            reference = first if bounds is None else np.fmin(first, bounds)
            self.archive = paretopo_core.ParetoArchive(reference)
        archive = self.archive
        known = _contains(archive, point)
        gain = float(archive.add(point))
        if self.observations > 0:
            self.smoothed = self._gamma * self.smoothed + (1.0 - self._gamma) * gain
            self.multiplier = compute_multiplier(self.smoothed)
        self.observations += 1
        return Signal(
            gain=gain,
            smoothed_gain=self.smoothed,
            multiplier=self.multiplier,
            archived=not known and _contains(archive, point),
            hypervolume=float(archive.hypervolume),
        )

    @property
    def reference(self) -> NDArray[np.float64]:
        """Return the reference point (objectives,); NaN until the first evaluation sets it."""
        return self._given if self.archive is None else np.array(self.archive.ref)

    def state_dict(self) -> dict[str, Any]:
        """Return the changing state, JSON-able."""
        return {
            "observations": self.observations,
            "smoothed": self.smoothed,
            "multiplier": self.multiplier,
            "archive": None if self.archive is None else self.archive.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit."""
        self.observations = int(state["observations"])
        self.smoothed = float(state["smoothed"])
        self.multiplier = float(state["multiplier"])
        self.archive, saved = None, state["archive"]
        if saved is not None:
            self.archive = paretopo_core.ParetoArchive(np.array(saved["ref"], np.float64))
            self.archive.load_state_dict(saved)


def _contains(archive: paretopo_core.ParetoArchive, point: NDArray[np.float64]) -> bool:
    points = np.asarray(archive.points, np.float64).reshape(-1, len(point))
    return bool((points == point).all(axis=1).any())
