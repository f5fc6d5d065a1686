"""From what a framework has of a rollout, messages or masked tokens, to what the records keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import paretopo_core
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.scoring import Scored
from paretopo.run.trajectories import Group, Rollout, Segment

# How calls look in the text of the protocols and chat templates that we train with.
_CALLS = (
    ("<search>", "</search>"),
    ("```python", "```"),
    ("<tool_call>", "</tool_call>"),
    ("<call>", "</call>"),
)


@dataclass(frozen=True)
class Transcript:
    """What a rollout wrote, before it is scored.

    Attributes:
        prompt: What the policy read.
        answer: The right answer.
        segments: The pieces of the response.
        truncated: Did it end for want of room?
    """

    prompt: str
    answer: str
    segments: tuple[Segment, ...]
    truncated: bool


def judged(
    controller: ParetoPO,
    wrote: Sequence[Transcript],
    scored: Sequence[Scored],
    vectors: ArrayLike,
    *,
    step: int,
    advantages: Sequence[float] | None = None,
) -> Group:
    """The rollouts of one prompt with what they were worth.

    Args:
        controller: Gates the vectors; its stage is recorded.
        wrote: At least one transcript.
        scored: What each of them did.
        vectors: (rollouts, objectives), not gated.
        step: The step they belong to.
        advantages: (rollouts,) what the update gets; None for held-out questions, which are not
            ranked either.
    """
    rewards = np.asarray(vectors, np.float64)
    gated = controller.gate(rewards)
    ranks = paretopo_core.pareto_rank(gated[None])[0].tolist()
    rollouts = [
        Rollout(
            segments=text.segments,
            solved=one.solved,
            calls=one.calls,
            truncated=text.truncated,
            rewards=tuple(rewards[number].tolist()),
            gated=tuple(gated[number].tolist()),
            rank=None if advantages is None else int(ranks[number]),
            advantage=None if advantages is None else float(advantages[number]),
        )
        for number, (text, one) in enumerate(zip(wrote, scored, strict=True))
    ]
    first = scored[0]
    return Group(
        id=first.id,
        prompt=wrote[0].prompt,
        answer=wrote[0].answer,
        rollouts=tuple(rollouts),
        step=step,
        stage=controller.stage,
        held_out=first.held_out,
        kind=first.kind,
    )


def spread(total: int, count: int) -> list[int]:
    """`count` of the numbers below `total`, evenly spread; all where there are not as many.

    >>> spread(64, 2), spread(3, 5)
    ([16, 48], [0, 1, 2])
    """
    if count >= total:
        return list(range(total))
    return [(2 * number + 1) * total // (2 * count) for number in range(count)]


def said(messages: str | Sequence[Mapping[str, Any]]) -> str:
    """A prompt as text: itself, its one message, or several with their roles.

    >>> said([{"role": "user", "content": "why?"}])
    'why?'
    >>> print(said([{"role": "system", "content": "be kind"}, {"role": "user", "content": "why?"}]))
    system: be kind
    user: why?
    """
    if isinstance(messages, str):
        return messages
    if len(messages) == 1:
        return _content(messages[0])
    return "\n".join(f"{message['role']}: {_content(message)}" for message in messages)


def answer_text(answer: object) -> str:
    """A right answer as text; several that are accepted beside each other.

    >>> answer_text(42), answer_text(["Nile", "the Nile"])
    ('42', 'Nile | the Nile')
    """
    if isinstance(answer, list | tuple):
        return " | ".join(map(str, answer))
    return str(answer)


def of_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[Segment, ...]:
    """The pieces of a response that came as chat messages.

    >>> call = {"function": {"name": "add", "arguments": {"a": 1}}}
    >>> of_messages([
    ...     {"role": "assistant", "content": "", "tool_calls": [call]},
    ...     {"role": "tool", "content": "2"},
    ... ])
    (Segment(kind='call', text='add {"a": 1}'), Segment(kind='tool', text='2'))
    """
    return tuple(segment for message in messages for segment in _pieces(message))


def of_tokens(
    tokens: Sequence[int],
    written: Sequence[int],
    decode: Callable[[Sequence[int]], str],
    end_of_turn: str | None = None,
) -> tuple[Segment, ...]:
    r"""The pieces of a response that came as tokens; calls are found by how they look.

    Args:
        tokens: Those of the response, without padding.
        written: For each, whether the policy wrote it.
        decode: From tokens to text.
        end_of_turn: Left out where a piece of the policy ends in it.

    >>> text = "so\n<search>Nile</search> a river"
    >>> of_tokens(range(32), [1] * 24 + [0] * 8, lambda places: "".join(text[i] for i in places))
    ... # doctest: +NORMALIZE_WHITESPACE
    (Segment(kind='model', text='so\n'), Segment(kind='call', text='<search>Nile</search>'),
     Segment(kind='tool', text=' a river'))
    """
    if len(tokens) != len(written):
        raise ValueError(f"{len(tokens)} tokens need as many marks of who wrote them")
    runs = [
        (own, decode([token for token, _ in run]))
        for own, run in groupby(zip(tokens, map(bool, written), strict=True), lambda pair: pair[1])
    ]
    segments: list[Segment] = []
    for number, (own, text) in enumerate(runs):
        if not own:
            segments.append(Segment("tool", text))
            continue
        text = text.removesuffix(end_of_turn or "")
        answered = number + 1 < len(runs)
        start = _call_start(text) if answered else len(text)
        segments += [Segment("model", text[:start])] if start else []
        segments += [Segment("call", text[start:])] if start < len(text) else []
    return tuple(segments)


def _pieces(message: Mapping[str, Any]) -> Iterator[Segment]:
    text = _content(message)
    if message["role"] == "tool":
        yield Segment("tool", text)
        return
    if text:
        yield Segment("model", text)
    for call in message.get("tool_calls") or ():
        function = call.get("function", call)
        arguments = function.get("arguments")
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments)
        yield Segment("call", f"{function.get('name')} {shown}")


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    return json.dumps(content, ensure_ascii=False)


def _call_start(text: str) -> int:
    """Where the calls begin that a text ends with; its length where there are none."""
    last, start = -1, len(text)
    for opening, closing in _CALLS:
        at, end = text.rfind(opening), text.rfind(closing)
        if at < 0 or end < at + len(opening) or end <= last:
            continue
        while text[:at].rstrip().endswith(closing) and opening in text[:at]:
            at = text.rfind(opening, 0, at)  # several calls in a turn
        last, start = end, at
    return start
