"""Questions of the user's own with tools of his own, as an OpenRLHF environment."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from paretopo.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn
from paretopo.integrations.openrlhf.agents.environments import environment_of, functions_of
from paretopo.integrations.openrlhf.chat_tools import find_calls, result_frame


class FunctionAgent(ToolAgent):
    """Executes calls of the user's functions; a turn without a call is the answer."""

    _spent = 0.0

    async def turn(self, text: str) -> Turn:
        """Call, or grade."""
        calls = find_calls(text)
        if not calls:
            return self._grade(text)
        if self.calls + len(calls) > self.config.optimiser.max_tool_calls:
            return self._grade("")  # it asked instead of answering
        before, after = result_frame(self.tokenizer)
        functions, prices = functions_of(self.config), environment_of(self.config).prices
        self._spent += sum(prices.get(name, 0.0) for name, _ in calls)
        results = [await _call(functions, name, arguments) for name, arguments in calls]
        feedback = before + "\n".join(results) + after
        return Turn(feedback, calls=len(calls), reward_components=self._dollars())

    def _grade(self, response: str) -> Turn:
        right = environment_of(self.config).grade(response, self.label.get("answer", ""))
        components = {} if right is None else {"correct": float(right)}
        return Turn(done=True, reward_components={**components, **self._dollars()})

    def _dollars(self) -> dict[str, float]:
        """What was spent so far; nothing is said where no function costs any."""
        return {"dollars": self._spent} if environment_of(self.config).prices else {}


async def _call(
    functions: Mapping[str, Callable[..., Any]], name: str, arguments: Mapping[str, Any]
) -> str:
    """What a call leads to; its errors are the policy's to read."""
    if name not in functions:
        return f"error: there is no tool {name}"
    try:
        result = functions[name](**arguments)
        return str(await result if inspect.isawaitable(result) else result)
    except Exception as error:
        return f"error: {error}"


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = FunctionAgent
