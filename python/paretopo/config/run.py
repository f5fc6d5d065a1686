"""The configuration of a whole run: its sections, settled from the table of a file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from paretopo.config.keys import check_rules, key
from paretopo.config.notes import Note
from paretopo.config.objectives import Objective, arrange_objectives
from paretopo.config.sections import (
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
    TRLConfig,
    WarmupConfig,
)
from paretopo.config.switches import Limit, ParetoPOConfig, fit_recipe


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """A whole run, made by ``settle_run`` from the written table.

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
    objectives: tuple[Objective, ...]
    model: ModelConfig
    task: TaskConfig
    tool: ToolConfig
    warmup: WarmupConfig
    rewards: RewardsConfig
    paretopo: ParetoPOConfig
    preference: PreferenceConfig
    optimiser: OptimiserConfig
    evaluation: EvaluationConfig
    run: RunFolderConfig
    trl: TRLConfig
    openrlhf: OpenRLHFConfig
    notes: tuple[Note, ...] = dataclasses.field(default=(), compare=False, repr=False)
    effective: frozenset[str] | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def gates_outcomes(self) -> bool:
        """Return whether held-out outcomes are gated: they are if a gate is known.

        Outcomes of runs with a gate are then comparable, whatever the method trains on. Ungated are
        only those whose gains act on an ungated training, as in the paper's stage 1.
        """
        acts = self.paretopo.stage1_steps != 0
        return self.paretopo.gate == "success" or (bool(self.objectives[0].gate) and not acts)

    def objective(self, name: str) -> Objective:
        """Return the objective of a name.

        Raises:
            KeyError: There is none.
        """
        return {one.name: one for one in self.objectives}[name]


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
    "trl": TRLConfig,
    "openrlhf": OpenRLHFConfig,
}
# Sections that only runs of the back end of that name read.
BACKEND_SECTIONS = frozenset({"trl", "openrlhf"})


def settle_run(
    top: Mapping[str, Any],
    sections: Mapping[str, Mapping[str, Any]],
    tables: Sequence[Mapping[str, Any]],
    *,
    any_unit: bool = False,
) -> RunConfig:
    """Return the configuration of a written table; nothing in it is left open.

    Args:
        top: The settled keys above every section.
        sections: The keys of each section of :data:`SECTIONS`.
        tables: The keys of each objective.
        any_unit: As for :func:`~paretopo.config.switches.fit_recipe`.

    Raises:
        ConfigError: A value is wrong, or values break one of the rules.
    """
    recipe, given = top["recipe"], {name: dict(sections[name]) for name in SECTIONS}
    model = ModelConfig(**given.pop("model"), lora=LoraConfig(**given.pop("model.lora")))
    kind = "made" if model.is_made else "adapters" if model.lora.rank else "loaded"
    for name, rate in LEARNING_RATES[kind].items():
        given[name] = {"learning_rate": rate} | given[name]
    objectives = arrange_objectives([Objective(**table) for table in tables])
    fitted = fit_recipe(recipe, objectives, any_unit=any_unit)
    given["paretopo"] = {"recipe": recipe} | fitted | given["paretopo"]
    made = {name: SECTIONS[name](**values) for name, values in given.items()}
    config = RunConfig(**top, objectives=objectives, model=model, **made)
    check_rules(config)
    return replace(config, paretopo=_pass_objectives(config))


def _pass_objectives(config: RunConfig) -> ParetoPOConfig:
    """Return the controller's section with the values of the objectives, which it needs."""
    objectives, switches = config.objectives, config.paretopo
    weights = [one.weight or 0.0 for one in objectives]
    if switches.weighting == "equal":
        counted = sum(weight > 0.0 for weight in weights)
        weights = [1.0 / counted if weight > 0.0 else 0.0 for weight in weights]
    elif switches.weighting != "as given":
        alone = 0 if switches.weighting == "first alone" else 1
        weights = [float(at == alone) for at in range(len(objectives))]
    references = [one.reference_reward(switches.reference) for one in objectives]
    return replace(
        switches,
        weights=tuple(weights),
        limits=tuple(
            Limit(at, one.to_reward(one.limit), one.share)
            for at, one in enumerate(objectives)
            if one.limit is not None
        ),
        threshold=objectives[0].threshold,
        floors=tuple(one.floor for one in objectives[1:]) or None,
        references=tuple("initial" if one is None else one for one in references),
    )
