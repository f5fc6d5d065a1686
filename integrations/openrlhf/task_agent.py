"""The agents of the tasks; OpenRLHF loads this file by its path."""

from paretopo.integrations.agents.of_tasks import make_agent
from paretopo.integrations.openrlhf.agent import ToolAgentExecutor


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = make_agent
