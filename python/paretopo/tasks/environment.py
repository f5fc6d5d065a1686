"""How a rollout of a task is made and graded: its tool, its protocol, its grader."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from paretopo.config import NONE, ConfigError, RunConfig
from paretopo.protocols.episode import Episode, SingleTurn
from paretopo.protocols.search_r1 import SearchR1Episode
from paretopo.protocols.torl import TorlEpisode
from paretopo.rewards.correctness import exact_answer
from paretopo.rewards.mathematics import MathGrader
from paretopo.tasks.calculator import is_correct, solver
from paretopo.tasks.choice import load_own_tools
from paretopo.tasks.questions import grade_answer
from paretopo.tools.python_interpreter import PythonInterpreter, SandboxError
from paretopo.tools.search import SearchClient

# How each task compares an answer with the right one.
COMPARISONS = {
    "calculator": "as numbers; the last number in the response counts",
    "math": "as mathematics, by `MathGrader`; the last box in the response counts",
    "multihop": "as words, after SQuAD's normalisation; the last `<answer>` in the response counts",
    "questions": "as numbers if the correct answer is a number, and otherwise as words (after "
    "SQuAD's normalisation); the whole response or its last `<answer>` must match",
}


GradeAll = Callable[[Sequence[str], Sequence[Any]], Sequence[float | None]]


@dataclass(frozen=True)
class Environment:
    """The policy's environment: who grades, and who answers its calls.

    Attributes:
        grade_all: Maps (the policy's text in each rollout, the right answer or answers of each) to
            1 or 0; None without an answer, or if the grader reached a limit.
        new_episode: Begins a rollout in which text and tool take turns by a protocol; None where
            the chat template presents functions.
        prices: Dollars for a call of a function, by its name; others cost nothing here.
    """

    grade_all: GradeAll
    new_episode: Callable[[], Episode] | None = None
    prices: Mapping[str, float] = field(default_factory=dict)

    def grade(self, response: str, answer: Any) -> float | None:
        """The grade of one rollout."""
        return self.grade_all([response], [answer])[0]


@contextmanager
def open_environment(config: RunConfig) -> Iterator[Environment]:
    """Open the environment of a configuration's task; stop its tools at the end.

    Raises:
        ConfigError: Programs cannot be run here, or there is no search server.
    """
    calls = config.optimiser.max_tool_calls
    with ExitStack() as opened:
        if config.task.name == "calculator":
            yield Environment(grade_each(is_correct), prices=find_prices(config))
        elif config.task.name == "questions":
            tools = load_own_tools(config)
            grade_all = grade_each(grade_answer)
            prices = find_prices(config, tools)
            yield Environment(grade_all, None if tools else SingleTurn, prices)
        elif config.task.name == "math":
            try:
                grader = opened.enter_context(MathGrader(isolation=config.tool.isolation))
                tool = config.tool
                python = PythonInterpreter(
                    timeout=tool.timeout, workers=tool.workers, isolation=tool.isolation
                )
            except SandboxError as error:
                raise ConfigError(f"tool.isolation: {error}") from error
            opened.callback(python.close)
            opened.callback(_tell_undecided, grader)
            yield Environment(grader.grade_all, lambda: TorlEpisode(python, max_calls=calls))
        else:
            if config.tool.search_url == NONE:
                raise ConfigError("tool.search_url: no search server was given or started")
            client = SearchClient(config.tool.search_url, topk=config.tool.topk)
            search = opened.enter_context(client)
            grade_all = grade_each(exact_answer)
            yield Environment(grade_all, lambda: SearchR1Episode(search, max_turns=calls))


def find_prices(config: RunConfig, tools: Sequence[Callable[..., Any]] = ()) -> dict[str, float]:
    """Return the dollars for a call of each function that costs any.

    Args:
        config: Its solver has a price.
        tools: The user's functions; their attribute `dollars` is their price.

    Raises:
        ConfigError: A price is no number of at least 0.
    """
    if config.tool.solver_price > 0.0:
        return {solver.__name__: config.tool.solver_price}
    prices = {one.__name__: one.dollars for one in tools if hasattr(one, "dollars")}
    for name, price in prices.items():
        if not isinstance(price, int | float) or not 0.0 <= price < math.inf:
            raise ConfigError(f"task.tools: {name}.dollars must be at least 0, got {price!r}")
    return prices


def grade_each(grade: Callable[[str, Any], float | None]) -> GradeAll:
    """Apply a grader of one rollout to several; only for graders that cost next to nothing.

    >>> grade_each(exact_answer)(["<answer> Oslo </answer>", "Oslo"], ["oslo", "oslo"])
    [1.0, 0.0]
    """

    def grade_all(responses: Sequence[str], answers: Sequence[Any]) -> list[float | None]:
        return [grade(*pair) for pair in zip(responses, answers, strict=True)]

    return grade_all


def _tell_undecided(grader: MathGrader) -> None:
    if grader.undecided:
        print(
            f"paretopo: {grader.undecided} gradings met the limits of math-verify: they count as "
            "neither right nor wrong",
            file=sys.stderr,
        )
