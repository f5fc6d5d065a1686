"""The configuration of a whole run: its sections, and the checks between them."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass
from typing import Any, Literal, cast

from paretopo.config.keys import ConfigError, check_section, key
from paretopo.config.notes import Note
from paretopo.config.objectives import (
    MEASURES,
    OF_SUCCESSES,
    Objective,
    arrange_objectives,
    make_objectives,
)
from paretopo.config.paretopo import (
    HYPERVOLUME_ESTIMATORS,
    LINEAR,
    OF_SUCCESS,
    RECIPES,
    UNWEIGHTED,
    Limit,
    ParetoPOConfig,
    WeightChange,
    fit_recipe,
)
from paretopo.config.sections import (
    FROM_TASK,
    NONE,
    EvaluationConfig,
    LoraConfig,
    ModelConfig,
    OpenRLHFConfig,
    OptimiserConfig,
    PreferenceConfig,
    RewardsConfig,
    RunFolderConfig,
    TaskConfig,
    ToolConfig,
    WarmupConfig,
)


@dataclass(frozen=True)
class RunConfig:
    """A whole run.

    Attributes:
        notes: Notes for the beginning of the run; not part of its settings.
        effective: Dotted names of the keys that have an effect, if a framework's own script sets
            the rest; None for all. A run folder keeps only these.
    """

    recipe: Literal["recommended", "paper"] = key(
        "recommended",
        'Source of every default marked "by recipe". paper: the paper\'s Algorithm 1. '
        "recommended: the recipe that the study supports.",
    )
    backend: Literal["trl", "openrlhf"] = key("trl", "Trainer that updates the policy.")
    seed: int = key(
        0,
        "Seed of all random numbers. On OpenRLHF, runs with the same seed still differ, because "
        "the order in which its engines answer varies.",
        low=0,
        high=2**32 - 1,
    )
    objectives: tuple[Objective, ...] = cast(Any, None)  # correct and calls
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    task: TaskConfig = dataclasses.field(default_factory=TaskConfig)
    tool: ToolConfig = dataclasses.field(default_factory=ToolConfig)
    warmup: WarmupConfig = dataclasses.field(default_factory=WarmupConfig)
    rewards: RewardsConfig = dataclasses.field(default_factory=RewardsConfig)
    paretopo: ParetoPOConfig = dataclasses.field(default=cast(Any, None))
    preference: PreferenceConfig = dataclasses.field(default_factory=PreferenceConfig)
    optimiser: OptimiserConfig = dataclasses.field(default_factory=OptimiserConfig)
    evaluation: EvaluationConfig = dataclasses.field(default_factory=EvaluationConfig)
    run: RunFolderConfig = dataclasses.field(default_factory=RunFolderConfig)
    openrlhf: OpenRLHFConfig = dataclasses.field(default_factory=OpenRLHFConfig)
    notes: tuple[Note, ...] = dataclasses.field(default=(), compare=False, repr=False)
    effective: frozenset[str] | None = dataclasses.field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_section(self, "")
        if self.objectives is None:
            object.__setattr__(self, "objectives", make_objectives(recipe=self.recipe))
        for name in RECIPES[self.recipe]:
            section = getattr(self, name)
            if section is None:
                own: dict[str, Any] = {}
                if name == "paretopo":
                    own = fit_recipe(self.recipe, arrange_objectives(self.objectives))
                section = SECTIONS[name](recipe=self.recipe, **own)
                object.__setattr__(self, name, section)
            if section.recipe != self.recipe:
                raise ConfigError(
                    f"recipe is {self.recipe!r}, but the [{name}] section was built for "
                    f"{section.recipe!r}"
                )
        self._settle_model()
        self._settle_objectives()
        together = self.paretopo.max_k
        if together > self.optimiser.group_size:
            raise ConfigError(
                f"paretopo.k must be at most optimiser.group_size, {self.optimiser.group_size}, "
                f"got {together}"
            )
        self._check_task()
        self._check_preference()

    def _settle_model(self) -> None:
        """Fill the learning rates that suit the model."""
        kind = "made" if self.model.is_made else "adapters" if self.model.lora.rank else "loaded"
        for section, rate in LEARNING_RATES[kind].items():
            if getattr(self, section).learning_rate is None:
                filled = dataclasses.replace(getattr(self, section), learning_rate=rate)
                object.__setattr__(self, section, filled)

    def _settle_objectives(self) -> None:
        """Arrange the objectives, and pass their values to the controller's section."""
        most = self.optimiser.max_tool_calls
        objectives = arrange_objectives(
            [
                dataclasses.replace(one, most=most)
                if one.economy == "otc" and not one.most
                else one
                for one in self.objectives
            ]
        )
        object.__setattr__(self, "objectives", objectives)
        if not objectives[0].gate:
            self._refuse_success()
        weights = self._weigh(objectives)
        self._check_limits(objectives)
        if self.paretopo.gain_unit == "box":
            for one in objectives:
                if one.best != 1.0:
                    end = "have no end" if one.best is None else f"end at {one.best:g}"
                    raise ConfigError(
                        'paretopo.gain_unit = "box" is for rewards that end at 1, but those of '
                        f"{one.name!r} {end}"
                    )
        if "worth" in self.paretopo.estimators:
            _check_worth(objectives[1:])
        if self.paretopo.economies == "least":
            _check_least(objectives, self.paretopo.estimators)
        if "gr3" in self.paretopo.estimators:
            _check_gr3(objectives[1:])
        for estimator in sorted(_TO_IDEAL & self.paretopo.estimators):
            _check_ideal(estimator, objectives)
        if objectives[0].threshold != 0.0 and HYPERVOLUME_ESTIMATORS & self.paretopo.estimators:
            [name, *_] = sorted(HYPERVOLUME_ESTIMATORS & self.paretopo.estimators)
            raise ConfigError(
                f'the estimator "{name}" takes a rollout above 0 as right, got '
                f"objectives.{objectives[0].name}.threshold = {objectives[0].threshold:g}: use "
                "another estimator, or a reward that is above 0 if a rollout is right"
            )
        references = [one.reference_reward(self.paretopo.reference) for one in objectives]
        derived: dict[str, Any] = {
            "weights": weights,
            "weight_changes": self._change_weights(objectives),
            "limits": tuple(
                Limit(at, one.to_reward(one.limit), one.share)
                for at, one in enumerate(objectives)
                if one.limit is not None
            ),
            "threshold": objectives[0].threshold,
            "floors": tuple(one.floor for one in objectives[1:]) or None,
            "references": tuple("initial" if one is None else one for one in references),
        }
        object.__setattr__(self, "paretopo", dataclasses.replace(self.paretopo, **derived))

    def _weigh(self, objectives: tuple[Objective, ...]) -> tuple[float, ...]:
        """Return the weights by `paretopo.weighting`; a weight of 0 stays 0."""
        given = tuple(one.weight or 0.0 for one in objectives)
        weighting, count = self.paretopo.weighting, len(objectives)
        if weighting == "as given":
            return given
        if weighting == "equal":
            counted = sum(weight > 0.0 for weight in given)
            return tuple(1.0 / counted if weight > 0.0 else 0.0 for weight in given)
        names = ", ".join(one.name for one in objectives)
        if weighting == "second alone" and count != 2:
            raise ConfigError(
                f'paretopo.weighting = "{weighting}", with which OTC multiplies correctness and '
                f"one tool reward, is for two objectives, got {count}: {names}"
            )
        at = 0 if weighting == "first alone" else 1
        if given[at] == 0.0:
            raise ConfigError(
                f'paretopo.weighting = "{weighting}" puts all weight on {objectives[at].name!r}, '
                "whose weight is 0: give it one, or use another method"
            )
        return tuple(float(place == at) for place in range(count))

    def _change_weights(self, objectives: tuple[Objective, ...]) -> tuple[WeightChange, ...]:
        """Return the weights that change during the training."""
        changes = tuple(
            WeightChange(at, one.start_weight[0], *map(int, one.start_weight[1:]))
            for at, one in enumerate(objectives)
            if one.start_weight is not None
        )
        if not changes:
            return ()
        key = f"objectives.{objectives[changes[0].objective].name}.start_weight"
        if self.paretopo.preference == "given":
            raise ConfigError(f"{key} and preferences that each question states exclude each other")
        if self.paretopo.weighting != "as given":
            raise ConfigError(
                f'{key} has no effect with paretopo.weighting = "{self.paretopo.weighting}", which '
                "sets the weights: remove one of them"
            )
        return changes

    def _check_limits(self, objectives: tuple[Objective, ...]) -> None:
        """Refuse settings with which the multiplier of a limit would not act on the mean."""
        limited = [one for one in objectives if one.limit is not None]
        if not limited:
            return
        switches, needs = self.paretopo, f"objectives.{limited[0].name}.limit needs"
        if self.optimiser.learn_from == "answers":
            raise ConfigError(f'{needs} optimiser.learn_from = "rewards"')
        for stage, estimator in (
            ("stage1_estimator", switches.stage1_estimator),
            ("stage2_estimator", switches.stage2_estimator),
        ):
            if estimator in switches.estimators - LINEAR:
                raise ConfigError(
                    f"{needs} the sum of the weighted rewards as it is, and paretopo.{stage} = "
                    f'"{estimator}" changes it: use "rloo" or "dr_grpo"'
                )
        for name, value, cure in (
            ("economies", "least", "each"),
            ("group_filter", "accuracy", "vector"),
        ):
            if getattr(switches, name) == value:
                raise ConfigError(f'{needs} paretopo.{name} = "{cure}", got "{value}"')
        _check_shares(
            f"objectives.{limited[0].name}.limit is weighed against shares",
            tuple(one for one in objectives if one.weight),
            "give it a limit, too",
        )

    def _refuse_success(self) -> None:
        """Refuse settings that need a gate if no objective can be the gate."""
        switches, cure = self.paretopo, ""
        asks = [
            f'objectives.{one.name}.economy = "{one.economy}"'
            for one in self.objectives
            if one.economy in OF_SUCCESSES
        ]
        if switches.gate == "success":
            asks.append('paretopo.gate = "success"')
        asks += [f'the estimator "{one}"' for one in sorted(OF_SUCCESS & switches.estimators)]
        if switches.weighting in ("first alone", "second alone"):
            asks.append(f'paretopo.weighting = "{switches.weighting}"')
        if switches.preference == "given" and self.preference.kind == "budget":
            asks.append('preference.kind = "budget"')
        if switches.economies == "least" and len(self.objectives) > 2:
            asks.append('paretopo.economies = "least"')
        if switches.group_filter == "accuracy":
            asks.append('paretopo.group_filter = "accuracy"')
            cure = ', or use group_filter = "vector"' if len(asks) == 1 else ""
        if asks:
            names = ", ".join(one.name for one in self.objectives)
            raise ConfigError(
                f"{asks[0]} needs a gate, and none of {names} "
                f"is one: set gate = true for an objective{cure}"
            )

    @property
    def gates_outcomes(self) -> bool:
        """Return whether held-out outcomes are gated: they are if a gate is known.

        Outcomes of runs with a gate are then comparable, whatever the method trains on. Ungated are
        only those whose gains act on an ungated training, as in the paper's stage 1.
        """
        acts = self.paretopo.stage1_steps != 0 or self.paretopo.k == "archive"
        return self.paretopo.gate == "success" or (self.objectives[0].gate and not acts)

    def objective(self, name: str) -> Objective:
        """Return the objective of a name.

        Raises:
            KeyError: There is none.
        """
        return {one.name: one for one in self.objectives}[name]

    def _check_longest_prompt(self) -> None:
        """Refuse a limit that would not hold: OpenRLHF takes all prompts of the user's files."""
        if self.backend != "openrlhf" or not self.optimiser.max_prompt_tokens:
            return
        for name in ("prompts", "held_out"):
            source = getattr(self.openrlhf, name)
            if source != FROM_TASK:
                raise ConfigError(
                    "optimiser.max_prompt_tokens is for the questions of a task, got "
                    f"openrlhf.{name} = {source!r}: leave long prompts out of that file"
                )

    def _check_task(self) -> None:
        """Refuse a task, tool and model that do not fit each other."""
        self._check_longest_prompt()
        own = self.task.name == "questions"  # its words and answers are known
        if not own and not self.task.is_made_up and self.model.path == "tiny":
            raise ConfigError(
                'model.path = "tiny" knows only the words of made-up questions: for the questions '
                f"of {self.task.train!r}, give a Hugging Face model"
            )
        if not own and not self.task.is_made_up and self.warmup.steps > 0:
            raise ConfigError(
                "warmup.steps must be 0 with task.train: a file has no written traces to imitate, "
                f"got {self.warmup.steps}"
            )
        if not own and self.warmup.file != NONE:
            raise ConfigError(
                'warmup.file is for task.name = "questions", got '
                f"{self.task.name!r}, which writes its rollouts to imitate itself"
            )
        if self.task.name != "calculator" and self.tool.solver_price > 0.0:
            raise ConfigError(
                'tool.solver_price is for task.name = "calculator", which has a solver, got '
                f"{self.tool.solver_price:g} with {self.task.name!r}"
            )
        if (
            self.task.name == "multihop"
            and not self.task.is_made_up
            and self.tool.search_url == self.tool.corpus == NONE
        ):
            raise ConfigError(
                'task.name = "multihop" needs tool.search_url, the address of a search server, or '
                "tool.corpus, a JSONL corpus for the run to serve"
            )

    def _check_preference(self) -> None:
        """Refuse settings that do not work with a preference given with the question."""
        limited = [one.name for one in self.objectives if one.budgets]
        by_budget = self.preference.kind == "budget"
        if self.paretopo.preference == "fixed":
            if limited:
                raise ConfigError(
                    f'objectives.{limited[0]}.budgets are for paretopo.preference = "given" with '
                    'preference.kind = "budget"'
                )
            return
        given = 'paretopo.preference = "given"'
        if self.paretopo.stage1_steps != 0:
            raise ConfigError(
                f"{given} needs paretopo.stage1_steps = 0: the multiplier of stage 1 follows one "
                f"front over time, got {self.paretopo.stage1_steps!r}"
            )
        if self.optimiser.learn_from == "answers":
            raise ConfigError(f'{given} is for optimiser.learn_from = "rewards"')
        if by_budget != bool(limited) or any(
            one.budgets and one.better == "more" for one in self.objectives
        ):
            raise ConfigError(
                'preference.kind = "budget" needs costs with budgets, as budgets = [0, 1, 2] in '
                f"[[objectives]], and no other kind takes them; got them for {limited or 'none'}"
            )
        if by_budget:
            return
        blind = sorted((UNWEIGHTED | {"hypervolume"}) & self.paretopo.estimators)
        alone = self.paretopo.weighting in ("first alone", "second alone")
        if blind or len(self.objectives) < 2 or alone:
            raise ConfigError(
                f"{given} needs several objectives, none with all the weight, and "
                "an estimator with weights, which may be 0; got "
                f"{len(self.objectives)}, {self.paretopo.weighting!r} and "
                f"{self.paretopo.stage2_estimator!r}"
            )


