"""The configuration of a run: TOML in and out, checked sections, named methods.

``keys`` declares and checks a key. ``sections``, ``objectives`` and ``paretopo`` hold the sections,
``rules`` holds every rule between keys, and ``run`` settles a written table into a configuration.
``toml`` reads and writes files, and ``methods`` applies a method of the literature.

>>> config = with_method({"seed": 3}, "grpo", {"optimiser.steps": 20})
>>> config.seed, config.paretopo.stage2_estimator, config.optimiser.steps
(3, 'grpo', 20)
"""

from paretopo.config.keys import ConfigError
from paretopo.config.methods import ABOUT, METHODS, apply_method, expand_method, with_method
from paretopo.config.notes import Note
from paretopo.config.objectives import COUNTS, MEASURES, OF_THE_GROUP, SKIPPED, UNASKED, Objective
from paretopo.config.paretopo import (
    ARCHIVE_K,
    HYPERVOLUME_ESTIMATORS,
    OF_SUCCESS,
    OF_UNKNOWN_UNITS,
    RECIPES,
    EstimatorName,
    ParetoPOConfig,
)
from paretopo.config.rules import RULES
from paretopo.config.run import SECTIONS, RunConfig
from paretopo.config.sections import (
    FROM_TASK,
    MADE_UP,
    MAX_GRAD_NORM,
    NONE,
    OWN,
    SMALL,
    TINY,
    WEIGHT_DECAY,
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
from paretopo.config.toml import (
    dumps,
    from_table,
    list_names,
    load,
    loads,
    parse_override,
    read_table,
)

__all__ = [
    "ABOUT",
    "ARCHIVE_K",
    "COUNTS",
    "FROM_TASK",
    "HYPERVOLUME_ESTIMATORS",
    "MADE_UP",
    "MAX_GRAD_NORM",
    "MEASURES",
    "METHODS",
    "NONE",
    "OF_SUCCESS",
    "OF_THE_GROUP",
    "OF_UNKNOWN_UNITS",
    "OWN",
    "RECIPES",
    "RULES",
    "SECTIONS",
    "SKIPPED",
    "SMALL",
    "TINY",
    "UNASKED",
    "WEIGHT_DECAY",
    "ConfigError",
    "EstimatorName",
    "EvaluationConfig",
    "LoraConfig",
    "ModelConfig",
    "Note",
    "Objective",
    "OpenRLHFConfig",
    "OptimiserConfig",
    "ParetoPOConfig",
    "PreferenceConfig",
    "RewardsConfig",
    "RunConfig",
    "RunFolderConfig",
    "TRLConfig",
    "TaskConfig",
    "ToolConfig",
    "WarmupConfig",
    "apply_method",
    "dumps",
    "expand_method",
    "from_table",
    "list_names",
    "load",
    "loads",
    "parse_override",
    "read_table",
    "with_method",
]
