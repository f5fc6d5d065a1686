"""Evaluation's rollouts on any engine: prompts become tokens, ended rollouts become records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from transformers import AutoTokenizer

from paretopo.config import ConfigError
from paretopo.evaluation.asking import Asked
from paretopo.evaluation.evaluate import Played
from paretopo.evaluation.settings import EvaluationSettings
from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.integrations.huggingface.rollouts import Piece, Rollout, play
from paretopo.run.transcripts import of_tokens, said


class Engine(Protocol):
    """A loaded model that generates."""

    tokenizer: Any
    context: int  # tokens that prompt and response may have together

    def generate(self, rollouts: Sequence[Rollout], stop: tuple[str, ...]) -> Sequence[Piece]:
        """One piece for each rollout."""
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


class Player:
    """Plays rollouts on an engine: what `evaluate` calls `play`.

    Args:
        engine: Generates.
        settings: Longest response, and whether messages go through the chat template.
    """

    def __init__(self, engine: Engine, settings: EvaluationSettings) -> None:
        self._engine, self._settings = engine, settings

    def __call__(self, asked: Sequence[Asked]) -> list[Played]:
        """One played rollout for each that was asked for."""
        texts = [self._text(one) for one in asked]
        rollouts = [self._begun(one, text) for one, text in zip(asked, texts, strict=True)]
        play(rollouts, self._engine.generate, self._engine.tokenizer)
        return [
            Played(
                text,
                of_tokens(rollout.tokens, rollout.written, self._decode),
                self._decode(rollout.own_tokens()),
                sum(rollout.written),
                rollout.episode.calls,
                rollout.truncated,
            )
            for rollout, text in zip(rollouts, texts, strict=True)
        ]

    def close(self) -> None:
        """Close the engine."""
        self._engine.close()

    def _text(self, asked: Asked) -> str:
        if self._settings.chat_template:
            return prompt_text(self._engine.tokenizer, asked.prompt)
        return said(asked.prompt)

    def _begun(self, asked: Asked, text: str) -> Rollout:
        # A chat template writes the markers of its model itself; a bare text gets them here.
        framed = not isinstance(asked.prompt, str) and self._settings.chat_template
        framed = framed and self._engine.tokenizer.chat_template is not None
        prompt = self._engine.tokenizer(text, add_special_tokens=not framed)["input_ids"]
        room = min(self._settings.room, self._engine.context - len(prompt))
        return Rollout(prompt, asked.episode, room, asked.seed)

    def _decode(self, tokens: Sequence[int]) -> str:
        text: str = self._engine.tokenizer.decode(tokens, skip_special_tokens=True)
        return text


def load_tokenizer(model: str) -> Any:
    """The tokenizer of a model.

    Raises:
        ConfigError: There is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load the tokenizer of {model!r}: {error}") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer
