"""The set of non-dominated points added so far, with its hypervolume."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Never, overload

import numpy as np
from numpy.typing import NDArray

from paretopo_core import _core
from paretopo_core._dominance import Frame
from paretopo_core._machinery.arrays import positive_vector, vector_of
from paretopo_core._machinery.calls import explain_calls, refuse_call
from paretopo_core._machinery.numbers import choice_of, flag_of, number_of, numbers_of, whole_number
from paretopo_core._machinery.other_names import refuse_attribute
from paretopo_core._machinery.senses import Maximise, minimised_bits, signs_of
from paretopo_core._machinery.tables import in_order, label_rows, names_of
from paretopo_core._machinery.types import OneSet, Points, Vector
from paretopo_core.fronts import is_nondominated
from paretopo_core.hypervolume import hypervolume

_ROUNDING = 1e-6  # relative, of a sum of gains compared with the hypervolume from scratch
_SHOWN, _WIDTH = 10, 60  # members and characters of a payload in a notebook
_KEEPS = ("contribution", "crowding")
_MAX_OBJECTIVES = 2**31 - 1


class Additions(NamedTuple):
    """The result of ``extend`` and ``merge``, in the order of the points."""

    gains: NDArray[np.float64]  # (points,)
    joined: NDArray[np.bool_]  # (points,): became a member, even if a later point dominates it


class ParetoArchive:
    """Keeps the non-dominated points of a sequence and the hypervolume they span.

    A new point that is dominated, or equal to a member, stays out; members that it dominates leave.
    Dominated points have no hypervolume of their own, so the archive's hypervolume is that of all
    points ever added. A point that is not better than ``ref`` in every objective can be a member,
    but spans nothing. With ``objectives`` in place of ``ref``, the archive keeps no hypervolume,
    which is faster: an addition is only compared with the members, and its gain is NaN.

    ``len(archive)`` counts the members, iteration yields them in the order of their arrival, and
    ``point in archive`` tests for membership; :meth:`items` yields them with their payloads.
    Archives are equal if they have the same reference, senses, bounds and members, and their names
    do not differ.

    Threads may share an archive. Each call is atomic. Its result, or iterator, is a snapshot
    between two additions, which later additions do not change.

    A data frame, a pandas series or a mapping names the objectives. The first names that an archive
    receives, in an argument or in a point, become its :attr:`names`. Later values with names are
    put into that order. Results are NumPy arrays, but one value per row of a pandas or polars frame
    is a series.

    ``capacity`` and ``epsilon`` bound an archive. The hypervolume is then that of only the members,
    and :meth:`add` returns its change. The change can be negative, except with
    ``keep="contribution"`` and no ``epsilon``. ``definitions.archive`` in this package is the
    definition in plain NumPy.

    Args:
        ref: the reference point, shape (objectives,), finite. Without it pass ``objectives``.
        objectives: the number of objectives of an archive without hypervolume.
        maximise: whether larger is better; one bool, or one per objective.
        keep_history: whether every point ever added is kept, at 8 bytes per number.
        capacity: the largest number of members; None for any number. An addition beyond it drops
            one member.
        keep: the member that a full archive drops: with "contribution" the one with the smallest
            of its :func:`hypervolume_contributions`, so that the hypervolume never falls; with
            "crowding" the one with the smallest :func:`crowding_distance`, so that the members are
            evenly spaced. Among equal members, the last to arrive leaves. If that is
            the new point, it does not join. The default is "contribution", or "crowding" without
            ``ref``.
        epsilon: the sides of boxes in objective space, with one member per box, in the units of the
            objectives: a number, or one per objective, larger than 0; None for no boxes. The
            members are those of ``is_nondominated(points, epsilon=epsilon)`` of all points ever
            added, in any order.

    Raises:
        TypeError: an argument of another kind.
        ValueError: no objectives, a wrong shape, NaN or infinity; both or none of ``ref`` and
            ``objectives``; other names of objectives than in ``ref``; ``capacity`` below 1,
            another ``keep``, or "contribution" without ``ref``; ``epsilon`` that is not larger
            than 0.

    Source: the ParetoPO paper, Algorithm 1, lines 2 and 14-17, which never removes a member;
    contributions: Knowles, Corne and Fleischer (2003), "Bounded archiving using the Lebesgue
    measure", CEC; crowding: Deb, Pratap, Agarwal and Meyarivan (2002), NSGA-II, section III-B;
    boxes: Laumanns, Thiele, Deb and Zitzler (2002), "Combining convergence and diversity in
    evolutionary multiobjective optimization", Evolutionary Computation 10(3), algorithm 2, with
    additive boxes and the nearer of two in a box as in Deb, Mohan and Mishra (2005), "Evaluating
    the epsilon-domination based multi-objective evolutionary algorithm for a quick computation of
    Pareto-optimal solutions", Evolutionary Computation 13(4).

    >>> archive = ParetoArchive(ref=[0.0, 0.0])
    >>> archive.add([1.0, 3.0]), archive.add([3.0, 1.0]), archive.add([0.5, 0.5])
    (3.0, 2.0, 0.0)
    >>> archive
    ParetoArchive(ref=[0.0, 0.0], maximise=[True, True], members=2, hypervolume=5.0)
    >>> archive.points
    array([[1., 3.],
           [3., 1.]])
    >>> few = ParetoArchive(ref=[0.0, 0.0], capacity=2)
    >>> few.add([1, 3], "a"), few.add([3, 1], "b"), few.add([2.5, 2], "c")  # which adds more than b
    (3.0, 2.0, 1.0)
    >>> few.payloads
    ['a', 'c']
    >>> best = ParetoArchive(objectives=2)  # no reference point, no hypervolume
    >>> best.extend([[1, 3], [0, 2], [3, 1]]).joined
    array([ True, False,  True])
    """

    __hash__ = None  # type: ignore[assignment]  # it changes

    @explain_calls
    def __init__(
        self,
        ref: Vector | None = None,
        *extra: Never,
        objectives: int | None = None,
        maximise: Maximise = True,
        keep_history: bool = False,
        capacity: int | None = None,
        keep: str | None = None,
        epsilon: Vector | None = None,
        **wrong: Never,
    ) -> None:
        if extra or wrong:
            refuse_call(extra, wrong)
        if (ref is None) == (objectives is None):
            raise ValueError(
                f"ParetoArchive needs {'ref or' if ref is None else 'only one of ref and'} "
                "objectives: give ref=, one number per objective; or objectives=, the number of "
                "objectives, for an archive without hypervolume"
            )
        self._names = (
            names_of(ref, "ref") or names_of(maximise, "maximise") or names_of(epsilon, "epsilon")
        )
        if ref is None:
            width = whole_number(objectives, "objectives", 1, _MAX_OBJECTIVES)
            self._ref = None
        else:
            numbers = numbers_of(in_order(ref, self._names, "ref"), "ref")
            width = numbers.size
            if width == 0:
                raise ValueError("ref must have one number per objective, got none")
            if numbers.ndim == 0:
                raise ValueError(
                    f"ref must have one number per objective, got {numbers:g}: pass for example "
                    f"ref=[0, 0, 0] for three objectives and their hypervolume, ref=[{numbers:g}] "
                    "for one objective, or objectives= for no hypervolume"
                )
            self._ref = vector_of(numbers, width, "ref", scalar=False)
        self._width = width
        senses = in_order(maximise, self._names, "maximise")
        self._sign = signs_of(minimised_bits(senses, width), width)
        if capacity is not None:
            capacity = whole_number(capacity, "capacity", 1, 2**31 - 1)
        self._capacity = capacity
        if keep is None:
            keep = "crowding" if ref is None else "contribution"
        self._keep = choice_of(keep, "keep", _KEEPS)
        if ref is None and keep == "contribution":
            raise ValueError("keep='contribution' measures hypervolumes: pass ref=, or 'crowding'")
        sides = in_order(epsilon, self._names, "epsilon")
        self._epsilon = None if sides is None else positive_vector(sides, width)
        self._core = self._new_core(flag_of(keep_history, "keep_history"))
        self._snapshot: tuple[Any, NDArray[np.float64]] = (None, np.empty((0, width)))

    def _new_core(self, keeps_history: bool) -> _core.Archive:
        return _core.Archive(
            self._sign,
            np.empty(0) if self._ref is None else self._ref,
            keeps_history,
            self._capacity or 0,
            self._keep == "crowding",
            np.empty(0) if self._epsilon is None else self._epsilon,
        )

    def _loaded_core(self, *state: Any) -> _core.Archive:
        """Return an archive of the compiled core that continues from the state of another one."""
        core = self._new_core(keeps_history=state[4] is not None)
        core.load(*state)
        return core

    @property
    def names(self) -> list[str] | None:
        """The names of the objectives, from the first frame, series or mapping; None without."""
        return None if self._names is None else self._names.copy()

    def _ordered(self, values: Any, name: str) -> Any:
        """Return values in the order of the objectives if both have names."""
        return in_order(values, self._names or names_of(values, name), name)

    @property
    def ref(self) -> NDArray[np.float64] | None:
        """The reference point, shape (objectives,); None without."""
        return None if self._ref is None else self._ref.copy()

    @property
    def maximise(self) -> list[bool]:
        """True per objective if larger is better."""
        return (self._sign > 0).tolist()

    @property
    def capacity(self) -> int | None:
        """The largest number of members; None for any number."""
        return self._capacity

    @property
    def keep(self) -> str:
        """The rule by which a full archive drops a member, "contribution" or "crowding"."""
        return self._keep

    @property
    def epsilon(self) -> NDArray[np.float64] | None:
        """The sides of the boxes, shape (objectives,); None without boxes."""
        return None if self._epsilon is None else self._epsilon.copy()

    @property
    def points(self) -> NDArray[np.float64]:
        """The members in the order of their arrival, shape (members, objectives), read-only.

        It is a snapshot, and the same array until the archive changes.
        """
        core = self._core
        # Additions only grow, and between two of them the members only become fewer.
        state = core, core.additions(), core.size()
        known, points = self._snapshot
        if known != state:
            points = core.members().reshape(-1, self._width)
            points.flags.writeable = False
            if state == (core, core.additions(), len(points)):  # no other thread came between
                self._snapshot = state, points
        return points

    @property
    def indices(self) -> NDArray[np.int64]:
        """How many points had been added before each member, shape (members,), int64.

        Use it to look up data of a point (decision variables, a model) outside the archive: the
        members after ``archive.extend(objectives_of(x))`` belong to ``x[archive.indices]``.
        """
        return self._core.contents()[1]

    @property
    def payloads(self) -> list[Any]:
        """The payload of each member, in the order of their arrival; None without."""
        return self._contents()[1]

    def items(self) -> Iterator[tuple[NDArray[np.float64], Any]]:
        """Iterate over the members in the order of their arrival, each with its payload.

        >>> archive = ParetoArchive(ref=[0.0, 0.0])
        >>> archive.add([1, 3], payload={"prompt": "Be brief."}), archive.add([3, 1])
        (3.0, 2.0)
        >>> for point, payload in archive.items():
        ...     print(point, payload)
        [1. 3.] {'prompt': 'Be brief.'}
        [3. 1.] None
        """
        points, payloads = self._contents()
        return zip(points, payloads, strict=True)

    def _contents(self) -> tuple[NDArray[np.float64], list[Any]]:
        members, indices, payloads = self._core.contents()
        return members.reshape(-1, self._width), payloads or [None] * len(indices)

    @property
    def additions(self) -> int:
        """How many points were ever added, members or not."""
        return self._core.additions()

    @property
    def history(self) -> NDArray[np.float64]:
        """Every point ever added, shape (additions, objectives).

        Raises:
            ValueError: the archive was made without ``keep_history``.
        """
        history = self._core.state()[4]
        if history is None:
            raise ValueError("this archive keeps no history: make it with keep_history=True")
        return history.reshape(-1, self._width)

    @property
    def hypervolume(self) -> float:
        """The hypervolume of the members, which is the sum of all gains; recomputed after a drop.

        Raises:
            ValueError: the archive was made without ``ref``.
        """
        ref = self._measuring_from()
        volume = self._core.volume()
        if not volume and len(self):
            Frame(self.points, self.maximise, None).hint_at_senses(ref)
        return volume

    if not TYPE_CHECKING:  # which would accept every name

        def __getattr__(self, name: str) -> Never:
            refuse_attribute(self, name, dir(type(self)))

    def __len__(self) -> int:
        return self._core.size()

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter(self.points)

    def __contains__(self, point: Vector) -> bool:
        return bool((self.points == self._row(point)).all(axis=1).any())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ParetoArchive):
            return NotImplemented
        if self._frame() != other._frame() or self._differs_in_names(other):
            return False
        return sorted(self.points.tolist()) == sorted(other.points.tolist())

    def _differs_in_names(self, other: ParetoArchive) -> bool:
        return bool(self._names and other._names and self._names != other._names)

    def _frame(self) -> dict[str, Any]:
        """Return the arguments that make this archive, except keep_history."""
        return {
            "ref": None if self._ref is None else self._ref.tolist(),
            "maximise": self.maximise,
            "capacity": self._capacity,
            "keep": self._keep,
            "epsilon": None if self._epsilon is None else self._epsilon.tolist(),
        }

    def __repr__(self) -> str:
        volume = None if self._ref is None else float(f"{self._core.volume():.6g}")
        shown = {
            "objectives": self._width if self._ref is None else None,
            **self._frame(),
            "keep": None if self._capacity is None else self._keep,
            "members": len(self),
            "hypervolume": volume,
        }
        parts = (f"{name}={value!r}" for name, value in shown.items() if value is not None)
        return f"ParetoArchive({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Describe the archive and list its first members in a table, for a notebook."""
        from html import escape

        points, payloads = self._contents()
        has_payloads = any(each is not None for each in payloads)
        ways = ["more" if is_larger_better else "less" for is_larger_better in self.maximise]
        names = self._names or [f"objective {m + 1}" for m in range(self._width)]
        titles = [f"{name} ({way})" for name, way in zip(names, ways, strict=True)]
        rows = [[*titles, "payload"] if has_payloads else titles]
        for point, payload in zip(points[:_SHOWN], payloads, strict=False):
            cells = [f"{value:.6g}" for value in point]
            rows.append([*cells, repr(payload)[:_WIDTH]] if has_payloads else cells)
        more = f"<p>and {len(points) - _SHOWN} more members</p>" if len(points) > _SHOWN else ""
        lines = []
        for number, row in enumerate(rows):
            tag = "td" if number else "th"
            cells = [f"<{tag}>{escape(cell)}</{tag}>" for cell in row]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        return f"<code>{escape(repr(self))}</code><table>{''.join(lines)}</table>{more}"

    def add(self, point: Vector, payload: Any = None) -> float:
        """Add a point; return its gain: by how much it raises the hypervolume.

        A float, because a result as of :meth:`extend`, which adds one point too, costs a fifth of
        the call.

        The result is 0.0 or more. It can be negative for a bounded archive, in which another member
        may leave for the point. Without ``ref`` it is NaN. A member beyond the reference also gains
        0.0; the result of :meth:`extend` shows which points joined.

        Args:
            point: shape (objectives,), finite; a series or a mapping may name the objectives.
            payload: any object that belongs to the point, kept as it is; it leaves with the point.
                None: nothing. (One that refers to the archive itself keeps both alive.)

        Raises:
            ValueError: wrong shape, other names, NaN or infinity, or so far from ``ref`` that
                float64 cannot hold the distance; the archive is unchanged then.

        Cost: O(log members) with 2 objectives, about a microsecond, and a step for each member that
        leaves. From 3 objectives on, an index picks the few members to compare. The cost grows far
        more slowly than the members up to some ten thousand, then in proportion. The gain
        additionally costs the hypervolume of the members near the point, which grows quickly with
        the objectives; leave out ``ref`` to save it. A bounded archive costs O(members ·
        objectives). If a member leaves although the point does not dominate it, the cost of the
        members' hypervolume is added, or with ``keep="contribution"`` that of their contributions.
        """
        gain = self._core.add(point, payload)
        if gain is None:  # not a plain list or array
            gain = self._core.add(self._row(point), payload)
            self._names = self._names or names_of(point, "point")
        return float(gain)  # type: ignore[arg-type]

    def extend(self, points: Points, payloads: Sequence[Any] | None = None) -> Additions:
        """Add many points, one after another, and return each gain and whether the point joined.

        Args:
            points: shape (points, objectives), finite; a frame names the objectives.
            payloads: one object for each point, or None.

        Returns:
            ``gains``, shape (points,), float64, and ``joined``, shape (points,), bool: whether the
            point became a member, even if a later point dominates it.

        Raises:
            ValueError: wrong shape, other names, NaN or infinity anywhere, a point too far from
                ``ref``, or another number of payloads; the archive is unchanged then. After Ctrl-C
                it holds the first points: :attr:`additions` is their number.

        >>> archive = ParetoArchive(ref=[0.0, 0.0])
        >>> archive.extend([[1, 3], [0.5, 0.5], [3, 1], [-1, 9]]).joined
        array([ True, False,  True,  True])
        >>> archive.indices
        array([0, 2, 3])
        """
        rows = self._rows(points, "points")
        things = _list_of(payloads, "payloads")
        if things is not None and len(things) != len(rows):
            raise ValueError(
                f"payloads must be one object for each of {len(rows)} points, got {len(things)}"
            )
        gains, joined = self._core.extend(rows, things)
        self._names = self._names or names_of(points, "points")
        return Additions(label_rows(points, gains, "gains"), label_rows(points, joined, "joined"))

    @overload
    def gain(self, points: Sequence[float]) -> float: ...

    @overload
    def gain(self, points: OneSet) -> NDArray[np.float64]: ...

    @overload
    def gain(self, points: Points | Vector) -> float | NDArray[np.float64]: ...

    def gain(self, points: Points | Vector) -> float | NDArray[np.float64]:
        """Compute the gain of each point as if it were the only addition; add none.

        For a bounded archive it is the change of the hypervolume, see :meth:`add`.

        Args:
            points: one point, shape (objectives,), or many, shape (points, objectives); finite.

        Returns:
            A float, or float64 of shape (points,).

        Raises:
            ValueError: as :meth:`add`; the archive was made without ``ref``.

        Cost: for each point that of :meth:`add`.

        >>> archive = ParetoArchive(ref=[0.0, 0.0])
        >>> archive.add([2.0, 2.0])
        4.0
        >>> archive.gain([3.0, 1.0]), archive.gain([[1, 1], [3, 3]])
        (1.0, array([0., 5.]))
        """
        self._measuring_from()
        numbers = numbers_of(self._ordered(points, "points"), "points")
        if numbers.ndim == 1 and len(numbers) > 0:
            return float(self._core.gains(self._rows(numbers[None], "points"))[0])
        return label_rows(points, self._core.gains(self._rows(numbers, "points")), "gain")

    def remove(self, point: Vector) -> None:
        """Remove a member and its payload. Points that it kept out or displaced do not return.

        Args:
            point: shape (objectives,).

        Raises:
            ValueError: no member equals it; the archive is unchanged then.

        Cost: that of the hypervolume of the others, which is computed from scratch.
        """
        row = self._row(point)
        if not self._core.remove(row):
            raise ValueError(f"point is no member: {row.tolist()}")

    def merge(self, other: ParetoArchive) -> Additions:
        """Add the members of another archive with their payloads, as :meth:`extend` does.

        Args:
            other: an archive of the same objectives and senses, names in any order; its reference
                does not matter.

        Raises:
            TypeError: not an archive.
            ValueError: other objectives, names or senses, or a member too far from this reference.
        """
        if not isinstance(other, ParetoArchive):
            raise TypeError(f"other must be a ParetoArchive, got {type(other).__name__}")
        senses = other.maximise
        points, payloads = other._contents()
        if self._names and other._names:
            columns = {name: m for m, name in enumerate(other._names)}
            order = in_order(columns, self._names, "other")
            senses, points = [senses[m] for m in order], points[:, order]
        if senses != self.maximise:
            raise ValueError(
                f"other has objectives of the senses maximise={senses}, this archive has "
                f"{self.maximise}"
            )
        additions = self.extend(points, payloads)
        self._names = self._names or other._names
        return additions

    def state_dict(self) -> dict[str, Any]:
        """Return all that is needed to continue: plain JSON values, and the payloads unchanged."""
        members, indices, additions, volume, history, payloads = self._core.state()
        width = self._width
        return {
            **self._frame(),
            "points": members.reshape(-1, width).tolist(),
            "indices": indices.tolist(),
            "additions": additions,
            "history": None if history is None else history.reshape(-1, width).tolist(),
            "hypervolume": None if self._ref is None else volume,
            "payloads": payloads,
            **({} if self._names is None else {"names": self._names}),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: a key is missing, the state belongs to another reference, sense or bound or
                to objectives of other names, or it is inconsistent: points of another width, not
                finite or dominated, more than its capacity or two in a box, indices that are not
                ascending, a hypervolume that is not theirs, another number of payloads. The archive
                is unchanged then.
            TypeError: the state is no mapping, points or the hypervolume are not real numbers, or
                another value is no list.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a mapping, as state_dict returns it, got {state!r}")
        frame = self._frame()
        keys = [*frame, "points", "indices", "additions", "history", "hypervolume", "payloads"]
        missing = set(keys) - set(state)
        if missing:
            raise ValueError(f"state lacks {', '.join(sorted(missing))}")
        lists = ("ref", "maximise", "epsilon", "indices", "payloads")
        of_state: dict[str, Any] = {
            key: _list_of(value, f"the {key} of the state") if key in lists else value
            for key, value in state.items()
        }
        theirs = {key: of_state[key] for key in frame}
        differing = [key for key in frame if not _is_same(theirs[key], frame[key])]
        if differing:
            raise ValueError(
                f"state belongs to an archive with another {' and '.join(differing)}: {theirs}, "
                f"this one has {frame}"
            )
        names = _list_of(state.get("names"), "the names of the state")
        if names is not None:
            texts = {each for each in names if isinstance(each, str)}
            if len(texts) != self._width or len(names) != self._width:
                raise ValueError(
                    f"the names of the state must be {self._width} different texts, got {names}"
                )
            if self._names is not None and self._names != names:
                raise ValueError(f"the state has the objectives {names}, not {self._names}")
        points = self._rows(state["points"], "the points of the state")
        if not is_nondominated(points, maximise=self.maximise, duplicates="first").all():
            raise ValueError("the points of the state must not dominate or repeat one another")
        if self._epsilon is not None and not (
            is_nondominated(points, maximise=self.maximise, epsilon=self._epsilon).all()
        ):
            raise ValueError(
                f"the points of the state must be one in a box, and no box dominated, with "
                f"epsilon={self._epsilon.tolist()}"
            )
        if self._capacity is not None and len(points) > self._capacity:
            raise ValueError(
                f"the state must have at most capacity={self._capacity} points, got {len(points)}"
            )
        indices, additions = of_state["indices"], of_state["additions"]
        if (
            indices is None
            or any(type(each) is not int for each in (*indices, additions))
            or len(indices) != len(points)
            or [-1, *indices, additions] != sorted({-1, *indices, additions})
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
        volume = 0.0
        if self._ref is not None:
            volume = number_of(state["hypervolume"], "the hypervolume of the state")
            own = self._volume_of(points)
            if not (volume == own or abs(volume - own) <= _ROUNDING * own):
                raise ValueError(
                    f"the hypervolume of the state is {volume}, that of its points is {own}"
                )
        payloads = of_state["payloads"]
        if payloads is not None and len(payloads) != len(points):
            raise ValueError(
                f"the payloads of the state must be one for each of {len(points)} points, got "
                f"{len(payloads)}"
            )
        arrivals = np.array(indices, dtype=np.int64)
        self._core = self._loaded_core(points, arrivals, additions, volume, history, payloads)
        self._names = names or self._names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the archive into a file, from which :meth:`load` continues bit for bit.

        The file is replaced as a whole: one that is there stays as it was if this fails. A symbolic
        link stays, and the file that it leads to is replaced.

        Args:
            path: ends in ``.npz`` (NumPy's arrays) or ``.json`` (text). Neither holds code: no
                pickle is written or read, so it is safe to open files of strangers. JSON has no
                infinity: an infinite hypervolume is the text "inf" there.

        Raises:
            ValueError: another ending.
            TypeError: a payload that JSON cannot hold, or would give back as something else (a
                tuple, a key that is no string, NaN); the payloads are JSON in both formats.
            OSError: the file cannot be written.

        >>> import pathlib, tempfile
        >>> archive = ParetoArchive(ref=[0.0, 0.0], capacity=100)
        >>> archive.add([1, 3], payload={"prompt": "Be brief."})
        3.0
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     archive.save(pathlib.Path(folder) / "front.npz")
        ...     again = ParetoArchive.load(pathlib.Path(folder) / "front.npz")
        >>> again == archive, again.payloads
        (True, [{'prompt': 'Be brief.'}])
        """
        from paretopo_core import archive_files  # whose imports take as long as all others

        archive_files.save(self.state_dict(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ParetoArchive:
        """Make an archive from a file that :meth:`save` wrote.

        Raises:
            ValueError: another ending than ``.npz`` or ``.json``, not a file of an archive,
                compressed arrays, or an inconsistent state, as for :meth:`load_state_dict`.
            OSError: the file cannot be read.
        """
        from paretopo_core import archive_files

        state = archive_files.load(path)
        try:
            archive = cls(
                state["ref"],
                objectives=None if state["ref"] is not None else len(state["maximise"]),
                maximise=state["maximise"],
                keep_history=state["history"] is not None,
                capacity=state["capacity"],
                keep=state["keep"],
                epsilon=state["epsilon"],
            )
            archive.load_state_dict(state)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)} holds no archive: {error}") from error
        return archive

    def recomputed_hypervolume(self) -> float:
        """Recompute the hypervolume of the members, without the rounding of the running sum.

        Raises:
            ValueError: the archive was made without ``ref``.
        """
        return self._volume_of(self.points)

    def _volume_of(self, rows: np.ndarray) -> float:
        return float(hypervolume(rows, self._measuring_from(), maximise=self.maximise))

    def _measuring_from(self) -> np.ndarray:
        if self._ref is None:
            raise ValueError("this archive has no hypervolume: make it with ref=")
        return self._ref

    def _row(self, point: Any) -> np.ndarray:
        row = numbers_of(self._ordered(point, "point"), "point")
        if row.ndim == 2:
            raise ValueError(
                f"point must be one point of shape ({self._width},), got shape {row.shape}; pass "
                "several points to extend"
            )
        return vector_of(row, self._width, "point", scalar=False)

    def _rows(self, numbers: Any, name: str) -> np.ndarray:
        rows = numbers_of(self._ordered(numbers, name), name)
        if rows.ndim in (1, 2) and len(rows) == 0:
            return np.empty((0, self._width))
        if rows.ndim != 2 or rows.shape[1] != self._width:
            raise ValueError(f"{name} must have shape (points, {self._width}), got {rows.shape}")
        if not np.isfinite(rows).all():
            at = tuple(np.argwhere(~np.isfinite(rows))[0].tolist())
            raise ValueError(f"{name} must be finite, got {rows[at]} at {list(at)}")
        if self._ref is None:
            return rows
        with np.errstate(over="ignore"):
            too_far = ((rows - self._ref) * self._sign == np.inf).any(axis=1)
        if too_far.any():
            raise ValueError(
                f"{name} must not lie so far from ref that float64 cannot hold the distance, got "
                f"{rows[too_far][0].tolist()}"
            )
        return rows

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": self._core.state(), "_snapshot": (None, None)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._core = self._loaded_core(*state["_core"])


def _list_of(values: Any, name: str) -> list[Any] | None:
    """Return the items of a sequence as a list, or None for None.

    Raises:
        TypeError: the values have no items.
    """
    try:
        return None if values is None else list(values)
    except TypeError as error:
        raise TypeError(f"{name} must be a list, got {values!r}") from error


def _is_same(one: Any, other: Any) -> bool:
    """Return True if two values of a state are equal; an array is equal to nothing."""
    try:
        return bool(one == other)
    except (TypeError, ValueError):
        return False