def _check_worth(objectives: tuple[Objective, ...]) -> None:
    """Refuse objectives whose rewards for failed rollouts the estimator would ignore."""
    for one in objectives:
        if one.failure == "keeps":
            raise ConfigError(
                'the estimator "worth" pays nothing for a failed rollout, so '
                f'objectives.{one.name}.failure = "keeps" could not count: use another estimator, '
                f"{_ANOTHER}"
            )


_ANOTHER = 'paretopo.stage2_estimator = "gd2po"'


def _check_least(objectives: tuple[Objective, ...], estimators: set[str]) -> None:
    """Refuse economies that cannot be compared, and estimators that need each of them."""
    least = 'paretopo.economies = "least", that of recipe = "recommended",'
    for name in sorted(HYPERVOLUME_ESTIMATORS & estimators):
        raise ConfigError(
            f'{least} leaves one economy, and the estimator "{name}" measures the volume of all: '
            'use economies = "each"'
        )
    first, *others = objectives
    other = f"use an estimator for any unit, {_ANOTHER}"
    _check_shares(f"{least} compares shares", tuple(others), other)
    if first.best not in (None, 1.0):
        raise ConfigError(
            f"{least} weighs the gate against shares, and objectives.{first.name} ends at "
            f"{first.best:g}: divide it by {first.best:g} and set high = 1, or {other}"
        )


