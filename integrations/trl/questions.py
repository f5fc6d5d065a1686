"""A task's questions as a data set of TRL's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from datasets import Dataset

from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.tasks.task import Prompt, Question, Task


def rows_of(
    task: Task, questions: Iterable[Question], tokenizer: Any, *, held_out: bool
) -> Dataset:
    """A row for each question, in their order.

    Args:
        task: Says how questions are put.
        questions: Those to ask.
        tokenizer: Where it has no chat template, messages become texts.
        held_out: Is nothing trained on them?
    """

    def prompt(question: Question) -> Prompt:
        asked = task.prompt(question)
        return asked if tokenizer.chat_template else prompt_text(tokenizer, asked)

    return Dataset.from_list(
        [
            {
                "prompt": prompt(question),
                "id": question.id,
                "kind": question.kind,
                "answer": question.answer,
                "row": row,
                "held_out": held_out,
            }
            for row, question in enumerate(questions)
        ]
    )
