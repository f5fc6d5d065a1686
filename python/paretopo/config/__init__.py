"""The configuration of a run: TOML in and out, checked sections, named methods.

``keys`` declares and checks a key. ``sections``, ``objectives`` and ``switches`` hold the sections,
``rules`` holds every rule between keys, and ``run`` settles a written table into a configuration.
``toml`` reads and writes files, and ``methods`` applies a method of the literature.

>>> config = with_method({"seed": 3}, "grpo", {"optimiser.steps": 20})
>>> config.seed, config.paretopo.stage2_estimator, config.optimiser.steps
(3, 'grpo', 20)
"""

from paretopo.config.keys import ConfigError
from paretopo.config.methods import ABOUT, METHODS, apply_method, expand_method, with_method
from paretopo.config.objectives import MEASURES, SKIPPED, UNASKED, Objective
from paretopo.config.rules import RULES
from paretopo.config.run import SECTIONS, RunConfig
from paretopo.config.sections import (
    CHATML_TOOLS,
    MAX_GRAD_NORM,
    NONE,
    OWN,
    SMALL,
    TINY,
    WEIGHT_DECAY,
    LoraConfig,
    ModelConfig,
    OpenRLHFConfig,
    OptimiserConfig,
    WarmupConfig,
)
from paretopo.config.switches import OF_UNKNOWN_UNITS, RECIPES, ParetoPOConfig
from paretopo.config.toml import dumps, from_table, load, loads, parse_override, read_table

__all__ = [
    "ABOUT",
    "CHATML_TOOLS",
    "MAX_GRAD_NORM",
    "MEASURES",
    "METHODS",
    "NONE",
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
    "LoraConfig",
    "ModelConfig",
    "Objective",
    "OpenRLHFConfig",
    "OptimiserConfig",
    "ParetoPOConfig",
    "RunConfig",
    "WarmupConfig",
    "apply_method",
    "dumps",
    "expand_method",
    "from_table",
    "load",
    "loads",
    "parse_override",
    "read_table",
    "with_method",
]
