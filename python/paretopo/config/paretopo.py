"""The switches of the two-stage controller, and the two recipes that fill them.

>>> ParetoPOConfig(recipe="paper").multiplier_on
'reward'
>>> ParetoPOConfig(recipe="paper", multiplier_on="advantage").multiplier_on
'advantage'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from paretopo.config.keys import ConfigError, check_section, key

# ---- recipes ---------------------------------------------------------------------------------

BY_RECIPE = "by recipe"


def _freeze(table: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(
        {
            name: _freeze(value) if isinstance(value, dict) else value
            for name, value in table.items()
        }
    )


# Recipe, section, switch: every switch in which the two differ. "paper" is Algorithm 1 of
# arXiv 2606.16111 to the letter; "recommended" is what docs/study supports.
RECIPES: Mapping[str, Mapping[str, Mapping[str, Any]]] = _freeze(
    {
        "recommended": {
            "paretopo": {
                "stage1_steps": 0,
                "stage2_estimator": "hypervolume_gd2po",
                "reference": "zero",
                "multiplier_on": "advantage",
                "centre": "mean",
                "gate": "success",
                "group_filter": "vector",
            },
            "rewards": {"evaluation_n_opt": "recompute"},
        },
        "paper": {
            "paretopo": {
                "stage1_steps": "epoch",
                "stage2_estimator": "pareto",
                "reference": "initial",
                "multiplier_on": "reward",
                "centre": "none",
                "gate": "none",
                "group_filter": "accuracy",
            },
            "rewards": {"evaluation_n_opt": "running"},
        },
    }
)


def fill_by_recipe(section: Any, name: str) -> None:
    """Give every switch that is still None its value in the section's ``recipe``.

    Args:
        section: a frozen dataclass with a ``recipe`` field.
        name: its name in the file.

    Raises:
        ConfigError: there is no such recipe.
    """
    if not isinstance(section.recipe, str) or section.recipe not in RECIPES:
        check_section(section, name)
    for switch, value in RECIPES[section.recipe][name].items():
        if getattr(section, switch) is None:
            object.__setattr__(section, switch, value)


# ---- the section -----------------------------------------------------------------------------

# Every estimator's name, once: paretopo.controller.estimators makes its table of them.
EstimatorName: TypeAlias = Literal[
    "pareto",
    "soft_pareto",
    "lexicographic",
    "hypervolume",
    "hypervolume_gd2po",
    "grpo",
    "dr_grpo",
    "rloo",
    "mo_grpo",
    "gdpo",
    "gd2po",
    "saw",
    "saw_grpo",
    "constant",
]

# Those of them that have a k, and those whose centre is a mean of ranks.
HYPERVOLUMES = frozenset({"hypervolume", "hypervolume_gd2po"})
_RANKS = frozenset({"pareto", "soft_pareto", "lexicographic"})

# Where k = "archive" starts: half of the paper's groups.
ARCHIVE_K = 4


@dataclass(frozen=True)
class ParetoPOConfig:
    """The switches of the two-stage controller; what is not given comes from the recipe.

    Raises:
        ConfigError: a value of the wrong type or outside its range, weights that are negative or
            do not sum to 1, a reference of another length than the weights.
    """

    recipe: Literal["recommended", "paper"] = key(
        "recommended",
        "Fills every switch that is not given explicitly; written at the top of a file.",
        in_file=False,
    )
    weights: tuple[float, ...] = key(
        (0.6, 0.4),
        "Weight of each objective, (task, tool economy); not negative, summing to 1.",
        low=0.0,
        high=1.0,
    )
    beta: float = key(0.5, "Spread of the stage-2 advantages inside one front.", low=0.0, high=1.0)
    gamma: float = key(
        0.5,
        "Smoothing of the hypervolume gain: smoothed = gamma * smoothed + (1 - gamma) * gain.",
        low=0.0,
        high=1.0,
        open_high=True,
    )
    reference: Literal["initial", "zero"] | tuple[float, ...] = key(
        None,
        "Reference point of the hypervolume: the first evaluation, the origin, or numbers.",
        shown_default=BY_RECIPE,
    )
    stage1_steps: int | Literal["epoch", "all"] = key(
        None,
        'Steps of stage 1; "epoch" is one pass over the prompts, "all" the whole run, 0 starts with'
        " stage 2.",
        low=0,
        shown_default=BY_RECIPE,
    )
    stage1_estimator: EstimatorName = key("grpo", "Advantages of stage 1.")
    stage2_estimator: EstimatorName = key(None, "Advantages of stage 2.", shown_default=BY_RECIPE)
    multiplier_on: Literal["advantage", "reward", "learning_rate", "none"] = key(
        None,
        "What the stage-1 multiplier scales; on the reward a group-standardised estimator cancels"
        " it.",
        shown_default=BY_RECIPE,
    )
    centre: Literal["exact", "mean", "none", "std", "loo"] = key(
        None,
        "From what the stage-2 advantages are measured in each group: their mean, nothing, their"
        " mean in standard deviations, the mean of the others; for hypervolume also exact, the"
        " volume that one more of the others would add.",
        shown_default=BY_RECIPE,
    )
    k: int | tuple[int, ...] | Literal["archive"] = key(
        1,
        "hypervolume, hypervolume_gd2po: how many rollouts count together; several numbers for"
        " equal parts of its steps, or by the smoothed gain of the archive, from 4 to 1.",
        low=1,
    )
    hypervolume_reference: Literal["weights"] | tuple[float, ...] = key(
        "weights",
        "hypervolume: the reference point in the objectives' units, the preference; by the weights"
        " it is 0 for the task and -w_task / w_tool for economy.",
    )
    hypervolume_unit: Literal["raw", "range"] = key(
        "raw",
        "hypervolume: economy as it is, or from 0 to 1 between the worst and the best of the"
        " group's successes.",
    )
    sigma: float = key(
        0.1,
        "soft_pareto: scale of the noise on every reward, in its units.",
        low=0.0,
        open_low=True,
    )
    margin: float = key(
        0.0,
        "soft_pareto: by how much a dominator must win, in the rewards' units; sqrt(sigma) counts"
        " ties as none.",
        low=0.0,
    )
    conflict: float = key(
        0.8,
        "gd2po, hypervolume_gd2po: rollouts are left out whose objectives agree less than this; 1"
        " wants one sign.",
        low=0.0,
        high=1.0,
    )
    gate: Literal["success", "none"] = key(
        None,
        "Economy counts only for rollouts that solve the task, or for all.",
        shown_default=BY_RECIPE,
    )
    gate_floor: float | Literal["worst"] = key(
        0.0,
        "What a failed rollout gets in the gated objectives: a number, at most their worst value,"
        ' or "worst", the worst of its group, which fits any unit.',
    )
    group_filter: Literal["vector", "accuracy", "off"] = key(
        None,
        "Groups that get no advantage: all reward vectors equal, all solved or all failed, none.",
        shown_default=BY_RECIPE,
    )
    gain_unit: Literal["raw", "box"] = key(
        "raw", "Hypervolume gain as it is, or as a share of the box from the reference to 1."
    )
    gain_scale: float = key(1.0, "Factor on the smoothed gain inside tanh.", low=0.0, open_low=True)

    def __post_init__(self) -> None:
        fill_by_recipe(self, "paretopo")
        check_section(self, "paretopo")
        if abs(sum(self.weights) - 1.0) > 1e-6:
            raise ConfigError(
                f"paretopo.weights must sum to 1, got {list(self.weights)} with sum "
                f"{sum(self.weights):g}"
            )
        if "hypervolume" in (self.stage1_estimator, self.stage2_estimator):
            self._check_hypervolume()
        ranks = sorted(_RANKS & self._estimators())
        if self.centre == "exact" and ranks:
            raise ConfigError(
                'paretopo.centre = "exact" is for the estimator "hypervolume", got it with '
                f'"{ranks[0]}": take "mean", "none", "std" or "loo"'
            )
        if isinstance(self.reference, tuple):
            if len(self.reference) != len(self.weights):
                raise ConfigError(
                    f"paretopo.reference must have one number per weight ({len(self.weights)}), "
                    f"got {list(self.reference)}"
                )
            if self.gain_unit == "box" and max(self.reference) >= 1.0:
                raise ConfigError(
                    "paretopo.reference must stay below 1 in every objective when "
                    f'paretopo.gain_unit = "box", got {list(self.reference)}'
                )

    @property
    def most_together(self) -> int:
        """The largest k of a run, 0 where no estimator has one."""
        if not HYPERVOLUMES & {self.stage1_estimator, self.stage2_estimator}:
            return 0
        return (
            ARCHIVE_K
            if self.k == "archive"
            else max(self.k)
            if isinstance(self.k, tuple)
            else self.k
        )

    def _estimators(self) -> set[str]:
        """Those of the stages that a run has."""
        stages = set[str]()
        if self.stage1_steps != 0:
            stages.add(self.stage1_estimator)
        if self.stage1_steps != "all":
            stages.add(self.stage2_estimator)
        return stages

    def _check_hypervolume(self) -> None:
        given = self.hypervolume_reference
        if given == "weights" and min(self.weights[1:], default=1.0) == 0.0:
            raise ConfigError(
                'paretopo.hypervolume_reference = "weights" needs weights above 0 behind the '
                f"first, got {list(self.weights)}: give the reference in numbers"
            )
        if given != "weights" and len(given) != len(self.weights):
            raise ConfigError(
                "paretopo.hypervolume_reference must have one number per weight "
                f"({len(self.weights)}), got {list(given)}"
            )
