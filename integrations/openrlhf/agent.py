"""Environments for rollouts: an agent counts its tool calls, its executor sees to the rest.

An agent file (`--train.agent_func_path`, `openrlhf.agent`) looks like this::

    from paretopo.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn

    class Lookup(ToolAgent):
        stop = ("</lookup>",)
        turn_tokens = 500

        async def turn(self, text):
            if text.endswith("</lookup>") and self.calls < 3:
                return Turn(feedback=my_index(text), calls=1)
            right = float(self.label["answer"] in text)
            return Turn(done=True, reward_components={"correct": right, "words": len(text.split())})

    class AgentExecutor(ToolAgentExecutor):
        agent = Lookup
"""

from __future__ import annotations

import copy
import os
import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import torch
from openrlhf.utils.agent import AgentInstanceBase, MultiTurnAgentExecutor

from paretopo.config import MEASURES, RunConfig, loads
from paretopo.integrations.openrlhf.agent_thread import AgentThread, Overdue
from paretopo.integrations.openrlhf.options import CONFIG_VARIABLE
from paretopo.integrations.openrlhf.rollouts import (
    FINISHED,
    REWARD_COMPONENTS,
    label_fields,
    prompt_id,
)
from paretopo.rollout import BadRollout


@dataclass(frozen=True)
class Turn:
    """The environment's answer to one turn of the policy.

    Attributes:
        feedback: What the environment says next, with the chat's markers around it.
        calls: Tools executed in this turn.
        done: Is the rollout over?
        reward_components: What the environment measured, by name and in its own unit: the
            objectives of the run but for what is counted here (calls, turns, seconds, tokens); None
            where one does not apply. What a later turn says of a name wins.

    Raises:
        TypeError: A field is of another type.
    """

    feedback: str = ""
    calls: int = 0
    done: bool = False
    reward_components: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind, told in _TURN_FIELDS:
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"Turn.{name} must be {told}, got {getattr(self, name)!r:.80}")


_TURN_FIELDS: tuple[tuple[str, type, str], ...] = (
    ("feedback", str, "a text"),
    ("calls", Integral, "a whole number"),
    ("reward_components", Mapping, "a mapping of names to numbers"),
)


class ToolAgent(AgentInstanceBase):
    """The environment of one rollout; subclasses say what a turn does.

    All of it, `__init__` included, runs in a thread and an event loop of this rollout alone. A turn
    may block, then; what belongs to an event loop, such as an asynchronous client, belongs to the
    agent, and what agents share must bear threads.

    Attributes:
        stop: The next turn ends after any of these texts, which belong to it; () for none.
        turn_tokens: Most tokens of the next turn; None for what the response has left.
        config: The run's configuration.
        tokenizer: The policy's.
        label: The prompt's label as a mapping.
        calls: Tools executed so far.
    """

    stop: tuple[str, ...] = ()
    turn_tokens: int | None = None

    def __init__(self, config: RunConfig, tokenizer: Any) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.label: dict[str, Any] = {}
        self.calls = 0
        self._turns = 0
        self._components: dict[str, float | None] = {}

    async def turn(self, text: str) -> Turn:
        """The answer to a turn; `text` is what the policy wrote, without its end-of-turn token."""
        raise TypeError(f"{type(self).__name__} does not define turn(), but got {text!r}")

    async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """OpenRLHF begins a rollout."""
        self.label = label_fields(states["label"])
        return {"observation": states["observation"]}

    async def step(self, state_dict: dict[str, Any], **_: Any) -> dict[str, Any]:
        """OpenRLHF hands over a turn."""
        text = state_dict["action_text"].removesuffix(self.tokenizer.eos_token)
        turn = await self.turn(text)
        if not isinstance(turn, Turn):
            raise TypeError(
                'turn() must return a Turn, as Turn(feedback="...", calls=1) where the rollout '
                "goes on and Turn(done=True, reward_components={...}) at its end, got "
                f"{turn!r:.80}"
            )
        self.calls += turn.calls
        self._turns += 1
        self._components |= turn.reward_components
        return {
            "rewards": _NOTHING,
            "scores": _NOTHING,
            "environment_feedback": turn.feedback,
            "done": turn.done,
            "extra_logs": {
                REWARD_COMPONENTS: {
                    **({} if turn.done else _unfinished(self.config)),
                    **self._components,
                    "calls": self.calls,
                    "turns": self._turns,
                },
                FINISHED: float(turn.done),
            },
        }


def _unfinished(config: RunConfig) -> dict[str, float | None]:
    """Of a rollout that is not over: it has solved nothing, and what is not said does not apply."""
    first, *others = (one.name for one in config.objectives)
    return {first: 0.0} | {name: None for name in others if name not in MEASURES}


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

    async def reset(self, states: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A rollout begins."""
        return await self._thread.run(self._agent.reset(states, **more), self._timeout)

    async def step(self, state_dict: dict[str, Any], **more: Any) -> dict[str, Any]:
        """A turn."""
        result = await self._thread.run(self._agent.step(state_dict, **more), self._timeout)
        if not isinstance(result, Mapping):
            raise TypeError(f"step() must return what ToolAgent.step returned, got {result!r:.80}")
        return dict(result)


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
    """Runs rollouts of `agent`: stop texts, response budget, truncation, the same keys for all."""

    agent: ClassVar[type[ToolAgent]]

    def __init__(self) -> None:
        super().__init__(self.agent)
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
            agent = await thread.run(self._make_agent(hf_tokenizer), timeout)
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
                REWARD_COMPONENTS: {**_unfinished(self._config), "calls": 0, "turns": 0},
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

    async def _make_agent(self, tokenizer: Any) -> ToolAgent:
        return self.agent(self._config, tokenizer)
