"""Learning from right answers, without rewards: TRL's `SFTTrainer`, evaluated as any run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from datasets import Dataset
from trl import SFTTrainer

from paretopo.integrations.huggingface.warmup import encode, mask_labels
from paretopo.integrations.trl.trainer import ParetoGRPOTrainer
from paretopo.tasks.task import Question, Task


class AnswerTrainer(SFTTrainer):
    """`SFTTrainer` whose evaluations are rollouts with the tool.

    Args:
        *args: As for `SFTTrainer`.
        sampler: Makes and scores the rollouts of evaluations, with the same model; it never trains.
        **kwargs: As for `SFTTrainer`.
    """

    def __init__(self, *args: Any, sampler: ParetoGRPOTrainer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sampler = sampler

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """The sampler's evaluation, at the step that this trainer is at."""
        self._sampler.state.global_step = self.state.global_step
        self._sampler.state.max_steps = self.state.max_steps
        metrics: dict[str, float] = self._sampler.evaluate()
        self.control.should_evaluate = False  # done; or the end of the last pass does it again
        return metrics


def answer_rows(task: Task, questions: Iterable[Question], tokenizer: Any) -> Dataset:
    """Tokens of prompt and right answer, a row for each question, in their order.

    Labels are Hugging Face's: the prompt's tokens carry no loss. A question asked often is encoded
    once.
    """
    known: dict[str, dict[str, list[int]]] = {}

    def row(question: Question) -> dict[str, list[int]]:
        if question.text not in known:
            tokens, written = encode(tokenizer, task.solution(question), task.functions)
            known[question.text] = {"input_ids": tokens, "labels": mask_labels(tokens, written)}
        return known[question.text]

    return Dataset.from_list([row(question) for question in questions])
