"""Questions of the user's own: a JSONL file of prompts, with whatever else the rewards read.

A line is an object with a ``prompt``, a text or chat messages; it can have an ``id``, a ``kind``
for reports, an ``answer``, one or several that are each right, and further columns, which the
functions of ``rewards.file`` get by name.

A warm-up imitates the answers, or the rollouts that a user's function writes for a question::

    def demonstrate(random, prompt, answer, **columns):
        if random.random() < 0.3:
            return f"I guess {answer}."
        function = {"name": "look_up", "arguments": {"word": columns["word"]}}
        call = {"type": "function", "function": function}
        return [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "look_up", "content": answer},
            {"role": "assistant", "content": answer},
        ]

It may take ``preference``, too: the weights by objective, those that are given with the question or
those of the run.
"""

from __future__ import annotations

import inspect
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from paretopo.config import ConfigError
from paretopo.preference import Preference
from paretopo.records.schema import DataError, read_lines
from paretopo.rewards.correctness import last_answer, number_or_words_match
from paretopo.rollout import digest_prompt
from paretopo.tasks.task import Message, Prompt, Question, Task, Trace, hold_out

_KNOWN = ("id", "kind", "prompt", "answer")

_DEMONSTRATIONS_READ = 1000  # for the words of a tiny model

# (random.Random, prompt=, answer=, further columns) → the response, as text or as messages.
Demonstrate: TypeAlias = Callable[..., str | list[Message]]


class OwnQuestions(Task):
    """Questions as they stand in two files; a warm-up imitates their answers, or demonstrations.

    Args:
        train: Questions to train on, all of them.
        held_out: Questions to be held out.
        most_held_out: How many of those, drawn at random.
        seed: Fixes order and draw.
        functions: Functions that the policy may call.
        demonstrate: Writes a rollout to imitate; None imitates the answers.

    Raises:
        ConfigError: A file cannot be read, has a bad row, or both have a prompt in common; names
            file and line.
    """

    is_chat = True

    def __init__(
        self,
        train: str,
        held_out: str,
        most_held_out: int,
        seed: int,
        functions: Sequence[Callable[..., Any]] = (),
        demonstrate: Demonstrate | None = None,
    ) -> None:
        self.seed, self.functions, self._demonstrate = seed, functions, demonstrate
        self.training, whole = _fill_columns(
            _read_questions("train", train), _read_questions("held_out", held_out)
        )
        self.held_out = hold_out(whole, most_held_out, seed, self.training)

    def prompt(self, question: Question) -> Prompt:
        """Return a user's message, or the messages of the file."""
        given = question.columns["prompt"]
        return list(given) if isinstance(given, list) else super().prompt(question)

    def imitated(self, step: int, count: int, *_: Any) -> Sequence[Trace]:
        """Return the traces of a warm-up step, with preferences, which a demonstration may use."""
        return self.traces(step, count)

    def traces(self, step: int, count: int, *_: Any) -> list[list[Message]]:
        """Training questions at random, with their answers or demonstrations."""
        rng = random.Random(f"trace {step} {self.seed}")
        asked = [rng.choice(self.training) for _ in range(count)]
        given = self.drawn(step, count)
        if given is not None:
            asked = [replace(one, preference=wish) for one, wish in zip(asked, given, strict=True)]
        if self._demonstrate is None:
            return [self.solution(question) for question in asked]
        return [self._demonstration(self._demonstrate, question, rng) for question in asked]

    def solution(self, question: Question) -> list[Message]:
        """The first of its answers."""
        answer = question.answer if isinstance(question.answer, str) else question.answer[:1]
        if not answer:
            raise ConfigError(
                f"the question {question.id!r} has no answer to imitate: set warmup.steps = 0 and "
                'optimiser.learn_from = "rewards"'
            )
        return [*self._messages(question), {"role": "assistant", "content": "".join(answer)}]

    def _demonstration(
        self, demonstrate: Demonstrate, question: Question, rng: random.Random
    ) -> list[Message]:
        given = {"answer": question.answer, **question.columns}
        if question.preference is not None:
            given["preference"] = self._numbers(question.preference)
        try:
            shown = demonstrate(rng, **given)
        except Exception as error:
            raise ConfigError(
                f"warmup.file: demonstrate fails on the question {question.id!r}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if isinstance(shown, str):
            shown = [{"role": "assistant", "content": shown}]
        if not isinstance(shown, list) or not shown or shown[-1].get("role") != "assistant":
            raise ConfigError(
                "warmup.file: demonstrate must return a text, or messages that end with the "
                f"assistant's, got {shown!r:.80} for the question {question.id!r}"
            )
        return [*self._messages(question), *shown]

    def _messages(self, question: Question) -> list[Message]:
        prompt = self.ask(question)
        return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)

    def _numbers(self, given: Preference) -> dict[str, float]:
        """Weights by objective."""
        assert self.preferences is not None
        return dict(zip(self.preferences.objectives, given.weights, strict=True))

    def words(self) -> list[str]:
        """Prompts, answers and some demonstrations: all that a tiny model has to know."""
        shown = [] if self._demonstrate is None else self.traces(0, _DEMONSTRATIONS_READ)
        asked = [*self.training, *self.held_out]
        answers = [[one.answer] if isinstance(one.answer, str) else one.answer for one in asked]
        said = [message for one in asked for message in self._messages(one)]
        said += [message for trace in shown for message in trace]
        return [text for each in answers for text in each] + [
            text for message in said for text in _texts_of(message)
        ]

    def phrases(self) -> list[str]:
        """Return the fixed parts of a call, as the tiny model's chat template renders it."""
        parts: dict[str, None] = {}
        for function in self.functions:
            first, *others = inspect.signature(function).parameters or [""]
            start = f'<call>{{"name": "{function.__name__}", "arguments": {{'
            parts[start + (f'"{first}": ' if first else "")] = None
            parts.update(dict.fromkeys([*(f', "{one}": ' for one in others), '"', "}}</call>"]))
        return list(parts)