def _check_shares(why: str, objectives: tuple[Objective, ...], other: str) -> None:
    for one in objectives:
        if not one.is_share:
            meant = difflib.get_close_matches(one.name, MEASURES, n=1, cutoff=0.75)
            near = f"did you mean {meant[0]!r}? If not: " if meant and one.function is None else ""
            if one.better == "fewer" or one.high is not None:
                raise ConfigError(
                    f"{near}{why}, and objectives.{one.name} is not a share: give it economy = "
                    f'"saving", or {other}'
                )
            raise ConfigError(
                f"{near}objectives.{one.name} needs an upper bound: {why}. Set high = 1 if its "
                'values lie in 0..1. Otherwise set high to its best value, and economy = "saving". '
                f'For a cost, set better = "fewer". Or {other}'
            )


# Estimators that measure the distance to a reward of 1.
_TO_IDEAL = frozenset({"tchebycheff"})


def _check_ideal(estimator: str, objectives: tuple[Objective, ...]) -> None:
    """Refuse rewards whose best value is not 1."""
    for one in objectives:
        if not one.is_share:
            raise ConfigError(
                f'the estimator "{estimator}" measures the distance to 1, the best reward, and '
                f'objectives.{one.name} does not end there: give it economy = "saving" (and high, '
                'if better = "more")'
            )


def _check_gr3(objectives: tuple[Objective, ...]) -> None:
    """Refuse rewards that GR3 cannot divide by."""
    for one in objectives:
        if one.economy != "gr3":
            raise ConfigError(
                'the estimator "gr3" divides by costs over their mean in the group, and '
                f"objectives.{one.name}.economy is {one.economy!r}: give it "
                f'objectives.{one.name}.economy = "gr3", or use another estimator'
            )


# Learning rates that are not given: of a tiny model, of a loaded one, and of adapters on one. For
# loaded models they are TRL 1.16's defaults (SFTConfig 2e-5, GRPOConfig 1e-6); adapters take ten
# times these (Schulman and Thinking Machines Lab, 2025, "LoRA Without Regret").
LEARNING_RATES = {
    "made": {"warmup": 2e-3, "optimiser": 3e-4},
    "loaded": {"warmup": 2e-5, "optimiser": 1e-6},
    "adapters": {"warmup": 2e-4, "optimiser": 1e-5},
}

SECTIONS: dict[str, type] = {
    "model": ModelConfig,
    "model.lora": LoraConfig,
    "task": TaskConfig,
    "tool": ToolConfig,
    "warmup": WarmupConfig,
    "rewards": RewardsConfig,
    "paretopo": ParetoPOConfig,
    "preference": PreferenceConfig,
    "optimiser": OptimiserConfig,
    "evaluation": EvaluationConfig,
    "run": RunFolderConfig,
    "openrlhf": OpenRLHFConfig,
}
# Sections that only runs of the back end of that name read.
BACKEND_SECTIONS = frozenset({"openrlhf"})
