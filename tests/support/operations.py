"""A call of every operation on points, with arguments for any number of objectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import paretopo_core as pp
from paretopo_core import _core

DISTANCES, EPSILONS = _core.INDICATORS[:5], _core.INDICATORS[5:]
POINTS = ("points", "rewards", "candidates", "means")  # names of the first argument


@dataclass(frozen=True)
class Call:
    """An operation with its arguments.

    Attributes:
        run: Takes (points, ref), and maximise and mask by name.
        shape: Of the answer for points of shape (..., points, objectives): "point" is
            (..., points), "set" is (...), "value" is all of it, "objective" leaves the points out,
            and "chosen" is (..., 2), indices.
        flags: Words. "gpu": a GPU computes it, too. "ref": ref has a value for each objective.
            "volume": it refuses values without a volume up to ref. "hint": it warns of a ref in a
            minimiser's habit. "twice": it has second derivatives. "fixed": it depends on the senses
            by more than the signs of the points. "few": 70 objectives are too many.
    """

    run: Callable[..., Any]
    shape: str
    flags: str = ""


def weights(x: Any) -> list[float]:
    """One weight for each objective of points or nested lists."""
    try:
        shape = np.shape(x)
    except (RuntimeError, ValueError):  # a nested tensor, a list that is not rectangular
        shape = ()
    return [0.25] * (shape[-1] if shape else 1)


def _ones(x: Any) -> np.ndarray:
    return np.ones((2, len(weights(x))))


def _box(x: Any) -> tuple[np.ndarray, np.ndarray]:
    side = np.ones((1, len(weights(x))))
    return -side, side


def _boxes_and_points(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of boxes that no array holds next to each other."""
    ends = np.arange(6.0).reshape(3, 2)[:, :1] - 3.0
    corners = np.tile(np.hstack([ends, ends + 2.5]), len(weights(x)))
    return corners[:, ::2], corners[:, 1::2]


def _alternating(x: Any) -> np.ndarray:
    shape = np.shape(x)[:-1]
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape) % 2


