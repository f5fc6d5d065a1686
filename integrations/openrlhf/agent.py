"""Agents on OpenRLHF: the executor that sees to stop texts, the response's budget and deadlines.

An agent file (`--train.agent_func_path`, `openrlhf.agent`) looks like this::

    from paretopo.integrations.agents.agent import ToolAgent, Turn
    from paretopo.integrations.openrlhf.agent import ToolAgentExecutor

    class Lookup(ToolAgent):
        ...                             # as in integrations/agents/agent.py

    class AgentExecutor(ToolAgentExecutor):
        agent = Lookup
"""

from __future__ import annotations

import copy
import os
import resource
import time
from typing import Any, ClassVar

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from paretopo.config import loads
from paretopo.integrations.agents.agent import ToolAgent
from paretopo.integrations.agents.thread import AgentThread, Overdue
from paretopo.integrations.openrlhf.options import CONFIG_VARIABLE
from paretopo.integrations.openrlhf.rollouts import (
    FINISHED,
    REWARD_COMPONENTS,
    label_fields,
    prompt_id,
)
from paretopo.rollout import BadRollout

_NOTHING = torch.tensor(0.0)  # what OpenRLHF takes for the reward: the session's comes later


class _EngineFailed(Exception):
    """Not the agent's fault."""


class _Aside(AgentInstanceBase):
    """An agent as OpenRLHF sees it: what it does happens in its thread, within the time of a turn.

    Args:
        agent: The agent.
        thread: Its thread.
        timeout: Seconds for each call.
    """

    def __init__(self, agent: ToolAgent, thread: AgentThread, timeout: float) -> None:
        self._agent, self._thread, self._timeout = agent, thread, timeout

    async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """OpenRLHF begins a rollout."""
        return {"observation": states["observation"]}

    async def step(self, state_dict: dict[str, Any], **_: Any) -> dict[str, Any]:
        """OpenRLHF hands over a turn."""
        text = state_dict["action_text"]
        turn = await self._thread.run(self._agent.take(text), self._timeout)
        return {
            "rewards": _NOTHING,
            "scores": _NOTHING,
            "environment_feedback": turn.feedback,
            "done": turn.done,
            "extra_logs": {
                REWARD_COMPONENTS: self._agent.measured,
                FINISHED: float(turn.done),
            },
        }


class _Turns:
    """An engine that ends each turn where the agent wants it to.

    Attributes:
        cut: Did the last turn end for want of tokens? OpenRLHF tells from 0.11.1 on only.
    """

    def __init__(self, engine: Any, agent: ToolAgent) -> None:
        self._engine, self._agent = engine, agent
        self.cut = False

    async def generate(self, tokens: Any, params: Any, **more: Any) -> Any:
        """One turn."""
        if self._agent.stop:
            params.stop = list(self._agent.stop)
            params.include_stop_str_in_output = True
        if self._agent.turn_tokens is not None:
            params.max_tokens = min(params.max_tokens, self._agent.turn_tokens)
        try:
            request = await self._engine.generate(tokens, params, **more)
        except Exception as error:
            raise _EngineFailed from error
        self.cut = request.outputs[0].finish_reason == "length"
        return request


class ToolAgentExecutor(MultiTurnAgentExecutor):
    """Runs rollouts of `agent`: stop texts, response budget, truncation, the same keys for all.

    Attributes:
        agent: Their class.
    """

    agent: ClassVar[type[ToolAgent]]

    def __init__(self) -> None:
        super().__init__(_Aside)  # made anew for each rollout
        self._config = loads(os.environ[CONFIG_VARIABLE])
        # Each rollout's event loop takes three open files, and there can be a thousand at a time.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    async def execute(
        self,
        prompt: str,
        label: Any,
        sampling_params: Any,
        max_length: int,
        hf_tokenizer: Any,
        llm_engine: Any,
        images: Any = None,
    ) -> dict[str, Any]:
        """One rollout, as OpenRLHF asks for it."""
        # The rollouts of a group share one object, and OpenRLHF writes into it.
        params = copy.deepcopy(sampling_params)
        length = len(hf_tokenizer(text=prompt, add_special_tokens=False)["input_ids"])
        budget = min(max_length, length + self._config.optimiser.max_completion_tokens)
        began, timeout = time.perf_counter(), self._config.openrlhf.turn_timeout
        thread = AgentThread()
        try:
            fields = label_fields(label)
            agent = await thread.run(self._make_agent(hf_tokenizer, fields), timeout)
            turns = _Turns(llm_engine, agent)
            aside = _Aside(agent, thread, timeout)
            self.agent_instance_cls = lambda: aside  # asked for before the next await
            response: dict[str, Any] = await super().execute(
                prompt, label, params, budget, hf_tokenizer, turns, images
            )
        except _EngineFailed as failed:
            raise RuntimeError(f"the engine failed: {failed.__cause__}") from failed.__cause__
        except Overdue as error:
            raise BadRollout(
                f"the agent hung on prompt {prompt_id(prompt, label)!r}: a turn took more than "
                f"openrlhf.turn_timeout = {timeout:g} seconds; give what it waits for a limit of "
                "its own, or raise turn_timeout"
            ) from error
        except Exception as error:
            # Not the error itself: Ray could not send one whose class only the agent file knows.
            raise BadRollout(
                f"the agent failed on prompt {prompt_id(prompt, label)!r}: "
                f"{type(error).__name__}: {error}"
            ) from error
        finally:
            thread.end()
        if not response["action_ranges"]:  # the prompt left no room: the agent had no turn
            response["extra_logs"] = {
                REWARD_COMPONENTS: agent.measured,
                FINISHED: 0.0,
            }
        components = response["extra_logs"].setdefault(REWARD_COMPONENTS, {})
        components.setdefault("seconds", time.perf_counter() - began)
        finished = response["extra_logs"].get(FINISHED, 0.0)
        response["truncated"] = turns.cut or not finished
        # Numbers of one type for all rollouts; the scores are replaced when the group is whole.
        solved = components.get(self._config.objectives[0].name)
        response["reward"] = response["scores"] = float(solved or 0.0)
        return response

    async def _make_agent(self, tokenizer: Any, label: dict[str, Any]) -> ToolAgent:
        return self.agent(self._config, tokenizer, label)
