"""The supervised warm-up: a model that never saw a tool imitates written traces.

Each step's traces depend on the seed and the step alone, and the state is kept every few steps, so
a killed warm-up goes on where it was and ends in the same weights.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from paretopo.config import WarmupConfig
from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.run.files import write_bytes
from paretopo.tasks.task import Message, Task, TextTrace, Trace

_IGNORED = -100  # Hugging Face's label for tokens that carry no loss
_RAMP = 20  # steps of linear rise of the learning rate
_FLOOR = 0.05  # the cosine falls to this share of the learning rate
_KEPT_EVERY = 25  # steps between states on disk


def warm_up(
    model: Any,
    tokenizer: Any,
    traces: Callable[[int], Sequence[Trace]],
    config: WarmupConfig,
    state_file: Path,
    should_stop: Callable[[], bool] = lambda: False,
) -> bool:
    """Train on traces; the assistant's words carry loss, the user's and the tool's do not.

    Args:
        model: Trained in place.
        tokenizer: Its chat template must render a conversation's beginning as a prefix of it.
        traces: Step → traces of that step; the same for the same step.
        config: Steps and learning rate.
        state_file: Where the state is kept; found there, the warm-up goes on from it.
        should_stop: Asked after each step; True keeps the state and returns.

    Returns:
        Is the warm-up finished?

    Raises:
        ValueError: The chat template does not keep prefixes.
    """
    optimiser = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    done = _load(state_file, model, optimiser)
    model.train()
    with tqdm(total=config.steps, initial=done, desc="warm-up", unit="step") as bar:
        for step in range(done, config.steps):
            for group in optimiser.param_groups:
                group["lr"] = config.learning_rate * _learning_rate_factor(step, config.steps)
            batch = collate(
                [encode(tokenizer, trace) for trace in traces(step)], tokenizer.pad_token_id
            )
            batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            bar.update()
            bar.set_postfix(loss=f"{loss.item():.3f}", refresh=False)
            stop = should_stop()
            if stop or (step + 1) % _KEPT_EVERY == 0 or step + 1 == config.steps:
                _save(state_file, model, optimiser, step + 1)
            if stop and step + 1 < config.steps:
                return False
    return True


def make_trace_source(task: Task, config: WarmupConfig) -> Callable[[int], Sequence[Trace]]:
    """The written traces of each step, for `warm_up`."""

    def traces(step: int) -> Sequence[Trace]:
        # Guesses are noise to imitate: the first half is without them, and learns to call sooner.
        guess_rate = config.guess_rate if 2 * step >= config.steps else 0.0
        return task.imitated(step, config.batch_size, config.redundant_calls, guess_rate)

    return traces


def encode(
    tokenizer: Any, trace: Trace, functions: Sequence[Callable[..., str]] = ()
) -> tuple[list[int], list[bool]]:
    """Tokens of a trace, and which of them the assistant wrote.

    The text is cut at the borders of the assistant's turns and tokenised piece by piece, which is
    how generation with tools sees it. `functions` are the tools that the chat template presents.
    """
    pieces = (
        _transcript_pieces(tokenizer, trace, functions)
        if isinstance(trace, TextTrace)
        else _conversation_pieces(tokenizer, trace, functions)
    )
    encoded = tokenizer([text for text, _ in pieces], add_special_tokens=False)["input_ids"]
    tokens = [token for piece in encoded for token in piece]
    written = [own for piece, (_, own) in zip(encoded, pieces, strict=True) for _ in piece]
    return tokens, written


def _transcript_pieces(
    tokenizer: Any, trace: TextTrace, functions: Sequence[Callable[..., str]]
) -> list[tuple[str, bool]]:
    """With an end of text, which the policy writes."""
    prompt = prompt_text(tokenizer, trace.prompt, functions)
    return [(prompt, False), *trace.pieces, (tokenizer.eos_token, True)]


def _conversation_pieces(
    tokenizer: Any, conversation: list[Message], functions: Sequence[Callable[..., str]]
) -> list[tuple[str, bool]]:
    pieces: list[tuple[str, bool]] = []
    before = ""
    for i, message in enumerate(conversation):
        if message["role"] != "assistant":
            continue
        prompt = prompt_text(tokenizer, conversation[:i], functions)
        whole = _render(tokenizer, conversation[: i + 1], functions)
        if not (prompt.startswith(before) and whole.startswith(prompt)):
            raise ValueError(
                "the chat template does not keep prefixes: it renders "
                f"{whole[-80:]!r} for a conversation that begins as {prompt[-80:]!r}; set "
                "warmup.steps = 0 for this model"
            )
        pieces += [(prompt[len(before) :], False), (whole[len(prompt) :], True)]
        before = whole
    return pieces


def mask_labels(tokens: Sequence[int], written: Sequence[bool]) -> list[int]:
    """Hugging Face's labels: what the assistant did not write carries no loss."""
    return [token if own else _IGNORED for token, own in zip(tokens, written, strict=True)]


def collate(rows: Sequence[tuple[list[int], list[bool]]], padding: int) -> dict[str, torch.Tensor]:
    """Encoded conversations as one batch, padded on the right: (conversations, tokens) each."""
    length = max(len(tokens) for tokens, _ in rows)
    ids = torch.full((len(rows), length), padding)
    labels = torch.full((len(rows), length), _IGNORED)
    attention = torch.zeros((len(rows), length), dtype=torch.long)
    for i, (tokens, written) in enumerate(rows):
        ids[i, : len(tokens)] = torch.tensor(tokens)
        labels[i, : len(tokens)] = torch.tensor(mask_labels(tokens, written))
        attention[i, : len(tokens)] = 1
    return {"input_ids": ids, "attention_mask": attention, "labels": labels}


def _render(
    tokenizer: Any, messages: list[Message], functions: Sequence[Callable[..., str]]
) -> str:
    text: str = tokenizer.apply_chat_template(
        messages, tools=list(functions) or None, tokenize=False, add_generation_prompt=False
    )
    return text


def _learning_rate_factor(step: int, steps: int) -> float:
    """A linear rise, then half a cosine."""
    rise = min((step + 1) / _RAMP, 1.0)
    fall = 0.5 * (1.0 + math.cos(math.pi * step / steps))
    return rise * (_FLOOR + (1.0 - _FLOOR) * fall)


def _save(path: Path, model: Any, optimiser: torch.optim.Optimizer, step: int) -> None:
    content = io.BytesIO()
    torch.save(
        {"step": step, "model": model.state_dict(), "optimiser": optimiser.state_dict()}, content
    )
    write_bytes(path, content.getvalue())


def _load(path: Path, model: Any, optimiser: torch.optim.Optimizer) -> int:
    """Restore the kept state; returns the steps done."""
    if not path.exists():
        return 0
    state = torch.load(path, map_location=model.device, weights_only=True)
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])
