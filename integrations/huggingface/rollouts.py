"""Rollouts by a text protocol: whatever generates and a tool take turns, many rollouts at a time.

One loop for training and for evaluation, for transformers and for vLLM: they differ in `generate`.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from paretopo.protocols.episode import Episode, StepResult

Finish = Literal["end", "stop", "length"]


@dataclass
class RolloutState:
    """One rollout while it is being generated.

    Attributes:
        prompt: Tokens that the policy reads first.
        episode: Says when a piece of text ends and what follows on it.
        most: Tokens that the response may have, feedback included.
        seed: Fixes what is sampled, for whatever generates by it.
        tokens: The response so far.
        written: For each of them, 1 where the model wrote it.
        truncated: Did it end for want of room?
        turns: Pieces of text that the model wrote.
        seconds: What they and what the tools took; those generated together took as long.
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
        """Go on with these tokens."""
        self.tokens += tokens
        self.written += [int(written)] * len(tokens)

    @property
    def room(self) -> int:
        """Tokens that the next piece of text may have."""
        left, own = self.most - len(self.tokens), self.episode.turn_tokens
        return left if own is None else min(left, own)

    @property
    def piece_seed(self) -> int:
        """Fixes what is sampled next, below 2**31."""
        text = f"{self.seed} {len(self.tokens)}".encode()
        return int.from_bytes(hashlib.sha256(text).digest()[:4], "big") >> 1

    def written_tokens(self) -> list[int]:
        """The tokens that the model itself wrote."""
        return [token for token, mine in zip(self.tokens, self.written, strict=True) if mine]


@dataclass(frozen=True)
class Piece:
    """The text that a model wrote in one go.

    Attributes:
        tokens: An end of text included, padding not.
        finish: "end" if the last token is an end of text, "stop" if a stop string came, "length" if
            there was no more room.
    """

    tokens: list[int]
    finish: Finish


class Generate(Protocol):
    """Goes on with rollouts."""

    def __call__(self, rollouts: Sequence[RolloutState], stop: tuple[str, ...]) -> Sequence[Piece]:
        """One piece for each rollout: up to a stop string, an end of text, or `rollout.room`."""
        ...


def run_rollouts(rollouts: Sequence[RolloutState], generate: Generate, tokenizer: Any) -> None:
    """Take rollouts to their ends.

    Tokens of a turn are kept as they were sampled; those of a feedback are appended behind them.

    Args:
        rollouts: Are gone on with in place.
        generate: Called with all rollouts that wait for the same stop strings.
        tokenizer: Reads what was generated, and makes tokens of feedback.
    """
    for rollout in rollouts:
        if rollout.room <= 0:  # its prompt left nothing
            rollout.done = rollout.truncated = True
    while active := [rollout for rollout in rollouts if not rollout.done]:
        for stop in dict.fromkeys(rollout.episode.stop for rollout in active):
            _take_turn([one for one in active if one.episode.stop == stop], generate, tokenizer)


def _take_turn(rollouts: Sequence[RolloutState], generate: Generate, tokenizer: Any) -> None:
    """Generate one piece of text for each rollout, and append what follows on it."""
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
    """The turns of all rollouts, their tools side by side."""

    async def step(rollout: RolloutState, text: str) -> StepResult:
        began = time.perf_counter()
        result = await rollout.episode.step(text)
        rollout.seconds += time.perf_counter() - began
        return result

    async def together() -> list[StepResult]:
        steps = (step(one, text) for one, text in zip(rollouts, texts, strict=True))
        return await asyncio.gather(*steps)

    # In a thread: where this runs, in a notebook for one, there may be an event loop already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, together()).result()


def _append_feedback(
    rollout: RolloutState, turn: StepResult, finish: Finish, tokenizer: Any
) -> None:
    if turn.done:
        rollout.done, rollout.truncated = True, finish == "length"
        return
    if finish == "end":  # the protocol goes on, so the end of text was none
        rollout.tokens.pop()
        rollout.written.pop()
    # Split, so that a tool's reply writes no control tokens, such as the end of a turn.
    encoded = tokenizer(turn.feedback, add_special_tokens=False, split_special_tokens=True)
    feedback = encoded["input_ids"][: rollout.episode.feedback_tokens]
    rollout.append(feedback[: rollout.most - len(rollout.tokens)], written=False)
    rollout.done = rollout.truncated = len(rollout.tokens) >= rollout.most
