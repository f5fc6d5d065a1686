r"""The configuration of a run: TOML in, frozen sections out, checked before anything is loaded.

>>> config = loads('recipe = "paper"\nseed = 3\n[optimiser]\nsteps = 20')
>>> config.seed, config.optimiser.steps, config.paretopo.multiplier_on
(3, 20, 'reward')
>>> loads("[optimiser]\nstep = 20")
Traceback (most recent call last):
paretopo.config.keys.ConfigError: unknown key optimiser.step; did you mean 'steps'?
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from paretopo.config.keys import ConfigError, check_section, key, keys, nearest
from paretopo.config.objectives import (
    DEFAULT_OBJECTIVES,
    Objective,
    arrange_objectives,
    check_key,
    make_objectives,
)
from paretopo.config.paretopo import RECIPES, ParetoPOConfig
from paretopo.config.sections import (
    FROM_TASK,
    NONE,
    EvaluationConfig,
    ModelConfig,
    OpenRLHFConfig,
    OptimiserConfig,
    RewardsConfig,
    RunFolderConfig,
    TaskConfig,
    ToolConfig,
    WarmupConfig,
)


@dataclass(frozen=True)
class RunConfig:
    """A whole run."""

    recipe: Literal["recommended", "paper"] = key(
        "recommended", "Algorithm 1 to the letter (paper), or what the study supports."
    )
    backend: Literal["trl", "openrlhf"] = key("trl", "The framework that performs the updates.")
    seed: int = key(
        0,
        "Seed of everything random; on OpenRLHF, whose engines answer in no fixed order, two runs"
        " of one seed differ all the same.",
        low=0,
        high=2**32 - 1,
    )
    objectives: tuple[Objective, ...] = tuple(Objective(**one) for one in DEFAULT_OBJECTIVES)
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    task: TaskConfig = dataclasses.field(default_factory=TaskConfig)
    tool: ToolConfig = dataclasses.field(default_factory=ToolConfig)
    warmup: WarmupConfig = dataclasses.field(default_factory=WarmupConfig)
    rewards: RewardsConfig = dataclasses.field(default=cast(Any, None))
    paretopo: ParetoPOConfig = dataclasses.field(default=cast(Any, None))
    optimiser: OptimiserConfig = dataclasses.field(default_factory=OptimiserConfig)
    evaluation: EvaluationConfig = dataclasses.field(default_factory=EvaluationConfig)
    run: RunFolderConfig = dataclasses.field(default_factory=RunFolderConfig)
    openrlhf: OpenRLHFConfig = dataclasses.field(default_factory=OpenRLHFConfig)

    def __post_init__(self) -> None:
        check_section(self, "")
        for name in RECIPES[self.recipe]:
            section = getattr(self, name)
            if section is None:
                section = SECTIONS[name](recipe=self.recipe)
                object.__setattr__(self, name, section)
            if section.recipe != self.recipe:
                raise ConfigError(
                    f"recipe is {self.recipe!r}, but the [{name}] section was built for "
                    f"{section.recipe!r}"
                )
        if self.optimiser.method != "adamw" and self.backend == "openrlhf":
            raise ConfigError(
                f'optimiser.method = "{self.optimiser.method}" is for backend = "trl": OpenRLHF '
                "trains with DeepSpeed's AdamW"
            )
        if self.optimiser.learn_from == "answers" and self.backend == "openrlhf":
            raise ConfigError(
                'optimiser.learn_from = "answers" is for backend = "trl": fine-tune there, or with '
                "OpenRLHF's own train_sft, and give the result as model.path"
            )
        few = self.backend == "openrlhf" and self.openrlhf.prompts == FROM_TASK
        if few and self.task.is_made_up and self.task.prompts < self.optimiser.prompts_per_step:
            raise ConfigError(
                "task.prompts must be at least optimiser.prompts_per_step, "
                f"{self.optimiser.prompts_per_step}, for a whole step on OpenRLHF, got "
                f"{self.task.prompts}"
            )
        self._settle_objectives()
        together = self.paretopo.most_together
        if together > self.optimiser.group_size:
            raise ConfigError(
                f"paretopo.k must be at most optimiser.group_size, {self.optimiser.group_size}, "
                f"got {together}"
            )
        self._check_task()

    def _settle_objectives(self) -> None:
        """Arrange them, and tell the controller."""
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
        names = ", ".join(one.name for one in objectives)
        weighting, count = self.paretopo.weighting, len(objectives)
        if weighting == "second alone" and count != 2:
            raise ConfigError(
                'paretopo.weighting = "second alone", which OTC is made of (correctness times one '
                f"tool reward), is for two objectives, got {count}: {names}"
            )
        weights = {
            "as given": tuple(one.weight for one in objectives),
            "equal": (1.0 / count,) * count,
            "first alone": (1.0,) + (0.0,) * (count - 1),
            "second alone": (0.0, 1.0),
        }[weighting]
        if self.paretopo.gain_unit == "box":
            for one in objectives:
                if one.best != 1.0:
                    raise ConfigError(
                        'paretopo.gain_unit = "box" is for rewards that end at 1, and those of '
                        f"{one.name!r} end {'nowhere' if one.best is None else f'at {one.best:g}'}"
                    )
        references = [one.reference_reward(self.paretopo.reference) for one in objectives]
        derived: dict[str, Any] = {
            "weights": weights,
            "floors": tuple(one.floor for one in objectives[1:]) or None,
            "references": tuple("initial" if one is None else one for one in references),
        }
        object.__setattr__(self, "paretopo", dataclasses.replace(self.paretopo, **derived))

    def objective(self, name: str) -> Objective:
        """The objective of a name.

        Raises:
            KeyError: there is none.
        """
        return {one.name: one for one in self.objectives}[name]

    def _check_task(self) -> None:
        """Refuse a task, tool, model and cluster that do not fit each other."""
        own = self.task.name == "questions"  # whose words and answers are known
        if not own and not self.task.is_made_up and self.model.path == "tiny":
            raise ConfigError(
                'model.path = "tiny" knows the words of made-up questions only: for the questions '
                f"of {self.task.train!r}, give a Hugging Face model"
            )
        if not own and not self.task.is_made_up and self.warmup.steps > 0:
            raise ConfigError(
                "warmup.steps must be 0 with task.train: a file has no written traces to imitate, "
                f"got {self.warmup.steps}"
            )
        if self.task.name != "calculator" and self.tool.solver_price > 0.0:
            raise ConfigError(
                'tool.solver_price is for task.name = "calculator", which has a solver, got '
                f"{self.tool.solver_price:g} with {self.task.name!r}"
            )
        if self.task.name != "multihop" or self.tool.search_url != NONE:
            return
        if not self.task.is_made_up and self.tool.corpus == NONE:
            raise ConfigError(
                'task.name = "multihop" needs tool.search_url, the address of a search server, or '
                "tool.corpus, a JSONL corpus for the run to serve"
            )
        if self.backend == "openrlhf" and self.openrlhf.nodes > 1:
            raise ConfigError(
                "tool.search_url must be given where openrlhf.nodes is more than 1: a server that "
                "a run starts is for its own machine: paretopo serve-search --host ADDRESS"
            )


SECTIONS: dict[str, type] = {
    "model": ModelConfig,
    "task": TaskConfig,
    "tool": ToolConfig,
    "warmup": WarmupConfig,
    "rewards": RewardsConfig,
    "paretopo": ParetoPOConfig,
    "optimiser": OptimiserConfig,
    "evaluation": EvaluationConfig,
    "run": RunFolderConfig,
    "openrlhf": OpenRLHFConfig,
}


_OF_OBJECTIVES = "objectives."  # before the name of one, in the names of its keys


def load(path: str | Path, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """Read a run's configuration from a TOML file.

    Args:
        path: the file.
        overrides: values that win over the file, by dotted name, e.g. ``{"optimiser.steps": 20}``.

    Raises:
        ConfigError: the file is missing or not TOML, a key is unknown (with the nearest known
            one), a value has the wrong type or lies outside its range. The message names the file
            where the file alone is refused.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"no configuration file at {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error}") from None
    try:
        return loads(text, overrides)
    except ConfigError as error:
        if overrides and _is_valid(text):
            raise
        raise ConfigError(f"{path}: {error}") from None


