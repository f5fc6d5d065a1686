"""The agents of the tasks: functions that the chat template presents, and every protocol."""

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
from paretopo.tasks.calculator import CalculatorTask, CalculatorWithSolver
from paretopo.tasks.choice import load_own_tools
from paretopo.tasks.environment import Environment, find_prices, open_environment
from paretopo.tools.replies import is_failure


def make_agent(config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> ToolAgent:
    """Return the agent of the run's task for one rollout."""
    presented = config.task.name == "calculator" or config.task.tools != NONE
    return (FunctionAgent if presented else ProtocolAgent)(config, tokenizer, label)


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


class FunctionAgent(ToolAgent):
    """Executes calls of the task's functions; a turn without a call is the answer."""

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
    """Return the task's functions by name; objects that the user's share must be thread-safe."""
    with _opening:
        return _load(config)


@functools.cache
def _open(config: RunConfig) -> Environment:
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(open_environment(config))


@functools.cache
def _load(config: RunConfig) -> Mapping[str, Callable[..., Any]]:
    calculators = (CalculatorWithSolver if find_prices(config) else CalculatorTask).functions
    own = calculators if config.task.name == "calculator" else load_own_tools(config)
    return {one.__name__: one for one in own}
