"""The table that runs have in common: a row for each run, and one for each method."""

from __future__ import annotations

import math
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paretopo.config import RunConfig, dumps
from paretopo.config.toml import by_dotted_name
from paretopo.records.measures import Measure
from paretopo_lab.document.report import join_some
from paretopo_lab.read.history import Change, History, compare_ends, merge_objectives

_MOST_LISTED = 4  # settings in the names of methods


@dataclass(frozen=True)
class Summary:
    """A row of the table that runs have in common: a run, or the mean of a method's runs.

    Attributes:
        name: Of the run or the method.
        seeds: Of the runs, each once.
        of_method: Is it a method's?
        means: By key of a measure, the mean over the runs that have it.
        spreads: Of a method, the standard deviations over runs before and after training, NaN for
            one run; of a run, the standard errors over its questions.
    """

    name: str
    seeds: tuple[int, ...]
    of_method: bool
    means: Mapping[str, Change]
    spreads: Mapping[str, tuple[float, float]]

    def describe(self, measure: Measure) -> str:
        """Before and after, with the change; "" where no run has it.

        >>> calls = Measure("calls", "calls", better="fewer", decimals=2)
        >>> means = {"calls": Change(calls, "", 2.0, 1.0)}
        >>> Summary("gdpo", (0, 1), True, means, {"calls": (0.25, math.nan)}).describe(calls)
        '2.00 ± 0.25 → 1.00 (-50 %)'
        """
        if measure.key not in self.means:
            return ""
        mean, spreads = self.means[measure.key], self.spreads[measure.key]
        ends = []
        for value, spread in zip((mean.before, mean.after), spreads, strict=True):
            deviation = "" if math.isnan(spread) else f" ± {measure.format(spread, spread=spread)}"
            ends.append(f"{measure.format(value, spread=spread) or 'unknown'}{deviation}")
        if mean.is_single:
            return ends[0]
        change = f" ({mean.change})" if mean.change else ""
        return f"{' → '.join(ends)}{change}"


def summarise_runs(histories: Mapping[str, History]) -> tuple[list[Measure], list[Summary]]:
    """Return the table of several runs: its columns, a row for each run, then for each method.

    If every method has one run, there are no rows for methods.

    Runs of a method differ only in seed and place. If other settings split a method, the row names
    them.

    Raises:
        ValueError: The runs disagree on which way of an objective is better.
    """
    compared = {
        label: {one.measure.key: one for one in compare_ends(history) if not one.kind}
        for label, history in histories.items()
    }
    found = {key: one.measure for row in compared.values() for key, one in row.items()}
    objectives = {one.key: one for one in merge_objectives(histories.values()) if one.key in found}
    measures = objectives | found
    runs = {
        label: (history.run.config.seed, compared[label]) for label, history in histories.items()
    }
    rows = [_summarise(label, [run], measures, of_method=False) for label, run in runs.items()]
    groups = _group_by_method(histories)
    for name, labels in groups.items():
        if max(map(len, groups.values())) == 1:
            break  # its row would repeat that of its run
        rows.append(_summarise(name, [runs[one] for one in labels], measures, of_method=True))
    return list(measures.values()), rows


def _summarise(
    name: str,
    runs: Sequence[tuple[int, Mapping[str, Change]]],
    measures: Mapping[str, Measure],
    *,
    of_method: bool,
) -> Summary:
    means, spreads = {}, {}
    for key, measure in measures.items():
        ends = [(row[key].before, row[key].after) for _, row in runs if key in row]
        if not ends:
            continue
        columns = [
            [one for one in column if not math.isnan(one)] for column in zip(*ends, strict=True)
        ]
        before, after = (statistics.fmean(one) if one else math.nan for one in columns)
        if not of_method:
            [own] = [row[key] for _, row in runs]
            means[key], spreads[key] = own, own.errors
            continue
        low, high = (statistics.stdev(one) if len(one) > 1 else math.nan for one in columns)
        errors = low / math.sqrt(len(ends)), high / math.sqrt(len(ends))
        single = all(row[key].is_single for _, row in runs if key in row)
        means[key] = Change(measure, "", before, after, errors, is_single=single)
        spreads[key] = low, high
    seeds = tuple(dict.fromkeys(seed for seed, _ in runs))
    return Summary(name, seeds, of_method, means, spreads)


def _group_by_method(histories: Mapping[str, History]) -> dict[str, list[str]]:
    """Return the labels of each method's runs."""
    settings = {label: _read_settings(one.run.config) for label, one in histories.items()}
    groups = defaultdict[tuple[str, frozenset[tuple[str, str]]], list[str]](list)
    for label, history in histories.items():
        groups[history.run.method, frozenset(settings[label].items())].append(label)
    named: dict[str, list[str]] = {}
    for (method, own), labels in groups.items():
        others = [given for name, given in groups if name == method]
        differing = [
            f"{key} = {value}" for key, value in sorted(own - frozenset.intersection(*others))
        ]
        listed = [*differing[:_MOST_LISTED], *(["…"] if len(differing) > _MOST_LISTED else [])]
        name = ", ".join([method, *listed])
        named[name if name not in named else f"{name} ({len(named)})"] = labels
    return named


def _read_settings(config: RunConfig) -> dict[str, str]:
    """Return every key by its dotted name, except the seed and the keys of the run folder."""
    table = tomllib.loads(dumps(config))
    table["objectives"] = {one["name"]: one for one in table["objectives"]}
    return {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in by_dotted_name(table).items()
        if name != "seed" and not name.startswith("run.")
    }


def describe_volumes(histories: Mapping[str, History]) -> str:
    """Return the description of the hypervolumes, or a warning that they are not comparable."""
    named: dict[str, list[str]] = {}
    for label, history in histories.items():
        if history.evaluations[-1].get("hypervolume") is not None:
            named.setdefault(history.volume, []).append(label)
    if len(named) < 2:
        return "".join(f"Archive and hypervolume are of the {volume}." for volume in named)
    each = "; ".join(f"{join_some(labels)}: {volume}" for volume, labels in named.items())
    return (
        f"Hypervolumes are not comparable: {each}. Give all runs one gate and recipe, and each "
        "objective the key reference; or ask their policies with `paretopo evaluate`, and compare "
        "the answers with `paretopo compare`."
    )
