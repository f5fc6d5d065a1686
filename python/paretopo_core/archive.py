"""The set of non-dominated points met so far, with its hypervolume."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from paretopo_core import _core
from paretopo_core._arrays import numbers_of, vector_of
from paretopo_core._senses import Maximise, minimised_bits, signs_of
from paretopo_core.fronts import is_nondominated
from paretopo_core.hypervolume import hypervolume

_ROUNDING = 1e-6  # of a sum of gains against the hypervolume from scratch, relative


class Additions(NamedTuple):
    """What :meth:`ParetoArchive.extend` says of each point, in their order."""

    gains: np.ndarray  # (points,), float64
    joined: np.ndarray  # (points,), bool: became a member, be it that a later one dominates it


class ParetoArchive:
    """Keeps the non-dominated points of a sequence and the hypervolume they span.

    A new point that is dominated, or equal to a member, stays out; members that it dominates
    leave. Neither changes the hypervolume, so the archive measures all points ever added.
    A point that is not better than ``ref`` in every objective can be a member, but spans nothing.

    ``len(archive)`` counts the members, iteration gives them in the order of their arrival, and
    ``point in archive`` tells whether a point is one. Archives are equal that have the same
    reference, senses and members. Threads may share one: each call is done as a whole.

    Args:
        ref: the reference point, shape (objectives,), finite.
        maximise: whether larger is better; one bool, or one per objective.
        keep_history: whether every point ever added is kept, 8 bytes a number.

    Source: the ParetoPO paper, Algorithm 1, lines 2 and 14-17, which never removes a member.

    >>> archive = ParetoArchive(ref=[0.0, 0.0])
    >>> archive.add([1.0, 3.0]), archive.add([3.0, 1.0]), archive.add([0.5, 0.5])
    (3.0, 2.0, 0.0)
    >>> archive
    ParetoArchive(ref=[0.0, 0.0], maximise=[True, True], members=2, hypervolume=5.0)
    >>> archive.points
    array([[1., 3.],
           [3., 1.]])
    """

    __hash__ = None  # type: ignore[assignment]  # it changes

    def __init__(self, ref: Any, *, maximise: Maximise = True, keep_history: bool = False) -> None:
        numbers = numbers_of(ref, "ref")
        if numbers.size == 0:
            raise ValueError("ref must have one number per objective, got none")
        self._ref = vector_of(numbers, numbers.size, "ref", scalar=numbers.size == 1)
        self._sign = signs_of(minimised_bits(maximise, numbers.size), numbers.size)
        self._core = _core.Archive(self._sign, self._ref, bool(keep_history))

    @property
    def ref(self) -> np.ndarray:
        """The reference point, shape (objectives,)."""
        return self._ref.copy()

    @property
    def maximise(self) -> list[bool]:
        """Whether larger is better, per objective."""
        senses: list[bool] = (self._sign > 0).tolist()
        return senses

    @property
    def points(self) -> np.ndarray:
        """The members in the order of their arrival, shape (members, objectives), copied."""
        return self._core.members().reshape(-1, self._ref.size)

    @property
    def indices(self) -> np.ndarray:
        """How many points had been added before each member, shape (members,), int64.

        With it, what belongs to a point (decision variables, a model) is found beside the archive:
        the members of ``archive.extend(objectives_of(x))`` are ``x[archive.indices]``.
        """
        return self._core.state()[1]

    @property
    def additions(self) -> int:
        """How many points were ever added, members or not."""
        return self._core.additions()

    @property
    def history(self) -> np.ndarray:
        """Every point ever added, shape (additions, objectives).

        Raises:
            ValueError: the archive was made without ``keep_history``.
        """
        history = self._core.state()[4]
        if history is None:
            raise ValueError("this archive keeps no history: make it with keep_history=True")
        return history.reshape(-1, self._ref.size)

    @property
    def hypervolume(self) -> float:
        """The hypervolume of the members, the sum of all gains."""
        return self._core.volume()

    def __len__(self) -> int:
        return self._core.size()

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(self.points)

    def __contains__(self, point: Any) -> bool:
        row = vector_of(point, self._ref.size, "point", scalar=False)
        return bool((self.points == row).all(axis=1).any())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParetoArchive):
            return NotImplemented
        if self._ref.tolist() != other._ref.tolist() or self.maximise != other.maximise:
            return False
        return sorted(self.points.tolist()) == sorted(other.points.tolist())

    def __repr__(self) -> str:
        return (
            f"ParetoArchive(ref={self._ref.tolist()}, maximise={self.maximise}, "
            f"members={len(self)}, hypervolume={self.hypervolume})"
        )

    def add(self, point: Any) -> float:
        """Add a point; return by how much it raises the hypervolume, 0.0 or more.

        A member beyond the reference gains 0.0, too: :meth:`extend` tells who joined.

        Args:
            point: shape (objectives,), finite.

        Raises:
            ValueError: wrong shape, NaN or infinity, or so far from ``ref`` that float64 cannot
                hold the distance; the archive is unchanged then.

        Cost: O(log members) with 2 objectives, about a microsecond, and a step for each member
        that leaves; O(members) with 3, microseconds for 1,000 members; from 4 the hypervolume of
        what limits the new point comes on top. The gain is computed directly, not as the
        difference of two hypervolumes.
        """
        gain = self._core.add(point)
        if gain is None:  # not a plain list or array
            gain = self._core.add(vector_of(point, self._ref.size, "point", scalar=False))
        return float(gain)  # type: ignore[arg-type]

    def extend(self, points: Any) -> Additions:
        """Add many points, one after the other; tell of each what :meth:`add` would, and more.

        Args:
            points: shape (points, objectives), finite.

        Returns:
            ``gains``, shape (points,), float64, and ``joined``, shape (points,), bool: whether the
            point became a member. One that a later point dominates had joined, too.

        Raises:
            ValueError: wrong shape, NaN or infinity anywhere, or a point too far from ``ref``; the
                archive is unchanged then. After Ctrl-C it holds the points up to some place:
                :attr:`additions` tells how many.

        >>> archive = ParetoArchive(ref=[0.0, 0.0])
        >>> archive.extend([[1, 3], [0.5, 0.5], [3, 1], [-1, 9]]).joined
        array([ True, False,  True,  True])
        >>> archive.indices
        array([0, 2, 3])
        """
        return Additions(*self._core.extend(self._rows(points, "points")))

    def gain(self, points: Any) -> Any:
        """Tell by how much each point, added alone, would raise the hypervolume; add none.

        Args:
            points: one point, shape (objectives,), or many, shape (points, objectives); finite.

        Returns:
            A float, or float64 of shape (points,).

        Raises:
            ValueError: as :meth:`add`.

        Cost: for each point that of :meth:`add`.

        >>> archive = ParetoArchive(ref=[0.0, 0.0])
        >>> archive.add([2.0, 2.0])
        4.0
        >>> archive.gain([3.0, 1.0]), archive.gain([[1, 1], [3, 3]])
        (1.0, array([0., 5.]))
        """
        if np.ndim(points) == 1:
            return float(self.gain([points])[0])
        return self._core.gains(self._rows(points, "points"))

    def remove(self, point: Any) -> None:
        """Remove a member. What it kept out, or drove out, does not come back by itself.

        Args:
            point: shape (objectives,).

        Raises:
            ValueError: no member equals it; the archive is unchanged then.

        Cost: that of the hypervolume of the others, which is computed from scratch.
        """
        row = vector_of(point, self._ref.size, "point", scalar=False)
        if not self._core.remove(row):
            raise ValueError(f"point is no member: {row.tolist()}")

    def merge(self, other: ParetoArchive) -> float:
        """Add the members of another archive; return by how much they raise the hypervolume.

        Args:
            other: an archive of the same objectives and senses; its reference does not matter.

        Raises:
            TypeError: not an archive.
            ValueError: other objectives or senses, or a member too far from this reference.
        """
        if not isinstance(other, ParetoArchive):
            raise TypeError(f"other must be a ParetoArchive, got {type(other).__name__}")
        if other.maximise != self.maximise:
            raise ValueError(
                f"other has objectives of the senses maximise={other.maximise}, this archive has "
                f"{self.maximise}"
            )
        return math.fsum(self.extend(other.points).gains.tolist())

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, as plain JSON values."""
        members, indices, additions, volume, history = self._core.state()
        width = self._ref.size
        return {
            "ref": self._ref.tolist(),
            "maximise": self.maximise,
            "points": members.reshape(-1, width).tolist(),
            "indices": indices.tolist(),
            "additions": additions,
            "history": None if history is None else history.reshape(-1, width).tolist(),
            "hypervolume": volume,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: a key is missing, the state belongs to another reference or sense, or what
                it holds cannot be the state of an archive: points of another width, not finite or
                dominated, indices that are not ascending, a hypervolume that is not theirs. The
                archive is unchanged then.
        """
        keys = {"ref", "maximise", "points", "indices", "additions", "history", "hypervolume"}
        missing = keys - set(state)
        if missing:
            raise ValueError(f"state lacks {', '.join(sorted(missing))}")
        ours = (self._ref.tolist(), self.maximise)
        theirs = (list(state["ref"]), list(state["maximise"]))
        if ours != theirs:
            raise ValueError(
                f"state belongs to an archive with ref and maximise {theirs}, this one has {ours}"
            )
        points = self._rows(state["points"], "the points of the state")
        if not is_nondominated(points, maximise=self.maximise, keep_weakly=False).all():
            raise ValueError("the points of the state must not dominate or repeat one another")
        indices, additions = list(state["indices"]), state["additions"]
        if any(type(each) is not int for each in (*indices, additions)) or not (
            len(indices) == len(points)
            and [-1, *indices, additions] == sorted({-1, *indices, additions})
        ):
            raise ValueError(
                f"the indices of the state must ascend from 0 to below its additions, one for each "
                f"of {len(points)} points, got {indices} and {additions} additions"
            )
        history = state["history"]
        if history is not None:
            history = self._rows(history, "the history of the state")
            if len(history) != additions or not (history[indices] == points).all():
                raise ValueError("the history of the state must hold its points at its indices")
        volume, own = float(state["hypervolume"]), self._volume_of(points)
        if not (volume == own or abs(volume - own) <= _ROUNDING * own):
            raise ValueError(
                f"the hypervolume of the state is {volume}, that of its points is {own}"
            )
        core = _core.Archive(self._sign, self._ref, history is not None)
        past = np.empty(0) if history is None else history
        core.load(points, np.array(indices, dtype=np.int64), additions, volume, past)
        self._core = core

    def recomputed_hypervolume(self) -> float:
        """The hypervolume of the members from scratch, free of the rounding of the sum."""
        return self._volume_of(self.points)

    def _volume_of(self, rows: np.ndarray) -> float:
        return float(hypervolume(rows, self._ref, maximise=self.maximise))

    def _rows(self, numbers: Any, name: str) -> np.ndarray:
        rows = numbers_of(numbers, name)
        if rows.size == 0 and rows.ndim < 3:
            return np.empty((0, self._ref.size))
        if rows.ndim != 2 or rows.shape[1] != self._ref.size:
            raise ValueError(f"{name} must have shape (points, {self._ref.size}), got {rows.shape}")
        if not np.isfinite(rows).all():
            at = tuple(np.argwhere(~np.isfinite(rows))[0].tolist())
            raise ValueError(f"{name} must be finite, got {rows[at]} at {list(at)}")
        with np.errstate(over="ignore"):
            too_far = ((rows - self._ref) * self._sign == np.inf).any(axis=1)
        if too_far.any():
            raise ValueError(
                f"{name} must not lie so far from ref that float64 cannot hold the distance, got "
                f"{rows[too_far][0].tolist()}"
            )
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": self._core.state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        members, indices, additions, volume, history = state["_core"]
        self._core = _core.Archive(self._sign, self._ref, history is not None)
        past = np.empty(0) if history is None else history
        self._core.load(members, indices, additions, volume, past)
