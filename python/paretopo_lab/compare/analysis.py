"""Fronts of models with their uncertainty: volumes, shares of dominance, small covers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo.config import ConfigError
from paretopo.records.measures import Measure
from paretopo_lab.compare.scores import Scores
from paretopo_lab.statistics.bootstrap import (
    Floats,
    Verdicts,
    draw_means,
    judge_fronts,
    pull_together,
    share_dominated,
    volume_interval,
)
from paretopo_lab.statistics.intervals import t_interval
from paretopo_lab.statistics.pairs import Comparison, compare

_MARGIN = 0.1  # of the range, between the worst model and the guessed reference
_ERRORS = 2.0  # standard errors, by which that model's mean is made worse before
_MOST_PAIRS = 6  # those of four models; beyond, each model is tested against the first
_MOST_TESTED = 15
_FEW_QUESTIONS = 20
_NONE = (math.nan, math.nan)


@dataclass(frozen=True)
class FrontVolume:
    """The non-dominated models of one front, or of all models.

    Attributes:
        name: "" if there is one front.
        models: Places of its non-dominated models, the best in the first objective first.
        volume: Hypervolume above the reference point.
        share: Its share of the box between the reference and the best mean of each objective.
        interval: The volume's 95 % interval; NaN without replicates.
        bias: Mean of the replicates less the volume; NaN without replicates.
        cover: Places of the fewest models that have the wanted share of the volume.
        covered: Their share.
        replicates: (replicates,) volumes.
    """

    name: str
    models: tuple[int, ...]
    volume: float
    share: float
    interval: tuple[float, float]
    bias: float
    cover: tuple[int, ...]
    covered: float
    replicates: Floats


@dataclass(frozen=True)
class Gap:
    """The difference between the volumes of two fronts.

    Attributes:
        first: Name of a front.
        second: Name of the other one.
        difference: Volume of the first less that of the second.
        interval: Its 95 % interval.
        first_larger_probability: Share of replicates in which the first is larger.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    first_larger_probability: float


@dataclass(frozen=True)
class Analysis:
    """Everything that a report shows.

    Attributes:
        scores: The values.
        intervals: (models, objectives, 2), 95 % intervals of the means (Student's t).
        is_front: (models,), whether a model is on its own front.
        on_front: (models,), the share of replicates in which it is.
        verdicts: Which models are surely on their front; None without replicates.
        dominance: (models, models), the share of replicates in which row dominates column; of the
            means, without replicates.
        reference: (objectives,), where volumes begin.
        guessed: Whether the reference point was guessed.
        replicates: (replicates, models, objectives); empty if a model has a single question.
        fronts: At least one.
        gaps: Between every two fronts.
        tests: Of every two models on the same questions, or if these are many, of each against the
            first of them; each is of an objective, a model and another model.
        notes: Sentences on guesses and limits.
        until_settled: Whether reports say how many more questions decide each open model.
    """

    scores: Scores
    intervals: Floats
    is_front: NDArray[np.bool_]
    on_front: Floats
    verdicts: Verdicts | None
    dominance: Floats
    reference: Floats
    guessed: bool
    replicates: Floats
    fronts: tuple[FrontVolume, ...]
    gaps: tuple[Gap, ...]
    tests: tuple[Comparison, ...]
    notes: tuple[str, ...]
    until_settled: bool = False


