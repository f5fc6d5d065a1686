"""The supervised warm-up: a model without experience of tools imitates written traces.

Each step's traces depend only on the seed and the step, and the state is saved every few steps. A
killed warm-up therefore resumes and ends in the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from paretopo.config import ConfigError, WarmupConfig
from paretopo.integrations.huggingface.loading import computing_in
from paretopo.integrations.huggingface.prompts import prompt_text, prompt_tokens
from paretopo.progress import make_bar
from paretopo.records.files import write_file
from paretopo.tasks.task import Message, Prompt, Task, TextTrace, Trace

_IGNORED = -100  # Hugging Face's label for tokens that carry no loss
_RAMP = 20  # steps of linear warm-up of the learning rate
_FLOOR = 0.05  # the cosine ends at this share of the learning rate
_KEPT_EVERY = 25  # steps between saved states
_REDUNDANT_CALLS = 2  # at most, in a trace


def warm_up(
    model: Any,
    tokenizer: Any,
    traces: Callable[[int], Sequence[Trace]],
    config: WarmupConfig,
    state_file: Path,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    functions: Sequence[Callable[..., str]] = (),
    dtype: torch.dtype = torch.float32,
) -> bool:
    """Train on traces; only the assistant's tokens carry loss.

    Takes the memory of training with AdamW, four times that of the trained weights. Saving and
    loading the state need no copy of it.

    Args:
        model: Trained in place: all weights that require gradients.
        tokenizer: Its chat template must render the beginning of a conversation as a prefix of it.
        traces: Maps a step to its traces; the same step always gives the same traces.
        config: Steps and learning rate.
        state_file: The saved state; an existing state is resumed.
        should_stop: Called after each step; True saves the state and returns.
        functions: Tools that the chat template presents, as in training.
        dtype: The dtype of computation.

    Returns:
        True if the warm-up is finished.

    Raises:
        ConfigError: The traces call tools, and there is no chat template or it does not keep
            prefixes.
    """
    rate = config.learning_rate
    assert rate is not None, "a RunConfig has filled it"
    trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
    optimiser = torch.optim.AdamW(trained.values(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    done = _load(state_file, trained, optimiser, config.steps)
    model.train()
    with make_bar(total=config.steps, initial=done, desc="warm-up", unit="step") as bar:
        for step in range(done, config.steps):
            for group in optimiser.param_groups:
                group["lr"] = rate * _learning_rate_factor(step, config.steps)
            rows = [encode(tokenizer, trace, functions) for trace in traces(step)]
            loss = _take_gradient(model, rows, tokenizer.pad_token_id, config.micro_batch, dtype)
            torch.nn.utils.clip_grad_norm_(trained.values(), 1.0)
            optimiser.step()
            optimiser.zero_grad()
            bar.update()
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            stop = should_stop()
            if step + 1 == config.steps:
                _save(state_file, trained, None, step + 1)
            elif stop or (step + 1) % _KEPT_EVERY == 0:
                _save(state_file, trained, optimiser, step + 1)
                if stop:
                    return False
    return True


_Rows = Sequence[tuple[list[int], list[bool]]]


def _take_gradient(
    model: Any, rows: _Rows, padding: int, micro_batch: int, dtype: torch.dtype
) -> float:
    """Add the gradient of a step; return its loss, the mean over all tokens with labels.

    Rows of similar length share a pass, so padding is small. Logits are computed only where a label
    follows; the tokens of a long prompt have none.
    """
    ordered = sorted(rows, key=lambda row: len(row[0])) if micro_batch else rows
    size = micro_batch or len(rows)
    labelled = sum(sum(written[1:]) for _, written in rows)
    whole = 0.0
    for first in range(0, len(rows), size):
        batch = collate(ordered[first : first + size], padding)
        batch = {name: tensor.to(model.device) for name, tensor in batch.items()}
        following = batch.pop("labels")[:, 1:]
        kept = (following != _IGNORED).any(dim=0).nonzero().squeeze(1)
        with computing_in(dtype, model.device.type):
            scores = model(**batch, logits_to_keep=kept).logits
        loss: Any = torch.nn.functional.cross_entropy(
            scores.float().flatten(0, 1),
            following[:, kept].flatten(),
            ignore_index=_IGNORED,
            reduction="sum",
        )
        loss = loss / labelled
        loss.backward()
        whole += loss.item()
    return whole


def make_trace_source(task: Task, config: WarmupConfig) -> Callable[[int], Sequence[Trace]]:
    """Return the written traces of each step, for `warm_up`."""

    def traces(step: int) -> Sequence[Trace]:
        # Guesses are noise to imitate: the first half leaves them out, and the model calls sooner.
        guess_rate = config.guess_rate if 2 * step >= config.steps else 0.0
        return task.imitated(step, config.batch_size, _REDUNDANT_CALLS, guess_rate)

    return traces


def encode(
    tokenizer: Any, trace: Trace, functions: Sequence[Callable[..., str]] = ()
) -> tuple[list[int], list[bool]]:
    """Return the tokens of a trace, and whether the assistant wrote each of them.

    The text is split at the borders of the assistant's turns, and each piece is tokenised
    separately, as in generation with tools. `functions` are the tools that the chat template
    presents.
    """
    if isinstance(trace, TextTrace):
        asked, pieces = trace.prompt, [*trace.pieces, (tokenizer.eos_token, True)]
    elif tokenizer.chat_template is None:
        asked, pieces = _bare_pieces(tokenizer, trace)
    else:
        asked, pieces = _conversation_pieces(tokenizer, trace, functions)
    tokens = prompt_tokens(tokenizer, asked, functions)
    written = [False] * len(tokens)
    encoded = tokenizer([text for text, _ in pieces], add_special_tokens=False)["input_ids"]
    for piece, (_, own) in zip(encoded, pieces, strict=True):
        tokens += piece
        written += [own] * len(piece)
    return tokens, written


_Pieces = list[tuple[str, bool]]


def _bare_pieces(tokenizer: Any, conversation: list[Message]) -> tuple[Prompt, _Pieces]:
    """Return question and answer of a base model as texts."""
    *asked, answer = conversation
    if answer["role"] != "assistant" or any(one["role"] == "assistant" for one in asked):
        raise ConfigError(
            "model.chat_template: this model has no chat template, and the warm-up's rollouts call "
            'tools or take several turns: use "chatml-tools" or a .jinja file, or set '
            "warmup.steps = 0"
        )
    return asked, [(answer["content"] + tokenizer.eos_token, True)]


def _conversation_pieces(
    tokenizer: Any, conversation: list[Message], functions: Sequence[Callable[..., str]]
) -> tuple[Prompt, _Pieces]:
    """Return the text before the assistant's first turn, and all pieces after it."""
    turns = [at for at, message in enumerate(conversation) if message["role"] == "assistant"]
    asked = conversation[: turns[0]]
    pieces: _Pieces = []
    before = prompt_text(tokenizer, asked, functions)
    for i in turns:
        prompt = prompt_text(tokenizer, conversation[:i], functions)
        whole = _render(tokenizer, conversation[: i + 1], functions)
        if not (prompt.startswith(before) and whole.startswith(prompt)):
            raise ConfigError(
                "the chat template does not keep prefixes: it renders "
                f"{whole[-80:]!r} for a conversation that begins as {prompt[-80:]!r}; use another "
                'one, model.chat_template = "chatml-tools" or a .jinja file, or set '
                "warmup.steps = 0"
            )
        end = whole.rfind(tokenizer.eos_token, len(prompt))
        if end >= 0:  # the policy does not write the template's text after it
            whole = whole[: end + len(tokenizer.eos_token)]
        pieces += [(prompt[len(before) :], False), (whole[len(prompt) :], True)]
        before = whole
    return asked, [piece for piece in pieces if piece[0]]


