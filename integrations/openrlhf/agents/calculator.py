"""The calculator task as an OpenRLHF environment."""

from __future__ import annotations

from typing import Any

from paretopo.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn
from paretopo.integrations.openrlhf.chat_tools import find_calls, result_frame
from paretopo.tasks.calculator import calculator, is_correct


class CalculatorAgent(ToolAgent):
    """Executes calls of the calculator; a turn without a call is the answer."""

    async def turn(self, text: str) -> Turn:
        """Calculate, or grade."""
        calls = find_calls(text)
        if not calls:
            right = is_correct(text, str(self.label["answer"]))
            return Turn(done=True, reward_components={"correct": float(right)})
        if self.calls + len(calls) > self.config.optimiser.max_tool_calls:
            return Turn(done=True)  # it asked instead of answering
        before, after = result_frame(self.tokenizer)
        results = [_result(name, arguments) for name, arguments in calls]
        return Turn(feedback=before + "\n".join(results) + after, calls=len(calls))


def _result(name: str, arguments: dict[str, Any]) -> str:
    if name != "calculator":
        return f"error: there is no tool {name}"
    expression = arguments.get("expression")
    if not isinstance(expression, str):
        return "error: the argument expression must be a text"
    return calculator(expression)


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = CalculatorAgent
