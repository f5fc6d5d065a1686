"""Rollouts by a text protocol, for TRL's `rollout_func`: ToRL's programs, Search-R1's queries.

TRL's own `tools=` wants a chat template that renders tool calls. A protocol in plain text works
with any model, base models among them, and is what the papers train with.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import torch
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from paretopo_core.training.protocols.episode import Episode, Turn


@dataclass
class _Rollout:
    prompt: list[int]
    episode: Episode
    tokens: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)  # 1 where the model wrote the token
    done: bool = False

    def append(self, tokens: Sequence[int], *, written: bool) -> None:
        self.tokens += tokens
        self.written += [int(written)] * len(tokens)


class ProtocolRollouts:
    """Generates rollouts turn by turn; pass it to `GRPOTrainer` as `rollout_func`.

    Tokens of a turn are kept as they were sampled, those of a feedback are appended behind them and
    carry no loss. The reward functions get the tool executions of each rollout as `calls`, and what
    the model itself wrote as `written`.
    The whole response, feedback included, has at most `max_completion_length` tokens.

    Generates with transformers, not with vLLM.

    Args:
        new_episode: makes the episode of one rollout, for example
            `lambda: TorlEpisode(python, max_calls=1)`.

    Example:
        >>> GRPOTrainer(rollout_func=ProtocolRollouts(new_episode), …)  # doctest: +SKIP
    """

    def __init__(self, new_episode: Callable[[], Episode]) -> None:
        self._new_episode = new_episode

    def __call__(self, prompts: Sequence[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        """One rollout for each prompt.

        Args:
            prompts: texts, or conversations that the chat template renders.
            trainer: generates; its `max_completion_length` and sampling settings are used.

        Raises:
            ValueError: the trainer generates with vLLM.
        """
        if trainer.use_vllm:
            raise ValueError(
                "ProtocolRollouts generates with transformers: set use_vllm=False; for vLLM train "
                "on OpenRLHF"
            )
        tokenizer = trainer.processing_class
        rollouts = [
            _Rollout(_prompt_tokens(tokenizer, prompt), self._new_episode()) for prompt in prompts
        ]
        while active := [rollout for rollout in rollouts if not rollout.done]:
            for stop in {rollout.episode.stop for rollout in active}:
                _take_turn([one for one in active if one.episode.stop == stop], trainer)
        return {
            "prompt_ids": [rollout.prompt for rollout in rollouts],
            "completion_ids": [rollout.tokens for rollout in rollouts],
            "logprobs": None,
            "env_mask": [rollout.written for rollout in rollouts],
            "calls": [rollout.episode.calls for rollout in rollouts],
            "written": [_own_text(rollout, tokenizer) for rollout in rollouts],
        }


def _prompt_tokens(tokenizer: Any, prompt: Any) -> list[int]:
    tokens: list[int] = (
        tokenizer(prompt)["input_ids"]
        if isinstance(prompt, str)
        else tokenizer.apply_chat_template(prompt, add_generation_prompt=True, return_dict=False)
    )
    return tokens


def _own_text(rollout: _Rollout, tokenizer: Any) -> str:
    own = [token for token, mine in zip(rollout.tokens, rollout.written, strict=True) if mine]
    text: str = tokenizer.decode(own, skip_special_tokens=True)
    return text


def _take_turn(rollouts: Sequence[_Rollout], trainer: Any) -> None:
    """Generate one piece of text for each rollout, and append what follows on it."""
    tokenizer, most = trainer.processing_class, trainer.max_completion_length
    stop = rollouts[0].episode.stop
    room = [_room(rollout, most) for rollout in rollouts]
    texts, ended = [], []
    rows = _generate(rollouts, trainer, stop, max(room))
    for rollout, row, limit in zip(rollouts, rows, room, strict=True):
        tokens, has_ended = _own_tokens(row[:limit], tokenizer, trainer.eos_token_ids, stop)
        rollout.append(tokens, written=True)
        texts.append(tokenizer.decode(tokens, skip_special_tokens=True))
        ended.append(has_ended)
    for rollout, turn, has_ended in zip(rollouts, _steps(rollouts, texts), ended, strict=True):
        _continue(rollout, turn, has_ended, tokenizer, most)


def _room(rollout: _Rollout, most: int) -> int:
    left = most - len(rollout.tokens)
    own = rollout.episode.turn_tokens
    return left if own is None else min(left, own)


def _generate(
    rollouts: Sequence[_Rollout], trainer: Any, stop: tuple[str, ...], most: int
) -> list[list[int]]:
    """The tokens after each rollout so far, padded at their end."""
    tokenizer = trainer.processing_class
    contexts = [rollout.prompt + rollout.tokens for rollout in rollouts]
    batch = tokenizer.pad(
        {"input_ids": contexts}, padding=True, padding_side="left", return_tensors="pt"
    ).to(trainer.accelerator.device)
    settings = copy.deepcopy(trainer.generation_config)
    settings.update(max_new_tokens=most, stop_strings=list(stop) or None)
    with (
        unwrap_model_for_generation(
            trainer.model_wrapped,
            trainer.accelerator,
            gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
            generation_kwargs=trainer.generation_kwargs,
            gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
        ) as model,
        torch.no_grad(),
    ):
        whole = model.generate(**batch, generation_config=settings, tokenizer=tokenizer)
    rows: list[list[int]] = whole[:, batch["input_ids"].shape[1] :].tolist()
    return rows


def _own_tokens(
    row: list[int], tokenizer: Any, ends: Sequence[int], stop: tuple[str, ...]
) -> tuple[list[int], bool]:
    """What the model wrote without padding, its end-of-text token included; has it ended?"""
    last = next(
        (i for i, token in enumerate(row) if token in ends or token == tokenizer.pad_token_id), None
    )
    if last is None:
        return row, False
    before = row[:last]
    text = tokenizer.decode(before, skip_special_tokens=True)
    # The padding behind a stop string can look like an end of text.
    if row[last] in ends and not any(string in text for string in stop):
        return row[: last + 1], True
    return before, False


def _steps(rollouts: Sequence[_Rollout], texts: Sequence[str]) -> list[Turn]:
    """The turns of all rollouts, their tools side by side."""

    async def together() -> list[Turn]:
        steps = (one.episode.step(text) for one, text in zip(rollouts, texts, strict=True))
        return await asyncio.gather(*steps)

    # In a thread: where this runs, in a notebook for one, there may be an event loop already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, together()).result()


def _continue(rollout: _Rollout, turn: Turn, has_ended: bool, tokenizer: Any, most: int) -> None:
    if turn.done:
        rollout.done = True
        return
    if has_ended:  # the protocol goes on, so the end of text was none
        rollout.tokens.pop()
        rollout.written.pop()
    feedback = tokenizer(turn.feedback, add_special_tokens=False)["input_ids"]
    feedback = feedback[: rollout.episode.feedback_tokens]
    rollout.append(feedback[: most - len(rollout.tokens)], written=False)
    rollout.done = len(rollout.tokens) >= most