def analyse(
    scores: Scores,
    *,
    reference: Sequence[float] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
    cover: float = 0.95,
    until_settled: bool = False,
) -> Analysis:
    """Measure the fronts of some models.

    Args:
        scores: Their values.
        reference: (objectives,) where volumes begin, in the objectives' units; None for the worst
            mean of each objective, less two standard errors and 10 % of the range of means.
        replicates: Number of bootstrap replicates.
        seed: Fixes the draws.
        cover: The share of a front's volume that a subset of its models must reach, above 0, at
            most 1.
        until_settled: Whether reports say how many more questions decide each open model.

    Raises:
        ConfigError: an argument is out of range.

    Cost: that of the replicates, replicates x models x questions products, and of the pairs,
    replicates x models² comparisons: half a second for 100 models, 1,000 questions and 10,000
    replicates.
    """
    _check_options(scores, reference, replicates, cover)
    means, senses = scores.means, scores.senses
    corner = (
        guess_reference(means, scores.errors, senses)
        if reference is None
        else np.asarray(reference, float)
    )
    maximise = [sense > 0 for sense in senses]
    least = min(map(len, scores.answered))
    drawn = np.empty((0, *means.shape))
    notes = list(scores.notes)
    if least > 1:
        drawn = draw_means(scores.values, replicates, seed, scores.groups, scores.within)
        if least < _FEW_QUESTIONS:
            notes.append(f"A model has only {least} questions: intervals are rough.")
    elif max(map(len, scores.answered)) > 1:
        notes.append("A model has a single value: there are no intervals and no shares.")
    names = list(dict.fromkeys(scores.fronts))
    kept = np.zeros(len(means), bool)
    share = np.full(len(means), math.nan)
    fronts = []
    for name in names:
        own = np.array(scores.list_models(name))
        kept[own] = paretopo_core.is_nondominated(means[own], maximise=maximise)
        part = drawn if len(names) == 1 else drawn[:, own]  # no copy of all replicates
        if len(part):
            best = paretopo_core.is_nondominated(part, maximise=maximise)
            share[own] = best.mean(axis=0)
        fronts.append(_measure(name, own, kept, means, part, corner, senses, cover, least))
    intervals = [[t_interval(column) for column in one.T] for one in scores.answered]
    tested, note = _choose_tested(scores)
    verdicts = None
    if len(drawn):
        verdicts = judge_fronts(means, drawn, senses, scores.fronts, least, scores.shifts)
    return Analysis(
        scores,
        np.array(intervals),
        kept,
        share,
        verdicts,
        share_dominated(drawn if len(drawn) else means[None], senses, scores.shifts),
        corner,
        reference is None,
        drawn,
        tuple(fronts),
        tuple(_compare(*pair) for pair in itertools.combinations(fronts, 2)),
        _test_models(scores, tested),
        (*notes, *note),
        until_settled,
    )


def _check_options(
    scores: Scores, reference: Sequence[float] | None, replicates: int, cover: float
) -> None:
    if replicates < 100:
        raise ConfigError(f"--replicates must be at least 100, got {replicates}")
    if not 0 < cover <= 1:
        raise ConfigError(f"--cover must be a share above 0 and at most 1, got {cover:g}")
    if reference is not None and len(reference) != len(scores.objectives):
        raise ConfigError(
            f"--ref must have one number for each of the {len(scores.objectives)} objectives, got "
            f"{len(reference)}"
        )
    if reference is not None and not np.isfinite(reference).all():
        raise ConfigError(f"--ref must be finite, got {', '.join(map(str, reference))}")
    if reference is not None:
        above = (scores.means - reference) * scores.senses
        if not (above > 0.0).all(axis=1).any():
            best = (scores.means * scores.senses).max(axis=0) * scores.senses
            asked = zip(scores.objectives, reference, best.tolist(), strict=True)
            raise ConfigError(
                "--ref must be worse than a model in every objective, or every volume is 0: "
                + ", ".join(f"{one.name} {given:g}, best {most:.4g}" for one, given, most in asked)
            )


def guess_reference(means: Floats, errors: Floats, senses: Sequence[float]) -> Floats:
    """Return a point that is worse than all means, also if some are wrong by two errors.

    Args:
        means: (models, objectives).
        errors: (models, objectives), standard errors; NaN if they are unknown.
        senses: For each objective 1 if larger is better, -1 if smaller is.
    """
    turned = means * senses
    worst = (turned - _ERRORS * np.nan_to_num(errors)).min(axis=0)
    span = np.ptp(turned, axis=0)
    span = np.where(span > 0, span, np.where(worst == 0, 1.0, np.abs(worst)))
    corner: Floats = (worst - _MARGIN * span) * senses
    return corner


