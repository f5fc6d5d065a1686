"""A bonus for the entropy of the choice between tools.

The calls of different tools differ only in a few tokens, those of the tools' names. At these places
the policy chooses. The bonus is the entropy of the choice among the next tokens of the tools' calls
there. Other tokens get no bonus, and no probability moves to tokens that are no tool.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os.path import commonprefix
from typing import Any, NamedTuple

import torch

from paretopo.config import ConfigError

_ANCHOR = 4  # tokens before the choice by which a call is found


class Place(NamedTuple):
    """A place where the policy chooses.

    Attributes:
        row: The rollout.
        token: The chosen token's place in the response.
        among: The tokens with which calls of the tools continue.
    """

    row: int
    token: int
    among: tuple[int, ...]


class Choices:
    """Finds the tokens by which the first call of a response names its tool.

    Args:
        tokenizer: Its chat template renders tool calls.
        tools: The functions that the policy may call.

    Raises:
        ConfigError: There are fewer than two tools, or their calls are equal.
    """

    def __init__(self, tokenizer: Any, tools: Sequence[Callable[..., Any]]) -> None:
        names = ", ".join(tool.__name__ for tool in tools)
        if len(tools) < 2:
            raise ConfigError(
                "optimiser.decision_entropy is for a choice between tools, got a task with "
                f"{len(tools)}: {names or 'none'}"
            )
        asked = _render(tokenizer, [], prompts=True)
        calls = [_render(tokenizer, [_make_call(tool)]) for tool in tools]
        common = len(commonprefix(calls))
        if any(len(call) == common for call in calls):
            raise ConfigError(
                "optimiser.decision_entropy needs a chat template that renders tool calls: the "
                f"calls of {names} are equal"
            )
        start = len(commonprefix([asked, *calls]))
        self._anchor = tuple(calls[0][max(start, common - _ANCHOR) : common])
        self._calls = [tuple(call[common:]) for call in calls]

    def find(self, row: int, tokens: Sequence[int]) -> Iterator[Place]:
        """Yield the places of a rollout's first choice; none if it calls no tool.

        Args:
            row: The rollout.
            tokens: Its response.
        """
        at = _find(tuple(tokens), self._anchor)
        calls, depth = self._calls, 0
        while at is not None and len(calls) > 1 and at < len(tokens):
            among = tuple(sorted({call[depth] for call in calls}))
            if tokens[at] not in among:
                return
            if len(among) > 1:
                yield Place(row, at, among)
            calls = [call for call in calls if call[depth] == tokens[at]]
            at, depth = at + 1, depth + 1


def compute_entropies(
    places: Sequence[Place], hidden: torch.Tensor, head: Any, temperature: float
) -> torch.Tensor:
    """Return (places,) entropies of the choice among the tokens of each place.

    Args:
        places: Where the policy chose.
        hidden: (rows, tokens, width) last hidden states that predict the tokens of the responses.
        head: The layer with a weight for each token.
        temperature: Of sampling.
    """
    entropies = []
    for place in places:
        among = torch.tensor(place.among, device=hidden.device)
        state = hidden[place.row, place.token].to(head.weight.dtype)
        logits = head.weight[among] @ state
        if getattr(head, "bias", None) is not None:
            logits = logits + head.bias[among]
        logs = torch.log_softmax(logits.float() / temperature, dim=-1)
        entropies.append(-(logs.exp() * logs).sum())
    return torch.stack(entropies)


@contextmanager
def watch_hidden_states(model: Any) -> Iterator[list[torch.Tensor]]:
    """Collect the last hidden states of each pass through the model inside the context."""
    whole = model.get_base_model() if hasattr(model, "get_base_model") else model
    seen: list[torch.Tensor] = []
    hook = whole.base_model.register_forward_hook(
        lambda _module, _inputs, outputs: seen.append(outputs.last_hidden_state)
    )
    try:
        yield seen
    finally:
        hook.remove()


def _make_call(tool: Callable[..., Any]) -> dict[str, Any]:
    arguments = dict.fromkeys(inspect.signature(tool).parameters, "")
    function = {"name": tool.__name__, "arguments": arguments}
    call = {"type": "function", "function": function}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _render(tokenizer: Any, said: list[dict[str, Any]], *, prompts: bool = False) -> list[int]:
    """Return the tokens of a conversation that ends in these messages."""
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": ""}, *said], tokenize=False, add_generation_prompt=prompts
    )
    tokens: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return tokens


def _find(tokens: tuple[int, ...], part: tuple[int, ...]) -> int | None:
    """Return the place after the first occurrence of a part; None without one."""
    for at in range(len(tokens) - len(part) + 1):
        if tokens[at : at + len(part)] == part:
            return at + len(part)
    return None
