"""What a configuration left open or does not use, in sentences to say when a run begins."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paretopo.config.objectives import MEASURES, name_says_solved
from paretopo.config.paretopo import UNWEIGHTED

if TYPE_CHECKING:
    from paretopo.config.run import RunConfig


_LOGGER = logging.getLogger("paretopo")


@dataclass(frozen=True)
class Note:
    """One of them.

    Attributes:
        text: A sentence or two.
        warns: False where the run is most likely the one that was wanted.
    """

    text: str
    warns: bool = True


def say(notes: Iterable[Note]) -> None:
    """As warnings, and as lines of the log: at the level that is seen unless a script hides it."""
    for note in notes:
        if note.warns:
            warnings.warn(note.text, stacklevel=3)
        else:
            _LOGGER.warning(note.text)


def note_named(name: str) -> Note:
    """That an objective became the gate without being chosen."""
    return Note(
        f"{name!r} says whether a rollout solved its prompt, because it is called so: gate = true "
        "gives this to another objective, gate = false takes it away.",
        warns=False,
    )


def note_gate(tables: Sequence[Mapping[str, Any]], config: RunConfig) -> tuple[Note, ...]:
    """Which objective became the gate by its name, but for the measure `correct`; or that none did.

    Args:
        tables: Those of the objectives as they were given.
        config: What was made of them.
    """
    first, given = config.objectives[0], [one.get("gate") for one in tables]
    if first.gate:
        return () if any(given) or first.name in MEASURES else (note_named(first.name),)
    if None not in given:
        return ()
    named = [
        one["name"] for one in tables if one.get("gate") is None and name_says_solved(one["name"])
    ]
    several = f" ({' and '.join(map(repr, named))} are both called so)" if len(named) > 1 else ""
    return (
        Note(
            f"No objective says whether a rollout solved its prompt{several}, so that training is "
            f"ungated: {config.paretopo.stage2_estimator} on all rewards of every rollout. With a "
            "gate a rollout that fails gets the worst of its group in all other objectives, so "
            "that being brief or polite never pays for being wrong. Choose it by its name: gate = "
            'true in its table, in a script ScriptSession(gate="NAME"); gate = "none" there, or '
            '[paretopo] gate = "none", says that there is none.'
        ),
    )


def note_weights(tables: Sequence[Mapping[str, Any]], config: RunConfig) -> tuple[Note, ...]:
    """That weights which were given, and are not all alike, are not used.

    Args:
        tables: Those of the objectives as they were given.
        config: What was made of them.
    """
    given = {one["name"]: one["weight"] for one in tables if one.get("weight") is not None}
    counted = [weight for weight in given.values() if weight > 0.0]
    if not counted or min(counted) == max(counted):
        return ()
    switches = config.paretopo
    unweighted = sorted(UNWEIGHTED & switches.estimators)
    if "hypervolume" in switches.estimators and switches.hypervolume_reference == "archive":
        unweighted.append("hypervolume")
    if unweighted:
        reason = f"the estimator {unweighted[0]!r} uses none"
    elif switches.weighting != "as given":
        reason = f'paretopo.weighting = "{switches.weighting}"'
    elif switches.preference == "given":
        reason = 'paretopo.preference = "given" gives others with each question'
    else:
        return ()
    listed = ", ".join(f"{name} {weight:g}" for name, weight in given.items())
    return (
        Note(f"The weights of the objectives ({listed}) do not count, only which are 0: {reason}."),
    )
