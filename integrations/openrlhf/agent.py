"""Agents on OpenRLHF: the executor handles stop texts, the token budget and timeouts.

An agent file (`--train.agent_func_path`) looks like this::

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
from paretopo.integrations.openrlhf.options import CONFIG_VARIABLE
from paretopo.integrations.openrlhf.rollouts import (
    FINISHED,
    REWARD_COMPONENTS,
    label_fields,
    prompt_id,
)
from paretopo.rewards.calls import Hung, LoopThread
from paretopo.rollout import BadRollout

_NOTHING = torch.tensor(0.0)  # OpenRLHF's reward; the session replaces it later


class _EngineFailed(Exception):
    """The engine failed, not the agent."""


class _Aside(AgentInstanceBase):
    """An agent in OpenRLHF's interface; its code runs in its thread, with a timeout for each turn.

    Args:
        agent: The agent.
        thread: Its thread.
        timeout: Seconds for each call.
    """

    def __init__(self, agent: ToolAgent, thread: LoopThread, timeout: float) -> None:
        self._agent, self._thread, self._timeout = agent, thread, timeout

    async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Begin a rollout for OpenRLHF."""
        return {"observation": states["observation"]}

    async def step(self, state_dict: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Take a turn from OpenRLHF."""
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
    """An engine that ends each turn at the agent's stop texts.

    Attributes:
        cut: True if the last turn ran out of tokens.
    """

    def __init__(self, engine: Any, agent: ToolAgent) -> None:
        self._engine, self._agent = engine, agent
        self.cut = False

    async def generate(self, tokens: Any, params: Any, **more: Any) -> Any:
        """Generate one turn."""
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
        agent: The agent's class, or a function that makes the agent.
        turn_timeout: Time limit of a turn of the agent, in seconds.
    """

    agent: ClassVar[Any]
    turn_timeout: ClassVar[float] = 600.0

    def __init__(self) -> None:
        super().__init__(_Aside)  # a new agent for each rollout
        self._config = loads(os.environ[CONFIG_VARIABLE])
        # Each rollout's event loop takes three open files, and a thousand rollouts can run
        # together.
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
        """Run one rollout for OpenRLHF."""
        # Copy: the rollouts of a group share one object, and OpenRLHF writes into it.
        params = copy.deepcopy(sampling_params)
        length = len(hf_tokenizer(text=prompt, add_special_tokens=False)["input_ids"])
        budget = min(max_length, length + self._config.optimiser.max_completion_tokens)
        began, timeout = time.perf_counter(), self.turn_timeout
        thread = LoopThread("agent")  # a blocking agent stops neither engine nor other rollouts
        try:
            fields = label_fields(label)
            agent = await thread.run(self._make_agent(hf_tokenizer, fields), timeout)
            turns = _Turns(llm_engine, agent)
            aside = _Aside(agent, thread, timeout)
            self.agent_instance_cls = lambda: aside  # read before the next await
            response: dict[str, Any] = await super().execute(
                prompt, label, params, budget, hf_tokenizer, turns, images
            )
        except _EngineFailed as failed:
            raise RuntimeError(f"the engine failed: {failed.__cause__}") from failed.__cause__
        except Hung as error:
            raise BadRollout(
                f"the agent hung on prompt {prompt_id(prompt, label)!r}: a turn took more than "
                f"turn_timeout = {timeout:g} seconds; set a shorter timeout for its own calls, or "
                "raise turn_timeout of its AgentExecutor"
            ) from error
        except Exception as error:
            # Ray cannot send the error itself if only the agent file knows its class.
            raise BadRollout(
                f"the agent failed on prompt {prompt_id(prompt, label)!r}: "
                f"{type(error).__name__}: {error}"
            ) from error
        finally:
            thread.end()
        if not response["action_ranges"]:  # the prompt filled the context: no turn
            response["extra_logs"] = {
                REWARD_COMPONENTS: agent.measured,
                FINISHED: 0.0,
            }
        components = response["extra_logs"].setdefault(REWARD_COMPONENTS, {})
        components.setdefault("seconds", time.perf_counter() - began)
        finished = response["extra_logs"].get(FINISHED, 0.0)
        response["truncated"] = turns.cut or not finished
        # All rollouts have numbers of one type; the scores are replaced when the group is complete.
        solved = components.get(self._config.objectives[0].name)
        response["reward"] = response["scores"] = float(solved or 0.0)
        return response

    async def _make_agent(self, tokenizer: Any, label: dict[str, Any]) -> ToolAgent:
        make = type(self).agent  # `self.agent` would bind a function as a method
        made: ToolAgent = make(self._config, tokenizer, label)
        return made
