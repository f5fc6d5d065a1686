"""The report of an audit: its parts, and plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from paretopo.records.files import to_json
from paretopo_lab.audit.faults import Fault
from paretopo_lab.audit.match import Match
from paretopo_lab.audit.read import Dump
from paretopo_lab.document.report import Heading, Items, Part, Report, Table

_HEADER = ("reward", "weight", "mean", "deviation in groups", "groups with differences")


def summarise(dump: Dump, match: Match | None) -> list[str]:
    """Return sentences on the dump and on the estimator that it follows."""
    of = f"Records of {dump.trainer}. " if dump.trainer else ""
    sizes = np.unique(np.bincount(dump.groups))
    several = " to ".join(str(one) for one in dict.fromkeys((sizes[0], sizes[-1])))
    steps = int(dump.batches.max()) + 1
    first = (
        f"{of}Rollouts: {len(dump.groups):,}. Groups: {len(dump.labels):,}, of {several} rollouts. "
        f"Training steps: {steps:,}."
    )
    if dump.guessed_length:
        first += (
            f" {dump.guessed_length} counts as the length of a response; if it is a reward, name "
            "every reward with --reward."
        )
    if dump.advantages is None:
        return [first, "The dump has no advantages: only faults of its rewards can show."]
    if match is None:
        return [first, "No advantage of the dump is a number."]
    settings = ", ".join(f"{name} {value}" for name, value in match.settings.items())
    named = match.name + (f" ({settings})" if settings else "")
    if not match.follows:
        near = f" The nearest, {named}, agrees with {100 * match.share:.0f} % of the groups."
        partly = (
            " The records hold the first run.trajectories prompts of each step, so estimators that "
            "whiten over the batch do not show; nor does the recipe, which takes the least of "
            "several costs."
        )
        return [
            first,
            "The advantages follow no estimator that we know. If it weighs rewards, give its "
            f"--weights.{near if match.share > 0.0 else ''}{partly if dump.is_partial else ''}",
        ]
    how = "fitted weights" if match.fitted else "the weights below"
    how += ", not those of --weights" if match.overruled else ""
    text = f"The advantages follow {named}, with {how}, within {match.error:.2g}"
    differ = int((match.informative & ~match.agrees).sum())
    if match.blocks:
        text += ", in blocks of consecutive rows"
    elif differ:
        text += f", except in {differ} of {int(match.informative.sum())} groups"
    alike = f" These agree as well: {', '.join(match.alike)}." if match.alike else ""
    return [first, f"{text}.{alike}"]


def tabulate(dump: Dump, match: Match | None) -> list[list[str]]:
    """Return a row for each reward."""
    table = []
    for at, name in enumerate(dump.names):
        column = dump.rewards[:, at]
        known = [column[rows][np.isfinite(column[rows])] for rows in dump.list_groups()]
        spreads = [float(one.std()) for one in known if len(one)]
        weight = f"{match.weights[at]:.4g}" if match is not None and match.follows else ""
        table.append(
            [
                name,
                weight,
                f"{np.mean(column[np.isfinite(column)]):.4g}" if any(map(len, known)) else "",
                f"{np.mean(spreads):.4g}" if spreads else "",
                str(sum(len(one) > 0 and float(np.ptp(one)) > 0.0 for one in known)),
            ]
        )
    return table


def describe(dump: Dump, match: Match | None, faults: list[Fault]) -> Report:
    """Return the report of a dump."""
    text = "\n".join(" ".join(one.split()) for one in summarise(dump, match))
    parts: list[Part] = [text, Table(_HEADER, tabulate(dump, match))]
    parts.append(Heading("Faults") if faults else "No known fault shows.")
    items = []
    for one in faults:
        group = f" (group {one.group})" if one.group else ""
        items.append((one.name, f"{group}: {one.shows} {one.effect} Groups: {one.groups:,}."))
    return Report("Audit", [*parts, *([Items(items)] if items else [])])


def to_plain(dump: Dump, match: Match | None, faults: list[Fault]) -> dict[str, Any]:
    """Return the report as values for JSON; NaN becomes null."""
    found = None
    if match is not None:
        found = {
            "name": match.name,
            "follows": match.follows,
            "settings": match.settings,
            "weights": dict(zip(dump.names, match.weights, strict=True)),
            "weights_fitted": match.fitted,
            "missing_reward": match.missing or None,
            "largest_error": match.error,
            "groups_that_agree": match.share,
            "others_that_agree": match.alike,
        }
    plain: dict[str, Any] = to_json(
        {
            "trainer": dump.trainer or None,
            "rollouts": len(dump.groups),
            "groups": len(dump.labels),
            "rewards": dump.names,
            "estimator": found,
            "faults": [one._asdict() for one in faults],
        }
    )
    return plain
