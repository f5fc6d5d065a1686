"""Every operation equals its definition, with any options, masks and senses, on every backend."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.operations import DISTANCES, EPSILONS
from support.strategies import (
    anything64,
    few_values,
    finite,
    masked_batches,
    mixed_scales,
    senses,
)

import paretopo_core as pp
from paretopo_core import definitions

Options = Callable[..., dict[str, Any]]  # of `draw`, the points and their senses
NO_OPTIONS: Options = lambda draw, points, maximise: {}  # noqa: E731
WEAK_OR_STRICT = st.sampled_from(("weak", "strict"))
ANY = st.one_of(masked_batches(), mixed_scales())
NUMBERS = st.one_of(few_values, finite)


def scaled(values: st.SearchStrategy[float]) -> st.SearchStrategy[float]:
    return st.builds(lambda x, power: x * 10.0**power, values, st.integers(-300, 300))


FEW = {"max_points": 5, "max_objectives": 4}
SOLID = st.one_of(
    masked_batches(elements=few_values, **FEW), masked_batches(elements=finite, **FEW)
)
SMALL = masked_batches(elements=few_values, max_points=5, max_objectives=3)
CHOSEN = masked_batches(elements=few_values, min_points=1, max_points=6, max_objectives=3)
CANDIDATES = SMALL | masked_batches(elements=few_values, max_points=24, max_objectives=2)


@dataclass(frozen=True)
class Row:
    """How an operation is compared with its definition.

    Attributes:
        dtype: Of the answer; "own" is that of the points.
        batches: The points and masks to draw.
        options: Draws keywords of both.
        tolerance: Relative and absolute, for points and options; the bits are equal without it.
        definition: Takes the points and the keywords; by default the function of the same name.
        has_senses: True if both take `maximise`.
    """

    dtype: str
    batches: st.SearchStrategy[Any] = ANY
    options: Options = NO_OPTIONS
    tolerance: Callable[..., tuple[float, float]] | None = None
    definition: Callable[..., Any] | None = None
    has_senses: bool = True


def close(rtol: float, atol: float = 0.0) -> Callable[..., tuple[float, float]]:
    return lambda points, options: (rtol, atol)


def scale_of(points: np.ndarray, ref: np.ndarray) -> float:
    """Return the volume of the bounding box, which scales the rounding errors."""
    corners = np.broadcast_to(ref, (points.shape[0], points.shape[2]))[:, None]
    spread = np.abs(points.astype(np.float64) - corners).reshape(-1, points.shape[-1])
    return float(np.prod(spread.max(axis=0, initial=0.0)))


def of_volumes(points: np.ndarray, options: dict[str, Any]) -> tuple[float, float]:
    return 1e-12, 1e-12 * scale_of(points, options["ref"])


def of_advantages(points: np.ndarray, options: dict[str, Any]) -> tuple[float, float]:
    digits = 1e-12 if points.dtype == np.float64 else 1e-6
    scale = scale_of(points, options["ref"])
    if options["centre"] == "std":  # gaps that are only rounding errors are divided by the epsilon
        return 10 * digits, digits + 1e-12 * scale / 1e-6
    return 10 * digits, digits * scale


def draw_violation(draw: Any, points: np.ndarray) -> np.ndarray | None:
    """Draw a number for each point, or one for each of up to three constraints, or none."""
    columns = draw(st.none() | st.integers(0, 3))
    shape = points.shape[:-1] if columns is None else (*points.shape[:-1], columns)
    values = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0, np.nan, np.inf]), anything64)
    return draw(st.none() | arrays(np.float64, shape, elements=values))


def draw_constraints(draw: Any, points: np.ndarray, _: Any) -> dict[str, Any]:
    return {
        "dominance": draw(WEAK_OR_STRICT),
        "n_below": draw(st.none() | st.integers(1, 8)),
        "violation": draw_violation(draw, points),
    }


def draw_filter(draw: Any, points: np.ndarray, _: Any) -> dict[str, Any]:
    """Draw boxes, near duplicates, or neither."""
    found = {"duplicates": draw(st.sampled_from(("all", "first", "none")))}
    found |= {"dominance": draw(WEAK_OR_STRICT), "violation": draw_violation(draw, points)}
    sizes = {"duplicate_tolerance": (0.0, 0.5, 1.0, 2.5, 1e-300, 1e-100, 1e300)}
    if found["dominance"] == "weak":
        sizes["epsilon"] = (0.4, 1.0, 3.0, 1e-300, 5e-324, 1e-200, 1e250, 1e300)
    if found["duplicates"] != "none" and (kind := draw(st.sampled_from(["", *sizes]))):
        one, width = st.sampled_from(sizes[kind]), points.shape[-1]
        found[kind] = draw(one | st.lists(one, min_size=width, max_size=width))
    return found


def draw_weights(draw: Any, points: np.ndarray, _: Any) -> dict[str, Any]:
    """Draw weights of all groups, or of each, of any size."""
    shape = draw(st.sampled_from([points.shape[2:], points.shape[::2]]))
    weights = draw(
        arrays(np.float64, shape, elements=st.floats(0, 1, width=32) | scaled(few_values))
    )
    centre = draw(st.sampled_from(("mean", "none", "std", "loo")))
    return {"weights": weights, "beta": draw(st.floats(0, 1, width=32)), "centre": centre}


def draw_ref(draw: Any, points: np.ndarray, _: Any) -> dict[str, Any]:
    """Draw a reference point of all sets, or of each; some points are beyond it."""
    shape = draw(st.sampled_from([points.shape[2:], points.shape[::2]]))
    return {"ref": draw(arrays(np.float64, shape, elements=st.integers(-3, 2).map(float)))}


def draw_k(draw: Any, points: np.ndarray, maximise: Any) -> dict[str, Any]:
    k = draw(st.integers(1, max(points.shape[1], 1)))
    return {"k": k, **draw_ref(draw, points, maximise)}


def draw_leading(draw: Any, points: np.ndarray) -> tuple[int, ...]:
    """Draw leading dimensions that are broadcast with those of the points."""
    groups = len(points)
    return draw(st.sampled_from([(), (1,), (groups,), (2, 1), (2, groups)]))


def draw_boxes(draw: Any, points: np.ndarray, maximise: Any) -> dict[str, Any]:
    """Draw the boxes above fronts."""
    shape = (*draw_leading(draw, points), draw(st.integers(0, 5)), points.shape[-1])
    fronts = draw(arrays(np.float64, shape, elements=few_values))
    return {"boxes": pp.nondominated_boxes(fronts, 0.0, maximise=maximise)}


def draw_any_boxes(draw: Any, points: np.ndarray, maximise: Any) -> dict[str, Any]:
    """Draw the boxes above a front, or boxes that lie anywhere."""
    boxes = draw_boxes(draw, points, maximise)
    if draw(st.booleans()):
        ends = draw(arrays(np.float64, (5, 2, points.shape[-1]), elements=few_values))
        boxes = {"boxes": (ends.min(axis=1), ends.max(axis=1))}
    return boxes


def draw_deviations(draw: Any, points: np.ndarray, maximise: Any) -> dict[str, Any]:
    values = st.sampled_from([0.0, 0.01, 0.3, 1.0, 20.0])
    shape = draw(st.sampled_from([points.shape[2:], points.shape]))
    deviations = draw(arrays(np.float64, shape, elements=values))
    return {"deviations": deviations, **draw_boxes(draw, points, maximise)}


def draw_weighted_boxes(draw: Any, points: np.ndarray, maximise: Any) -> dict[str, Any]:
    corners = draw(arrays(np.float64, (2, 3, points.shape[-1]), elements=few_values))
    boxes = corners.min(axis=0), corners.max(axis=0) + 1
    weights = draw(arrays(np.float64, 3, elements=few_values))
    return {"boxes": boxes, "weights": weights, **draw_beyond(draw, points, maximise)}


def draw_beyond(_: Any, points: np.ndarray, maximise: Any) -> dict[str, Any]:
    """Return a reference point on the worse side of 0."""
    return {"ref": np.where(np.broadcast_to(maximise, points.shape[-1]), -2.0, 2.0)}


def choose(*methods: str, more: Options = NO_OPTIONS) -> Options:
    return lambda draw, points, maximise: {
        "k": draw(st.integers(1, points.shape[1])),
        "method": draw(st.sampled_from(methods)),
        **more(draw, points, maximise),
    }


def draw_target(
    draw: Any, points: np.ndarray, _: Any, *, elements: Any = NUMBERS, has_p: bool = False
) -> dict[str, Any]:
    """Draw target sets that are broadcast with the points."""
    objectives = points.shape[-1]
    shape = (*draw_leading(draw, points), draw(st.integers(1, 6)), objectives)
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    elements = elements if dtype is np.float32 else elements | scaled(elements)
    target = draw(arrays(dtype, shape, elements=elements)).astype(np.float64)
    if points.size and draw(st.booleans()):
        target[..., 0, :] = points.reshape(-1, objectives)[0]
    kept = draw(st.none() | arrays(np.bool_, shape[:-1]))
    if kept is not None:
        kept[..., 0] = True
    p = {"p": draw(st.sampled_from([0.5, 1, 2, math.inf]))} if has_p else {}
    return {"target": target, "target_mask": kept, **p}


def draw_ideal(
    draw: Any, points: np.ndarray, _: Any, *, has_weights: bool = True
) -> dict[str, Any]:
    shape = draw(st.sampled_from([points.shape[2:], points.shape[::2]]))
    weights = arrays(np.float64, (3, points.shape[2]), elements=st.floats(0, 2))
    value = st.integers(-1, 3).map(float)
    ideal = arrays(np.float64, shape, elements=value | scaled(value))
    return {"ideal": draw(ideal), "weights": draw(weights) if has_weights else None}


def crowd(points: np.ndarray, *, maximise: Any, mask: Any) -> np.ndarray:
    return definitions.crowding_distance(np.where(maximise, points, -points), mask=mask)


def indicate(name: str, points: np.ndarray, *, target: Any, **keywords: Any) -> np.ndarray:
    return definitions.indicator(name, points, target, **keywords)


def expect_advantages(points: np.ndarray, **keywords: Any) -> np.ndarray:
    return definitions.hypervolume_advantage(points.astype(np.float64), **keywords)


SENT = ("mask", "ref", "violation")  # arguments that may be where the points are
POSITIVE = st.integers(1, 4).map(float)
COMPARED = masked_batches(elements=NUMBERS, max_objectives=4) | mixed_scales(dtypes=[np.float64])
RATIOS = masked_batches(elements=POSITIVE, max_objectives=4) | mixed_scales(
    dtypes=[np.float64]
).map(lambda batch: (abs(batch[0]) + 1e-305, batch[1]))
ON_DEVICES = {
    "pareto_rank": Row("int32"),
    "is_nondominated": Row(
        "bool", options=lambda draw, *_: {"duplicates": draw(st.sampled_from(("all", "first")))}
    ),
    "crowding_distance": Row("float64", tolerance=close(1e-13), definition=crowd),
    "pareto_advantage": Row("own", options=draw_weights, has_senses=False),
    "hypervolume": Row("float64", SOLID, draw_ref, of_volumes),
    "hypervolume_contributions": Row(
        "float64",
        SOLID,
        lambda draw, *given: {"ignore_dominated": draw(st.booleans()), **draw_ref(draw, *given)},
        of_volumes,
    ),
    "hypervolume_gradient": Row(
        "float64",
        masked_batches(elements=few_values, max_points=6, max_objectives=4),
        lambda draw, points, _: {
            "ref": 0.0,
            "wanted": draw(st.none() | arrays(np.bool_, points.shape[1:2])),
        },
        close(1e-9, 1e-9),
    ),
    "expected_hypervolume": Row("float64", SOLID, draw_k, of_volumes),
    "hypervolume_advantage": Row(
        "own",
        SOLID,
        lambda draw, *given: {
            "centre": draw(st.sampled_from(("exact", "none", "mean", "loo", "std"))),
            **draw_k(draw, *given),
        },
        of_advantages,
        expect_advantages,
        has_senses=False,
    ),
}
ON_CPU = {
    "pareto_rank, constrained": Row("int32", options=draw_constraints),
    "is_nondominated, constrained": Row("bool", options=draw_filter),
    **{name: Row("own") for name in ("ideal_point", "nadir_point", "reference_point", "normalise")},
    "knee_points": Row("bool"),
    "hypervolume_improvement": Row("float64", CANDIDATES, draw_any_boxes, close(1e-12, 1e-12)),
    "expected_hypervolume_improvement": Row(
        "float64",
        masked_batches(elements=few_values, max_points=3, max_objectives=3),
        draw_deviations,
        close(1e-11, 1e-13),
    ),
    "uncrowded_contributions": Row("float64", SMALL, draw_beyond, close(1e-12)),
    "weighted_hypervolume": Row("float64", SMALL, draw_weighted_boxes, close(1e-9, 1e-9)),
    "hypervolume_subset": Row(
        "int64", CHOSEN, choose("greedy", "greedy_removal", more=draw_beyond)
    ),
    "select, hypervolume": Row("int64", CHOSEN, choose("hypervolume", more=draw_beyond)),
    "select, directions": Row(
        "int64",
        masked_batches(elements=NUMBERS, min_points=1, max_points=9, max_objectives=4),
        choose(
            "reference_directions",
            more=lambda draw, x, _: {
                "directions": pp.reference_directions(x.shape[2], 3),
                "rng": 7,
            },
        ),
    ),
    "select": Row(
        "int64",
        masked_batches(min_points=1) | mixed_scales(),
        choose("crowding", "crowding_removal"),
    ),
    **{
        name: Row(
            "float64",
            COMPARED,
            partial(draw_target, has_p=True),
            close(1e-12),
            partial(indicate, name),
        )
        for name in DISTANCES
    },
    **{
        name: Row(
            "float64",
            batches,
            partial(draw_target, elements=elements),
            close(1e-14),
            partial(indicate, name),
        )
        for name, batches, elements in zip(
            EPSILONS, (COMPARED, RATIOS), (NUMBERS, POSITIVE), strict=True
        )
    },
    "r2_indicator": Row("float64", COMPARED, draw_ideal, close(1e-14)),
    "r2_indicator, all weights": Row(
        "float64",
        COMPARED.map(lambda batch: (np.resize(batch[0], (*batch[1].shape, 2)), batch[1])),
        partial(draw_ideal, has_weights=False),
        close(1e-14),
    ),
}


def check(row: Row, name: str, data: Any, backends: list[Any]) -> None:
    points, mask = data.draw(row.batches)
    maximise = data.draw(senses(points.shape[-1])) if row.has_senses else True
    keywords = row.options(data.draw, points, maximise)
    keywords["mask"] = mask = data.draw(st.sampled_from([None, mask]))
    if row.has_senses:
        keywords["maximise"] = maximise
    function = name.partition(",")[0]
    with np.errstate(all="ignore"):
        expected = (row.definition or getattr(definitions, function))(points, **keywords)
    for backend in backends:
        sent = {
            key: backend.send(value) if key in SENT and np.ndim(value) > 1 else value
            for key, value in keywords.items()
        }
        with np.errstate(all="ignore"):
            found = backend.fetch(getattr(pp, function)(backend.send(points), **sent))
        assert found.dtype == (points.dtype if row.dtype == "own" else row.dtype)
        if row.tolerance is None:
            np.testing.assert_array_equal(found, expected)
            continue
        rtol, atol = row.tolerance(points, keywords)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
        if mask is not None and found.shape == mask.shape:
            np.testing.assert_array_equal(found[~mask], expected[~mask])


@pytest.mark.parametrize("name", ON_DEVICES)
@given(data=st.data())
def test_every_backend_equals_the_definition(backend, name, data):
    check(ON_DEVICES[name], name, data, [backend])


@pytest.mark.parametrize("name", ON_CPU)
@given(data=st.data())
def test_an_operation_of_the_cpu_equals_its_definition(cpu_backends, name, data):
    check(ON_CPU[name], name, data, cpu_backends)
