"""A task's questions as data sets of TRL, for rollouts or with right answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from datasets import Dataset

from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.integrations.huggingface.warmup import encode, mask_labels
from paretopo.tasks.task import Prompt, Question, Task


def make_question_dataset(
    task: Task, questions: Iterable[Question], tokenizer: Any, *, held_out: bool
) -> Dataset:
    """Return a row for each question, in their order.

    Args:
        task: Defines the form of questions.
        questions: The questions.
        tokenizer: Without a chat template, messages become texts.
        held_out: True if the questions are not for training.
    """

    def prompt(question: Question) -> Prompt:
        asked = task.ask(question)
        return asked if tokenizer.chat_template else prompt_text(tokenizer, asked)

    return Dataset.from_list(
        [
            {
                "prompt": prompt(question),
                "id": question.id,
                "kind": question.kind,
                "row": row,
                "held_out": held_out,
                # Store as text: Arrow needs one type for a column, and the user's types vary.
                "answer": json.dumps(question.answer),
                "columns": json.dumps(dict(question.columns)),
                **_given(task, question),
            }
            for row, question in enumerate(questions)
        ]
    )


def read_question(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of :func:`make_question_dataset` with the question's answer or answers."""
    return {**row, "answer": json.loads(row["answer"])}


def _given(task: Task, question: Question) -> dict[str, str]:
    """Return the given preference; "" if it is drawn when the question is asked."""
    if task.preferences is None:
        return {}
    return {"preference": "" if question.preference is None else question.preference.text}


def make_answer_dataset(task: Task, questions: Iterable[Question], tokenizer: Any) -> Dataset:
    """Return the tokens of prompt and right answer, a row for each question, in their order.

    Labels are Hugging Face's: the prompt's tokens carry no loss. Each different question is encoded
    once.
    """
    known: dict[str, dict[str, list[int]]] = {}

    def row(question: Question) -> dict[str, list[int]]:
        if question.text not in known:
            tokens, written = encode(tokenizer, task.solution(question), task.functions)
            known[question.text] = {"input_ids": tokens, "labels": mask_labels(tokens, written)}
        return known[question.text]

    return Dataset.from_list([row(question) for question in questions])