def loads(text: str, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """As :func:`load`, from the text of a TOML file."""
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ConfigError("not valid TOML: nested too deeply") from None
    except ValueError as error:  # also what Python says of numbers with thousands of digits
        raise ConfigError(f"not valid TOML: {error}") from None
    return from_table(table, overrides)


def from_table(table: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """As :func:`load`, from the table that a TOML file holds."""
    merged = {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in table.items()
    }
    for name, value in (overrides or {}).items():
        check_name(name)
        section, _, last = name.rpartition(".")
        if section.startswith(_OF_OBJECTIVES):
            merged.setdefault(section, {})[last] = value
            continue
        target = merged.setdefault(section, {}) if section else merged
        if isinstance(target, dict):  # if not, building says so
            target[last] = value
    return _build(merged)


def parse_override(text: str) -> tuple[str, Any]:
    """The dotted name and the value of ``KEY=VALUE``, as ``paretopo train --set`` takes it.

    The value is TOML; where it is none, as a bare word or a path, and where the key takes nothing
    but a text, it is the text as it stands.

    Raises:
        ConfigError: there is no ``=``.

    >>> parse_override("optimiser.steps=40"), parse_override("paretopo.k=[4, 2, 1]")
    (('optimiser.steps', 40), ('paretopo.k', [4, 2, 1]))
    >>> parse_override("paretopo.gate=success"), parse_override("run.out=2026")
    (('paretopo.gate', 'success'), ('run.out', '2026'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise ConfigError(f"an override must be KEY=VALUE, as optimiser.steps=40, got {text!r}")
    try:
        table = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return name, value
    found = table.pop("value")
    # More than the value is there where the text goes on in a second line.
    if table or (_takes_texts_alone(name) and not isinstance(found, str)):
        return name, value
    return name, found


def check_name(name: str) -> None:
    """Refuse a dotted name that is no key.

    Raises:
        ConfigError: names the nearest known key.

    >>> check_name("optimiser.steps")
    >>> check_name("steps")
    Traceback (most recent call last):
    paretopo.config.keys.ConfigError: unknown key steps; did you mean warmup.steps or \
optimiser.steps?
    """
    if name in SECTIONS:
        raise ConfigError(f"{name} is a section: set one of its keys, as {name}.{_keys(name)[0]}")
    section, _, last = name.rpartition(".")
    if name == "objectives" or section == "objectives":
        raise ConfigError(
            f"{name} is no key: set one of an objective's, as objectives.calls.weight"
        )
    if section.startswith(_OF_OBJECTIVES):
        check_key(section.removeprefix(_OF_OBJECTIVES), last)
    elif section and section not in SECTIONS:
        raise ConfigError(f"unknown section {section} of {name}; {nearest(section, SECTIONS)}")
    else:
        _check_key(section, last)


def dumps(config: RunConfig) -> str:
    """The whole configuration as TOML, every key explained and every switch resolved.

    >>> loads(dumps(RunConfig())) == RunConfig()
    True
    """
    lines = []
    for name, about in keys(config).items():
        lines += [f"# {about.doc}", f"{name} = {_toml(getattr(config, name))}"]
    tables = [("[[objectives]]", one) for one in config.objectives]
    told = set[str]()  # what a key means is said once
    for head, values in [*tables, *((f"[{name}]", getattr(config, name)) for name in SECTIONS)]:
        lines += ["", head]
        for name, about in keys(values).items():
            if about.in_file and getattr(values, name) is not None:
                lines += [] if about.doc in told else [f"# {about.doc}"]
                lines += [f"{name} = {_toml(getattr(values, name))}"]
                told.add(about.doc)
    return "\n".join(lines) + "\n"


def _build(table: Mapping[str, Any]) -> RunConfig:
    of_objectives = {
        name.removeprefix(_OF_OBJECTIVES): table[name]
        for name in table
        if name.startswith(_OF_OBJECTIVES)
    }
    for name in table:
        if name not in SECTIONS and name != "objectives" and not name.startswith(_OF_OBJECTIVES):
            _check_key("", name)
    values: dict[str, Any] = {name: table[name] for name in keys(RunConfig) if name in table}
    recipe = values.get("recipe", "recommended")
    if not isinstance(recipe, str) or recipe not in RECIPES:
        RunConfig(**values)  # says what is wrong with it
    for section, kind in SECTIONS.items():
        given = table.get(section, {})
        if not isinstance(given, Mapping):
            raise ConfigError(f"{section} must be a section, [{section}], got {given!r}")
        for name in given:
            _check_key(section, name)
        extra = {"recipe": recipe} if section in RECIPES[recipe] else {}
        values[section] = kind(**given, **extra)
    objectives = make_objectives(table.get("objectives"), of_objectives)
    return RunConfig(**values, objectives=objectives)


def _check_key(section: str, name: str) -> None:
    """Refuse what is no key of a section, or, where ``section`` is empty, of the top of a file."""
    if not section:
        if name not in keys(RunConfig):
            if name == "method":
                raise ConfigError(
                    "unknown key method: a method is put on top of a file, paretopo train CONFIG "
                    "--method NAME; optimiser.method is AdamW or SGD"
                )
            if name in keys(Objective):
                raise ConfigError(f"unknown key {name}; did you mean objectives.NAME.{name}?")
            homes = [f"{home}.{name}" for home in SECTIONS if name in _keys(home)]
            near = nearest(name, [*keys(RunConfig), *SECTIONS, "objectives"])
            meant = f"did you mean {' or '.join(homes)}?" if homes else near
            raise ConfigError(f"unknown key {name}; {meant}")
    elif name == "recipe" and section in RECIPES["paper"]:
        raise ConfigError("recipe belongs at the top of the file, above every section")
    elif name not in _keys(section) and name in _MOVED:
        raise ConfigError(f"unknown key {section}.{name}; {_MOVED[name]}")
    elif name not in _keys(section):
        raise ConfigError(f"unknown key {section}.{name}; {nearest(name, _keys(section))}")


# Names that belong to another table: what each objective says of itself, and the trackers.
_MOVED = {
    "weights": "did you mean objectives.NAME.weight?",
    "economy": "did you mean objectives.NAME.economy?",
    "alpha": "did you mean objectives.NAME.alpha?",
    "max_calls": "did you mean objectives.NAME.most?",
    "gate_floor": "did you mean objectives.NAME.failure?",
    "references": "did you mean objectives.NAME.reference?",
    "tensorboard": "did you mean run.tensorboard?",
    "wandb_project": "did you mean run.wandb_project?",
}


def _keys(section: str) -> list[str]:
    """The keys of a section that a file may set."""
    return [name for name, about in keys(SECTIONS[section]).items() if about.in_file]


def _takes_texts_alone(name: str) -> bool:
    section, _, last = name.rpartition(".")
    kind = Objective if section.startswith(_OF_OBJECTIVES) else SECTIONS.get(section, RunConfig)
    return typing.get_type_hints(kind).get(last) is str


def _is_valid(text: str) -> bool:
    try:
        loads(text)
    except ConfigError:
        return False
    return True


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Escaped beyond ASCII, JSON would write surrogate pairs, which TOML forbids.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
