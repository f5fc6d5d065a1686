"""A study: methods, seeds and tasks, as a TOML file says.

>>> plan = from_table({
...     "study": {"methods": ["recommended", "paper+gated"], "seeds": 2},
...     "switches": {"gated": {"paretopo": {"gate": "success"}}},
...     "tasks": {"calculator": {"config": "examples/calculator.toml"}},
... })
>>> [str(cell) for cell in plan.cells()][:2], len(plan.cells())
(['calculator/recommended/1000', 'calculator/paper+gated/1000'], 4)
>>> plan.overrides_of("paper+gated")
{'recipe': 'paper', 'paretopo.gate': 'success'}
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from paretopo import config
from paretopo.config import METHODS, ConfigError, expand_method
from paretopo.config.backend import check_backend
from paretopo.config.keys import RULES, key, keys, nearest, settled
from paretopo.config.toml import check_name, flatten_names
from paretopo.records.files import Row

RIGHT, SAVED = 0.6, 0.4  # the preference that is stated to every method
_CALLS = "objectives.calls."


class Table(Protocol):
    """A task that trains in the process of the grid, in place of a configuration."""

    @property
    def about(self) -> str:
        """The point of the task, in one line."""

    def train(
        self, overrides: Mapping[str, Any], seed: int, steps: int, study: StudySection
    ) -> list[Row]:
        """Train with the values that a method sets; return a row for each evaluation.

        A row has step, accuracy, economy, cost, hypervolume and preference.
        """

    def identify(self, overrides: Mapping[str, Any]) -> Row:
        """Return everything that a training follows from, next to seed, steps and method."""


@settled("study")
class StudySection:
    """The settings of all tasks."""

    methods: tuple[str, ...] = key(("recommended", "paper"), "Methods, the one to defend first.")
    ablations: tuple[str, ...] | None = key(
        None, "Variations that are tried only on ablation_tasks, in addition to the methods."
    )
    ablation_tasks: tuple[str, ...] | None = key(None, "Tasks of the ablations.")
    seeds: int = key(10, "Seeds of each method and task.", low=1)
    first_seed: int = key(1000, "The seeds are this one and those after it.", low=0)
    steps: int = key(400, "Policy-gradient steps of a table, or for all preferences.", low=1)
    every: int = key(50, "Steps between evaluations of these.", low=1)
    early: int | None = key(
        None, "Steps after which these are compared, too; a multiple of every.", low=1
    )
    measure: Literal["hypervolume", "preference", "utility"] = key(
        "hypervolume",
        "Measure that decides between methods; fixed before anything is run. utility is for fronts:"
        " the expected utility over the preferences.",
    )
    preferences: int | None = key(
        None,
        "Tables only: train for so many preferences between two objectives, by one policy that is"
        " given them or by as many policies; hypervolumes are those of fronts, steps those of all"
        " policies together.",
        low=2,
    )
    margin: float = key(
        0.01, "Differences up to this share of the best policy are as good as none.", low=0.0
    )


RULES[StudySection] = (
    (
        "study.early must be a multiple of study.every, and at most study.steps",
        "early every steps",
        lambda c: c.early is not None and (c.early % c.every or c.early > c.steps),
    ),
    (
        'study.measure = "utility" needs study.preferences, a number',
        "preferences",
        lambda c: c.measure == "utility" and c.preferences is None,
    ),
)


@settled("tasks")
class TaskSection:
    """One task: the configuration of a training; or a table, by its name."""

    config: str | None = key(None, "A training configuration, by a path from the study's file.")
    test: str | None = key(
        None,
        "Language models only: a question file, by a path from the study's file, that each policy"
        " answers once, at the end; evaluations during training use the held-out questions.",
    )
    methods: tuple[str, ...] | None = key(None, "Methods, instead of the study's.")
    seeds: int | None = key(None, "Seeds, instead of the study's.", low=1)
    steps: int | None = key(
        None, "Steps, instead of the study's, or of the training configuration's.", low=1
    )
    cost: str = key(
        "calls", "Language models only: the objective that replaces calls in methods and switches."
    )
    most: float = key(
        4.0, "Language models only: cost of an answer that saves nothing.", low=0.0, open_low=True
    )
    cheapest_accuracy: float = key(
        0.0,
        "Language models only: accuracy of the cheapest way, where hypervolumes begin.",
        low=0.0,
        high=1.0,
    )
    by_seed: tuple[Mapping[str, Any], ...] = ()  # tables of keys
    # Instead of `most`, by the kind of question; costs in `best` are then shares of it.
    most_by_kind: Mapping[str, float] = dataclasses.field(default_factory=dict)
    # Language models: policies, (accuracy, cost), among them the best by each measure.
    best: tuple[tuple[float, float], ...] = ((1.0, 0.0),)
    # Records with preferences: the best policies, (share right, share right and saved). They are
    # part of the fingerprint of finished studies; nothing else reads them.
    best_front: tuple[tuple[float, float], ...] = ()
    table: Table | None = None

    def score(self, accuracy: float, saved: float, saved_by_solved: float) -> dict[str, float]:
        """Return a trained policy's scores, each as a share of the best policy's score.

        The best are looked for among `best` and the mixtures of any two of them.

        Args:
            accuracy: Share of right answers.
            saved: Share of the cost `most` that answers save.
            saved_by_solved: The same, of right answers.

        Returns:
            hypervolume and preference; see `TabularTask.score`.

        >>> task = TaskSection(config="x", most=0.08, best=((0.75, 0.02), (1.0, 0.04)))
        >>> task.score(0.75, 0.75, 0.75)  # three in four for a quarter, against all for half
        {'hypervolume': 1.0, 'preference': 0.84375}
        """
        best = [(right, 1.0 - cost / self.most) for right, cost in self.best]
        volumes = [self._volume(*mixed) for mixed in _list_mixtures(best, self.cheapest_accuracy)]
        value = max(right * (RIGHT + SAVED * share) for right, share in best)
        return {
            "hypervolume": self._volume(accuracy, saved) / max(volumes),
            "preference": accuracy * (RIGHT + SAVED * saved_by_solved) / value,
        }

    def _volume(self, right: float, saved: float) -> float:
        return max(right - self.cheapest_accuracy, 0.0) * max(saved, 0.0)


def _list_mixtures(
    policies: Sequence[tuple[float, float]], start: float
) -> Iterator[tuple[float, float]]:
    """Yield (right, saved) of each policy, and of the best mixture of each two, by volume."""
    yield from policies
    for (right, saved), (other, lean) in itertools.combinations(policies, 2):
        gained, lost = other - right, lean - saved
        if gained * lost < 0.0:  # else one of the two dominates
            share = -((right - start) * lost + saved * gained) / (2.0 * gained * lost)
            share = min(max(share, 0.0), 1.0)
            yield right + share * gained, saved + share * lost


@settled("quick")
class QuickSection:
    """The sizes of a study with `--quick`."""

    seeds: int = key(3, "Seeds at most.", low=1)
    training_seeds: int = key(1, "Seeds at most, of tasks with a configuration.", low=0)
    training_methods: int = key(2, "Methods of such tasks, the first so many.", low=0)


@dataclass(frozen=True)
class Cell:
    """One training of the grid."""

    task: str
    method: str
    seed: int

    def __str__(self) -> str:
        return f"{self.task}/{self.method}/{self.seed}"


@dataclass(frozen=True)
class Plan:
    """A whole study; paths are resolved.

    Attributes:
        study: The settings of all tasks.
        tasks: By name.
        switches: Maps a name, which may follow a ``+``, to the values that it sets, by dotted name.
        quick: The sizes to cut to, if any.
    """

    study: StudySection
    tasks: Mapping[str, TaskSection]
    switches: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    quick: QuickSection | None = None

    @property
    def ours(self) -> str:
        """The method that is compared with each of the others."""
        return self.study.methods[0]

    def overrides_of(self, method: str) -> dict[str, Any]:
        """Return the keys that a method and its switches set, by dotted name.

        Raises:
            ConfigError: there is no such method or switch; says the nearest.
        """
        return expand_method(method, self.switches)

    def overrides_of_training(self, cell: Cell) -> dict[str, Any]:
        """Return the keys that a cell sets in its task's configuration, by dotted name."""
        section = self.tasks[cell.task]
        overrides = {
            name.replace(_CALLS, f"objectives.{section.cost}."): value
            for name, value in with_economy(self.overrides_of(cell.method), "raw").items()
        }
        if section.steps is not None:
            overrides["optimiser.steps"] = section.steps
        if section.by_seed:
            at = (cell.seed - self.study.first_seed) % len(section.by_seed)
            overrides |= section.by_seed[at]
        return overrides | {"seed": cell.seed}

    def names_best(self, task: str) -> bool:
        """Return whether the file names the best policies of a task."""
        return self.tasks[task].best != TaskSection.best

    def methods_of(self, task: str) -> tuple[str, ...]:
        """Methods that are tried on a task."""
        section, study = self.tasks[task], self.study
        methods = section.methods or study.methods
        if task in (study.ablation_tasks or ()):
            methods += tuple(name for name in study.ablations or () if name not in methods)
        if self.quick and section.config:
            methods = methods[: self.quick.training_methods]
        return methods

    def seeds_of(self, task: str) -> range:
        """Seeds that are tried on a task."""
        section = self.tasks[task]
        count = section.seeds or self.study.seeds
        if self.quick:
            count = min(count, self.quick.training_seeds if section.config else self.quick.seeds)
        return range(self.study.first_seed, self.study.first_seed + count)

    def cells(self) -> list[Cell]:
        """Return every training, by seed, then task, so that a partial study has complete seeds."""
        cells = [
            Cell(task, method, seed)
            for task in self.tasks
            for seed in self.seeds_of(task)
            for method in self.methods_of(task)
        ]
        return sorted(cells, key=lambda cell: cell.seed)


