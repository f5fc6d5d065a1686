r"""A run's configuration as TOML: read and check before anything is loaded, and write.

>>> config = loads('recipe = "paper"\nseed = 3\n[optimiser]\nsteps = 20')
>>> config.seed, config.optimiser.steps, config.paretopo.multiplier_on
(3, 20, 'reward')
>>> loads("[optimiser]\nstep = 20")
Traceback (most recent call last):
paretopo.config.keys.ConfigError: unknown key optimiser.step; did you mean 'steps'?
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import tomllib
import typing
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from operator import attrgetter
from pathlib import Path
from typing import Any

from paretopo.config.keys import A_NUMBER, ConfigError, arguments, keys, nearest, settle
from paretopo.config.notes import Note, note_gate, note_idle_gate, note_weights
from paretopo.config.objectives import Objective, check_key, merge_objectives
from paretopo.config.run import BACKEND_SECTIONS, SECTIONS, RunConfig, settle_run

_OF_OBJECTIVES = "objectives."  # prefix of an objective's keys


def load(
    config: str | Path | Mapping[str, Any], overrides: Mapping[str, Any] | None = None
) -> RunConfig:
    """Read a run's configuration.

    Args:
        config: A TOML file, or its table.
        overrides: Values that override the file, by dotted name, e.g. ``{"optimiser.steps": 20}``.

    Raises:
        ConfigError: The file is missing or not TOML, a key is unknown (with the nearest known one),
            or a value has the wrong type or is out of range. The message names the file if the file
            itself is wrong.
    """
    table = read_table(config)
    try:
        return from_table(table, overrides)
    except ConfigError as error:
        if isinstance(config, Mapping) or (overrides and _is_valid(table)):
            raise
        raise ConfigError(f"{config}: {error}") from None


def loads(text: str, overrides: Mapping[str, Any] | None = None) -> RunConfig:
    """Read a configuration as :func:`load` does, from the text of a TOML file."""
    return from_table(_parse(text), overrides)


def read_table(config: str | Path | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the table of a file, unchecked, or a table as it is; None gives an empty one.

    Raises:
        ConfigError: The file cannot be read or is not TOML.
    """
    if config is None or isinstance(config, Mapping):
        return dict(config or {})
    path = Path(config)
    try:
        text = path.read_text(encoding="utf-8-sig")  # accepts the mark of Windows editors
        return _parse(text, f"{path}: ")
    except FileNotFoundError:
        raise ConfigError(f"no configuration file at {path}{_suggest_file(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the configuration file {path}: {error}") from None


def _parse(text: str, where: str = "") -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{where}not valid TOML: nested too deeply") from None
    except ValueError as error:  # also raised for numbers with thousands of digits
        raise ConfigError(f"{where}not valid TOML: {error}") from None


def _suggest_file(path: Path) -> str:
    """Return a question for the configuration file with a similar name in this folder, or ""."""
    names = {one.stem: one for one in path.parent.glob("*.toml")}
    close = difflib.get_close_matches(path.stem, names, n=1)
    return f"; did you mean {names[close[0]]}?" if close else ""


def from_table(
    table: Mapping[str, Any],
    overrides: Mapping[str, Any] | None = None,
    *,
    any_unit: bool = False,
) -> RunConfig:
    """Build a configuration as :func:`load` does, from the table of a TOML file.

    With ``any_unit``, the default estimator takes rewards that are no shares: ``fit_recipe``.
    """
    written = table.get("objectives")
    if isinstance(written, list | tuple):
        written = [_flatten_table(one) if isinstance(one, Mapping) else one for one in written]
    given = flatten_names({name: table[name] for name in table if name != "objectives"})
    over = flatten_names(overrides or {})
    sections: dict[str, dict[str, Any]] = {name: {} for name in ("", *SECTIONS)}
    for name, value in (given | over).items():
        if name in SECTIONS and value == {}:
            continue  # an empty section
        check_name(name)
        section, _, last = name.rpartition(".")
        sections.setdefault(section, {})[last] = value
    top = settle(RunConfig, "", sections.pop(""))
    of_objectives = {
        name.removeprefix(_OF_OBJECTIVES): sections.pop(name) for name in sections.keys() - SECTIONS
    }
    tables = merge_objectives(written, of_objectives, recipe=top["recipe"])
    config = settle_run(top, sections, tables, any_unit=any_unit)
    for section, values in sections.items():
        _check_arguments(section, values, attrgetter(section)(config), over.keys())
    for one in tables:
        made = config.objective(one["name"])
        _check_arguments(f"objectives.{one['name']}", one, made, over.keys())
    notes: list[Note] = []
    if written is not None and sections["paretopo"].get("gate") != "none":
        notes += note_gate(tables, config)
    if not any_unit:
        notes += note_idle_gate(tables, config)
    if written is not None or any("weight" in one for one in of_objectives.values()):
        notes += note_weights(tables, config)
    return dataclasses.replace(config, notes=tuple(notes))