def _measure(
    name: str,
    own: NDArray[np.int_],
    kept: NDArray[np.bool_],
    means: Floats,
    drawn: Floats,
    corner: Floats,
    senses: Sequence[float],
    cover: float,
    questions: int,
) -> FrontVolume:
    maximise = [sense > 0 for sense in senses]

    def volumes_of(points: Floats) -> Floats:
        return np.asarray(paretopo_core.hypervolume(points, corner, maximise=maximise))

    volume = float(volumes_of(means[own]))
    best = own[kept[own]]
    best = best[np.argsort(-senses[0] * means[best, 0], kind="stable")]
    chosen, found = _cover(means[best], corner, maximise, cover * volume)
    box = float(np.maximum((means * senses).max(axis=0) - corner * senses, 0.0).prod())
    volumes: Floats = np.empty(0)
    interval, bias = _NONE, math.nan
    if len(drawn):
        volumes = volumes_of(drawn)
        pulled = pull_together(means[own], drawn, questions)
        alike = float(volumes_of(drawn - means[own] + pulled).mean() - volumes_of(pulled))
        interval = volume_interval(volume, volumes, alike, questions)
        bias = float(volumes.mean()) - volume
    return FrontVolume(
        name,
        tuple(map(int, best)),
        volume,
        volume / box if box > 0 else 0.0,
        interval,
        bias,
        tuple(map(int, best[chosen])),
        found / volume if volume > 0 else 0.0,
        volumes,
    )


def _cover(
    points: Floats, corner: Floats, maximise: list[bool], wanted: float
) -> tuple[NDArray[np.int_], float]:
    """Return the fewest points with a wanted volume, and theirs: exactly for two objectives."""
    exact = points.shape[1] == 2
    count = len(points)
    greedy = paretopo_core.hypervolume_subset(points, corner, k=count, maximise=maximise)
    for size in range(1, count + 1):
        chosen = greedy[:size]
        if exact:
            chosen = paretopo_core.hypervolume_subset(
                points, corner, k=size, method="exact", maximise=maximise
            )
        found = float(paretopo_core.hypervolume(points[chosen], corner, maximise=maximise))
        if found >= wanted * (1 - 1e-12):
            break
    return np.sort(chosen), found


def _compare(first: FrontVolume, second: FrontVolume) -> Gap:
    """Compare two volumes; the interval follows from both and from how they vary together.

    Source: Zou (2007), Psychological Methods 12, 399-413, which combines any two intervals.
    """
    difference = first.volume - second.volume
    if not len(first.replicates):
        return Gap(first.name, second.name, difference, _NONE, math.nan)
    spreads = first.replicates.std(), second.replicates.std()
    together = 0.0
    if min(spreads) > 0:
        together = float(np.corrcoef(first.replicates, second.replicates)[0, 1])
    centres = [float(np.clip(one.volume - one.bias, *one.interval)) for one in (first, second)]
    above, below = (
        math.sqrt(max(one**2 + other**2 - 2 * together * one * other, 0.0))
        for one, other in (
            (first.interval[1] - centres[0], centres[1] - second.interval[0]),
            (centres[0] - first.interval[0], second.interval[1] - centres[1]),
        )
    )
    middle = centres[0] - centres[1]
    larger = float((first.replicates > second.replicates).mean())
    return Gap(first.name, second.name, difference, (middle - below, middle + above), larger)


def _choose_tested(scores: Scores) -> tuple[list[tuple[int, int]], list[str]]:
    """Return the pairs of models to test, and a sentence if these are not all."""
    groups = scores.groups
    pairs = [
        (one, other)
        for one, other in itertools.combinations(range(len(groups)), 2)
        if groups[one] == groups[other] >= 0
    ]
    if len(pairs) <= _MOST_PAIRS:
        return pairs, []
    first = {groups[one]: one for one, _ in reversed(pairs)}
    firsts = [pair for pair in pairs if pair[0] == first[groups[pair[0]]]]
    shared = f"{len(pairs):,} pairs of models share questions: "
    if len(firsts) <= _MOST_TESTED:
        return firsts, [f"{shared}each model is tested against the first on the same questions."]
    return [], [f"{shared}none is tested. Pass fewer models to test them question by question."]


def _test_models(scores: Scores, pairs: Sequence[tuple[int, int]]) -> tuple[Comparison, ...]:
    differences: dict[tuple[Measure, str, str], Floats] = {}
    for one, other in pairs:
        shared = scores.pair(one, other)
        if shared is not None:
            models = scores.models[one], scores.models[other]
            differences |= {
                (measure, *models): column
                for measure, column in zip(scores.objectives, shared.T, strict=True)
            }
    return tuple(compare(differences, dict.fromkeys(differences, 0.0)))
