"""The agents of the tasks, as OpenRLHF loads them from their path."""

from __future__ import annotations

from paretopo.integrations.agents.of_tasks import make_agent
from paretopo.integrations.openrlhf.agent import ToolAgentExecutor


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = staticmethod(make_agent)
