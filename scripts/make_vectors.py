"""Write the test vectors of python/paretopo/vectors: situations, and their exact advantages.

Usage: python -m scripts.make_vectors
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

from scripts.exact_advantages import (
    Group,
    Values,
    control,
    d3po,
    dr_grpo,
    dvao,
    exact,
    flatten,
    gd2po,
    gdpo,
    gr3,
    grpo,
    hypervolume,
    hypervolume_gd2po,
    lexicographic,
    mo_grpo,
    pareto,
    pass_at_k,
    recipe,
    reinforce_pp,
    reinforce_pp_baseline,
    rloo,
    saw,
    tchebycheff,
    to_decimal,
    worth,
)

FOLDER = Path(__file__).parents[1] / "python" / "paretopo" / "vectors"
_SHOWN = 17  # digits

# ---- cases ---------------------------------------------------------------------------------------

GRPO = {"epsilon": 1e-6, "divisor": "n-1"}
# The estimators of each family, and their settings. The first settings meet every situation.
FAMILIES: dict[str, dict[Callable[..., Values], list[dict[str, Any]]]] = {
    "scalarised": {
        grpo: [GRPO, GRPO | {"epsilon": 1e-4}, GRPO | {"epsilon": 1e-8}, GRPO | {"divisor": "n"}],
        **{one: [{}] for one in (dr_grpo, rloo, reinforce_pp, reinforce_pp_baseline, worth, gr3)},
        tchebycheff: [{}],
    },
    "decoupled": {
        **{one: [{}] for one in (mo_grpo, gdpo, d3po, dvao, saw)},
        gd2po: [{}, {"conflict": 0}, {"conflict": 0.5}, {"conflict": 1}],
    },
    "ranked": {
        pareto: [{}, {"beta": 0}, {"beta": 1}, *({"centre": c} for c in ("none", "std", "loo"))],
        lexicographic: [{}, {"centre": "none"}, {"centre": "loo"}],
    },
    "volume": {
        hypervolume: [
            *({}, {"k": 2}, {"k": 3}),
            *({"k": 2, "centre": one} for one in ("mean", "none", "std", "loo")),
        ],
        hypervolume_gd2po: [{}, {"k": 2}, {"k": 3, "conflict": 0.5}],
        pass_at_k: [{"k": 1}, {"k": 2}, {"k": 4}],
    },
}
ESTIMATORS = {one.__name__: one for family in FAMILIES.values() for one in family}

MIXED = [[1, 0.9], [1, 0.4], [0, 0.7], [1, 0.1]]
UNITS = [[3, 2], [1, 9], [7, 4], [2, 5]]


def group(points: list, name: str = "a") -> list[tuple[str, list]]:
    return [(name, point) for point in points]


# fmt: off
INTERLEAVED = [*zip("abcabbacbab", [
    [1, 0.9], [1, 0.2], [0, 0.5], [0, 0.4], [0, 0.8], [1, 0.6], [1, 0.3], [1, 0.7], [0, 0.1],
    [0, 0.6], [1, 0.5]], strict=True)]
THREE = [*zip("abababababab", [
    [1, 0.2, 0.5], [0, 0.3, 0.3], [0, 0.9, 0.3], [1, 0.3, 0.9], [1, 0.6, 0.1], [1, 0.8, 0.6],
    [0, 0.1, 0.8], [1, 0.5, 0.4], [1, 0.7, 0.7], [0, 0.6, 0.1], [0, 0.4, 0.2], [1, 0.1, 0.7],
], strict=True)]
# Name: property, the group and the rewards of each rollout, weights.
SITUATIONS: dict[str, tuple[str, list, list]] = {
    "four": ("right and wrong answers of different cost", group(MIXED), [0.6, 0.4]),
    "graded": ("no reward is 0 or 1",
               group([[0.3, 0.2], [0.9, 0.1], [0.5, 0.8], [0.6, 0.6]]), [0.6, 0.4]),
    "constant": ("a constant group, in values that binary cannot hold, next to one that differs",
                 [*group([[0.7, 0.45]] * 10), *group([*MIXED, *MIXED, *MIXED[:2]], "b")],
                 [0.6, 0.4]),
    "only constant": ("only a constant group, in values that binary cannot hold",
                      group([[0.7, 0.45]] * 10), [0.6, 0.4]),
    "one": ("a group of one", [("a", [1, 0.3])], [0.6, 0.4]),
    "two": ("a group of two", [("a", [1, 0.2]), ("a", [0, 0.9])], [0.6, 0.4]),
    "outlier": ("one of eight differs: the others are equal, in values that binary cannot hold",
                group([*[[0.1, 0.7]] * 7, [0.3, 0.2]]), [0.6, 0.4]),
    "tiny": ("a unit of 1e-12",
             group([[f"{a}e-12", f"{b}e-12"] for a, b in UNITS]), [0.6, 0.4]),
    "huge": ("a unit of 1e12",
             group([[f"{a}e12", f"{b}e12"] for a, b in UNITS]), [0.6, 0.4]),
    "ties": ("equal vectors, and different vectors with equal sums; the rewards' means are equal",
             group([[0.1, 0.7], [0.3, 0.5], [0.5, 0.3], [0.7, 0.1], [0.3, 0.5], [0.5, 0.3]]),
             [0.5, 0.5]),
    "only wrong": ("a group without a right answer",
                   [*group([[0, 0.9], [0, 0.4], [0, 0.7], [0, 0.2]]), *group(MIXED, "b")],
                   [0.6, 0.4]),
    "costs": ("negative rewards for two costs",
              group([[1, -0.5, -2], [1, -1.5, 0], [0, -1, -1], [1, -0.75, -0.25]]),
              [0.5, 0.3, 0.2]),
    "weight 0": ("a reward of weight 0", group(MIXED), [1, 0]),
    "flat reward": ("a reward that never varies",
                    group([[1, 0.1], [1, 0.1], [0, 0.1], [1, 0.1]]), [0.6, 0.4]),
    "interleaved": ("interleaved groups of different sizes", INTERLEAVED, [0.6, 0.4]),
    "permuted": ("the rows of `interleaved`, in reverse", INTERLEAVED[::-1], [0.6, 0.4]),
    "masked": ("rollouts that do not count, without rewards",
               [*INTERLEAVED[:4], ("a", None), *INTERLEAVED[4:9], ("c", None), *INTERLEAVED[9:]],
               [0.6, 0.4]),
    "three": ("three rewards, in two groups", THREE, [0.5, 0.3, 0.2]),
    "beyond": ("rewards below 0, and a mean above 1",
               group([[2, -3], [1.5, -0.5], [0, -1], [1, -2]]), [0.6, 0.4]),
}
# Further settings meet only these.
FURTHER = ("four", "three", "interleaved")
# `hypervolume` divides by each weight; float64 has four digits of 1 - 1e-12.
NO_ANSWER = {("hypervolume", "weight 0"), ("tchebycheff", "tiny")}
# In these, decimals tie whose float32 do not.
FLOAT64_ONLY = {"ties"}

LONG = [[[[1, -330], [1, -180], [0, -420], [0, -250]]],
        [[[1, -290], [1, -310], [0, -300], [1, -90]]],
        [[[1, -400], [0, -120], [0, -360], [1, -500]]],
        [[[1, -60], [0, -120], [1, -80], [0, -90]]],
        [[[1, -230], [0, -120], [1, -280], [1, -190]]]]
LONG += LONG[:2]  # the unit forgets slowly only from the sixth step on
PAID = [[[[1, 4], [1, 8], [0, 1], [0, 30]]], [[[1, 2], [0, 3], [0, 0], [1, 6]]],
        [[[1, 20], [0, 1], [0, 2], [0, 3]]], [[[1, 0], [1, 5], [1, 3], [0, 9]]]]
GATED = {"floors": ["worst"], "group_filter": "vector"}
# Name: property, weights, settings, and the groups of each step.
CONTROLLED: dict[str, tuple[str, list, dict[str, Any], list]] = {
    "missing measure": (
        "a missing measure gets the mean of its group", [0.6, 0.4], {"estimator": "rloo"},
        [[[[1, 0.2], [1, None], [0, 0.4], [0, 0.4]]]]),
    "measure missing in a group": (
        "a measure that no rollout of a group has teaches nothing", [0.6, 0.4],
        {"estimator": "gdpo"}, [[[[1, None], [0, None], [0, None]], MIXED]]),
    "gate, worst": (
        "a wrong answer gets the worst reward of its group", [0.6, 0.4],
        {"estimator": "rloo"} | GATED, [[MIXED]]),
    "gate, number": (
        "a wrong answer gets a number", [0.6, 0.4],
        {"estimator": "pareto", "floors": [0], "group_filter": "vector"}, [[MIXED]]),
    "gate, keeps": (
        "a wrong answer keeps its second reward", [0.5, 0.3, 0.2],
        {"estimator": "dr_grpo", "floors": ["keeps", "worst"], "group_filter": "vector"},
        [[[one for _, one in THREE[:4]]]]),
    "threshold": (
        "a value equal to the threshold is wrong", [0.6, 0.4],
        {"estimator": "rloo", "threshold": 0.3} | GATED,
        [[[[0.1, 1], [0.3, 0.9], [0.6, 0.2], [0.8, 0.1]]]]),
    "filter by vectors": (
        "vectors that differ teach, although their sums are equal", [0.5, 0.5],
        {"estimator": "pareto", "group_filter": "vector"},
        [[[[0, 0.75], [0.25, 0.5], [0.5, 0.25], [0.5, 0]], [[1, 0.5]] * 4]]),
    "filter by vectors, whitened": (
        "a filtered group gets 0, and still counts in the mean of the batch", [0.6, 0.4],
        {"estimator": "gd2po", "group_filter": "vector"}, [[[[1, 0.5]] * 4, MIXED]]),
    "filter by accuracy": (
        "a group with only right answers gets 0, although their costs differ", [0.6, 0.4],
        {"estimator": "grpo", "group_filter": "accuracy"} | GRPO,
        [[[[1, 0.5], [1, 0.1], [1, 0.9], [1, 0.2]], MIXED]]),
    "several costs": (
        "of several savings, the least counts", [0.5, 0.3, 0.2],
        {"estimator": "worth", "economies": "least"},
        [[[one for _, one in THREE[:4]]]]),
    "limit on a mean": (
        "the multiplier of a limit, from step to step", [1, 0],
        {"estimator": "rloo", "limits": [{"objective": 1, "bound": -200}]}, LONG),
    "limit on a share": (
        "the multiplier of a limit on a share, from step to step", [1, 0],
        {"estimator": "rloo", "limits": [{"objective": 1, "bound": -300, "share": 0.9}]}, LONG),
    "limits on several costs": (
        "each limit has its own multiplier and unit", [1, 0, 0],
        {"estimator": "rloo",
         "limits": [{"objective": 1, "bound": -200}, {"objective": 2, "bound": -3}]},
        [[[[*point, -at - step] for at, point in enumerate(group)] for group in batch]
         for step, batch in enumerate(LONG)]),
    "the recipe and its price": (
        "the price of a right answer is learnt, from step to step; rewards are success and cost",
        [0.6, 0.4], {"estimator": "rloo", "economy": "saving"}, PAID),
}
# fmt: on


def show(value: Fraction) -> str:
    with localcontext() as context:
        context.prec = _SHOWN
        number = to_decimal(value).normalize()
    return f"{number:f}" if -7 < number.adjusted() < _SHOWN else f"{number:e}"


def read(rows: Any) -> Any:
    """Return lists with the exact value of each number; None stays."""
    if isinstance(rows, list | tuple):
        return [read(one) for one in rows]
    return None if rows is None else exact(rows)


def list_cases(family: str) -> Iterator[dict[str, Any]]:
    for function, variants in FAMILIES[family].items():
        name = function.__name__
        for settings in variants:
            for situation, (why, rows, weights) in SITUATIONS.items():
                points = [point for _, point in rows]
                if name == "pass_at_k":
                    points, weights = [one and one[:1] for one in points], [1]
                batch: dict[str, Group] = {}
                for (group, _), point in zip(rows, points, strict=True):
                    batch.setdefault(group, []).extend([read(point)] if point else [])
                main = settings is variants[0]
                if (
                    (name, situation) in NO_ANSWER
                    or not (main or situation in FURTHER)
                    or settings.get("k", 1) > min(map(len, batch.values()))
                ):
                    continue
                values = function([*batch.values()], read(weights), **settings)
                left = {group: iter(one) for group, one in zip(batch, values, strict=True)}
                shown = "" if main else f" ({', '.join(f'{k} {v}' for k, v in settings.items())})"
                yield {
                    "name": f"{name}{shown}: {situation}",
                    "property": why,
                    "estimator": name,
                    "settings": settings,
                    "weights": weights,
                    "groups": [group for group, _ in rows],
                    "rewards": points,
                    "advantages": [
                        show(next(left[group])) if point else 0 for group, point in rows
                    ],
                    **({"dtypes": ["float64"]} if situation in FLOAT64_ONLY else {}),
                }


def list_steps() -> Iterator[dict[str, Any]]:
    for name, (why, weights, settings, steps) in CONTROLLED.items():
        if "economy" in settings:
            found = recipe(read(steps), read(weights))
        else:
            given = settings | {"estimator": ESTIMATORS[settings["estimator"]]}
            found = control(read(steps), read(weights), **given)
        yield {
            "name": name,
            "property": why,
            "settings": settings,
            "weights": weights,
            "steps": [
                {
                    "groups": [chr(ord("a") + at) for at, group in enumerate(batch) for _ in group],
                    "rewards": flatten(batch),
                    "advantages": [show(one) for one in flatten(values)],
                }
                for batch, values in zip(steps, found, strict=True)
            ],
        }


def make_files() -> dict[str, str]:
    """Return the text of each family's file, one case on each line."""
    files = {}
    for family in [*FAMILIES, "controller"]:
        cases = list_steps() if family == "controller" else list_cases(family)
        lines = ",\n".join(" " + _write(one) for one in cases)
        files[family] = f'{{"family": "{family}", "cases": [\n{lines}\n]}}\n'
    return files


def _write(case: dict[str, Any]) -> str:
    numbers = r'"(-?[\d.]+(?:e[+-]?\d+)?)"'
    return re.sub(numbers, r"\1", json.dumps(case))


def main() -> None:
    """Write the files."""
    for family, text in make_files().items():
        (FOLDER / f"{family}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
