"""The agents of the tasks: calculator, the user's functions, and every protocol."""

from __future__ import annotations

import atexit
import functools
import inspect
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from paretopo.config import NONE, RunConfig
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.integrations.agents.chat_tools import find_calls, result_frame
from paretopo.integrations.agents.episodes import EpisodeAgent
from paretopo.protocols.episode import Episode
from paretopo.tasks.calculator import calculator, is_correct, solver
from paretopo.tasks.choice import load_own_tools
from paretopo.tasks.environment import Environment, find_prices, open_environment
from paretopo.tools.replies import is_failure


def make_agent(config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> ToolAgent:
    """Return the agent of the run's task for one rollout."""
    agent: type[ToolAgent] = ProtocolAgent
    if config.task.tools != NONE:
        agent = FunctionAgent
    elif config.task.name == "calculator":
        agent = CalculatorAgent
    return agent(config, tokenizer, label)


class ProtocolAgent(EpisodeAgent):
    """Plays the task's episodes, in which text and tool alternate, and grades as the task does."""

    def episode(self) -> Episode:
        """Return a new episode."""
        new_episode = environment_of(self.config).new_episode
        assert new_episode is not None
        return new_episode()

    def grade(self, response: str) -> float | None:
        """Return 1 for a right answer, 0 for a wrong one, None without a known answer."""
        return environment_of(self.config).grade(response, self.label["answer"])


class CalculatorAgent(ToolAgent):
    """Executes calls of the calculator, and of the solver if the task has one.

    A turn without a call is the answer.
    """

    _spent = 0.0

    async def turn(self, text: str) -> Turn:
        """Execute the calls, or grade the answer."""
        calls = find_calls(text, self.tokenizer)
        if not calls:
            right = is_correct(text, str(self.label["answer"]))
            return Turn(done=True, reward_components={"correct": float(right), **self._dollars()})
        if self.calls + len(calls) > self.config.optimiser.max_tool_calls:
            # The policy called a tool instead of answering.
            return Turn(done=True, reward_components={"correct": 0.0})
        before, after = result_frame(self.tokenizer)
        prices = find_prices(self.config)
        self._spent += sum(prices.get(name, 0.0) for name, _ in calls)
        results = [
            _calculate(name, arguments, has_solver=bool(prices)) for name, arguments in calls
        ]
        feedback = before + "\n".join(results) + after
        return Turn(
            feedback,
            calls=len(calls),
            failed_calls=sum(map(is_failure, results)),
            reward_components=self._dollars(),
        )

    def _dollars(self) -> dict[str, float]:
        """Return the dollars spent so far; empty if no tool has a price."""
        return {"dollars": self._spent} if find_prices(self.config) else {}


def _calculate(name: str, arguments: dict[str, Any], *, has_solver: bool) -> str:
    tools = {"calculator": calculator} | ({"solver": solver} if has_solver else {})
    if name not in tools:
        return f"error: there is no tool {name}"
    expression = arguments.get("expression")
    if not isinstance(expression, str):
        return "error: the argument expression must be a text"
    return tools[name](expression)


class FunctionAgent(ToolAgent):
    """Executes calls of the user's functions; a turn without a call is the answer."""

    _spent = 0.0

    async def turn(self, text: str) -> Turn:
        """Execute the calls, or grade the answer."""
        functions = functions_of(self.config)
        calls = find_calls(text, self.tokenizer, list(functions.values()))
        if not calls:
            return self._grade(text)
        if self.calls + len(calls) > self.config.optimiser.max_tool_calls:
            return self._grade("")  # the policy called a tool instead of answering
        before, after = result_frame(self.tokenizer)
        prices = environment_of(self.config).prices
        self._spent += sum(prices.get(name, 0.0) for name, _ in calls)
        results = [await _call(functions, name, arguments) for name, arguments in calls]
        feedback = before + "\n".join(results) + after
        return Turn(
            feedback,
            calls=len(calls),
            failed_calls=sum(map(is_failure, results)),
            reward_components=self._dollars(),
        )

    def _grade(self, response: str) -> Turn:
        right = environment_of(self.config).grade(response, self.label.get("answer", ""))
        components = {} if right is None else {"correct": float(right)}
        return Turn(done=True, reward_components={**components, **self._dollars()})

    def _dollars(self) -> dict[str, float]:
        """Return the dollars spent so far; empty if no function has a price."""
        return {"dollars": self._spent} if environment_of(self.config).prices else {}


async def _call(
    functions: Mapping[str, Callable[..., Any]], name: str, arguments: Mapping[str, Any]
) -> str:
    """Return the result of a call; an error becomes a text for the policy."""
    if name not in functions:
        return f"error: there is no tool {name}"
    try:
        result = functions[name](**arguments)
        return str(await result if inspect.isawaitable(result) else result)
    except Exception as error:
        return f"error: {error}"


# ---- shared by all rollouts of a process, opened at first use ------------------------------------

_opening = threading.Lock()  # each rollout has a thread of its own


def environment_of(config: RunConfig) -> Environment:
    """Return the task's environment: rollouts share sandboxes, and queries are batched."""
    with _opening:
        return _open(config)


def functions_of(config: RunConfig) -> Mapping[str, Callable[..., Any]]:
    """Return the functions of `task.tools` by name; objects that they share must be thread-safe."""
    with _opening:
        return _load(config)


@functools.cache
def _open(config: RunConfig) -> Environment:
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(open_environment(config))


@functools.cache
def _load(config: RunConfig) -> Mapping[str, Callable[..., Any]]:
    return {one.__name__: one for one in load_own_tools(config)}
