"""A task: its questions, and the traces for a warm-up; the same interface for every task.

How a rollout is made and graded is its environment: `paretopo.tasks.environment`.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paretopo.config import ConfigError
from paretopo.preference import Preference, Preferences
from paretopo.protocols.episode import Episode, StepResult

Message = dict[str, Any]
Prompt = str | list[Message]
Answer = str | list[str]


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        id: Stable name; the running minimum of calls is kept under it.
        kind: Its kind in reports.
        text: The text for the policy.
        answer: The right answer, or several.
        steps: The necessary calls of a tool, in order, if they are known.
        columns: Columns for the user's own rewards.
        preference: The one that is given with it.
    """

    id: str
    kind: str
    text: str
    answer: Answer
    steps: tuple[str, ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    preference: Preference | None = None


@dataclass(frozen=True)
class TextTrace:
    """A written rollout by a text protocol, for the policy to imitate.

    Attributes:
        prompt: The question's prompt.
        pieces: (text, did the policy write it), in order.
    """

    prompt: Prompt
    pieces: tuple[tuple[str, bool], ...]


Trace = list[Message] | TextTrace  # with chat messages where the chat template calls tools


class Task(ABC):
    """Questions to train on and to be held out, and traces for a supervised warm-up.

    Attributes:
        training: Questions to train on.
        held_out: Questions never trained on.
        is_chat: Are questions a user's messages, or the beginning of a text to go on with?
        functions: Tools that the chat template presents; none where text and tool take turns by a
            protocol.
        seed: Fixes the order of the questions.
        preferences: Those that are given with questions; None where weights are fixed.
    """

    training: Sequence[Question]
    held_out: Sequence[Question]
    is_chat: bool
    functions: Sequence[Callable[..., str]] = ()
    seed: int
    preferences: Preferences | None = None

    def schedule(self, steps: int, per_step: int) -> Iterator[Question]:
        """Training questions for `steps` steps: pass after pass, each in a fresh random order."""
        left = steps * per_step
        lap = 0
        while left > 0:
            order = list(self.training)
            random.Random(f"lap {lap} {self.seed}").shuffle(order)
            yield from order[:left]
            left -= len(order)
            lap += 1

    def written(self, steps: int, per_step: int) -> Sequence[Question]:
        """Return the training questions for a trainer that reads them from a file.

        Where preferences are given each is drawn when the file is written: the file then holds the
        questions of all steps, so that a question comes with several.
        """
        if self.preferences is None:
            return self.training
        return [
            replace(question, preference=self.preferences.draw(number))
            for number, question in enumerate(self.schedule(steps, per_step))
        ]

    def sweep(self) -> list[Question]:
        """Return the held-out questions, once for each preference of an evaluation."""
        if self.preferences is None:
            return list(self.held_out)
        return [
            replace(question, preference=given)
            for given in self.preferences.grid
            for question in self.held_out
        ]

    def prompt(self, question: Question) -> Prompt:
        """Return the prompt of a question: a message or a text, as `is_chat` says."""
        return [{"role": "user", "content": question.text}] if self.is_chat else question.text

    def ask(self, question: Question) -> Prompt:
        """Return the prompt with the preference that is given with the question."""
        prompt, given = self.prompt(question), question.preference
        return prompt if given is None else with_preference(prompt, given.line)

    @abstractmethod
    def traces(
        self, step: int, count: int, redundant_calls: int, guess_rate: float
    ) -> Sequence[Trace]:
        """Rollouts to imitate in one supervised step; the same arguments give the same traces.

        Args:
            step: Number of the supervised step.
            count: Traces wanted.
            redundant_calls: Most needless calls in a trace.
            guess_rate: Share of the traces that guess, of those that need a call.
        """

    def imitated(
        self, step: int, count: int, redundant_calls: int, guess_rate: float
    ) -> Sequence[Trace]:
        """Return the traces that a warm-up step imitates, each with a preference if questions have
        one.

        The preference is random: training has to learn its meaning.
        """
        written = self.traces(step, count, redundant_calls, guess_rate)
        given = self.drawn(step, len(written))
        if given is None:
            return written
        return [_with_preference(one, wish) for one, wish in zip(written, given, strict=True)]

    def drawn(self, step: int, count: int) -> list[Preference] | None:
        """Return the preferences of a supervised step; None if weights are fixed."""
        if self.preferences is None:
            return None
        return [self.preferences.draw(step * count + at) for at in range(count)]

    @abstractmethod
    def solution(self, question: Question) -> Trace:
        """Return the rollout that gives the right answer immediately, without a tool."""

    def words(self) -> list[str]:
        """Texts with every word that the tiny model has to know; none if it is not for it."""
        return []

    def phrases(self) -> list[str]:
        """Texts that are one token each for the tiny model, so that a call is a handful of them."""
        return []


PREFERENCE_ROLE = "system"


def with_preference(prompt: Prompt, line: str) -> Prompt:
    r"""Put a line before the prompt: as a system message, or as the first line of a text.

    >>> with_preference("2 + 2 =", "Preference: calls 1")
    'Preference: calls 1\n2 + 2 ='
    >>> with_preference([{"role": "system", "content": "Be kind."}], "Preference: calls 1")
    [{'role': 'system', 'content': 'Be kind.\nPreference: calls 1'}]
    """
    if isinstance(prompt, str):
        return f"{line}\n{prompt}"
    if prompt and prompt[0]["role"] == PREFERENCE_ROLE:  # templates take one, and first
        system = f"{prompt[0]['content']}\n{line}"
        return [{**prompt[0], "content": system}, *prompt[1:]]
    return [{"role": PREFERENCE_ROLE, "content": line}, *prompt]


def _with_preference(trace: Trace, given: Preference) -> Trace:
    if isinstance(trace, TextTrace):
        return replace(trace, prompt=with_preference(trace.prompt, given.line))
    asked = with_preference(trace, given.line)
    assert isinstance(asked, list)
    return asked


def hold_out(
    questions: Sequence[Question], most: int, seed: int, training: Sequence[Question]
) -> list[Question]:
    """Draw so many of the questions of a file at random, in its order.

    Raises:
        ConfigError: A question of the file is trained on.
    """
    shared = {one.text for one in training} & {one.text for one in questions}
    if shared:
        raise ConfigError(
            f"task.held_out: {len(shared)} of its questions are trained on in task.train, the "
            f"first ends in {min(shared)[-80:]!r}"
        )
    drawn = random.Random(f"held out {seed}").sample(
        range(len(questions)), min(most, len(questions))
    )
    return [questions[at] for at in sorted(drawn)]


def make_text_trace(prompt: Prompt, episode: Episode, texts: Sequence[str]) -> TextTrace:
    """Make the rollout in which the policy writes these texts, turn by turn.

    The episode's tool must answer at once: there is no event loop to wait in.
    """
    pieces = []
    for text in texts:
        pieces.append((text, True))
        try:
            episode.step(text).send(None)
        except StopIteration as over:
            turn: StepResult = over.value
        else:
            raise RuntimeError("the tool of a written rollout must answer at once")
        if turn.feedback:
            pieces.append((turn.feedback, False))
    return TextTrace(prompt, tuple(pieces))
