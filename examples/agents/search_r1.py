"""Questions with a search engine, by Search-R1's protocol, as an OpenRLHF environment.

Labels are objects whose key "answer" holds the right answer, or a list of them. Start the server
first (`paretopo serve-search CORPUS`); PARETOPO_SEARCH_URL says where it is, if not on this node.
"""

from __future__ import annotations

import functools
import os

from paretopo_core.integrations.openrlhf.agent import ToolAgentExecutor
from paretopo_core.integrations.openrlhf.episodes import EpisodeAgent
from paretopo_core.training.protocols.search_r1 import SearchR1Episode
from paretopo_core.training.tasks.multihop import exact_answer
from paretopo_core.training.tools.search import DEFAULT_URL, SearchClient


@functools.cache
def _search() -> SearchClient:
    """One for all rollouts of an engine: queries that wait travel together."""
    return SearchClient(os.environ.get("PARETOPO_SEARCH_URL", DEFAULT_URL))


class SearchR1Agent(EpisodeAgent):
    """Searches for what stands between the tags, and grades the last answer."""

    def episode(self) -> SearchR1Episode:
        """At most optimiser.max_tool_calls turns before the last one."""
        return SearchR1Episode(_search(), max_turns=self.config.optimiser.max_tool_calls)

    def grade(self, response: str) -> float:
        """1 where the last answer is one of the right ones."""
        return exact_answer(response, self.label["answer"])


class AgentExecutor(ToolAgentExecutor):
    """What OpenRLHF looks for."""

    agent = SearchR1Agent
