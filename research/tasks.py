"""The tabular tasks of a study: two of each kind, to choose settings on and to judge methods on.

>>> corner = TASKS["tune_lucky"].best_policy("hypervolume")
>>> TASKS["tune_lucky"].outcome(corner).round(3)  # accuracy, economy
array([0.7  , 0.767])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from research.tables import (
    Floats,
    TabularTask,
    Unit,
    make_calling_task,
    make_task,
    make_tools_or_text_task,
    redraw,
)


def _make_any_start_tasks(
    prefix: str,
    *,
    steps: Sequence[float],
    factors: Sequence[float],
    price: Sequence[float],
    far: Sequence[float],
    needed: Sequence[int],
    right: Sequence[float],
    lucky: Sequence[float],
    rare: Sequence[float],
    scale: Sequence[float],
    saved: Sequence[Sequence[float]],
    accuracy: Sequence[Sequence[float]],
    slopes: tuple[float, float],
    noise: float,
    each: Sequence[float],
    constant: float,
    seldom: Sequence[Sequence[float]],
) -> list[TabularTask]:
    """Make the tasks that vary the start, the group, the scale and the quality.

    Args:
        prefix: Of their names.
        steps: (ways,) how often a kind of factor 1 is answered rightly, by the price.
        factors: (kinds,) on that.
        price: (ways,) prices; the first is 0.
        far: (ways,) prices; the last is many times the price that is needed.
        needed: (kinds,) calls that an answer needs; further calls are wasted.
        right: (kinds,) probability of being right with them.
        lucky: (kinds,) probability of being right with fewer.
        rare: (kinds,) probability of being right with them, for tasks on which few answers are.
        scale: (kinds,) factors on the costs of each kind.
        saved: (ways, 4) shares of four costs that are saved.
        accuracy: (kinds, ways) of these ways.
        slopes: Units of the second and third cost.
        noise: Of charges, in units of the table.
        each: (kinds,) factors on the costs, for kinds that each need a price of their own.
        constant: Charge for every answer, many times the difference between two ways.
        seldom: (ways, 2) costs, where the second is mostly 0.
    """
    rising = np.minimum(np.outer(factors, steps), 0.98)
    prices, dear = np.array(price)[:, None], np.array(far)[:, None]
    unit = Unit(slope=3.0, noise="normal", sigma=noise)
    calling = partial(make_calling_task, needed=needed, right=right)
    tokens = Unit(20.0, 150.0, "lognormal", 0.6)
    spent = 1.0 - np.array(saved)

    def start(way: int, share: float, ways: int = 6) -> Floats:
        """Return logits that give one way this share of the answers."""
        logits = np.zeros(ways)
        logits[way] = np.log(share * (ways - 1) / (1.0 - share))
        return logits

    return [
        make_task(
            f"{prefix}cheap_start",
            "the start hardly ever pays, and only paying makes answers right",
            rising,
            prices,
            units=(unit,),
            start=start(0, 0.93),
        ),
        calling(
            f"{prefix}guessing_start",
            "the start guesses, and guesses are often right",
            guess=lucky,
            unit=tokens,
            start=start(0, 0.85),
        ),
        calling(
            f"{prefix}zero_start",
            "the start pays nothing, 99 times in 100",
            guess=[0.02] * len(needed),
            unit=Unit(slope=0.5),
            start=start(0, 0.99),
        ),
        make_task(
            f"{prefix}dear_start",
            "the start pays many times the price that is needed",
            rising,
            dear,
            units=(unit,),
            start=start(5, 0.93),
        ),
        calling(
            f"{prefix}sparse",
            "hardly any answer is ever right",
            right=rare,
            guess=[0.0] * len(needed),
            unit=tokens,
        ),
        calling(
            f"{prefix}graded",
            "answers are right in part",
            guess=lucky,
            unit=tokens,
            parts=4,
        ),
        calling(f"{prefix}groups_of_4", "lucky", guess=lucky, unit=tokens, group=4),
        calling(f"{prefix}groups_of_16", "lucky", guess=lucky, unit=tokens, group=16),
        make_task(
            f"{prefix}million",
            "three costs in units that differ a millionfold",
            accuracy,
            spent[:, :3],
            np.ones(3),
            units=(Unit(slope=(1.0, *slopes), noise="normal", sigma=noise),),
        ),
        make_task(
            f"{prefix}five_objectives",
            "four costs",
            accuracy,
            spent,
            np.ones(4),
            units=(Unit(slope=(1.0, 50.0, 0.1, 7.0), noise="normal", sigma=noise),),
        ),
        make_task(
            f"{prefix}hundredfold",
            "kinds whose costs differ a hundredfold",
            rising,
            np.array(scale)[:, None, None] * prices,
            units=(Unit(noise="lognormal", sigma=0.2),),
        ),
        *(
            make_task(
                f"{prefix}cheap_groups_of_{group}",
                "the start hardly ever pays, and guesses cost a little by noise",
                rising,
                prices,
                units=(unit,),
                start=start(0, 0.93),
                group=group,
            )
            for group in (2, 4)
        ),
        calling(
            f"{prefix}constant",
            "costs include a constant that is many times their differences",
            guess=lucky,
            unit=Unit(constant, 3.0, "normal", noise),
        ),
        make_task(
            f"{prefix}own_price",
            "each kind of question needs a price of its own",
            np.resize(rising, (len(each), len(price))),
            np.array(each)[:, None, None] * prices,
            units=(Unit(noise="lognormal", sigma=0.2),),
        ),
        calling(
            f"{prefix}cheaper_later",
            "after 200 steps, one call fewer is needed",
            needed=[calls + 1 for calls in needed],
            later=needed,
            guess=[0.0] * len(needed),
            unit=unit,
        ),
        make_task(
            f"{prefix}seldom",
            "the second of two costs is mostly 0",
            rising,
            seldom,
            2.0 * np.max(seldom, axis=0),
            units=(Unit(noise="lognormal", sigma=0.2),),
        ),
    ]


def _make_calling_tasks(
    prefix: str,
    *,
    needed: Sequence[int],
    later: Sequence[int],
    right: Sequence[float],
    sure: Sequence[float],
    lucky: Sequence[float],
    harm: float,
    seconds: Unit,
    tokens: Unit,
    dollars: Unit,
    heavy: Unit,
    budget: float,
) -> list[TabularTask]:
    """Make the calling tasks of a set, which share numbers, from the units of their charges."""
    task = partial(make_calling_task, needed=needed, right=right)
    guessing = partial(task, guess=lucky)
    return [
        task(f"{prefix}free", "leanness costs no accuracy", guess=sure),
        guessing(f"{prefix}lucky", "guesses without a call are often right"),
        guessing(f"{prefix}overcalling", "and each needless call harms", harm=harm),
        guessing(f"{prefix}seconds", "lucky, paid in raw seconds", unit=seconds),
        guessing(f"{prefix}tokens", "lucky, paid in scattered tokens", unit=tokens),
        guessing(f"{prefix}dollars", "lucky, paid in raw dollars", unit=dollars),
        guessing(
            f"{prefix}any_unit",
            "lucky, another unit in each run",
            unit=(seconds, tokens, dollars),
            scaled=True,
        ),
        guessing(f"{prefix}heavy_tail", "lucky, paid in tokens with a heavy tail", unit=heavy),
        guessing(
            f"{prefix}offset",
            "lucky, paid by the rest of a budget",
            unit=dollars,
            budget=budget,
        ),
        guessing(
            f"{prefix}drift",
            "other calls are needed after 200 steps",
            later=later,
            unit=seconds,
        ),
    ]


# ---- the tasks on which methods are judged ------------------------------------------------------

_SECONDS = Unit(0.3, 1.2, "normal", 0.2)
_TOKENS = Unit(90.0, 400.0, "lognormal", 1.0)


def _make_judged_tasks() -> list[TabularTask]:
    calling = _make_calling_tasks(
        "",
        needed=(1, 0, 2, 1, 3, 2),
        later=(2, 1, 0, 3, 1, 2),
        right=(0.8, 0.95, 0.75, 0.9, 0.6, 0.7),
        sure=(0.05, 0.0, 0.03, 0.05, 0.02, 0.0),
        lucky=(0.35, 0.0, 0.5, 0.45, 0.2, 0.25),
        harm=0.15,
        seconds=_SECONDS,
        tokens=_TOKENS,
        dollars=Unit(2e-4, 7e-4, "lognormal", 0.4),
        heavy=Unit(60.0, 150.0, "lognormal", 1.5),
        budget=0.02,
    )
    steps = np.array([0.2, 0.45, 0.6, 0.72, 0.83, 0.9])
    return [
        *calling,
        make_tools_or_text_task(
            "concave",
            "three objectives; no fixed weights reach the compromises",
            [(1.0, 0.05), (0.75, 0.2), (0.5, 0.45), (0.15, 0.7), (0.0, 0.9)],
            right=0.75,
            lazy=0.08,
        ),
        make_tools_or_text_task(
            "deep_knees",
            "as concave, and compromises cost more",
            [(0.9, 0.0), (0.55, 0.1), (0.32, 0.28), (0.12, 0.55), (0.0, 0.9)],
            right=0.85,
            lazy=0.04,
        ),
        make_task(
            "trade_off",
            "every step of accuracy has its price",
            np.minimum(steps * np.array([[0.9], [1.0], [1.05], [0.97]]), 0.98),
            [[0.0], [1.0], [2.0], [3.5], [6.0], [10.0]],
            units=(Unit(noise="normal", sigma=0.3),),
        ),
        make_task(
            "four_objectives",
            "three costs in units of different size",
            [
                [0.78, 0.80, 0.84, 0.76, 0.90, 0.80],
                [0.72, 0.78, 0.70, 0.80, 0.88, 0.75],
                [0.82, 0.80, 0.84, 0.85, 0.92, 0.78],
            ],
            1.0
            - np.array(
                [
                    *((0.85, 0.15, 0.90), (0.55, 0.65, 0.60), (0.95, 0.90, 0.10)),
                    *((0.10, 0.90, 0.85), (0.35, 0.30, 0.40), (0.80, 0.30, 0.75)),
                ]
            ),
            np.ones(3),
            units=(Unit(slope=(1.0, 200.0, 0.02), noise="normal", sigma=0.05),),
        ),
        make_task(
            "negligible",
            "savings of 1 to 3 %, bought with accuracy",
            [[0.55, 0.72, 0.80], [0.60, 0.65, 0.88], [0.65, 0.80, 0.84], [0.70, 0.74, 0.90]],
            [[1.0], [1.015], [1.03]],
            [2.0],
            units=(Unit(noise="lognormal", sigma=0.003),),
        ),
        make_calling_task(
            "hard",
            "few answers are ever right",
            needed=(2, 1, 3, 2),
            right=(0.10, 0.06, 0.07, 0.04),
            guess=(0.004, 0.0, 0.006, 0.0),
            unit=_TOKENS,
        ),
        make_calling_task(
            "aliased",
            "kinds that the policy cannot distinguish",
            needed=(1, 2, 0, 1, 3, 0),
            right=(0.85, 0.75, 0.90, 0.80, 0.70, 0.25),
            guess=(0.25, 0.2, 0.0, 0.15, 0.1, 0.0),
            unit=_SECONDS,
            rows=np.array([0, 0, 1, 1, 2, 3]),
        ),
        *_make_any_start_tasks(
            "",
            steps=(0.15, 0.42, 0.6, 0.74, 0.84, 0.9),
            factors=(0.9, 1.0, 1.05, 0.95),
            price=(0.0, 1.0, 2.0, 3.5, 5.5, 9.0),
            far=(0.0, 1.0, 2.0, 4.0, 12.0, 40.0),
            needed=(1, 2, 3, 1, 2),
            right=(0.85, 0.8, 0.7, 0.9, 0.75),
            lucky=(0.45, 0.3, 0.2, 0.5, 0.1),
            rare=(0.012, 0.006, 0.004, 0.02, 0.005),
            scale=(1.0, 100.0, 1.0, 100.0),
            saved=(
                *((0.85, 0.15, 0.9, 0.6), (0.55, 0.65, 0.6, 0.7), (0.95, 0.9, 0.1, 0.5)),
                *((0.1, 0.9, 0.85, 0.4), (0.35, 0.3, 0.4, 0.3), (0.8, 0.35, 0.75, 0.2)),
            ),
            accuracy=(
                (0.74, 0.80, 0.82, 0.76, 0.91, 0.80),
                (0.70, 0.77, 0.72, 0.80, 0.87, 0.76),
                (0.80, 0.81, 0.84, 0.83, 0.93, 0.79),
            ),
            slopes=(1000.0, 0.001),
            noise=0.05,
            each=(1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
            constant=150.0,
            seldom=((0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (1.0, 1.0), (2.0, 1.0)),
        ),
    ]


# ---- the tasks on which settings are chosen -----------------------------------------------------

_TUNE_SECONDS = Unit(0.01, 0.02, "normal", 0.1)
_TUNE_TOKENS = Unit(150.0, 250.0, "lognormal", 1.0)


def _make_tuning_tasks() -> list[TabularTask]:
    calling = _make_calling_tasks(
        "tune_",
        needed=(0, 1, 1, 2, 3, 0),
        later=(1, 0, 2, 1, 2, 1),
        right=(0.9, 0.85, 0.8, 0.75, 0.7, 0.2),
        sure=(0.0, 0.02, 0.02, 0.02, 0.02, 0.0),
        lucky=(0.0, 0.4, 0.45, 0.3, 0.3, 0.0),
        harm=0.12,
        seconds=_TUNE_SECONDS,
        tokens=_TUNE_TOKENS,
        dollars=Unit(1e-4, 1e-4, "lognormal", 0.3),
        heavy=Unit(40.0, 100.0, "lognormal", 1.5),
        budget=0.01,
    )
    steps = np.array([0.25, 0.5, 0.68, 0.8, 0.88, 0.93])
    return [
        *calling,
        make_tools_or_text_task(
            "tune_concave",
            "as concave",
            [(0.95, 0.0), (0.75, 0.15), (0.5, 0.45), (0.15, 0.75), (0.0, 0.95)],
            right=0.8,
            lazy=0.05,
        ),
        make_tools_or_text_task(
            "tune_deep_knees",
            "as deep_knees",
            [(0.95, 0.0), (0.6, 0.1), (0.35, 0.25), (0.1, 0.6), (0.0, 0.95)],
            right=0.8,
            lazy=0.05,
        ),
        make_task(
            "tune_trade_off",
            "as trade_off",
            np.minimum(steps * np.array([[1.0], [0.95], [0.9], [1.02]]), 0.98),
            [[0.0], [1.0], [2.0], [4.0], [7.0], [11.0]],
            units=(Unit(noise="normal", sigma=0.2),),
        ),
        make_task(
            "tune_four_objectives",
            "as four_objectives",
            [
                [0.80, 0.82, 0.75, 0.78, 0.90, 0.84],
                [0.70, 0.75, 0.80, 0.72, 0.85, 0.70],
                [0.85, 0.80, 0.82, 0.80, 0.90, 0.80],
            ],
            1.0
            - np.array(
                [
                    *((0.9, 0.9, 0.1), (0.6, 0.6, 0.6), (0.9, 0.2, 0.9)),
                    *((0.2, 0.9, 0.9), (0.3, 0.3, 0.3), (0.75, 0.75, 0.3)),
                ]
            ),
            np.ones(3),
            units=(Unit(slope=(1.0, 100.0, 0.01), noise="normal", sigma=0.05),),
        ),
        make_task(
            "tune_negligible",
            "as negligible",
            [[0.60, 0.75, 0.85], [0.55, 0.70, 0.90], [0.70, 0.72, 0.80], [0.50, 0.80, 0.85]],
            [[1.0], [1.01], [1.03]],
            [2.0],
            units=(Unit(noise="lognormal", sigma=0.003),),
        ),
        make_calling_task(
            "tune_hard",
            "as hard",
            needed=(1, 2, 3, 3),
            right=(0.12, 0.08, 0.05, 0.06),
            guess=(0.005, 0.005, 0.0, 0.0),
            unit=_TUNE_TOKENS,
        ),
        make_calling_task(
            "tune_aliased",
            "as aliased",
            needed=(0, 2, 1, 3, 1, 0),
            right=(0.9, 0.8, 0.85, 0.7, 0.8, 0.3),
            guess=(0.0, 0.2, 0.2, 0.1, 0.2, 0.0),
            unit=_TUNE_SECONDS,
            rows=np.array([0, 0, 1, 1, 2, 3]),
        ),
        *_make_any_start_tasks(
            "tune_",
            steps=(0.1, 0.35, 0.55, 0.7, 0.8, 0.85),
            factors=(1.0, 0.95, 1.1, 0.9),
            price=(0.0, 1.0, 2.5, 4.0, 6.0, 8.0),
            far=(0.0, 1.0, 2.0, 5.0, 15.0, 30.0),
            needed=(2, 1, 3, 1, 3),
            right=(0.8, 0.9, 0.75, 0.85, 0.65),
            lucky=(0.35, 0.5, 0.15, 0.4, 0.2),
            rare=(0.008, 0.015, 0.005, 0.01, 0.006),
            scale=(100.0, 1.0, 1.0, 100.0),
            saved=(
                *((0.9, 0.2, 0.8, 0.7), (0.6, 0.6, 0.65, 0.6), (0.85, 0.9, 0.15, 0.6)),
                *((0.2, 0.85, 0.9, 0.3), (0.3, 0.35, 0.3, 0.4), (0.7, 0.4, 0.8, 0.1)),
            ),
            accuracy=(
                (0.78, 0.82, 0.76, 0.78, 0.9, 0.82),
                (0.72, 0.76, 0.78, 0.74, 0.86, 0.72),
                (0.82, 0.8, 0.82, 0.8, 0.92, 0.8),
            ),
            slopes=(0.001, 1000.0),
            noise=0.08,
            each=(200.0, 1.0, 50.0, 4.0, 15.0, 800.0),
            constant=200.0,
            seldom=((0.0, 0.0), (1.0, 0.0), (3.0, 0.0), (5.0, 0.0), (2.0, 2.0), (3.0, 2.0)),
        ),
    ]


_MADE = [*_make_judged_tasks(), *_make_tuning_tasks()]
_NAMED = [replace(task, name=f"{task.name}_named", named=True) for task in _MADE]
# Drawn after the recipe was chosen, to judge it.
_FRESH = [
    redraw(task, f"fresh_{task.name}" + named * "_named", 2, named=bool(named))
    for named in (0, 1)
    for task in _make_judged_tasks()
]
TASKS: dict[str, TabularTask] = {task.name: task for task in [*_MADE, *_NAMED, *_FRESH]}
