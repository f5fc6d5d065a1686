"""The tasks math and multihop as OpenRLHF environments: text and tool take turns by a protocol."""

from __future__ import annotations

import atexit
import functools
import threading
from contextlib import ExitStack

from paretopo.config import RunConfig
from paretopo.integrations.openrlhf.agent import ToolAgentExecutor
from paretopo.integrations.openrlhf.episodes import EpisodeAgent
from paretopo.protocols.episode import Episode
from paretopo.tasks.environment import Environment, open_environment

_opening = threading.Lock()


def _environment(config: RunConfig) -> Environment:
    """One for all rollouts of an engine: they share sandboxes, and waiting queries go together."""
    with _opening:  # each rollout has a thread of its own
        return _open(config)


@functools.cache
def _open(config: RunConfig) -> Environment:
    opened = ExitStack()
    atexit.register(opened.close)
    return opened.enter_context(open_environment(config))


class ProtocolAgent(EpisodeAgent):
    """Plays the task's episodes, and grades as the task does."""

    def episode(self) -> Episode:
        """A fresh one."""
        new_episode = _environment(self.config).new_episode
        assert new_episode is not None
        return new_episode()

    def grade(self, response: str) -> float | None:
        """1 where the answer is right, None where there is none."""
        return _environment(self.config).grade(response, self.label["answer"])


class AgentExecutor(ToolAgentExecutor):
    """The class that OpenRLHF looks for."""

    agent = ProtocolAgent
