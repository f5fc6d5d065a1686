"""The tasks math and multihop as OpenRLHF environments: text and tool take turns by a protocol."""

from __future__ import annotations

from paretopo.integrations.openrlhf.agent import ToolAgentExecutor
from paretopo.integrations.openrlhf.agents.environments import environment_of
from paretopo.integrations.openrlhf.episodes import EpisodeAgent
from paretopo.protocols.episode import Episode


class ProtocolAgent(EpisodeAgent):
    """Plays the task's episodes, and grades as the task does."""

    def episode(self) -> Episode:
        """A fresh one."""
        new_episode = environment_of(self.config).new_episode
        assert new_episode is not None
        return new_episode()

    def grade(self, response: str) -> float | None:
        """1 where the answer is right, None where there is none."""
        return environment_of(self.config).grade(response, self.label["answer"])


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = ProtocolAgent
