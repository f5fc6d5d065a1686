"""The agents of the tasks: functions that the chat template presents, and every protocol."""

from __future__ import annotations

import asyncio
import atexit
import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from paretopo.config import NONE, RunConfig
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.integrations.agents.chat_tools import find_calls, result_frame
from paretopo.tasks.calculator import CalculatorTask, CalculatorWithSolver
from paretopo.tasks.choice import load_own_tools
from paretopo.tasks.environment import Environment, find_prices, open_environment
from paretopo.tools.replies import is_failure


def make_agent(config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> ToolAgent:
    """Return the agent of the run's task for one rollout."""
    presented = config.task.name == "calculator" or config.task.tools != NONE
    return (FunctionAgent if presented else ProtocolAgent)(config, tokenizer, label)


class ProtocolAgent(ToolAgent):
    """Plays an episode of the task, in which text and tool alternate, then grades the text."""

    def __init__(self, config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> None:
        super().__init__(config, tokenizer, label)
        self._environment = environment_of(config)
        assert self._environment.new_episode is not None
        self._episode = self._environment.new_episode()
        self._written: list[str] = []
        self._control = _find_control_tokens(tokenizer)

    @property
    def stop(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the texts that end the next turn."""
        return self._episode.stop

    @property
    def turn_tokens(self) -> int | None:  # type: ignore[override]
        """Return the longest next turn in tokens."""
        return self._episode.turn_tokens

    async def turn(self, text: str) -> Turn:
        """Take one step of the episode; grade all turns after the last, in a thread."""
        self._written.append(text)
        answer = await self._episode.step(text)
        calls = self._episode.calls - self.calls
        failed = self._episode.failed_calls - self.failed_calls
        if not answer.done:
            return Turn(self._cut(answer.feedback), calls, failed_calls=failed)
        right = await asyncio.to_thread(
            self._environment.grade, "".join(self._written), self.label["answer"]
        )
        components = {} if right is None else {"correct": float(right)}
        return Turn("", calls, done=True, reward_components=components, failed_calls=failed)

    def _cut(self, feedback: str) -> str:
        feedback = _break_control_tokens(feedback, self._control)
        limit = self._episode.feedback_tokens
        if limit is None or not feedback:
            return feedback
        tokens = self.tokenizer(text=feedback, add_special_tokens=False)["input_ids"]
        if len(tokens) <= limit:
            return feedback
        shorten: str = self.tokenizer.decode(tokens[:limit])
        return shorten


def _find_control_tokens(tokenizer: Any) -> tuple[str, ...]:
    """Return the texts that a tokenizer reads as control tokens, such as the end of a turn."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    named = getattr(tokenizer, "all_special_tokens", ())
    return tuple(dict.fromkeys([*named, *(str(one) for one in added if one.special)]))


def _break_control_tokens(text: str, control: Sequence[str]) -> str:
    """Break control tokens in a text: a tool's reply must not end the policy's turn."""
    for one in control:
        text = text.replace(one, f"{one[:1]} {one[1:]}")
    return text


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
