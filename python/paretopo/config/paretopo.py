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

from paretopo.config.keys import ConfigError, argument, check_section, key
from paretopo.config.objectives import DEFAULT_WEIGHTS

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
# arXiv 2606.16111 to the letter; "recommended" is what docs/study.md supports.
RECIPES: Mapping[str, Mapping[str, Mapping[str, Any]]] = _freeze(
    {
        "recommended": {
            "paretopo": {
                "stage1_steps": 0,
                "stage2_estimator": "worth",
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

# Recipe, switch: what a recipe fills in its place where no objective says what solved means. The
# paper's has a filter by accuracy, which has no such form.
UNGATED: Mapping[str, Mapping[str, Any]] = _freeze(
    {"recommended": {"stage2_estimator": "rloo", "gate": "none"}, "paper": {}}
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
    "worth",
    "tchebycheff",
    "expected_tchebycheff",
    "gr3",
    "mo_grpo",
    "gdpo",
    "gd2po",
    "dvao",
    "saw",
    "saw_grpo",
    "constant",
]

# Those of them that have a k, and those whose centre is a mean of ranks.
HYPERVOLUMES = frozenset({"hypervolume", "hypervolume_gd2po"})
# Those whose first reward says what is right, and those to which weights mean nothing.
OF_SUCCESS = HYPERVOLUMES | {"worth", "gr3"}
UNWEIGHTED = frozenset({"mo_grpo", "lexicographic", "constant"})
_RANKS = frozenset({"pareto", "soft_pareto", "lexicographic"})


def _of(*estimators: str) -> dict[str, tuple[str, ...]]:
    """The keys that name an estimator; what one takes holds for both stages."""
    return {"stage2_estimator": estimators, "stage1_estimator": estimators}


_OF_GAIN = {
    "multiplier_on": ("advantage", "reward", "learning_rate"),
    **_of(*sorted(HYPERVOLUMES)),  # whose k may go by it
}

# Where k = "archive" starts: half of the paper's groups.
ARCHIVE_K = 4


@dataclass(frozen=True)
class ParetoPOConfig:
    """The switches of the two-stage controller; what is not given comes from the recipe.

    What belongs to an objective stands in ``[[objectives]]`` of a file; the controller is told in
    ``weights``, ``floors`` and ``references``, of as many rewards as there are objectives, larger
    is better, the one that says what solved means first.

    Raises:
        ConfigError: a value of the wrong type or outside its range, weights that are negative or
            do not sum to 1, floors or references of another length than the weights.
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
    floors: tuple[float | Literal["worst", "keeps"], ...] | None = key(
        None,
        "What a failed rollout gets in each objective behind the gate; by default the worst of its"
        " group.",
        in_file=False,
    )
    references: tuple[float | Literal["initial"], ...] | None = key(
        None,
        "Coordinates of the hypervolume's reference point, of which some may be the first"
        " evaluation's; by default as reference says.",
        in_file=False,
    )
    threshold: float = key(
        0.0, "A rollout solved its prompt where its first reward is above this.", in_file=False
    )
    weighting: Literal["as given", "equal", "first alone", "second alone"] = key(
        "as given",
        "The weights of the objectives, or others: all that are above 0 alike, all on the one that"
        " says what solved means, or, of two objectives, all on the other.",
    )
    preference: Literal["fixed", "given"] = key(
        "fixed",
        "The weights of the objectives for all questions, or a preference that is given with each"
        " group's question: see [preference].",
    )
    beta: float = argument(
        0.5,
        "Spread of the stage-2 advantages inside one front.",
        low=0.0,
        high=1.0,
        of=_of("pareto", "soft_pareto"),
    )
    gamma: float = argument(
        0.5,
        "Smoothing of the hypervolume gain: smoothed = gamma * smoothed + (1 - gamma) * gain.",
        low=0.0,
        high=1.0,
        open_high=True,
        of=_OF_GAIN,
    )
    reference: Literal["initial", "zero"] = key(
        None,
        "Reference point of the hypervolume, where an objective has none of its own: the first"
        " evaluation, or the worst rewards there can be, 0 for an economy.",
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
    stage2_estimator: EstimatorName = key(
        None,
        "Advantages of stage 2.",
        shown_default=f'{BY_RECIPE}; "rloo" where no objective says what solved means',
    )
    economies: Literal["each", "least"] = key(
        None,
        "The rewards after the first, each with its weight; or of each rollout the least of them,"
        " with the weights of all together, so that a compromise counts more than an extreme.",
        shown_default='"least" with the estimator worth, else "each"',
    )
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
    k: int | tuple[int, ...] | Literal["archive"] = argument(
        1,
        "How many rollouts count together; several numbers for"
        " equal parts of its steps, or by the smoothed gain of the archive, from 4 to 1.",
        low=1,
        of=_of(*sorted(HYPERVOLUMES)),
    )
    hypervolume_reference: Literal["weights", "archive"] = argument(
        "weights",
        "The reference point, which is the preference: by the weights it is 0 for the"
        " first objective and -w_first / w_other for each other; or that of the archive.",
        of=_of("hypervolume"),
    )
    hypervolume_unit: Literal["raw", "range"] = argument(
        "raw",
        "Rewards after the first as they are, or from 0 to 1 between the worst and"
        " the best of the group's successes.",
        of=_of("hypervolume"),
    )
    sigma: float = argument(
        0.1,
        "Scale of the noise on every reward, in its units.",
        low=0.0,
        open_low=True,
        of=_of("soft_pareto"),
    )
    margin: float = argument(
        0.0,
        "By how much a dominator must win, in the rewards' units; sqrt(sigma) counts ties as none.",
        low=0.0,
        of=_of("soft_pareto"),
    )
    smoothing: float = argument(
        0.0,
        "Smoothing of the maximum over objectives, in the rewards' units; 0 is the maximum itself.",
        low=0.0,
        of=_of("tchebycheff", "expected_tchebycheff"),
    )
    conflict: float = argument(
        0.8,
        "Rollouts are left out whose objectives agree less than this; 1 wants one sign.",
        low=0.0,
        high=1.0,
        of=_of("gd2po", "hypervolume_gd2po"),
    )
    gate: Literal["success", "none"] = key(
        None,
        "Objectives count only for rollouts that solve their prompt, as each objective's failure"
        " says, or for all.",
        shown_default=f'{BY_RECIPE}; "none" where no objective says what solved means',
    )
    group_filter: Literal["vector", "accuracy", "off"] = key(
        None,
        "Groups that get no advantage: all reward vectors equal, all solved or all failed, none.",
        shown_default=BY_RECIPE,
    )
    gain_unit: Literal["raw", "box"] = argument(
        "raw",
        "Hypervolume gain as it is, or as a share of the box from the reference to 1.",
        of=_OF_GAIN,
    )
    gain_scale: float = argument(
        1.0, "Factor on the smoothed gain inside tanh.", low=0.0, open_low=True, of=_OF_GAIN
    )

    def __post_init__(self) -> None:
        fill_by_recipe(self, "paretopo")
        if self.economies is None:
            of_worth = self.stage2_estimator == "worth"
            object.__setattr__(self, "economies", "least" if of_worth else "each")
        if self.weights is None:
            object.__setattr__(self, "weights", DEFAULT_WEIGHTS[self.recipe])
        check_section(self, "paretopo")
        if abs(sum(self.weights) - 1.0) > 1e-6:
            raise ConfigError(
                f"paretopo.weights must sum to 1, got {list(self.weights)} with sum "
                f"{sum(self.weights):g}"
            )
        if "hypervolume" in (self.stage1_estimator, self.stage2_estimator):
            self._check_hypervolume()
        ranks = sorted(_RANKS & self.estimators)
        if self.centre == "exact" and ranks:
            raise ConfigError(
                'paretopo.centre = "exact" is for the estimator "hypervolume", got it with '
                f'"{ranks[0]}": take "mean", "none", "std" or "loo"'
            )
        for name, expected in (
            ("floors", len(self.weights) - 1),
            ("references", len(self.weights)),
        ):
            given = getattr(self, name)
            if given is not None and len(given) != expected:
                raise ConfigError(
                    f"paretopo.{name} must be {expected}, for {len(self.weights)} weights, got "
                    f"{list(given)}"
                )
        if self.gain_unit == "box" and any(
            one != "initial" and one >= 1.0 for one in self.reference_point
        ):
            raise ConfigError(
                "the reference must stay below 1 in every objective when "
                f'paretopo.gain_unit = "box", got {list(self.reference_point)}'
            )

    @property
    def reference_point(self) -> tuple[float | Literal["initial"], ...]:
        """The reference point of the archive; "initial" where it is the first evaluation's."""
        if self.references is not None:
            return self.references
        return (0.0 if self.reference == "zero" else "initial",) * len(self.weights)

    @property
    def gated_floors(self) -> tuple[float | Literal["worst", "keeps"], ...]:
        """What a failed rollout gets in the objectives behind the first."""
        worst: tuple[float | Literal["worst", "keeps"], ...] = ("worst",)
        return worst * (len(self.weights) - 1) if self.floors is None else self.floors

    @property
    def estimators(self) -> set[str]:
        """Those of the stages that a run has."""
        stages = set[str]()
        if self.stage1_steps != 0:
            stages.add(self.stage1_estimator)
        if self.stage1_steps != "all":
            stages.add(self.stage2_estimator)
        return stages

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

    def _check_hypervolume(self) -> None:
        if self.hypervolume_reference == "archive":
            if self.references is not None and "initial" in self.references:
                raise ConfigError(
                    'paretopo.hypervolume_reference = "archive" needs a reference that is known '
                    'before training: give each objective one, or paretopo.reference = "zero"'
                )
        elif min(self.weights[1:], default=1.0) == 0.0:
            raise ConfigError(
                'paretopo.hypervolume_reference = "weights" needs weights above 0 behind the '
                f"first, got {list(self.weights)}: give objectives a reference each and "
                'hypervolume_reference = "archive"'
            )
