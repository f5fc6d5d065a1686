"""The numbers of the records: where a row has them, in which unit, and which way is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paretopo.config import Objective
from paretopo.records.files import Row

Series = NDArray[np.float64]

_PER_QUESTION = "per question"
_DECIMALS = {"calls": 2, "tokens": 1, "turns": 2, "seconds": 2, "dollars": 5}
_DIGITS = 4  # of a reward of unknown size
_LARGE = 1e6  # a spread that leaves no digit to keep


@dataclass(frozen=True)
class Measure:
    """A numeric column of the records, and how reports read, format and judge it.

    Attributes:
        key: Its name in the rows.
        name: Its name in reports.
        unit: Unit of the shown numbers; "" if it is unknown.
        better: The better direction; None if neither is.
        scale: Factor from the rows' unit to the shown one.
        decimals: Decimals in text; None for four significant digits.
        of_objective: True for the mean of an objective, False for an entry of the row itself. For
            example, the objective "seconds" differs from the seconds of the whole evaluation.

    >>> calls = Measure("calls", "calls", "per question", "fewer", decimals=2)
    >>> calls.label, calls.describe_change(2.0, 1.0), calls.judge(2.0, 1.0)
    ('calls per question, fewer is better', '-50 %', 'better')
    """

    key: str
    name: str
    unit: str = ""
    better: Literal["more", "fewer"] | None = None
    scale: float = 1.0
    decimals: int | None = None
    of_objective: bool = True

    @property
    def title(self) -> str:
        """Name and unit."""
        if not self.unit:
            return self.name
        per = self.unit.startswith("per ")
        return f"{self.name} {self.unit}" if per else f"{self.name} ({self.unit})"

    @property
    def label(self) -> str:
        """Name, unit and direction, for an axis."""
        return f"{self.title}, {self.better} is better" if self.better else self.title

    @property
    def sense(self) -> float:
        """1 if larger is better, -1 if smaller is."""
        return -1.0 if self.better == "fewer" else 1.0

    def format(self, value: float, *, sign: bool = False, spread: float = math.nan) -> str:
        """Format the number for a table, with the digits that its spread allows.

        >>> Measure("polite", "polite").format(0.30683, spread=0.04944)
        '0.307'

        Returns:
            "" for NaN.
        """
        if math.isnan(value):
            return ""
        decimals = self.decimals
        if decimals is None and 0.0 < spread < _LARGE:
            decimals = max(1 - math.floor(math.log10(spread)), 0)
        style = f".{_DIGITS}g" if decimals is None else f".{decimals}f"
        return format(value, f"{'+' if sign else ''}{style}")

    def describe_change(self, before: float, after: float) -> str:
        """Return the change as text: in points for a share, in percent for a cost.

        Any other change is a difference. The text is "" if a value is missing.

        >>> Measure("polite", "polite", better="more").describe_change(0.25, 0.75)
        '+0.5'
        >>> SOLVED.describe_change(50.0, 75.0)
        '+25.0 points'
        """
        if math.isnan(before) or math.isnan(after):
            return ""
        if self.unit == "%":
            return f"{self.format(after - before, sign=True)} points"
        if self.better != "more" and before > 0.0:
            return f"{100.0 * (after - before) / before:+.0f} %"
        return self.format(after - before, sign=True)

    def judge(self, before: float, after: float) -> Literal["better", "worse", ""]:
        """Return the verdict on a change; "" for no change, or without a better direction."""
        gained = self.sense * (after - before)
        if self.better is None or not gained or math.isnan(gained):
            return ""
        return "better" if gained > 0.0 else "worse"

    def read_errors(self, rows: Iterable[Row]) -> Series:
        """Return the standard errors of :meth:`read`, with NaN if a row lacks them."""
        if self.of_objective:
            return read_column([row.get("error") or {} for row in rows], self.key) * self.scale
        return read_column(rows, f"{self.key}_error") * self.scale

    def describe(self, rows: Iterable[Row]) -> list[str]:
        """Return the mean of each row with its standard error, as text; "unknown" without one."""
        rows = list(rows)
        both = zip(self.read(rows).tolist(), self.read_errors(rows).tolist(), strict=True)
        return [_write(self, value, error) for value, error in both]

    def count(self, row: Row) -> int | None:
        """Return the number of rollouts to which the measure applies; None if the row lacks it."""
        applies = row.get("applies") or {} if self.of_objective else {}
        found: int | None = applies.get(self.key, row.get("rollouts"))
        return found

    def read(self, rows: Iterable[Row]) -> Series:
        """Return the measure in its shown unit, as float64 of shape (rows,), with NaN if a row
        lacks it.
        """
        found = [(row.get("measured") or {}) if self.of_objective else row for row in rows]
        return read_column(found, self.key) * self.scale


RESPONSE_LENGTH = Measure(
    "response_tokens", "response length", "tokens", decimals=1, of_objective=False
)


SOLVED = Measure("solved", "solved", "%", "more", 100.0, 1, of_objective=False)


def measure_objective(objective: Objective) -> Measure:
    """Return the measure of an objective: in % for a share of 0 to 1, with a unit for known costs.

    >>> measure_objective(Objective("polite", low=0.0, high=1.0)).title
    'polite (%)'
    """
    name, better = objective.name, objective.better
    if name in _DECIMALS:
        return Measure(name, name, _PER_QUESTION, better, decimals=_DECIMALS[name])
    if (objective.low, objective.high) == (0.0, 1.0):
        return Measure(name, name, "%", better, scale=100.0, decimals=1)
    return Measure(name, name, better=better)


def describe_evaluation(row: Row, objectives: Iterable[Objective]) -> str:
    """Return the means of an evaluation in the units of the report.

    >>> share = Objective("polite", low=0.0, high=1.0)
    >>> describe_evaluation({"measured": {"polite": 0.5}}, [share, Objective("calls")])
    'polite 50.0 %'
    """
    parts = []
    for measure in map(measure_objective, objectives):
        [value] = measure.read([row]).tolist()
        if not math.isnan(value):
            percent = " %" if measure.unit == "%" else ""
            parts.append(f"{measure.name} {measure.format(value)}{percent}")
    return ", ".join(parts)


def read_column(rows: Iterable[Mapping[str, Any]], key: str) -> Series:
    """Return an entry of each row as float64 of shape (rows,), with NaN if a row lacks it."""
    return np.array([_to_number(row.get(key)) for row in rows], np.float64)


def read_limit(rows: Iterable[Row], objective: str, column: str) -> Series:
    """Return a column of ``limits`` for each row, with NaN if a row lacks it; shares in percent.

    >>> rows = [{"limits": {"calls": {"share": 0.75, "multiplier": 0.5}}}, {}]
    >>> read_limit(rows, "calls", "share"), read_limit(rows, "calls", "multiplier")
    (array([75., nan]), array([0.5, nan]))
    """
    found = read_column([(row.get("limits") or {}).get(objective, {}) for row in rows], column)
    return 100.0 * found if column == "share" else found


def _write(measure: Measure, value: float, error: float) -> str:
    spread = "" if math.isnan(error) else f" ± {measure.format(error, spread=error)}"
    known = not math.isnan(value)
    return f"{measure.format(value, spread=error)}{spread}" if known else "unknown"


def read_prices(rows: Sequence[Row]) -> dict[tuple[str, str], Series]:
    """Return each learnt price by objective and kind of question, with NaN if a row lacks it.

    >>> read_prices([{}, {"prices": {"calls": {"all": 4.0}}}])
    {('calls', 'all'): array([nan,  4.])}
    """
    found = [row.get("prices", {}) for row in rows]
    names = {(name, kind): None for one in found for name, kinds in one.items() for kind in kinds}
    return {
        (name, kind): read_column([one.get(name, {}) for one in found], kind)
        for name, kind in names
    }


def _to_number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
