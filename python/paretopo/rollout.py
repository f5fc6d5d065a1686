r"""A rollout: one response of the policy, from its generation to its record.

An adapter creates it from its framework's data, :class:`~paretopo.session.Session` adds rewards and
advantages, and the records keep it. Nothing else in the package describes a response.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The form of calls in the texts of our protocols and chat templates.
_CALLS = (
    ("<search>", "</search>"),
    ("```python", "```"),
    ("<tool_call>", "</tool_call>"),
    ("<call>", "</call>"),
    ("<<", ">>"),
)

SegmentKind = Literal["model", "call", "tool"]


@dataclass(frozen=True)
class Segment:
    """A piece of a response.

    Attributes:
        kind: "model" for the policy's text, "call" for a tool call in it, "tool" for a tool's
            reply.
        text: The piece.
    """

    kind: SegmentKind
    text: str


class BadRollout(ValueError):
    """A rollout that cannot be used; the message names its prompt, the objective and the value."""


@dataclass(frozen=True)
class Rollout:
    """One response of the policy, with its measurements and rewards.

    Attributes:
        prompt_id: Name of its prompt; the rollouts of a group, and several rows of a data set, can
            share one.
        reward_components: Measurements by name and in their own units: the objectives of the run,
            and any of ``correct``, ``calls``, ``failed_calls``, ``tokens``, ``turns``, ``seconds``
            and ``dollars`` that the adapter knows. An objective that is None or missing does not
            apply to the rollout. It counts as the mean of the rollouts of its group (in an
            evaluation, of all questions) to which it applies.
        kind: Kind of question, or its data set.
        preference: The text of its group's preference; "" for none.
        first_tool: Name of the tool that it called first; "" if it called none; None if the adapter
            does not say.
        held_out: True for a prompt from the held-out set.
        solved: True if the gate's objective is above its threshold; None without such an objective.
        tokens: Number of tokens that the policy wrote, without tool results.
        truncated: True if the response ran out of room.
        prompt: Text of the prompt; "" if the text is not kept.
        answer: The right answer; "" if the text is not kept.
        segments: Pieces of the response in order; () if the text is not kept.
        rewards: A number for each objective; () before it is scored.
        gated: The same numbers after the gate; () before it is scored.
        informative: True if the rollouts of its group differ under ``paretopo.group_filter``; False
            before it is scored.
        rank: Pareto rank in its group, 0 is best; None if nothing was ranked.
        advantage: Factor of its log-probabilities in the update; None outside of training.
    """

    prompt_id: str
    reward_components: Mapping[str, float | None]
    kind: str = "all"
    preference: str = ""
    first_tool: str | None = None
    held_out: bool = False
    solved: bool | None = False
    tokens: int = 0
    truncated: bool = False
    prompt: str = ""
    answer: str = ""
    segments: tuple[Segment, ...] = ()
    rewards: tuple[float, ...] = ()
    gated: tuple[float, ...] = ()
    informative: bool = False
    rank: int | None = None
    advantage: float | None = None

    @property
    def has_text(self) -> bool:
        """Return whether the adapter passed the text."""
        return bool(self.prompt or self.segments)


@dataclass(frozen=True)
class ScoredGroup:
    """The rollouts of one prompt with all derived measures, rewards and gated rewards."""

    rollouts: tuple[Rollout, ...]

    @property
    def informative(self) -> bool:
        """Return whether the group teaches anything, by ``paretopo.group_filter``."""
        return self.rollouts[0].informative

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Return (points, objectives) float64 in the order of the run's objectives, not gated."""
        return np.array([one.rewards for one in self.rollouts], np.float64)


