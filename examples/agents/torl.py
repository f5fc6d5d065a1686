"""Mathematics with a Python interpreter, by ToRL's protocol, as an OpenRLHF environment.

Labels are the known answer, or objects with the key "answer". Programs run in a jail each, which
needs bubblewrap on every node: docs/tools.md.
"""

from __future__ import annotations

import functools

from paretopo_core.integrations.openrlhf.agent import ToolAgentExecutor
from paretopo_core.integrations.openrlhf.episodes import EpisodeAgent
from paretopo_core.training.protocols.torl import TorlEpisode
from paretopo_core.training.rewards.mathematics import MathGrader
from paretopo_core.training.tools.python_interpreter import PythonInterpreter


@functools.cache
def _interpreter() -> PythonInterpreter:
    """One for all rollouts of an engine; it ends with the engine's process."""
    return PythonInterpreter(timeout=10.0, memory_mb=512, workers=8)


@functools.cache
def _grader() -> MathGrader:
    return MathGrader()


class TorlAgent(EpisodeAgent):
    """Runs what stands in blocks of Python, and grades the last box."""

    def episode(self) -> TorlEpisode:
        """At most optimiser.max_tool_calls programs."""
        return TorlEpisode(_interpreter(), max_calls=self.config.optimiser.max_tool_calls)

    def grade(self, response: str) -> float:
        """1 where the last box equals the known answer."""
        return _grader().grade(response, str(self.label["answer"]))


class AgentExecutor(ToolAgentExecutor):
    """What OpenRLHF looks for."""

    agent = TorlAgent