def _flatten_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table of an objective, with arguments named as keys."""
    head = f"{_OF_OBJECTIVES}{table.get('name')}"
    flat = flatten_names({head: table})
    return {name.removeprefix(f"{head}."): value for name, value in flat.items()}


def flatten_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by dotted name, with arguments named as keys of their section.

    Args:
        values: By dotted name, in tables of sections, or both.

    Raises:
        ConfigError: A table has a key that is not an argument, or a key has two values.

    >>> flatten_names({"paretopo": {"stage2_estimator": {"name": "gd2po", "conflict": 1.0}}})
    {'paretopo.stage2_estimator': 'gd2po', 'paretopo.conflict': 1.0}
    >>> flatten_names({"paretopo.stage2_estimator.conflict": 1.0})
    {'paretopo.conflict': 1.0}
    """
    flat: dict[str, Any] = {}
    for name, value in _by_dotted_name(values).items():
        table, _, last = name.rpartition(".")
        section, _, owner = table.rpartition(".")
        kind, full = _class_of(section), name
        if kind is not None and owner in (owners := arguments(kind)):
            if last == _name_value(kind, owner):
                last = owner
            elif last not in owners[owner]:
                raise ConfigError(
                    f"{table} has no argument {last!r}; {nearest(last, owners[owner])}"
                )
            full = f"{section}.{last}"
        if full in flat and flat[full] != value:
            raise ConfigError(
                f"{name} is given twice, {flat[full]!r} and {value!r}: a key has one value, and an "
                "argument has one for all keys that take it"
            )
        flat[full] = value
    return flat


