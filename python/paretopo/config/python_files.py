"""The user's own files that a configuration names."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from paretopo.config.keys import ConfigError
from paretopo.config.sections import CHATML_TOOLS, MADE_UP, NONE, OWN

if TYPE_CHECKING:
    from paretopo.config.run import RunConfig

MODEL = "model:"  # prefix of a reward model's name


def load_module(key: str, path: Path) -> ModuleType:
    """Execute a file once in a process; it can import the files next to it.

    An installed package of the same name takes precedence over such a neighbour.

    Args:
        key: The key that names the file, for error messages.
        path: The file.

    Raises:
        ConfigError: The file is missing, is not a Python file, or fails.
    """
    if not path.is_file():
        raise ConfigError(f"{key}: there is no file {path}")
    return _execute(key, path.resolve(), hashlib.sha256(path.read_bytes()).hexdigest())


@functools.cache
def _execute(key: str, path: Path, digest: str) -> ModuleType:
    name = f"paretopo_{key.replace('.', '_')}_{path.stem}_{digest[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{key} must be a Python file, got {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    # Dataclasses look up their module during its execution.
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if not isinstance(error, Exception | SystemExit):
            raise
        raise ConfigError(f"{key}: {path} fails: {type(error).__name__}: {error}") from error
    return module


def load_functions(key: str, path: Path) -> dict[str, Callable[..., Any]]:
    """Return the functions that a file defines, by name, except those that begin with ``_``.

    Args:
        key: As for :func:`load_module`.
        path: The file.

    Raises:
        ConfigError: As for :func:`load_module`, or the file has no function.
    """
    module = load_module(key, path)
    functions: dict[str, Callable[..., Any]] = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and value.__module__ == module.__name__
        and not name.startswith("_")
    }
    if not functions:
        raise ConfigError(f"{key}: {path} has no function")
    return functions


def import_call(key: str, named: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Import the callable that ``"package.module:name(a=1)"`` names; return it and the parameters.

    Raises:
        ConfigError: It is not there, or cannot be called.
    """
    name, parameters = read_call(key, named)
    module = named.partition(":")[0]
    try:
        found = functools.reduce(getattr, name.split("."), import_module(module))
    except ModuleNotFoundError as error:
        way = ""
        if error.name == module.partition(".")[0]:
            way = f"; put the folder of {error.name} on the path, such as PYTHONPATH=."
        raise ConfigError(f"{key} = {named!r}: {error}{way}") from error
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{key} = {named!r}: {error}") from error
    if not callable(found):
        raise ConfigError(f"{key} = {named!r} cannot be called: it is {found!r:.80}")
    return found, parameters


def read_call(key: str, named: str) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of ``module:name`` or ``module:name(a=1, b="x")``.

    >>> read_call("key", "package.module:name(a=1)")
    ('name', {'a': 1})
    """
    _, _, text = named.partition(":")
    try:
        parsed = ast.parse(text, mode="eval").body
        called = parsed if isinstance(parsed, ast.Call) else None
        name = ast.unparse(called.func if called else parsed)
        if not all(part.isidentifier() for part in name.split(".")) or (called and called.args):
            raise ValueError
        given = {one.arg: ast.literal_eval(one.value) for one in called.keywords} if called else {}
        if None in given:
            raise ValueError
    except (ValueError, SyntaxError):
        raise ConfigError(
            f'{key} must be "package.module:name" or "package.module:name(parameter=1)", got '
            f"{named!r}"
        ) from None
    return name, {str(one): value for one, value in given.items()}


# Keys that may name a file or folder of the user.
_FILES = (
    *("task.train", "task.held_out", "task.tools", "warmup.file", "warmup.shared", "rewards.file"),
    *("tool.corpus", "model.path", "model.chat_template"),
)
_OWN = {"task.train", "task.held_out", "task.tools", "warmup.file", "rewards.file"}
_NOT_HASHED = {"model.path", "warmup.shared"}  # gigabytes; a folder
# Keys whose value is a file, or one of `_NO_FILE`.
_MUST_EXIST = ("task", "rewards", "warmup.file", "tool.corpus", "model.chat_template")
_NO_FILE = (NONE, MADE_UP, OWN, CHATML_TOOLS)


def list_missing_files(config: RunConfig) -> list[str]:
    """Return a sentence for each file that a configuration names and that is not there."""
    way = "; paretopo prepare writes it" if config.task.name in ("math", "multihop") else ""
    return [
        f"{key}: there is no file {path}{way if key in ('task.train', 'task.held_out') else ''}"
        for key, path in _list_files(config)
        if key.startswith(_MUST_EXIST) and str(path) not in _NO_FILE and not path.exists()
    ]


def hash_own_files(config: RunConfig) -> dict[str, str]:
    """Return the SHA-256 of each existing file of the user that a run reads, by its key."""
    return {key: _hash(path) for key, path in _list_files(config) if key in _OWN and path.is_file()}


def hash_run_files(config: RunConfig) -> dict[str, str]:
    """Return the SHA-256 of every file that a run reads, with :func:`hash_files`.

    Weights of models are left out.
    """
    return hash_files({key: path for key, path in _list_files(config) if key not in _NOT_HASHED})


def hash_files(files: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of each existing file, and of modules next to its Python files."""
    found = {key: _hash(path) for key, path in files.items() if path.is_file()}
    folders = {path.resolve().parent for path in files.values() if path.suffix == ".py"}
    for module in list(sys.modules.values()) if folders else ():  # thousands, with torch
        place = Path(getattr(module, "__dict__", {}).get("__file__") or "")  # not lazy ones
        if place.suffix == ".py" and place.parent in folders and place.is_file():
            found.setdefault(f"{place.name}, imported", _hash(place))
    return found


# Keys that execute code, each with the value that executes none.
_CODE = {
    "task.tools": NONE,
    "warmup.file": NONE,
    "rewards.file": NONE,
    "tool.isolation": "bubblewrap",
    "openrlhf.options": NONE,  # OpenRLHF trusts the code of models and data sets, too
}


def list_code(config: RunConfig) -> list[str]:
    """Return the settings by which a run executes code of the user on this machine.

    Programs of the policy without a sandbox are such code, too.
    """
    found = []
    for key, harmless in _CODE.items():
        value = attrgetter(key)(config)
        found += [f"{key} = {value!r}"] if value != harmless else []
    for one in config.objectives:
        if one.function and ":" in one.function and not one.function.startswith(MODEL):
            found.append(f"objectives.{one.name}.function = {one.function!r}")
    own = sorted(name for name in config.paretopo.estimators if ":" in name)
    return found + [f"the estimator {name!r}" for name in own]


def anchor(config: RunConfig, folder: Path) -> RunConfig:
    """Return the configuration with paths relative to a folder, if they are not found from here."""
    if folder == Path.cwd():
        return config
    for key, path in _list_files(config):
        whole = folder / path
        if not path.is_absolute() and not path.exists() and whole.exists():
            section, _, name = key.partition(".")
            moved = replace(getattr(config, section), **{name: str(whole)})
            config = replace(config, **{section: moved})
    return config


def _list_files(config: RunConfig) -> list[tuple[str, Path]]:
    return [(key, Path(attrgetter(key)(config))) for key in _FILES]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
