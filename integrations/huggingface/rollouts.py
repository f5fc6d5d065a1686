"""Rollouts by a text protocol: generator and tool alternate, for many rollouts at a time.

Training and evaluation share this loop, with transformers and with vLLM; they differ in `generate`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from paretopo.protocols.episode import Episode, StepResult

Finish = Literal["end", "stop", "length"]


@dataclass
class RolloutState:
    """One rollout during its generation.

    Attributes:
        prompt: Tokens of the prompt.
        episode: Defines the end of a piece of text and the reply to it.
        most: Longest response in tokens, feedback included.
        seed: Fixes the samples, for generators that take a seed.
        tokens: The response so far.
        written: For each token of the response, 1 if the model wrote it.
        truncated: True if the response ran out of room.
        turns: Number of pieces that the model wrote.
        seconds: Time of pieces and tools; a batch counts in full for each of its rollouts.
    """

    prompt: list[int]
    episode: Episode
    most: int
    seed: int = 0
    tokens: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    done: bool = False
    truncated: bool = False
    turns: int = 0
    seconds: float = 0.0

    def append(self, tokens: Sequence[int], *, written: bool) -> None:
        """Append tokens to the response."""
        self.tokens += tokens
        self.written += [int(written)] * len(tokens)

    @property
    def room(self) -> int:
        """Return the longest next piece in tokens."""
        left, own = self.most - len(self.tokens), self.episode.turn_tokens
        return left if own is None else min(left, own)

    @property
    def piece_seed(self) -> int:
        """Return a seed for the next piece, below 2**31."""
        text = f"{self.seed} {len(self.tokens)}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1

    def written_tokens(self) -> list[int]:
        """Return the tokens that the model wrote."""
        return [token for token, mine in zip(self.tokens, self.written, strict=True) if mine]


@dataclass(frozen=True)
class Piece:
    """A text that the model wrote without interruption.

    Attributes:
        tokens: The tokens, with an end of text but without padding.
        finish: "end" if the last token is an end of text, "stop" if a stop string came, "length" if
            there was no more room.
    """

    tokens: list[int]
    finish: Finish


# Generates one piece for each rollout, up to a stop string, end of text or `rollout.room`.
Generate = Callable[[Sequence[RolloutState], tuple[str, ...]], Sequence[Piece]]


def run_rollouts(rollouts: Sequence[RolloutState], generate: Generate, tokenizer: Any) -> None:
    """Run rollouts to their ends.

    Tokens of a turn stay as they were sampled; tokens of a feedback are appended after them.

    Args:
        rollouts: Extended in place.
        generate: Called with all rollouts that wait for the same stop strings.
        tokenizer: Decodes generated tokens, and tokenises feedback.
    """
    for rollout in rollouts:
        if rollout.room <= 0:  # the prompt filled the context
            rollout.done = rollout.truncated = True
    while active := [rollout for rollout in rollouts if not rollout.done]:
        for stop in dict.fromkeys(rollout.episode.stop for rollout in active):
            _take_turn([one for one in active if one.episode.stop == stop], generate, tokenizer)


def _take_turn(rollouts: Sequence[RolloutState], generate: Generate, tokenizer: Any) -> None:
    """Generate one piece of text for each rollout, and append the feedback."""
    began = time.perf_counter()
    pieces = generate(rollouts, rollouts[0].episode.stop)
    took = time.perf_counter() - began
    texts = []
    for rollout, piece in zip(rollouts, pieces, strict=True):
        rollout.append(piece.tokens, written=True)
        rollout.turns += 1
        rollout.seconds += took
        texts.append(tokenizer.decode(piece.tokens, skip_special_tokens=True))
    for rollout, turn, piece in zip(rollouts, _step_episodes(rollouts, texts), pieces, strict=True):
        _append_feedback(rollout, turn, piece.finish, tokenizer)


def _step_episodes(rollouts: Sequence[RolloutState], texts: Sequence[str]) -> list[StepResult]:
    """Step all episodes; their tools run concurrently."""

    async def step(rollout: RolloutState, text: str) -> StepResult:
        began = time.perf_counter()
        result = await rollout.episode.step(text)
        rollout.seconds += time.perf_counter() - began
        return result

    async def together() -> list[StepResult]:
        steps = (step(one, text) for one, text in zip(rollouts, texts, strict=True))
        return await asyncio.gather(*steps)

    # Run in a thread: the caller, such as a notebook, may already have an event loop.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, together()).result()


def _append_feedback(
    rollout: RolloutState, turn: StepResult, finish: Finish, tokenizer: Any
) -> None:
    if turn.done:
        rollout.done, rollout.truncated = True, finish == "length"
        return
    if finish == "end":  # the protocol continues, so the end of text did not end it
        rollout.tokens.pop()
        rollout.written.pop()
    # Break control tokens, so that a tool's reply cannot end a turn.
    encoded = tokenizer(turn.feedback, add_special_tokens=False, split_special_tokens=True)
    feedback = encoded["input_ids"][: rollout.episode.feedback_tokens]
    rollout.append(feedback[: rollout.most - len(rollout.tokens)], written=False)
    rollout.done = rollout.truncated = len(rollout.tokens) >= rollout.most