def mask_labels(tokens: Sequence[int], written: Sequence[bool]) -> list[int]:
    """Return Hugging Face's labels: only the assistant's tokens carry loss."""
    return [token if own else _IGNORED for token, own in zip(tokens, written, strict=True)]


def collate(rows: Sequence[tuple[list[int], list[bool]]], padding: int) -> dict[str, torch.Tensor]:
    """Pad encoded conversations on the right into one batch: (conversations, tokens) each."""
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
    """Return the factor of the learning rate: a linear rise, then half a cosine."""
    rise = min((step + 1) / _RAMP, 1.0)
    fall = 0.5 * (1.0 + math.cos(math.pi * step / steps))
    return rise * (_FLOOR + (1.0 - _FLOOR) * fall)


def _save(
    path: Path, trained: Mapping[str, Any], optimiser: torch.optim.Optimizer | None, step: int
) -> None:
    """Save the trained weights, and the optimiser's state unless this is the last step."""
    state = {"step": step, "model": {name: one.detach() for name, one in trained.items()}}
    if optimiser is not None:
        state["optimiser"] = optimiser.state_dict()
    write_file(path, lambda file: torch.save(state, file))


def _load(
    path: Path, trained: Mapping[str, Any], optimiser: torch.optim.Optimizer, steps: int
) -> int:
    """Restore the saved state; return the number of steps done."""
    if not path.exists():
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    with torch.no_grad():
        for name, one in trained.items():
            one.copy_(state["model"][name])
    if state["step"] < steps:
        optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])