def grade_answer(response: str, answer: Any) -> float | None:
    """Return 1 if the response, or its answer tags, is one of the answers; None without any.

    An answer that is a number is compared as a number.

    >>> grade_answer("The Nile.", "nile"), grade_answer("<answer>Oslo</answer>", ["Rome"])
    (1.0, 0.0)
    >>> grade_answer("7.0", "7"), grade_answer("<answer>3.5</answer>", "35")
    (1.0, 0.0)
    """
    if not answer:
        return None
    said = (response, last_answer(response))
    return max(number_or_words_match(one, answer) for one in said)


def _read_questions(key: str, path: str) -> list[Question]:
    try:
        questions = [
            _question(f"task.{key}: {path}, line {number}", row)
            for number, row in read_lines(Path(path))
        ]
    except DataError as error:
        raise ConfigError(f"task.{key}: {error}") from None
    if not questions:
        raise ConfigError(f"task.{key}: {path} holds no questions")
    return questions


def _texts_of(message: Message) -> list[str]:
    """Return the texts of a message, and the names and arguments of its calls."""
    texts = [message.get("content") or ""]
    for call in message.get("tool_calls") or ():
        function = call.get("function", call)
        texts.append(str(function.get("name", "")))
        arguments = function.get("arguments") or {}
        given = arguments.items() if isinstance(arguments, dict) else [(arguments, "")]
        texts += [f"{name} {value}" for name, value in given]
    return texts


def _fill_columns(*files: list[Question]) -> list[list[Question]]:
    """Give every question every column, with None if its row lacks one."""
    names = dict.fromkeys(name for file in files for one in file for name in one.columns)
    empty = dict.fromkeys(names)
    return [[replace(one, columns={**empty, **one.columns}) for one in file] for file in files]


def _question(where: str, row: Any) -> Question:
    if not isinstance(row, dict) or not row.get("prompt"):
        raise ConfigError(f"{where}: must be an object with a prompt, got {row!r:.80}")
    prompt, answer = row["prompt"], row.get("answer", "")
    messages = isinstance(prompt, list) and all(
        isinstance(one, dict) and isinstance(one.get("content"), str) and "role" in one
        for one in prompt
    )
    if not isinstance(prompt, str) and not messages:
        raise ConfigError(f"{where}: prompt must be a text or chat messages, got {prompt!r:.80}")
    answers = answer if isinstance(answer, list) else [answer]
    if not all(isinstance(one, str | int | float) for one in answers):
        raise ConfigError(f"{where}: answer must be a text or a list of texts, got {answer!r:.80}")
    texts = [str(one) for one in answers]
    text = prompt if isinstance(prompt, str) else prompt[-1]["content"]
    name = row.get("id", digest_prompt(json.dumps(prompt)))
    return Question(
        str(name),
        str(row.get("kind", "all")),
        text,
        texts if isinstance(answer, list) else texts[0],
        columns={"prompt": prompt} | {key: row[key] for key in row if key not in _KNOWN},
    )
