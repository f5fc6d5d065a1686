"""The set of non-dominated points met so far, with its hypervolume."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paretopo_core import _core
from paretopo_core._arrays import address, numbers_of, vector_of
from paretopo_core._senses import Maximise, minimised_of, signs_of
from paretopo_core.hypervolume import hypervolume


class ParetoArchive:
    """Keeps the non-dominated points of a sequence and the hypervolume they span.

    A new point that is dominated, or equal to a member, stays out; members that it dominates
    leave. Neither changes the hypervolume, so the archive measures all points ever added.
    A point that is not better than ``ref`` in every objective can be a member, but spans nothing.

    Args:
        ref: the reference point, shape (objectives,), finite.
        maximise: whether larger is better; one bool, or one per objective.

    Source: the ParetoPO paper, Algorithm 1, lines 2 and 14-17, which never removes a member.

    >>> archive = ParetoArchive(ref=[0.0, 0.0])
    >>> archive.add([1.0, 3.0]), archive.add([3.0, 1.0]), archive.add([0.5, 0.5])
    (3.0, 2.0, 0.0)
    >>> archive.hypervolume
    5.0
    >>> archive.points
    array([[1., 3.],
           [3., 1.]])
    """

    def __init__(self, ref: Any, *, maximise: Maximise = True) -> None:
        numbers = numbers_of(ref, "ref")
        if numbers.size == 0:
            raise ValueError("ref must have one number per objective, got none")
        self._ref = vector_of(numbers, numbers.size, "ref", scalar=numbers.size == 1)
        self._sign = signs_of(minimised_of(maximise, numbers.size), numbers.size)
        self._members = self._core_of(self._rows([]))
        self._history: list[np.ndarray] = []
        self._hypervolume = 0.0

    @property
    def ref(self) -> np.ndarray:
        """The reference point, shape (objectives,)."""
        return self._ref.copy()

    @property
    def points(self) -> np.ndarray:
        """The members in the order of their arrival, shape (members, objectives)."""
        return self._members.members().reshape(-1, self._ref.size)

    @property
    def history(self) -> np.ndarray:
        """Every point ever added, shape (additions, objectives)."""
        return np.array(self._history).reshape(-1, self._ref.size)

    @property
    def hypervolume(self) -> float:
        """The hypervolume of the members, the sum of all gains."""
        return self._hypervolume

    def __len__(self) -> int:
        return self._members.size()

    def add(self, point: Any) -> float:
        """Add a point; return by how much it raises the hypervolume, 0.0 or more.

        Args:
            point: shape (objectives,), finite.

        Raises:
            ValueError: wrong shape, NaN or infinity; the archive is unchanged then.

        Cost: O(members · objectives) up to 3 objectives, microseconds for 1,000 members; from 4
        the hypervolume of what limits the new point comes on top. The gain is computed directly,
        not as the difference of two hypervolumes.
        """
        row = vector_of(point, self._ref.size, "point", scalar=False)
        gain = self._members.add(row)
        self._history.append(row)
        self._hypervolume += gain
        return gain

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, as plain JSON values."""
        return {
            "ref": self._ref.tolist(),
            "maximise": self._maximise,
            "points": self.points.tolist(),
            "history": self.history.tolist(),
            "hypervolume": self._hypervolume,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: a key is missing, the state belongs to another reference or sense, or holds
                a point that is not finite; the archive is unchanged then.
        """
        missing = {"ref", "maximise", "points", "history", "hypervolume"} - set(state)
        if missing:
            raise ValueError(f"state lacks {', '.join(sorted(missing))}")
        ours = (self._ref.tolist(), self._maximise)
        theirs = (list(state["ref"]), list(state["maximise"]))
        if ours != theirs:
            raise ValueError(
                f"state belongs to an archive with ref and maximise {theirs}, this one has {ours}"
            )
        points, history = self._rows(state["points"]), self._rows(state["history"])
        volume = float(state["hypervolume"])
        self._members = self._core_of(points)
        self._history = list(history)
        self._hypervolume = volume

    def recomputed_hypervolume(self) -> float:
        """The hypervolume of the members from scratch, free of the rounding of the sum."""
        return float(hypervolume(self.points, self._ref, maximise=self._maximise))

    @property
    def _maximise(self) -> list[bool]:
        senses: list[bool] = (self._sign > 0).tolist()
        return senses

    def _rows(self, numbers: Any) -> np.ndarray:
        rows = np.array(numbers, dtype=np.float64, order="C").reshape(-1, self._ref.size)
        if not np.isfinite(rows).all():
            raise ValueError("state holds a point that is not finite")
        return rows

    def _core_of(self, rows: np.ndarray) -> _core.Archive:
        core = _core.Archive(self._ref.size, address(self._sign), address(self._ref))
        core.load(address(rows), len(rows))
        return core

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_members": self.points, "_history": list(self._history)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._members = self._core_of(self._rows(state["_members"]))
