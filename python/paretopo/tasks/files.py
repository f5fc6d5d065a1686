"""Questions from files that `paretopo prepare` made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from paretopo.config import ConfigError
from paretopo.records.schema import DataError, read_rows
from paretopo.rewards.correctness import add_percentages
from paretopo.tasks.task import Question, Task, TextTrace, Trace, hold_out


class FileTask(Task):
    """Questions as they stand in files; there is nothing to imitate.

    Args:
        train: Rows to train on, all of them.
        held_out: Rows to be held out.
        most_held_out: How many of those, drawn at random.
        is_chat: Are prompts a user's messages?
        response: The right answer → the response that gives it.
        seed: Fixes order and draw.

    Raises:
        ConfigError: A file cannot be read, has a bad row, or both have a question in common.
    """

    def __init__(
        self,
        train: str,
        held_out: str,
        most_held_out: int,
        *,
        is_chat: bool,
        response: Callable[[str], str],
        seed: int,
    ) -> None:
        self.is_chat, self.seed = is_chat, seed
        self._response = response
        self.training = _read_questions("train", train)
        whole = _read_questions("held_out", held_out)
        self.held_out = hold_out(whole, most_held_out, seed, self.training)

    def traces(self, *_: Any, **__: Any) -> Sequence[Trace]:
        """Return none: such a task has no rollouts to imitate."""
        raise ConfigError("warmup.steps must be 0: files hold no traces")

    def solution(self, question: Question) -> Trace:
        """Return the first of its answers."""
        answer = question.answer if isinstance(question.answer, str) else question.answer[0]
        return TextTrace(self.prompt(question), ((self._response(answer), True),))


def _read_questions(key: str, path: str) -> list[Question]:
    try:
        return [
            Question(row.id, row.datasource, row.prompt, add_percentages(row.question, row.answers))
            for row in read_rows(path)
        ]
    except DataError as error:
        raise ConfigError(f"task.{key}: {error}") from None
