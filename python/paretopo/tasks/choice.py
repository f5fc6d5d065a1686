"""The task that a configuration names, and the search server that it needs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from paretopo.config import NONE, ConfigError, RunConfig
from paretopo.config.python_files import load_functions
from paretopo.preference import preferences_of
from paretopo.protocols.search_r1 import tagged_answer
from paretopo.protocols.torl import boxed_answer
from paretopo.tasks.calculator import CalculatorTask, CalculatorWithSolver
from paretopo.tasks.encyclopedia import Encyclopedia
from paretopo.tasks.files import FileTask
from paretopo.tasks.made_up_math import MadeUpMath
from paretopo.tasks.made_up_multihop import MadeUpMultihop
from paretopo.tasks.questions import Demonstrate, OwnQuestions
from paretopo.tasks.task import Task


def make_task(config: RunConfig) -> Task:
    """Make the task that a run's configuration describes.

    Raises:
        ConfigError: There are not so many questions, or a file cannot be used.
    """
    task = _make_task(config)
    task.preferences = preferences_of(config)
    return task


def _make_task(config: RunConfig) -> Task:
    task, held_out = config.task, config.evaluation.prompts
    if task.name == "questions":
        return OwnQuestions(
            task.train,
            task.held_out,
            held_out,
            config.seed,
            load_own_tools(config),
            _bind_weights(config, load_demonstrate(config)),
        )
    if not task.is_made_up:
        # As published: ToRL's prompt is a text to go on with, Search-R1's a user's message.
        is_chat = task.name == "multihop"
        response = tagged_answer if task.name == "multihop" else boxed_answer
        return FileTask(
            task.train,
            task.held_out,
            held_out,
            is_chat=is_chat,
            response=response,
            seed=config.seed,
        )
    settings = (task.prompts, held_out, task.facts, task.kinds, config.seed)
    if task.name == "calculator":
        kind = CalculatorWithSolver if config.tool.solver_price > 0.0 else CalculatorTask
        return kind(*settings)
    if task.name == "math":
        return MadeUpMath(*settings)
    return MadeUpMultihop(*settings, search_url=config.tool.search_url, topk=config.tool.topk)


def load_own_tools(config: RunConfig) -> tuple[Callable[..., Any], ...]:
    """Load the functions of `task.tools`; return none without such a file.

    Raises:
        ConfigError: The file cannot be used.
    """
    if config.task.tools == NONE:
        return ()
    return tuple(load_functions("task.tools", Path(config.task.tools)).values())


def load_demonstrate(config: RunConfig) -> Demonstrate | None:
    """Load the function `demonstrate` of `warmup.file`; return None without such a file.

    Raises:
        ConfigError: The file cannot be used, or has another function, or none.
    """
    if config.warmup.file == NONE:
        return None
    functions = load_functions("warmup.file", Path(config.warmup.file))
    if list(functions) != ["demonstrate"]:
        raise ConfigError(
            f"warmup.file: {config.warmup.file} must define only the function demonstrate, got "
            f"{', '.join(functions)}: begin others with _"
        )
    return functions["demonstrate"]


@contextmanager
def ensure_search_server(config: RunConfig, folder: Path) -> Iterator[RunConfig]:
    """Start the search server that a task needs if none runs, and stop it at the end.

    Args:
        config: The configuration to run.
        folder: Where the corpus of made-up questions and its index are kept.

    Yields:
        The configuration with `tool.search_url` filled in; as it was, where no server is needed.

    Raises:
        ConfigError: The corpus cannot be served, or the packages for that are missing.
    """
    if config.task.name != "multihop" or config.tool.search_url != NONE:
        yield config
        return
    corpus = Path(config.tool.corpus)
    if config.tool.corpus == NONE:
        corpus = folder / "corpus.jsonl"
        if not corpus.exists():
            folder.mkdir(exist_ok=True)
            Encyclopedia(config.seed).write(corpus)
    try:
        from paretopo.tools.search_engine import bm25
        from paretopo.tools.search_engine.server import serve_in_thread
    except ImportError as error:
        raise ConfigError(
            f'task.name = "multihop" needs a search server: pip install ".[search]" in a '
            f"clone ({error}), or give tool.search_url"
        ) from None
    try:
        engine = bm25.open_or_build(corpus)
    except (ValueError, OSError) as error:
        raise ConfigError(f"tool.corpus: {error}") from None
    with serve_in_thread(engine) as url:
        yield replace(config, tool=replace(config.tool, search_url=url, corpus=NONE))


def takes_preference(demonstrate: Demonstrate | None) -> bool:
    """Return whether a demonstration follows the preference."""
    return demonstrate is not None and "preference" in inspect.signature(demonstrate).parameters


def _bind_weights(config: RunConfig, demonstrate: Demonstrate | None) -> Demonstrate | None:
    """Pass the run's weights as the preference if questions carry none."""
    if demonstrate is None or preferences_of(config) or not takes_preference(demonstrate):
        return demonstrate
    weights = {one.name: one.weight for one in config.objectives}
    return functools.partial(demonstrate, preference=weights)
