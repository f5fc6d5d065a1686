"""The switches of the two-stage controller, and the two recipes that fill them.

>>> ParetoPOConfig(recipe="paper").multiplier_on
'reward'
>>> ParetoPOConfig(recipe="paper", multiplier_on="advantage").multiplier_on
'advantage'
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from paretopo.config.keys import key, settled
from paretopo.config.objectives import DEFAULT_WEIGHTS, Objective

# ---- recipes ---------------------------------------------------------------------------------

BY_RECIPE = "by recipe"


# Recipe, switch of the section: every switch in which the two differ. "paper" is Algorithm 1 of
# arXiv 2606.16111 to the letter; "recommended" follows the results in docs/study.md.
RECIPES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "recommended": MappingProxyType(
            {
                "stage1_steps": 0,
                "stage2_estimator": "rloo",
                "reference": "zero",
                "multiplier_on": "advantage",
                "centre": "mean",
                "gate": "success",
                "group_filter": "vector",
            }
        ),
        "paper": MappingProxyType(
            {
                "stage1_steps": "epoch",
                "stage2_estimator": "pareto",
                "reference": "initial",
                "multiplier_on": "reward",
                "centre": "none",
                "gate": "none",
                "group_filter": "accuracy",
            }
        ),
    }
)


def fit_recipe(
    recipe: str, objectives: Sequence[Objective], *, any_unit: bool = False
) -> dict[str, Any]:
    """Return the switches of a recipe that differ without a gate, with a limit, or by units.

    The paper's recipe filters by accuracy, and ranks: it has neither gate nor limit.

    Args:
        recipe: Its name.
        objectives: Of the run, the gate first.
        any_unit: True scales each reward separately if not all are shares, which can be added.
    """
    gated = any(one.gate for one in objectives)
    ungated = {} if gated else {"gate": "none"}
    if recipe == "paper":
        return {}
    if any(one.limit is not None for one in objectives):
        return ungated | {"stage2_estimator": "rloo"}
    if any_unit and not _are_shares(objectives, gated=gated):
        estimator = OF_UNKNOWN_UNITS if gated else OF_UNKNOWN_UNITS_UNGATED
        return ungated | {"stage2_estimator": estimator}
    return {} if gated else ungated | {"stage2_estimator": "rloo"}


def _are_shares(objectives: Sequence[Objective], *, gated: bool) -> bool:
    """Return whether the recipe can weigh the rewards."""
    return all(map(may_be_share, objectives)) and (
        not gated or len(objectives) > 1 or objectives[0].is_share
    )


def may_be_share(objective: Objective) -> bool:
    """Return whether a reward is a share; a gate without an end may end at 1."""
    return objective.is_share or (bool(objective.gate) and objective.best is None)


# ---- the section -----------------------------------------------------------------------------

# The name of every estimator: paretopo.controller.estimators builds its table from them.
EstimatorName: TypeAlias = Literal[
    "pareto",
    "hypervolume",
    "hypervolume_gd2po",
    "grpo",
    "dr_grpo",
    "rloo",
    "worth",
    "tchebycheff",
    "gr3",
    "mo_grpo",
    "gdpo",
    "gd2po",
]

# Estimators with a k, and those whose centre is a mean of ranks.
HYPERVOLUME_ESTIMATORS = frozenset({"hypervolume", "hypervolume_gd2po"})
# Estimators whose first reward must be correctness, and those that ignore weights.
OF_SUCCESS = HYPERVOLUME_ESTIMATORS | {"worth", "gr3"}
UNWEIGHTED = frozenset({"mo_grpo"})
# The estimators for rewards without known units scale each of them separately. Without a gate, the
# first can favour rollouts that are the worst in every reward: it drops those that disagree.
OF_UNKNOWN_UNITS: Final = "gd2po"
OF_UNKNOWN_UNITS_UNGATED: Final = "gdpo"
# Estimators whose gradient is that of the weighted sum of the mean rewards.
LINEAR = frozenset({"rloo", "dr_grpo"})
# Estimators that measure the distance to a reward of 1.
TO_IDEAL = frozenset({"tchebycheff"})


def _of(*estimators: str) -> dict[str, tuple[str, ...]]:
    """Return the keys that name an estimator; an argument of it applies to both stages."""
    return {"stage2_estimator": estimators, "stage1_estimator": estimators}


class Limit(NamedTuple):
    """A limit on a mean reward, or on the share of rollouts that reach a reward.

    Attributes:
        objective: Its place.
        bound: The reward to reach; for a cost, minus the most that it may be. Not 0 for a mean.
        share: Of the rollouts that reach the bound, between 0 and 1; None for a limit on the mean.

    >>> few = Limit(1, -300.0, share=0.9)  # nine answers in ten have at most 300 tokens
    >>> few.aim, round(few.unit, 3)
    (0.9, 0.3)
    >>> Limit(1, -300.0).unit
    nan
    """

    objective: int
    bound: float
    share: float | None = None

    @property
    def aim(self) -> float:
        """Return the mean reward to reach, or the share."""
        return self.bound if self.share is None else self.share

    @property
    def unit(self) -> float:
        """Return the standard deviation of one rollout's reward: unknown, NaN, for a mean."""
        if self.share is None:
            return math.nan
        return math.sqrt(self.share * (1.0 - self.share))