def annotate(rollouts: Sequence[Rollout], **values: ArrayLike) -> list[Rollout]:
    """Return the rollouts with further attributes.

    Args:
        rollouts: The rollouts.
        **values: (rollouts,) or (rollouts, any) of each attribute; a row becomes a tuple.

    >>> two = [Rollout("q", {}), Rollout("q", {})]
    >>> [(one.rank, one.rewards) for one in annotate(two, rank=[1, 0], rewards=[[0.0], [1.0]])]
    [(1, (0.0,)), (0, (1.0,))]
    """
    columns = [np.asarray(one).tolist() for one in values.values()]
    rows = zip(
        *([tuple(one) if isinstance(one, list) else one for one in own] for own in columns),
        strict=True,
    )
    return [
        replace(one, **dict(zip(values, row, strict=True)))
        for one, row in zip(rollouts, rows, strict=True)
    ]


def format_prompt(messages: str | Sequence[Mapping[str, Any]]) -> str:
    """Return a prompt as text: itself, its one message, or several with their roles.

    >>> format_prompt([{"role": "user", "content": "why?"}])
    'why?'
    >>> chat = [{"role": "system", "content": "be kind"}, {"role": "user", "content": "why?"}]
    >>> print(format_prompt(chat))
    system: be kind
    user: why?
    """
    if isinstance(messages, str):
        return messages
    if len(messages) == 1:
        return _content(messages[0])
    return "\n".join(f"{message['role']}: {_content(message)}" for message in messages)


def digest_prompt(text: str) -> str:
    """Return a name for a prompt without one, for records and for the minima of costs.

    >>> digest_prompt("why?")
    'c1d2a529e188'
    """
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:12]


def format_answer(answer: object) -> str:
    """Return a right answer as text; several accepted answers are joined.

    >>> format_answer(42), format_answer(["Nile", "the Nile"])
    ('42', 'Nile | the Nile')
    """
    if isinstance(answer, list | tuple):
        return " | ".join(map(str, answer))
    return str(answer)


def split_messages(messages: Sequence[Mapping[str, Any]]) -> tuple[Segment, ...]:
    """Return the segments of a response given as chat messages.

    >>> call = {"function": {"name": "add", "arguments": {"a": 1}}}
    >>> split_messages([
    ...     {"role": "assistant", "content": "", "tool_calls": [call]},
    ...     {"role": "tool", "content": "2"},
    ... ])
    (Segment(kind='call', text='add {"a": 1}'), Segment(kind='tool', text='2'))
    """
    return tuple(segment for message in messages for segment in _split_message(message))


def split_tokens(
    tokens: Sequence[int],
    written: Sequence[int],
    decode: Callable[[Sequence[int]], str],
    end_of_turn: str | None = None,
) -> tuple[Segment, ...]:
    r"""Return the segments of a response given as tokens; markers delimit calls.

    Args:
        tokens: Tokens of the response, without padding.
        written: For each token, whether the policy wrote it.
        decode: Maps tokens to text.
        end_of_turn: Left out at the end of a piece of the policy.

    >>> text = "so\n<search>Nile</search> a river"
    >>> split_tokens(range(32), [1] * 24 + [0] * 8, lambda ids: "".join(text[i] for i in ids))
    ... # doctest: +NORMALIZE_WHITESPACE
    (Segment(kind='model', text='so\n'), Segment(kind='call', text='<search>Nile</search>'),
     Segment(kind='tool', text=' a river'))
    """
    if len(tokens) != len(written):
        raise ValueError(f"{len(tokens)} tokens need as many marks of their author")
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
        start = _find_calls(text) if answered else len(text)
        segments += [Segment("model", text[:start])] if start else []
        segments += [Segment("call", text[start:])] if start < len(text) else []
    return tuple(segments)


def _split_message(message: Mapping[str, Any]) -> Iterator[Segment]:
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


def _find_calls(text: str) -> int:
    """Return the index at which a text's final calls begin; its length without calls."""
    last, start = -1, len(text)
    for opening, closing in _CALLS:
        at, end = text.rfind(opening), text.rfind(closing)
        if at < 0 or end < at + len(opening) or end <= last:
            continue
        while text[:at].rstrip().endswith(closing) and opening in text[:at]:
            at = text.rfind(opening, 0, at)  # several calls in a turn
        last, start = end, at
    return start
