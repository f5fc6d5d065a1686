"""Notes on a configuration's open and unused settings, reported when a run begins."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paretopo.config.objectives import MEASURES, is_gate_name
from paretopo.config.switches import UNWEIGHTED

if TYPE_CHECKING:
    from paretopo.config.run import RunConfig


_LOGGER = logging.getLogger("paretopo")


@dataclass(frozen=True)
class Note:
    """One note.

    Attributes:
        text: A sentence or two.
        warns: False if the configuration is most likely intended.
        in_script: The text in a user's own script, which has no TOML file; "" for the same.
    """

    text: str
    warns: bool = True
    in_script: str = ""


def warn_caller(text: str) -> None:
    """Warn at the line of the user's code that led here, outside of this package and trainers."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _NOT_OF_USERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, stacklevel=level)


_NOT_OF_USERS = frozenset({"paretopo", "trl", "transformers", "accelerate", "torch", "contextlib"})


def say(notes: Iterable[Note]) -> None:
    """Issue the notes as warnings, and as lines of the log at a level visible by default."""
    for note in notes:
        if note.warns:
            warn_caller(note.text)
        else:
            _LOGGER.warning(note.text)


def note_named(*names: str) -> Note:
    """Note that an objective, or one of each environment, became the gate by its name."""
    one = len(names) == 1
    named = (
        f"{' and '.join(map(repr, names))} {'decides' if one else 'decide'} whether a rollout "
        f"solved its prompt, because of {'its name' if one else 'their names'}: "
    )
    return Note(
        f"{named}a value above the key threshold of its table is right. gate = true makes another "
        "objective the gate, gate = false removes it.",
        warns=False,
        in_script=f'{named}a value above 0 is right. ScriptSession(gate="NAME") chooses another '
        'gate, threshold=VALUE with it another value, gate="none" no gate.',
    )


def note_gate(tables: Sequence[Mapping[str, Any]], config: RunConfig) -> tuple[Note, ...]:
    """Note the objective that became the gate by its name (except `correct`), or that none did.

    Args:
        tables: The tables of the objectives as given.
        config: The configuration built from them.
    """
    first, given = config.objectives[0], [one.get("gate") for one in tables]
    if first.gate:
        return () if any(given) or first.name in MEASURES else (note_named(first.name),)
    if None not in given or len(given) == 1:  # a gate lowers the other objectives
        return ()
    named = [one["name"] for one in tables if one.get("gate") is None and is_gate_name(one["name"])]
    several = f" ({' and '.join(map(repr, named))} both have such a name)" if len(named) > 1 else ""
    ungated = (
        f"No objective says whether a rollout solved its prompt{several}, so training has no "
        f"gate: {config.paretopo.stage2_estimator} on all rewards of every rollout. With a "
        "gate, a rollout that fails gets the worst of its group in all other objectives, so "
        "a brief or polite wrong answer never pays. "
    )
    return (
        Note(
            f"{ungated}Set gate = true in the objective that decides, or [paretopo] gate = "
            '"none" to train without a gate.',
            in_script=f'{ungated}Pass session=ScriptSession(gate="NAME") to ParetoGRPOTrainer with '
            'the name of the reward function that decides, or gate="none" for no gate.',
        ),
    )


def note_idle_gate(tables: Sequence[Mapping[str, Any]], config: RunConfig) -> tuple[Note, ...]:
    """Note that the method of a run leaves a chosen gate out of the training."""
    acts = config.paretopo.gate == "success" or config.recipe == "paper"
    if acts or not any(one.get("gate") is True for one in tables):
        return ()
    text = f"The gate {config.objectives[0].name!r} acts in evaluations only, because this method "
    text += 'has none: paretopo.gate = "success" adds it to the training.'
    return (Note(text, warns=False),)


def note_weights(tables: Sequence[Mapping[str, Any]], config: RunConfig) -> tuple[Note, ...]:
    """Note that given weights that differ from each other are not used.

    Args:
        tables: The tables of the objectives as given.
        config: The configuration built from them.
    """
    given = {one["name"]: one["weight"] for one in tables if one.get("weight") is not None}
    counted = [weight for weight in given.values() if weight > 0.0]
    if not counted or min(counted) == max(counted):
        return ()
    switches = config.paretopo
    pooled = {one.name: given.get(one.name) for one in config.objectives[1:] if one.weight}
    if switches.economies == "least" and len({*pooled.values()}) > 1:
        text = (
            f"{' and '.join(pooled)} share one weight, because only the lowest of these rewards "
            "counts for a rollout: "
        )
        return (
            Note(
                f'{text}[paretopo] economies = "each" gives each its own.',
                warns=False,
                in_script=f'{text}"paretopo": {{"economies": "each"}}, next to "objectives" in '
                "ScriptSession, gives each its own.",
            ),
        )
    unweighted = sorted(UNWEIGHTED & switches.estimators)
    if unweighted:
        reason = f"the estimator {unweighted[0]!r} uses none"
    elif switches.weighting != "as given":
        reason = f'paretopo.weighting = "{switches.weighting}"'
    elif switches.preference == "given":
        reason = 'paretopo.preference = "given" sets other weights for each question'
    else:
        return ()
    listed = ", ".join(f"{name} {weight:g}" for name, weight in given.items())
    return (
        Note(
            f"The weights of the objectives ({listed}) have no effect, except weights of 0: "
            f"{reason}."
        ),
    )