def _without_ref(function: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    return lambda x, ref, **more: function(x, **fixed, **more)


def _choose(function: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    return lambda x, ref, **more: function(x, k=2, ref=ref, **fixed, **more)


CALLS: dict[str, Call] = {
    "pareto_rank": Call(_without_ref(pp.pareto_rank), "point", "gpu"),
    "pareto_rank, strict": Call(_without_ref(pp.pareto_rank, dominance="strict"), "point"),
    "pareto_rank, first": Call(_without_ref(pp.pareto_rank, n_below=2), "point"),
    "is_nondominated": Call(_without_ref(pp.is_nondominated), "point", "gpu"),
    "is_nondominated, one of equals": Call(
        _without_ref(pp.is_nondominated, duplicates="first"), "point", "gpu"
    ),
    "is_nondominated, strict": Call(
        _without_ref(pp.is_nondominated, dominance="strict", duplicates="first"), "point"
    ),
    "is_nondominated, boxes": Call(_without_ref(pp.is_nondominated, epsilon=0.75), "point"),
    "ideal_point": Call(_without_ref(pp.ideal_point), "objective"),
    "nadir_point": Call(_without_ref(pp.nadir_point), "objective"),
    "reference_point": Call(_without_ref(pp.reference_point), "objective"),
    "normalise": Call(_without_ref(pp.normalise), "value", "fixed"),
    "normalise, range": Call(
        lambda x, ref, **more: pp.normalise(x, ideal=weights(x), nadir=ref, **more),
        "value",
        "ref fixed",
    ),
    "knee_points": Call(_without_ref(pp.knee_points), "point"),
    "crowding_distance": Call(_without_ref(pp.crowding_distance), "point", "gpu"),
    "crowding_distance, ranks": Call(
        lambda x, ref, **more: pp.crowding_distance(x, ranks=_alternating(x), **more), "point"
    ),
    "hypervolume": Call(pp.hypervolume, "set", "gpu ref volume hint twice"),
    "hypervolume_gradient": Call(pp.hypervolume_gradient, "value", "gpu ref volume hint twice"),
    "hypervolume_contributions": Call(
        pp.hypervolume_contributions, "point", "gpu ref volume hint twice"
    ),
    "uncrowded_contributions": Call(pp.uncrowded_contributions, "point", "ref volume"),
    "expected_hypervolume": Call(
        lambda x, ref, **more: pp.expected_hypervolume(x, ref, k=2, **more),
        "set",
        "gpu ref volume hint",
    ),
    "hypervolume_approx": Call(
        lambda x, ref, **more: pp.hypervolume_approx(x, ref, samples=32, rng=0, **more).value,
        "set",
        "ref volume hint",
    ),
    "hypervolume_contributions_approx": Call(
        lambda x, ref, **more: (
            pp.hypervolume_contributions_approx(x, ref, samples=32, rng=0, **more).value
        ),
        "point",
        "ref volume hint",
    ),
    "weighted_hypervolume": Call(
        lambda x, ref, **more: pp.weighted_hypervolume(
            x, ref, boxes=_boxes_and_points(x), weights=[0.5, -2.0, 1.0], **more
        ),
        "set",
        "ref hint fixed",
    ),
    "nondominated_boxes": Call(
        lambda x, ref, **more: pp.nondominated_boxes(x, ref, **more).counts,
        "set",
        "ref volume hint few",
    ),
    "dominated_boxes": Call(
        lambda x, ref, **more: pp.dominated_boxes(x, ref, **more).counts,
        "set",
        "ref volume hint few",
    ),
    "hypervolume_improvement": Call(
        lambda x, ref, **more: pp.hypervolume_improvement(x, boxes=_box(x), **more), "set"
    ),
    "expected_hypervolume_improvement": Call(
        lambda x, ref, **more: pp.expected_hypervolume_improvement(x, 0.5, boxes=_box(x), **more),
        "point",
    ),
    **{
        name: Call(
            lambda x, ref, name=name, **more: getattr(pp, name)(x, _ones(x), **more), "set", "fixed"
        )
        for name in _core.INDICATORS
    },
    "r2_indicator": Call(
        lambda x, ref, **more: pp.r2_indicator(x, ref, weights=[weights(x)], **more), "set"
    ),
    "hypervolume_subset": Call(_choose(pp.hypervolume_subset), "chosen", "ref volume hint"),
    "hypervolume_subset, removal": Call(
        _choose(pp.hypervolume_subset, method="greedy_removal"), "chosen", "ref volume hint"
    ),
    "hypervolume_subset, exact": Call(
        _choose(pp.hypervolume_subset, method="exact"), "chosen", "ref volume few"
    ),
    "select": Call(lambda x, ref, **more: pp.select(x, k=2, **more), "chosen"),
    "select, crowding_removal": Call(
        lambda x, ref, **more: pp.select(x, k=2, method="crowding_removal", **more), "chosen"
    ),
    "select, hypervolume": Call(
        _choose(pp.select, method="hypervolume"), "chosen", "ref volume hint"
    ),
    "select, directions": Call(
        lambda x, ref, **more: pp.select(
            x, k=2, method="reference_directions", directions=np.eye(len(weights(x))), rng=0, **more
        ),
        "chosen",
    ),
    "pareto_advantage": Call(
        lambda x, ref, **more: pp.pareto_advantage(x, weights=weights(x), **more),
        "point",
        "gpu",
    ),
    "hypervolume_advantage": Call(
        lambda x, ref, **more: pp.hypervolume_advantage(x, ref, k=2, **more),
        "point",
        "gpu ref volume hint",
    ),
    "stochastic_pareto_rank": Call(_without_ref(pp.stochastic_pareto_rank, sigma=0.3), "point"),
}


def named(flag: str) -> list[str]:
    """Return the names of the calls with a flag."""
    return [name for name, call in CALLS.items() if flag in call.flags.split()]


ON_GPU = named("gpu")


def calls(names: Any = CALLS, *, ref: Any = -0.1) -> dict[str, Callable[..., Any]]:
    """Return the calls of these names with a reference point, so that they take only points."""
    return {name: partial(_run, CALLS[name].run, ref) for name in sorted(names)}


def _run(run: Callable[..., Any], ref: Any, points: Any, **more: Any) -> Any:
    return run(points, ref, **more)


def shape_of_answer(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the answer of a call for points of this shape."""
    return {
        "point": shape[:-1],
        "set": shape[:-2],
        "value": shape,
        "objective": (*shape[:-2], shape[-1]),
        "chosen": (*shape[:-2], 2),
    }[CALLS[name].shape]
