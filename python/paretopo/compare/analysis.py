"""Fronts of models with their uncertainty: volumes, shares of dominance, small covers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo.compare.bootstrap import Floats, basic_interval, draw_means, share_dominated
from paretopo.compare.scores import Scores
from paretopo.config import ConfigError
from paretopo.run.questions import PairedTest, correct_tests, run_sign_test
from paretopo.run.statistics import t_interval

_MARGIN = 0.1  # of the range, between the worst model and the guessed reference
_MOST_TESTED = 4  # models; of more only the shares of dominance are shown
_FEW_QUESTIONS = 20
_CLOSE = 0.5  # standard deviations: a larger bias of the volume makes its interval too narrow
_NONE = (math.nan, math.nan)


@dataclass(frozen=True)
class Front:
    """The non-dominated models of one front, or of all models.

    Attributes:
        name: "" if there is one front.
        models: Places of its non-dominated models, the best in the first objective first.
        volume: Hypervolume above the reference point.
        interval: Its 95 % interval; NaN without replicates.
        bias: Mean of the replicates less the volume; NaN without replicates.
        cover: Places of the fewest models that have the wanted share of the volume.
        covered: Their share.
        replicates: (replicates,) volumes.
    """

    name: str
    models: tuple[int, ...]
    volume: float
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
        larger: Share of replicates in which the first is larger.
    """

    first: str
    second: str
    difference: float
    interval: tuple[float, float]
    larger: float


@dataclass(frozen=True)
class Analysis:
    """Everything that a report shows.

    Attributes:
        scores: The values.
        intervals: (models, objectives, 2), 95 % intervals of the means (Student's t).
        is_front: (models,), whether a model is on its own front.
        on_front: (models,), the share of replicates in which it is.
        dominance: (models, models), the share of replicates in which row dominates column.
        reference: (objectives,), where volumes begin.
        guessed: Whether the reference point was guessed.
        replicates: (replicates, models, objectives); empty if a model has a single question.
        fronts: At least one.
        gaps: Between every two fronts.
        tests: Of every two models on the same questions, if there are at most 4 models.
        notes: Sentences on guesses and limits.
    """

    scores: Scores
    intervals: Floats
    is_front: NDArray[np.bool_]
    on_front: Floats
    dominance: Floats
    reference: Floats
    guessed: bool
    replicates: Floats
    fronts: tuple[Front, ...]
    gaps: tuple[Gap, ...]
    tests: tuple[PairedTest, ...]
    notes: tuple[str, ...]


def analyse(
    scores: Scores,
    *,
    reference: Sequence[float] | None = None,
    replicates: int = 10_000,
    seed: int = 0,
    cover: float = 0.95,
) -> Analysis:
    """Measure the fronts of some models.

    Args:
        scores: Their values.
        reference: (objectives,) where volumes begin, in the objectives' units; None for the worst
            mean of each objective, moved away by 10 % of its range.
        replicates: Number of bootstrap replicates.
        seed: Fixes the draws.
        cover: The share of a front's volume that a subset of its models must reach, above 0, at
            most 1.

    Raises:
        ConfigError: an argument is out of range.

    Cost: that of the replicates, replicates x models x questions products, and of the pairs,
    replicates x models² comparisons: half a second for 100 models, 1,000 questions and 10,000
    replicates.
    """
    _check_options(scores, reference, replicates, cover)
    means, senses = scores.means, scores.senses
    corner = _guess_reference(scores) if reference is None else np.asarray(reference, float)
    maximise = [sense > 0 for sense in senses]
    least = min(map(len, scores.values))
    drawn = np.empty((0, *means.shape))
    notes = list(scores.notes)
    if least > 1:
        drawn = draw_means(scores.values, replicates, seed, paired=scores.paired)
        if least < _FEW_QUESTIONS:
            notes.append(f"A model has only {least} questions: intervals are rough.")
    else:
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
        fronts.append(_measure(name, own, kept, means, part, corner, senses, cover))
    notes += _describe_limits(fronts)
    intervals = [[t_interval(column) for column in one.T] for one in scores.values]
    return Analysis(
        scores,
        np.array(intervals),
        kept,
        share,
        share_dominated(drawn, senses),
        corner,
        reference is None,
        drawn,
        tuple(fronts),
        tuple(_compare(*pair) for pair in itertools.combinations(fronts, 2)),
        _test_models(scores),
        tuple(notes),
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


def _guess_reference(scores: Scores) -> Floats:
    """Return the worst mean of each objective, moved away by a part of its range."""
    turned = scores.means * scores.senses
    worst = turned.min(axis=0)
    span = turned.max(axis=0) - worst
    span = np.where(span > 0, span, np.where(worst == 0, 1.0, np.abs(worst)))
    corner: Floats = (worst - _MARGIN * span) * scores.senses
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
) -> Front:
    maximise = [sense > 0 for sense in senses]
    volume = float(paretopo_core.hypervolume(means[own], corner, maximise=maximise))
    best = own[kept[own]]
    best = best[np.argsort(-senses[0] * means[best, 0], kind="stable")]
    chosen, found = _cover(means[best], corner, maximise, cover * volume)
    volumes: Floats = np.empty(0)
    interval, bias = _NONE, math.nan
    if len(drawn):
        volumes = np.asarray(paretopo_core.hypervolume(drawn, corner, maximise=maximise))
        interval, bias = basic_interval(volume, volumes), float(volumes.mean()) - volume
    return Front(
        name,
        tuple(map(int, best)),
        volume,
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


def _compare(first: Front, second: Front) -> Gap:
    difference = first.volume - second.volume
    if not len(first.replicates):
        return Gap(first.name, second.name, difference, _NONE, math.nan)
    drawn = first.replicates - second.replicates
    return Gap(
        first.name,
        second.name,
        difference,
        basic_interval(difference, drawn),
        float((drawn > 0).mean()),
    )


def _describe_limits(fronts: Sequence[Front]) -> list[str]:
    close = [
        one for one in fronts if len(one.replicates) and one.bias > _CLOSE * one.replicates.std()
    ]
    if not close:
        return []
    where = f" of {', '.join(one.name for one in close)}" if close[0].name else ""
    return [
        f"Models{where} differ by less than their errors from each other, or from the reference "
        "point: the interval of the hypervolume is too narrow."
    ]


def _test_models(scores: Scores) -> tuple[PairedTest, ...]:
    if not scores.paired or not 2 <= len(scores.models) <= _MOST_TESTED:
        return ()
    tests = []
    for one, other in itertools.combinations(range(len(scores.models)), 2):
        differences = scores.values[one] - scores.values[other]
        for measure, column in zip(scores.objectives, differences.T, strict=True):
            first, second = scores.models[one], scores.models[other]
            tests.append(run_sign_test(measure, first, second, column))
    return tuple(correct_tests(tests))
