"""Preferences that are given with a question: their set, their text, and the draw of a group.

With ``paretopo.preference = "given"`` each group of rollouts gets a preference: weights of the
objectives, or budgets that a rollout may spend. The prompt contains it, and the group's advantages
follow it. A preference has one name everywhere, its text: in prompts, records and labels.

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
from itertools import product

import numpy as np
from numpy.typing import NDArray

from paretopo.config import ConfigError, Objective, RunConfig
from paretopo.config.keys import nearest
from paretopo.rollout import BadRollout, Rollout

_STREAM = 20  # of random numbers, separate from those of questions and weights


_MOST_NAMED = 3  # preferences in an error


@dataclass(frozen=True)
class Preference:
    """One preference.

    Attributes:
        text: Its text in prompts, records and labels.
        weights: (objectives,) that sum to 1; () for a budget.
        budgets: Most that a rollout may spend, by objective and in its own unit; empty for weights.
    """

    text: str
    weights: tuple[float, ...] = ()
    budgets: tuple[tuple[str, float], ...] = ()

    @property
    def line(self) -> str:
        """Return the preference's line in the prompt."""
        return f"Preference: {self.text}"

    def find_exceeded(self, rollouts: Sequence[Rollout]) -> list[bool]:
        """Return for each rollout whether it spent more than its budget.

        >>> once = Preference("calls at most 1", budgets=(("calls", 1.0),))
        >>> once.find_exceeded([Rollout("q", {"calls": 2.0}), Rollout("q", {"calls": 1.0})])
        [True, False]
        """
        measured = [
            [one.reward_components.get(name) for name, _ in self.budgets] for one in rollouts
        ]
        mosts = [most for _, most in self.budgets]
        return [
            any(value is not None and value > most for value, most in zip(own, mosts, strict=True))
            for own in measured
        ]


class Preferences:
    """All preferences that a run may give.

    Args:
        config: A configuration whose ``paretopo.preference`` is "given".

    Attributes:
        objectives: Names, in the order of weights.
        all: The preferences that training draws from.
        grid: The preferences of an evaluation, in order: the first objective's weight falls, or
            budgets grow.
    """

    def __init__(self, config: RunConfig) -> None:
        self._seed, settings = config.seed, config.preference
        self.objectives = tuple(one.name for one in config.objectives)
        self._weighed = [at for at, one in enumerate(config.objectives) if one.limit is None]
        if settings.kind == "weights":
            self.all = tuple(_list_weightings(config.objectives, settings.levels))
            on_grid = {one.text for one in _list_weightings(config.objectives, settings.grid)}
            self.grid = tuple(one for one in self.all if one.text in on_grid)
        else:
            self.all = self.grid = tuple(_list_budgets(config.objectives))
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

    def of_group(self, group: Sequence[Rollout]) -> Preference:
        """Return the preference that the rollouts of a group share.

        Raises:
            BadRollout: They have several.
        """
        texts = sorted({one.preference for one in group})
        if len(texts) != 1:
            raise BadRollout(
                f"the rollouts of prompt {group[0].prompt_id!r} must share one preference, got "
                f"{texts}"
            )
        return self[texts[0]]

    def weights_of(self, groups: Sequence[Sequence[Rollout]]) -> NDArray[np.float64] | None:
        """Return (groups, objectives) weights; None for budgets."""
        if not self.all[0].weights:
            return None
        return np.array([self.of_group(group).weights for group in groups])

    def fail_over_budget(
        self, group: Sequence[Rollout], rewards: NDArray[np.float64], threshold: float
    ) -> None:
        """Score the rollouts over their budget like wrong answers.

        Args:
            group: The rollouts of a prompt.
            rewards: (rollouts, objectives), changed in place.
            threshold: Largest reward of a wrong answer.
        """
        over = self.of_group(group).find_exceeded(group)
        rewards[over, 0] = np.minimum(rewards[over, 0], min(0.0, threshold))

    def find(self, numbers: Sequence[float]) -> Preference:
        """Return the preference of weights, or of budgets in the order of their objectives.

        Args:
            numbers: Those that the preference's text states: no weights of objectives with a limit.

        Raises:
            ConfigError: There is none; the message lists some.
        """
        for one in self.all:
            own = self._list_stated(one)
            if len(own) == len(numbers) and np.allclose(own, numbers, atol=1e-6):
                return one
        count = len(self._list_stated(self.all[0]))
        known = "; ".join(one.text for one in self.grid[:_MOST_NAMED])
        more = ", ..." if len(self.grid) > _MOST_NAMED else ""
        form = f"{count} weights that sum to 1, multiples of 1 / preference.levels"
        if not self.all[0].weights:
            form = f"{count} budgets from the lists in [[objectives]]"
        raise ConfigError(
            f"no preference {', '.join(f'{one:g}' for one in numbers)} is given here; expected "
            f"{form}, for instance {known}{more}"
        )

    def _list_stated(self, preference: Preference) -> list[float]:
        """Return the numbers in the text of a preference."""
        if preference.weights:
            return [preference.weights[at] for at in self._weighed]
        return [most for _, most in preference.budgets]

    def draw(self, group: int) -> Preference:
        """Draw the preference of a group; the same for the same number of the group."""
        rng = np.random.default_rng([self._seed, _STREAM, group])
        return self.all[int(rng.choice(len(self.all), p=self._shares))]

    def _density(self, concentration: float) -> NDArray[np.float64]:
        """Return (all,) the shares of the draws: Dirichlet's density; equal for budgets."""
        shares = np.ones(len(self.all))
        if self.all[0].weights:
            weights = np.array([one.weights for one in self.all])
            inside = (weights + 0.5 / len(self.all)) / (
                1.0 + 0.5 * weights.shape[1] / len(self.all)
            )
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


def _list_budgets(objectives: Sequence[Objective]) -> Iterator[Preference]:
    """Yield every combination of the objectives' budgets."""
    limited = [one for one in objectives if one.budgets]
    for mosts in product(*(sorted(one.budgets or ()) for one in limited)):
        budgets = tuple((one.name, most) for one, most in zip(limited, mosts, strict=True))
        text = ", ".join(f"{name} at most {most:g}" for name, most in budgets)
        yield Preference(text, budgets=budgets)
