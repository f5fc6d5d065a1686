"""The calculator task as an OpenRLHF environment."""

from __future__ import annotations

from typing import Any

from paretopo.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn
from paretopo.integrations.openrlhf.chat_tools import find_calls, result_frame
from paretopo.tasks.calculator import calculator, is_correct, solver
from paretopo.tasks.environment import call_prices


class CalculatorAgent(ToolAgent):
    """Executes calls of the calculator, and of the solver where there is one.

    A turn without a call is the answer.
    """

    _spent = 0.0

    async def turn(self, text: str) -> Turn:
        """Calculate, or grade."""
        calls = find_calls(text)
        if not calls:
            right = is_correct(text, str(self.label["answer"]))
            return Turn(done=True, reward_components={"correct": float(right), **self._dollars()})
        if self.calls + len(calls) > self.config.optimiser.max_tool_calls:
            # It asked instead of answering.
            return Turn(done=True, reward_components={"correct": 0.0})
        before, after = result_frame(self.tokenizer)
        prices = call_prices(self.config.tool)
        self._spent += sum(prices.get(name, 0.0) for name, _ in calls)
        results = [_result(name, arguments, has_solver=bool(prices)) for name, arguments in calls]
        feedback = before + "\n".join(results) + after
        return Turn(feedback, calls=len(calls), reward_components=self._dollars())

    def _dollars(self) -> dict[str, float]:
        """What was spent so far; nothing is said where no tool costs any."""
        return {"dollars": self._spent} if call_prices(self.config.tool) else {}


def _result(name: str, arguments: dict[str, Any], *, has_solver: bool) -> str:
    tools = {"calculator": calculator} | ({"solver": solver} if has_solver else {})
    if name not in tools:
        return f"error: there is no tool {name}"
    expression = arguments.get("expression")
    if not isinstance(expression, str):
        return "error: the argument expression must be a text"
    return tools[name](expression)


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = CalculatorAgent
