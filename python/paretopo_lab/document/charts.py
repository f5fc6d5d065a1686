"""The charts of a report: a front, for pages and pictures, and curves over steps, for pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from paretopo.records.measures import Measure, Series


class Axis(NamedTuple):
    """An objective of a front.

    Attributes:
        name: Its short name.
        label: Name, unit and direction.
        sense: 1 if larger is better, -1 if smaller is.
        wide: Whether its values span a decade, which makes the axis logarithmic.
    """

    name: str
    label: str
    sense: float
    wide: bool = False

    @classmethod
    def of(cls, measure: Measure, *, wide: bool = False) -> Axis:
        """Return the axis of a measure in its own unit."""
        return cls(measure.name, measure.label, measure.sense, wide)


class Space(NamedTuple):
    """A way to read the values of points, with its axes."""

    name: str
    axes: Sequence[Axis]


class Point(NamedTuple):
    """A point of a front.

    Attributes:
        name: For the pointer.
        values: For each space a value for each axis, NaN if unknown.
        best: For each space, whether the point is on the front of all objectives.
        facts: Names and values, for its details.
        notes: Sentences below them.
        covariance: Of the values in the first space; None if unknown.
        step: Points of different groups with near steps belong together.
        named: Whether a picture names it.
    """

    name: str
    values: Sequence[Sequence[float]]
    best: Sequence[bool]
    facts: Sequence[tuple[str, str]] = ()
    notes: Sequence[str] = ()
    covariance: Any = None
    step: float = 0.0
    named: bool = False


class Group(NamedTuple):
    """Points of one colour and shape.

    Attributes:
        name: For the legend; "" for the only group without one.
        points: At least one.
    """

    name: str
    points: Sequence[Point]


class Front(NamedTuple):
    """A front of groups of points.

    Attributes:
        title: Of its section in a page.
        caption: Of its picture.
        file: The picture; "" for a front that only a page shows.
        spaces: The first one is shown at first.
        groups: At least one.
        key: Explains the marks.
        course: Whether a group is a course from a start to an end, or else a set.
        selected: The group and the place in it of the point that a page selects at first.
    """

    title: str
    caption: str
    file: str
    spaces: Sequence[Space]
    groups: Sequence[Group]
    key: str
    course: bool = False
    selected: tuple[int, int] = (0, 0)


class Line(NamedTuple):
    """The values of a curve in one run: at its steps, at its evaluations, and their bound."""

    trained: Series | None = None
    evaluated: Series | None = None
    bound: float | None = None


class Curve(NamedTuple):
    """A quantity over the steps; a line for each run, None for a run without it.

    Attributes:
        title: Its name.
        lines: In the order of the runs.
        strong: Whether the values at steps are all there is, and not only rollouts of a step.
    """

    title: str
    lines: Sequence[Line | None]
    strong: bool = False


class Run(NamedTuple):
    """The steps of a run, those of its evaluations, and the beginning of its second stage."""

    name: str
    steps: Series
    evaluated: Series
    boundary: float | None


class Curves(NamedTuple):
    """Curves of runs, which are the groups of the front in the same report.

    Attributes:
        title: Of its section in a page.
        runs: At least one.
        curves: At least one.
        key: Explains the lines.
    """

    title: str
    runs: Sequence[Run]
    curves: Sequence[Curve]
    key: str