@settled("paretopo")
class ParetoPOConfig:
    """The switches of the two-stage controller; the recipe fills those that are not given.

    Keys of one objective stand in ``[[objectives]]`` of a file. The controller gets them as
    ``weights``, ``floors`` and ``references``, one for each objective, and ``weight_changes`` and
    ``limits``; rewards are larger-is-better, and the gate comes first. An objective with a limit
    has a weight of 0 here.

    Raises:
        ConfigError: A value has the wrong type or is out of range, weights are negative or do not
            sum to 1, or floors or references have another length than the weights.
    """

    recipe: Literal["recommended", "paper"] = key(
        "recommended",
        "Fills every switch that is not given explicitly; written at the top of a file.",
        in_file=False,
    )
    weights: tuple[float, ...] = key(
        None,
        "Weight of each objective; not negative, summing to 1.",
        low=0.0,
        high=1.0,
        in_file=False,
    )
    limits: tuple[Limit, ...] = ()
    floors: tuple[float | Literal["worst", "keeps"], ...] | None = key(
        None,
        "Reward of a failed rollout in each objective after the gate; by default the worst of its"
        " group.",
        in_file=False,
    )
    references: tuple[float | Literal["initial"], ...] | None = key(
        None,
        'Coordinates of the hypervolume\'s reference point; "initial" takes the first '
        "evaluation's. By default reference decides.",
        in_file=False,
    )
    threshold: float = key(
        0.0, "A rollout has solved its prompt if its first reward is above this.", in_file=False
    )
    weighting: Literal["as given", "equal", "first alone", "second alone"] = key(
        "as given",
        "Weights in use. as given: the weights of the objectives. equal: equal weights for all "
        "objectives with a weight above 0. `first alone`: all weight for the gate. `second alone`: "
        "all weight for the other objective, if there are two.",
    )
    preference: Literal["fixed", "given"] = key(
        "fixed",
        "fixed: one set of weights for all questions. given: each group has its own "
        "preference, which its question states; see [preference].",
    )
    beta: float = key(
        0.5,
        "Spread of the stage-2 advantages within one front.",
        low=0.0,
        high=1.0,
        of=_of("pareto"),
    )
    gamma: float = key(
        0.5,
        "Smoothing of the hypervolume gain: smoothed = gamma * smoothed + (1 - gamma) * gain.",
        low=0.0,
        high=1.0,
        open_high=True,
        of={"multiplier_on": ("advantage", "reward")},
    )
    reference: Literal["initial", "zero"] = key(
        None,
        "Reference point of the hypervolume for objectives without their own. initial: the first "
        "evaluation. zero: the worst possible reward.",
        shown_default=BY_RECIPE,
    )
    stage1_steps: int | Literal["epoch", "all"] = key(
        None,
        "Number of steps of stage 1. epoch: one pass over the prompts. all: the complete run.",
        low=0,
        shown_default=BY_RECIPE,
    )
    stage1_estimator: EstimatorName | str = key(
        "grpo", "Estimator of the advantages in stage 1.", in_module=True
    )
    stage2_estimator: EstimatorName | str = key(
        None,
        "Estimator of the advantages in stage 2.",
        shown_default=f'{BY_RECIPE}; "worth" with preference = "given"',
        in_module=True,
    )
    economies: Literal["each", "least"] = key(
        None,
        "Combination of all rewards except the gate's. each: every reward counts with its own "
        "weight. least: only the lowest of these rewards counts, with the sum of their weights.",
        shown_default='"least" with the recommended recipe\'s own estimator, else "each"',
    )
    multiplier_on: Literal["advantage", "reward", "none"] = key(
        None,
        "Quantity that the multiplier of stage 1 multiplies.",
        shown_default=BY_RECIPE,
    )
    centre: Literal["exact", "mean", "none", "std", "loo"] = key(
        None,
        "Baseline that is subtracted from the stage-2 advantages of a group. mean: their mean. "
        "std: their mean; the difference is then divided by their standard deviation. loo: the "
        "mean of the other rollouts. none: 0. exact, for the estimator hypervolume: docs/hvk.md.",
        shown_default=BY_RECIPE,
    )
    k: int | tuple[int, ...] = key(
        1,
        "Number of rollouts whose joint hypervolume counts: docs/hvk.md. A list splits the steps "
        "into equal parts, with one k each.",
        low=1,
        of=_of(*sorted(HYPERVOLUME_ESTIMATORS)),
    )
    conflict: float = key(
        0.8,
        "A rollout is kept if the agreement of its objectives is at least this number: "
        "docs/estimators.md.",
        low=0.0,
        high=1.0,
        of=_of("gd2po", "hypervolume_gd2po"),
    )
    gate: Literal["success", "none"] = key(
        None,
        "success: a failed rollout gets the failure reward of each objective. none: all "
        "objectives count for all rollouts.",
        shown_default=f'{BY_RECIPE}; "none" without an objective that can be the gate',
    )
    group_filter: Literal["vector", "accuracy", "off"] = key(
        None,
        "Groups that get no advantage. vector: groups whose reward vectors are all equal. "
        "accuracy: groups whose rollouts all solved the prompt, or all failed. off: none.",
        shown_default=BY_RECIPE,
    )

    @staticmethod
    def fill(written: dict[str, Any]) -> dict[str, Any]:
        """Fill the switches by the recipe."""
        recipe, estimator = written["recipe"], written["stage2_estimator"]
        if not isinstance(recipe, str) or recipe not in RECIPES:
            return written  # refused as any wrong value
        own = recipe == "recommended" and estimator is None
        least = own or estimator == "worth"
        filled = {
            **RECIPES[recipe],
            "economies": "least" if least else "each",
            "weights": DEFAULT_WEIGHTS[recipe],
        }
        if own and written["preference"] == "given":  # better there: docs/steerable.md
            filled["stage2_estimator"] = "worth"
        return written | {name: one for name, one in filled.items() if written[name] is None}

    @property
    def reference_point(self) -> tuple[float | Literal["initial"], ...]:
        """Return the archive's reference; "initial" marks the first evaluation's coordinates."""
        if self.references is not None:
            return self.references
        return (0.0 if self.reference == "zero" else "initial",) * len(self.weights)

    @property
    def gated_floors(self) -> tuple[float | Literal["worst", "keeps"], ...]:
        """Return the rewards of a failed rollout in the objectives after the first."""
        worst: tuple[float | Literal["worst", "keeps"], ...] = ("worst",)
        return worst * (len(self.weights) - 1) if self.floors is None else self.floors

    @property
    def estimators(self) -> set[str]:
        """Return the estimators of the stages that a run has."""
        stages = set[str]()
        if self.stage1_steps != 0:
            stages.add(self.stage1_estimator)
        if self.stage1_steps != "all":
            stages.add(self.stage2_estimator)
        return stages

    @property
    def both_estimators(self) -> set[str]:
        """Return the estimators of both stages, whether a run has the stage or not."""
        return {self.stage1_estimator, self.stage2_estimator}

    @property
    def max_k(self) -> int:
        """The largest k of a run, 0 where no estimator has one."""
        if not HYPERVOLUME_ESTIMATORS & self.both_estimators:
            return 0
        return max(self.k) if isinstance(self.k, tuple) else self.k
