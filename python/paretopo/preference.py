"""Preferences that are given with a question: their set, their text, and the draw of a group.

With ``paretopo.preference = "given"`` each group of rollouts gets a preference, weights of the
objectives. The prompt contains it, and the group's advantages follow it. A preference has one name
everywhere, its text: in prompts, records and labels.

>>> from paretopo.config import loads
>>> preferences = preferences_of(loads('''
... [paretopo]
... preference = "given"
... [preference]
... levels = 4
... grid = 2
... '''))
>>> [one.text for one in preferences.grid]
['correct 1, calls 0', 'correct 0.5, calls 0.5', 'correct 0, calls 1']
>>> preferences.draw(7).line
'Preference: correct 0, calls 1'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paretopo.config import ConfigError, Objective, RunConfig
from paretopo.config.keys import nearest
from paretopo.rollout import BadRollout, Rollout

_STREAM = 20  # of random numbers, separate from those of questions and weights


@dataclass(frozen=True)
class Preference:
    """One preference.

    Attributes:
        text: Its text in prompts, records and labels.
        weights: (objectives,) that sum to 1.
    """

    text: str
    weights: tuple[float, ...]

    @property
    def line(self) -> str:
        """Return the preference's line in the prompt."""
        return f"Preference: {self.text}"


class Preferences:
    """All preferences that a run may give.

    Args:
        config: A configuration whose ``paretopo.preference`` is "given".

    Attributes:
        objectives: Names, in the order of weights.
        all: The preferences that training draws from.
        grid: The preferences of an evaluation, in order: the first objective's weight falls.
    """

    def __init__(self, config: RunConfig) -> None:
        self._seed, settings = config.seed, config.preference
        self.objectives = tuple(one.name for one in config.objectives)
        self.all = tuple(_list_weightings(config.objectives, settings.levels))
        on_grid = {one.text for one in _list_weightings(config.objectives, settings.grid)}
        self.grid = tuple(one for one in self.all if one.text in on_grid)
        self._named = {one.text: one for one in self.all}
        self._shares = self._density(settings.concentration)

    def __getitem__(self, text: str) -> Preference:
        """Return the preference of a text.

        Raises:
            ConfigError: There is none; the message names the nearest.
        """
        if text not in self._named:
            raise ConfigError(f"no preference {text!r} is given here; {nearest(text, self._named)}")
        return self._named[text]

    def weights_of(self, groups: Sequence[Sequence[Rollout]]) -> NDArray[np.float64]:
        """Return (groups, objectives) weights, of the preference that each group shares.

        Raises:
            BadRollout: The rollouts of a group have several preferences.
        """
        shared = [sorted({one.preference for one in group}) for group in groups]
        for group, texts in zip(groups, shared, strict=True):
            if len(texts) != 1:
                raise BadRollout(
                    f"the rollouts of prompt {group[0].prompt_id!r} must share one preference, got "
                    f"{texts}"
                )
        return np.array([self[text].weights for [text] in shared])

    def draw(self, group: int) -> Preference:
        """Draw the preference of a group; the same for the same number of the group."""
        rng = np.random.default_rng([self._seed, _STREAM, group])
        return self.all[int(rng.choice(len(self.all), p=self._shares))]

    def _density(self, concentration: float) -> NDArray[np.float64]:
        """Return (all,) the shares of the draws: Dirichlet's density."""
        weights = np.array([one.weights for one in self.all])
        inside = (weights + 0.5 / len(self.all)) / (1.0 + 0.5 * weights.shape[1] / len(self.all))
        shares = (inside ** (concentration - 1.0)).prod(axis=1)
        usual: NDArray[np.float64] = shares / shares.sum()
        return usual


def preferences_of(config: RunConfig) -> Preferences | None:
    """Return the preferences of a run; None if its weights are fixed."""
    return Preferences(config) if config.paretopo.preference == "given" else None


def split_by_preference(
    preferences: Preferences | None, rollouts: Sequence[Rollout]
) -> dict[str, list[Rollout]]:
    """Return the rollouts of an evaluation by the text of their preference, at least one entry.

    Args:
        preferences: Those of the run; None if weights are fixed, which have the text "".
        rollouts: All rollouts of the evaluation.

    Raises:
        BadRollout: A rollout has another preference.
    """
    texts = [""] if preferences is None else [one.text for one in preferences.all]
    strange = {one.preference for one in rollouts}.difference(texts)
    if strange:
        raise BadRollout(f"held-out rollouts have preferences that are not given: {strange}")
    parts = {text: [one for one in rollouts if one.preference == text] for text in texts}
    return {text: part for text, part in parts.items() if part} or {"": []}


def _list_weightings(objectives: Sequence[Objective], levels: int) -> Iterator[Preference]:
    """Yield every weighting in multiples of 1 / levels, the first objective's weight falling.

    Objectives with a limit have a weight of 0, which the text does not name.
    """
    names = [one.name for one in objectives if one.limit is None]
    for parts in _compositions(levels, len(names)):
        given = dict(zip(names, (part / levels for part in parts), strict=True))
        text = ", ".join(f"{name} {weight:.3g}" for name, weight in given.items())
        yield Preference(text, tuple(given.get(one.name, 0.0) for one in objectives))


def _compositions(total: int, count: int) -> Iterator[tuple[int, ...]]:
    if count == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, count - 1):
            yield (first, *rest)
