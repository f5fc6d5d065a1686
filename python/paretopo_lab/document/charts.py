"""The charts of a report: fronts, and curves over steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from paretopo.records.measures import Series


class Axis(NamedTuple):
    """An objective of a front.

    Attributes:
        label: Name, unit and direction.
        sense: 1 if larger is better, -1 if smaller is.
        wide: Whether its values span a decade, which makes the axis logarithmic.
    """

    label: str
    sense: float
    wide: bool = False


class Point(NamedTuple):
    """A point of a front.

    Attributes:
        name: For a picture that names it.
        values: A value for each axis, NaN if unknown.
        best: Whether it is on the front of all objectives.
        about: Lines that a page shows for its mark.
        covariance: Of the values; None if unknown.
        step: Its place in a course.
        named: Whether a picture names it.
    """

    name: str
    values: Sequence[float]
    best: bool
    about: str
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
        file: The picture.
        axes: At least two.
        groups: At least one.
        key: Explains the marks.
        course: Whether a group is a course from a start to an end, or else a set.
    """

    title: str
    caption: str
    file: str
    axes: Sequence[Axis]
    groups: Sequence[Group]
    key: str
    course: bool = False


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
    """Curves of runs, which have the colours of the groups of a front in the same report.

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
