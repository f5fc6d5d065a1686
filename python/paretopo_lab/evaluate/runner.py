"""Rollouts of an evaluation on any engine: from prompts to tokens, from rollouts to records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from paretopo.integrations.huggingface.prompts import prompt_text, prompt_tokens
from paretopo.integrations.huggingface.rollouts import Piece, RolloutState, run_rollouts
from paretopo.rollout import format_prompt, split_tokens
from paretopo.tasks.task import Prompt
from paretopo_lab.evaluate.evaluate import RolloutResult
from paretopo_lab.evaluate.prompting import RolloutRequest
from paretopo_lab.evaluate.settings import EvaluationSettings


class InferenceEngine(Protocol):
    """A loaded model that generates text."""

    tokenizer: Any
    context: int  # tokens that prompt and response may have together

    def generate(self, rollouts: Sequence[RolloutState], stop: tuple[str, ...]) -> Sequence[Piece]:
        """Generate one piece for each rollout."""
        ...

    def close(self) -> None:
        """Free the memory."""
        ...


class RolloutRunner:
    """Runs the rollouts of an evaluation on an engine; `evaluate` calls it as `run_rollouts`.

    Args:
        engine: Generates the text.
        settings: Longest response, and the use of the chat template.
    """

    def __init__(self, engine: InferenceEngine, settings: EvaluationSettings) -> None:
        self._engine, self._settings = engine, settings

    def __call__(self, requests: Sequence[RolloutRequest]) -> list[RolloutResult]:
        """Return one finished rollout for each request."""
        keep = self._settings.chat_template
        prompts = [one.prompt if keep else format_prompt(one.prompt) for one in requests]
        texts = [prompt_text(self._engine.tokenizer, prompt) for prompt in prompts]
        rollouts = [self._start(one, prompt) for one, prompt in zip(requests, prompts, strict=True)]
        run_rollouts(rollouts, self._engine.generate, self._engine.tokenizer)
        return [
            RolloutResult(
                text,
                split_tokens(rollout.tokens, rollout.written, self._decode),
                self._decode(rollout.written_tokens()),
                sum(rollout.written),
                rollout.episode.calls,
                rollout.truncated,
            )
            for rollout, text in zip(rollouts, texts, strict=True)
        ]

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _start(self, request: RolloutRequest, asked: Prompt) -> RolloutState:
        prompt = prompt_tokens(self._engine.tokenizer, asked)
        room = min(self._settings.room, self._engine.context - len(prompt))
        return RolloutState(prompt, request.episode, room, request.seed)

    def _decode(self, tokens: Sequence[int]) -> str:
        text: str = self._engine.tokenizer.decode(tokens, skip_special_tokens=True)
        return text
