"""The agents of the tasks; OpenRLHF loads this file by its path."""

from __future__ import annotations

from typing import Any

from paretopo.integrations.agents.agent import ToolAgent
from paretopo.integrations.agents.of_tasks import make_agent
from paretopo.integrations.openrlhf.agent import ToolAgentExecutor


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    async def _make_agent(self, tokenizer: Any, label: dict[str, Any]) -> ToolAgent:
        return make_agent(self._config, tokenizer, label)