def _by_dotted_name(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a table of sections sets, by dotted name.

    >>> _by_dotted_name({"recipe": "paper", "paretopo": {"gate": "success", "k": 2}})
    {'recipe': 'paper', 'paretopo.gate': 'success', 'paretopo.k': 2}
    """
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping) and value:
            found |= {f"{name}.{key}": inner for key, inner in _by_dotted_name(value).items()}
        else:
            found[name] = value
    return found


def parse_override(text: str) -> tuple[str, Any]:
    """Parse ``KEY=VALUE``, as ``paretopo train --set`` takes it, into dotted name and value.

    The value is TOML. A value that is not TOML, such as a bare word or a path, and a value for a
    key that only takes a text, stay as text.

    Raises:
        ConfigError: There is no ``=``.

    >>> parse_override("optimiser.steps=40"), parse_override("paretopo.k=[4, 2, 1]")
    (('optimiser.steps', 40), ('paretopo.k', [4, 2, 1]))
    >>> parse_override("paretopo.gate=success"), parse_override("run.out=2026")
    (('paretopo.gate', 'success'), ('run.out', '2026'))
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise ConfigError(f"an override must be KEY=VALUE, like optimiser.steps=40, got {text!r}")
    try:
        table = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return name, value
    found = table.pop("value")
    # The table has more keys if the text continues in a second line.
    if table or (_takes_only_text(name) and not isinstance(found, str | dict)):
        return name, value
    return name, found


def list_names() -> list[str]:
    """List the dotted names that ``--set`` takes, except those of an objective.

    >>> names = list_names()
    >>> "seed" in names, "optimiser.steps" in names, "objectives" in names
    (True, True, False)
    """
    own = [f"{section}.{name}" for section in SECTIONS for name in _keys(section)]
    return [*keys(RunConfig), *own]


def check_name(name: str) -> None:
    """Refuse a dotted name that is not a key.

    Raises:
        ConfigError: The message names the nearest known key.

    >>> check_name("optimiser.steps")
    >>> check_name("steps")
    Traceback (most recent call last):
    paretopo.config.keys.ConfigError: unknown key steps; did you mean warmup.steps or \
optimiser.steps?
    """
    if name in SECTIONS:
        raise ConfigError(
            f"{name} is a section, [{name}]: set one of its keys, like {name}.{_keys(name)[0]}"
        )
    section, _, last = name.rpartition(".")
    if name == "objectives" or section == "objectives":
        raise ConfigError(
            f"{name} is not a key: set one of an objective's keys, like objectives.calls.weight"
        )
    if section.startswith(_OF_OBJECTIVES):
        check_key(section.removeprefix(_OF_OBJECTIVES), last)
        return
    if section and section not in SECTIONS:
        raise ConfigError(f"unknown section {section} of {name}; {nearest(section, SECTIONS)}")
    known = _keys(section) if section else list(keys(RunConfig))
    if last in known:
        return
    if last == "recipe":
        raise ConfigError("recipe belongs at the top of the file, above every section")
    if name == "method":
        raise ConfigError(
            "unknown key method: a method is applied to a file, paretopo train CONFIG --method NAME"
        )
    homes = [f"{home}.{last}" for home in SECTIONS if last in _keys(home)]
    homes += [f"objectives.NAME.{last}"] * (last in keys(Objective))
    near = nearest(last, known if section else [*known, *SECTIONS, "objectives"])
    meant = f"did you mean {' or '.join(homes)}?" if homes else near
    raise ConfigError(f"unknown key {name}; {meant}")


def dumps(config: RunConfig) -> str:
    """Return the whole configuration as TOML, with every key explained and every switch resolved.

    It leaves out arguments of values that were not chosen, the sections of other back ends, and
    keys without effect (`RunConfig.effective`).

    >>> loads(dumps(loads(""))) == loads("")
    True
    """
    lines = []
    for name, about in keys(config).items():
        lines += [f"# {about.doc}", f"{name} = {_toml(getattr(config, name))}"]
    tables = [("[[objectives]]", one) for one in config.objectives]
    explained = set[str]()  # explain a key only once
    sections = [
        (f"[{name}]", attrgetter(name)(config))
        for name in SECTIONS
        if name not in BACKEND_SECTIONS
        or name == config.backend
        or attrgetter(name)(config) != SECTIONS[name]()
    ]
    for head, values in [*tables, *sections]:
        known = {
            name: about
            for name, about in keys(values).items()
            if about.in_file and getattr(values, name) is not None
        }
        written = [
            name
            for name in known
            if head.startswith("[[")
            or config.effective is None
            or f"{head.strip('[]')}.{name}" in config.effective
        ]
        lines += ["", head] if written else []
        for name in written:
            about = known[name]
            if about.of and about.find_owner(values) in (None, *written):
                continue
            own = [inner for inner in known if known[inner].find_owner(values) == name]
            lines += [] if about.doc in explained else [f"# {about.doc}"]
            explained.add(about.doc)
            lines += [f"#   {inner}: {known[inner].doc}" for inner in own]
            value = _toml(getattr(values, name))
            if own:
                parts = [f"{inner} = {_toml(getattr(values, inner))}" for inner in own]
                first = f"{_name_value(type(values), name)} = {value}"
                value = "{ " + ", ".join([first, *parts]) + " }"
            lines.append(f"{name} = {value}")
    return "\n".join(lines) + "\n"


def _class_of(section: str) -> type | None:
    return Objective if section.startswith(_OF_OBJECTIVES) else SECTIONS.get(section)


def _name_value(kind: type, owner: str) -> str:
    """Return how the table of a key with arguments names its value.

    >>> _name_value(Objective, "economy"), _name_value(Objective, "limit")
    ('name', 'value')
    """
    values = [about.of.get(owner, ()) for about in keys(kind).values()]
    return "value" if any(A_NUMBER in one for one in values) else "name"


def _check_arguments(
    section: str, given: Mapping[str, Any], made: Any, over: AbstractSet[str]
) -> None:
    """Refuse an argument that nothing takes, unless an override replaced its owner."""
    for name, about in keys(made).items():
        default = type(made).__dataclass_fields__[name].default
        if not about.of or name not in given or about.find_owner(made) is not None:
            continue
        value = tuple(given[name]) if isinstance(given[name], list) else given[name]
        full = f"{section}.{name}"
        replaced = {"recipe", *(f"{section}.{owner}" for owner in about.of)} & over
        if value == default or (replaced and full not in over):
            continue
        takes = "; ".join(
            f"{section}.{owner} = {' or '.join(map(repr, names))}"
            for owner, names in about.of.items()
        )
        has = ", ".join(repr(getattr(made, owner)) for owner in about.of)
        raise ConfigError(
            f"{full} = {value!r} is an argument of {takes}; this run has {has}: delete the line "
            f"{name} = ..."
        )


def _keys(section: str) -> list[str]:
    """Return the keys of a section that a file may set."""
    return [name for name, about in keys(SECTIONS[section]).items() if about.in_file]


def _takes_only_text(name: str) -> bool:
    section, _, last = name.rpartition(".")
    kind = Objective if section.startswith(_OF_OBJECTIVES) else SECTIONS.get(section, RunConfig)
    return typing.get_type_hints(kind).get(last) is str


def _is_valid(table: Mapping[str, Any]) -> bool:
    try:
        from_table(table)
    except ConfigError:
        return False
    return True


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # Escape beyond ASCII ourselves: JSON would write surrogate pairs, which TOML forbids.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
