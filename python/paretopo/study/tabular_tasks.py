"""The tabular tasks of a study: two of each kind, to choose settings on and to judge methods on.

>>> corner = TASKS["tune_lucky"].best_policy("hypervolume")
>>> TASKS["tune_lucky"].outcome(corner).round(3)  # accuracy, economy
array([0.7  , 0.767])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from paretopo.study.tabular import (
    TabularTask,
    Unit,
    make_calling_task,
    make_task,
    make_tools_or_text_task,
)


@dataclass(frozen=True)
class _Numbers:
    """What the calling tasks of one set have in common, and the units they are paid in."""

    needed: tuple[int, ...]
    later: tuple[int, ...]
    right: tuple[float, ...]
    sure: tuple[float, ...]
    lucky: tuple[float, ...]
    harm: float
    seconds: Unit
    tokens: Unit
    dollars: Unit
    heavy: Unit
    budget: float


def _make_calling_tasks(prefix: str, numbers: _Numbers) -> list[TabularTask]:
    task = partial(make_calling_task, needed=numbers.needed, right=numbers.right)
    lucky = partial(task, guess=numbers.lucky)
    seconds, tokens, dollars = numbers.seconds, numbers.tokens, numbers.dollars
    return [
        task(f"{prefix}free", "leanness costs no accuracy", guess=numbers.sure),
        lucky(f"{prefix}lucky", "guesses without a call are often right"),
        lucky(f"{prefix}overcalling", "and each needless call harms", harm=numbers.harm),
        lucky(f"{prefix}seconds", "lucky, paid in raw seconds", unit=seconds),
        lucky(f"{prefix}tokens", "lucky, paid in scattered tokens", unit=tokens),
        lucky(f"{prefix}dollars", "lucky, paid in raw dollars", unit=dollars),
        lucky(
            f"{prefix}any_unit",
            "lucky, another unit in each run",
            unit=(seconds, tokens, dollars),
            scaled=True,
        ),
        lucky(f"{prefix}heavy_tail", "lucky, paid in tokens with a heavy tail", unit=numbers.heavy),
        lucky(
            f"{prefix}offset",
            "lucky, paid in what is left of a budget",
            unit=dollars,
            budget=numbers.budget,
        ),
        lucky(
            f"{prefix}drift",
            "other calls are needed after 200 steps",
            later=numbers.later,
            unit=seconds,
        ),
    ]


# ---- the tasks on which methods are judged ------------------------------------------------------

_SECONDS = Unit(0.3, 1.2, "normal", 0.2)
_TOKENS = Unit(90.0, 400.0, "lognormal", 1.0)


def _make_judged_tasks() -> list[TabularTask]:
    numbers = _Numbers(
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
        *_make_calling_tasks("", numbers),
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
            "kinds that the policy cannot tell apart",
            needed=(1, 2, 0, 1, 3, 0),
            right=(0.85, 0.75, 0.90, 0.80, 0.70, 0.25),
            guess=(0.25, 0.2, 0.0, 0.15, 0.1, 0.0),
            unit=_SECONDS,
            rows=(0, 0, 1, 1, 2, 3),
        ),
    ]


# ---- the tasks on which settings are chosen -----------------------------------------------------

_TUNE_SECONDS = Unit(0.01, 0.02, "normal", 0.1)
_TUNE_TOKENS = Unit(150.0, 250.0, "lognormal", 1.0)


def _make_tuning_tasks() -> list[TabularTask]:
    numbers = _Numbers(
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
        *_make_calling_tasks("tune_", numbers),
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
            rows=(0, 0, 1, 1, 2, 3),
        ),
    ]


TASKS: dict[str, TabularTask] = {
    task.name: task for task in [*_make_judged_tasks(), *_make_tuning_tasks()]
}
