"""The agents of the tasks as an agent loop of verl: turns, tools and rewards of one rollout."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import (
    AgentLoopBase,
    AgentLoopMetrics,
    AgentLoopOutput,
    register,
)

from paretopo.config import NONE, ConfigError, RunConfig
from paretopo.integrations.agents.agent import ToolAgent
from paretopo.integrations.agents.of_tasks import make_agent
from paretopo.integrations.agents.thread import AgentThread, Overdue
from paretopo.integrations.verl.options import AGENT
from paretopo.integrations.verl.rollouts import measure_own
from paretopo.records.folder import RunFolder
from paretopo.rewards.own import OwnRewards, load_own_rewards
from paretopo.rollout import BadRollout


class _Written:
    """The tokens of a response: the policy's and the environment's.

    Args:
        room: Largest number of tokens.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self.tokens: list[int] = []
        self.mask: list[int] = []
        self.chances: list[float] | None = []

    @property
    def room(self) -> int:
        """Return the number of tokens left."""
        return self._room - len(self.tokens)

    def write(self, tokens: list[int], chances: list[float] | None) -> None:
        """Add a turn of the policy, with its tokens' log-probabilities if they are known."""
        self._add(tokens, 1, chances)

    def hear(self, tokens: list[int]) -> bool:
        """Add the environment's reply; return False if it leaves no room for a turn."""
        if len(tokens) >= self.room:
            return False
        self._add(tokens, 0, [0.0] * len(tokens))
        return True

    def _add(self, tokens: list[int], own: int, chances: list[float] | None) -> None:
        self.tokens += tokens
        self.mask += [own] * len(tokens)
        if chances is None or self.chances is None:
            self.chances = None
        else:
            self.chances += chances


@register(AGENT)
class TaskAgentLoop(AgentLoopBase):
    """Plays one rollout with the agent of the run's task, and measures it."""

    async def run(self, sampling_params: dict[str, Any], **fields: Any) -> AgentLoopOutput:
        """Run one rollout for verl.

        Args:
            sampling_params: Sampling parameters of the engine.
            fields: The prompt's columns.

        Raises:
            BadRollout: The agent failed, or took longer than `verl.turn_timeout` for a turn; names
                the prompt.
        """
        config, own = _open(self.config.get("paretopo") or {})
        label = _label(fields)
        began, timeout = time.perf_counter(), config.verl.turn_timeout
        prompt = await self._prompt(fields)
        written, engine = _Written(int(self.rollout_config.response_length)), _Engine(self)
        thread = AgentThread()
        try:
            agent = await thread.run(_make(config, self.tokenizer, label), timeout)
            finished = False
            while not finished and written.room > 0:
                tokens = await engine.turn(prompt, written, agent, sampling_params)
                turn = await thread.run(agent.take(self.tokenizer.decode(tokens)), timeout)
                finished = turn.done
                said = self.tokenizer(text=turn.feedback, add_special_tokens=False)["input_ids"]
                if not finished and not written.hear(said):
                    break
            components = agent.measured
            if own is not None:
                prompt_asked = list(fields["raw_prompt"])
                measured = _measure(own, prompt_asked, label, written, self.tokenizer)
                components |= await thread.run(measured, timeout)
        except Overdue as error:
            raise BadRollout(
                f"the agent hung on prompt {label['id']!r}: a turn took more than "
                f"verl.turn_timeout = {timeout:g} seconds; set a shorter timeout for its own "
                "calls, or raise turn_timeout"
            ) from error
        finally:
            thread.end()
        components.setdefault("seconds", time.perf_counter() - began)
        solved = components.get(config.objectives[0].name)
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=written.tokens,
            response_mask=written.mask,
            response_logprobs=written.chances or None,
            reward_score=float(solved or 0.0),
            num_turns=2 * int(components["turns"] or 0),  # verl also counts the user's turns
            metrics=AgentLoopMetrics(generate_sequences=engine.seconds),
            extra_fields={
                **engine.metadata,
                "turn_scores": [],
                "tool_rewards": [],
                "truncated": engine.cut or not finished,
                "reward_extra_info": {"score": float(solved or 0.0), **components},
            },
        )

    async def _prompt(self, fields: Mapping[str, Any]) -> list[int]:
        text = fields["extra_info"].get("text")
        if text is None:  # a row of the user's file
            messages = list(fields["raw_prompt"])
            return list(await self.ct_build_initial_tokens(messages))
        tokens = self.tokenizer(text=text, add_special_tokens=False)["input_ids"]
        return self._cap_text_prompt_length(list(tokens))  # type: ignore[no-any-return]


class _Engine:
    """Generates turns with verl's engine; each ends at the agent's stop texts.

    Attributes:
        seconds: Time of generation.
        metadata: The engine's facts about a rollout, which verl's trainers read.
        cut: True if the last turn ran out of tokens.
    """

    def __init__(self, loop: TaskAgentLoop) -> None:
        self._loop, self._request = loop, uuid4().hex
        self.seconds = 0.0
        self.metadata: dict[str, Any] = {}
        self.cut = False

    async def turn(
        self, prompt: list[int], written: _Written, agent: ToolAgent, params: dict[str, Any]
    ) -> list[int]:
        """Generate the tokens of one turn, and add them to the response."""
        most = min(written.room, agent.turn_tokens or written.room)
        params = {**params, "max_tokens": most}
        if agent.stop:
            params |= {"stop": list(agent.stop), "include_stop_str_in_output": True}
        began = time.perf_counter()
        output = await self._loop.server_manager.generate(
            request_id=self._request,
            prompt_ids=prompt + written.tokens,
            sampling_params=params,
        )
        self.seconds += time.perf_counter() - began
        tokens = list(output.token_ids)[:most]
        log_probs = output.log_probs
        written.write(tokens, None if log_probs is None else list(log_probs)[:most])
        ended = bool(tokens) and tokens[-1] == self._loop.tokenizer.eos_token_id
        self.cut = len(tokens) == most and not ended
        newest = output.extra_fields
        # Versions of the weights: at the beginning and at the end of the rollout.
        first = self.metadata or newest
        self.metadata = {**first, **{key: newest[key] for key in _NEWEST if key in newest}}
        return tokens


_NEWEST = ("global_steps", "max_global_steps")


def _label(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the label of a prompt for its agent."""
    more, graded = fields["extra_info"], fields["reward_model"]
    own = json.loads(more["own"]) if more.get("own") else {}
    return {
        "id": str(more.get("id", fields.get("index", ""))),
        "kind": fields["data_source"],
        "answer": own.get("answer", graded["ground_truth"]),
        "columns": own.get("columns", {}),
    }


async def _make(config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> ToolAgent:
    return make_agent(config, tokenizer, label)


async def _measure(
    own: OwnRewards, prompt: Any, label: Mapping[str, Any], written: _Written, tokenizer: Any
) -> dict[str, float | None]:
    return measure_own(own, prompt, label, written.tokens, written.mask, tokenizer)


def _open(given: Mapping[str, Any]) -> tuple[RunConfig, OwnRewards | None]:
    if "run" not in given:
        raise ConfigError(
            f"the agent loop {AGENT} belongs to runs of paretopo train: use one of verl's own, "
            "actor_rollout_ref.rollout.agent.default_agent_loop=tool_agent"
        )
    return _load(str(given["run"]), str(given.get("search_url", NONE)))


@functools.cache
def _load(run: str, search_url: str) -> tuple[RunConfig, OwnRewards | None]:
    config = RunFolder.open(run).config
    config = replace(config, tool=replace(config.tool, search_url=search_url))
    return config, load_own_rewards(config)