def with_economy(method: Mapping[str, Any], economy: str) -> dict[str, Any]:
    """Return the keys of a method; add an economy of calls to a published method that has none.

    The recommended recipe has one of its own.
    """
    of_the_literature = "paretopo.stage2_estimator" in method or method.get("recipe") == "paper"
    return ({f"{_CALLS}economy": economy} if of_the_literature else {}) | dict(method)


def load(
    path: str | Path, *, quick: bool = False, tables: Mapping[str, Table] | None = None
) -> Plan:
    """Read a study's file.

    Args:
        path: The file.
        quick: Cut the study down to the sizes of its section [quick].
        tables: Tasks that need no configuration, by name.

    Raises:
        ConfigError: the file is missing or not TOML; a key, method or task is unknown (with the
            nearest known one); a value is out of range.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from None
    return from_table(table, base=path.parent, quick=quick, tables=tables)


def from_table(
    table: Mapping[str, Any],
    *,
    base: Path = Path(),
    quick: bool = False,
    tables: Mapping[str, Table] | None = None,
) -> Plan:
    """Make a study from the table in its file; see `load`."""
    known = ("study", "switches", "quick", "tasks")
    for name, value in table.items():
        if name not in known:
            raise ConfigError(
                f"unknown section [{name}]; {nearest(name, known)}. A study file is expected; for "
                "a training, give its run folder"
            )
        if not isinstance(value, Mapping):
            raise ConfigError(f"[{name}] must be a section, got {value!r}")
    study: StudySection = _section(StudySection, "study", table.get("study", {}))
    tasks = {
        name: _task(name, values, base, study.preferences, tables or {})
        for name, values in table.get("tasks", {}).items()
    }
    if not tasks:
        raise ConfigError("a study needs at least one [tasks.NAME]")
    for name in study.ablation_tasks or ():
        if name not in tasks:
            raise ConfigError(f"study.ablation_tasks: no [tasks.{name}]; {nearest(name, tasks)}")
    plan = Plan(
        study=study,
        tasks=tasks,
        switches={
            name: _switch(name, values) for name, values in table.get("switches", {}).items()
        },
        quick=_section(QuickSection, "quick", table.get("quick", {})) if quick else None,
    )
    _check_methods(plan)
    return plan


def _task(
    name: str, values: Any, base: Path, preferences: int | None, tables: Mapping[str, Table]
) -> TaskSection:
    if not isinstance(values, Mapping):
        raise ConfigError(f"[tasks.{name}] must be a section, got {values!r}")
    given = dict(values)
    by_seed, best_front = given.pop("by_seed", []), given.pop("best_front", [])
    best, most_by_kind = given.pop("best", None), given.pop("most_by_kind", {})
    section: TaskSection = _section(TaskSection, f"tasks.{name}", given)
    if not isinstance(by_seed, list):
        raise ConfigError(f"[[tasks.{name}.by_seed]] must be tables, got {by_seed!r}")
    overrides = [_overrides(f"tasks.{name}.by_seed", one) for one in by_seed]
    points = _pairs(f"tasks.{name}.best_front", best_front, "numbers from 0 to 1", 1.0)
    section = dataclasses.replace(section, by_seed=tuple(overrides), best_front=points)
    if most_by_kind:
        costs = most_by_kind.values() if isinstance(most_by_kind, dict) else [None]
        if "most" in given or not all(_is_within(one) and one for one in costs):
            raise ConfigError(
                f"tasks.{name}.most_by_kind must be a table of costs above 0, in place of "
                f"tasks.{name}.most, got {most_by_kind!r}"
            )
        section = dataclasses.replace(section, most=1.0, most_by_kind=most_by_kind)
    if best is not None:
        section = dataclasses.replace(section, best=_best(f"tasks.{name}.best", best, section))
    if section.test is not None and (section.config is None or preferences is not None):
        raise ConfigError(f"tasks.{name}.test is for trainings of a configuration, one policy each")
    if section.config is None:
        if name not in tables:
            hint = f"; {nearest(name, tables)}" if tables else ""
            raise ConfigError(f"tasks.{name} needs config, a training configuration{hint}")
        return dataclasses.replace(section, table=tables[name])
    config = base / section.config
    if not config.is_file():
        raise ConfigError(f"tasks.{name}.config: there is no file {config}")
    test = section.test and str(base / section.test)
    return dataclasses.replace(section, config=str(config), test=test)


def _best(where: str, values: Any, section: TaskSection) -> tuple[tuple[float, float], ...]:
    pairs = _pairs(where, values, "an accuracy and a cost")
    if not any(right > section.cheapest_accuracy and cost < section.most for right, cost in pairs):
        raise ConfigError(
            f"{where} needs a policy that is right more often than {section.cheapest_accuracy:g} "
            f"(cheapest_accuracy) and pays less than {section.most:g} (most), got {values!r}"
        )
    return pairs


def _pairs(
    where: str, values: Any, of: str, most: float = math.inf
) -> tuple[tuple[float, float], ...]:
    """Return pairs of a share and a number from 0 to `most`."""
    pairs = values if isinstance(values, list) else [None]
    if not all(
        isinstance(one, list)
        and len(one) == 2
        and _is_within(one[0], 1.0)
        and _is_within(one[1], most)
        for one in pairs
    ):
        raise ConfigError(f"{where} must be pairs of {of}, got {values!r}")
    return tuple((float(one), float(other)) for one, other in pairs)


def _is_within(value: Any, most: float = math.inf) -> bool:
    return isinstance(value, int | float) and 0.0 <= value <= most


def _section(kind: type, name: str, values: Mapping[str, Any]) -> Any:
    known = keys(kind)
    for given in values:
        if given not in known:
            raise ConfigError(
                f"unknown key {name}.{given}; {nearest(given, known)} (keys: {', '.join(known)})"
            )
    return kind(**values)


def _switch(name: str, values: Any) -> dict[str, Any]:
    if name in METHODS or "+" in name:
        raise ConfigError(f"switches.{name}: a switch takes a name of its own, without a +")
    return _overrides(f"switches.{name}", values)


def _overrides(where: str, values: Any) -> dict[str, Any]:
    if not isinstance(values, Mapping) or not values:
        raise ConfigError(
            f'{where} must be a table of keys, as {{ paretopo.gate = "success" }}, got {values!r}'
        )
    overrides = flatten_names(values)
    for name in overrides:
        try:
            check_name(name)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None
    return overrides


def _check_methods(plan: Plan) -> None:
    """Refuse unknown methods, those named twice, and values that no run takes."""
    named = {"study.methods": plan.study.methods, "study.ablations": plan.study.ablations or ()}
    for name, section in plan.tasks.items():
        named[f"tasks.{name}.methods"] = section.methods or ()
    for where, methods in named.items():
        for method in methods:
            plan.overrides_of(method)
        if len(set(methods)) < len(methods):  # a record could not tell them apart
            raise ConfigError(f"{where} names a method twice: {list(methods)}")
    tried = set()
    for cell in plan.cells():
        file = plan.tasks[cell.task].config
        place = f"method {cell.method!r}" if file is None else str(cell)
        if place in tried:
            continue
        tried.add(place)
        try:
            if file is None:
                config.from_table({}, plan.overrides_of(cell.method))
            else:
                check_backend(config.load(file, plan.overrides_of_training(cell)))
        except ConfigError as error:
            raise ConfigError(f"{place}: {error}") from None
