"""Is what a model wrote right? By the row: boxed mathematics, or an exact answer between tags."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Literal

from paretopo_core.training.data.schema import Row
from paretopo_core.training.evaluation.asking import domain
from paretopo_core.training.rewards.mathematics import MathGrader
from paretopo_core.training.tasks.multihop import exact_answer


class Grader:
    r"""Grades responses; the workers for mathematics start when the first one comes.

    Args:
        workers: Comparisons of mathematics at a time.
        isolation: Of these workers, as for `MathGrader`.

    >>> row = Row("1", "nq", "Where?", "Answer within <answer> … </answer>. Where?", ("Oslo",))
    >>> with Grader() as grader:
    ...     grader.grade_all([row], ["<answer> oslo </answer>"])
    [True]
    """

    def __init__(
        self, *, workers: int = 2, isolation: Literal["bubblewrap", "process"] = "bubblewrap"
    ) -> None:
        self._workers, self._isolation = workers, isolation
        self._opened = ExitStack()
        self._mathematics: MathGrader | None = None

    def grade_all(self, rows: Sequence[Row], written: Sequence[str]) -> list[bool]:
        """Is each response right?

        Args:
            rows: What was asked.
            written: What the model itself wrote, observations left out.

        Raises:
            SandboxError: Mathematics is to be compared, and bubblewrap is missing.
        """
        solved = [False] * len(rows)
        pairs: list[tuple[int, str, str]] = []
        for at, (row, text) in enumerate(zip(rows, written, strict=True)):
            if domain(row) == "questions":
                solved[at] = exact_answer(text, row.answers) == 1.0
            else:
                pairs += [(at, text, answer) for answer in row.answers]
        if pairs:
            if self._mathematics is None:
                self._mathematics = self._opened.enter_context(
                    MathGrader(workers=self._workers, isolation=self._isolation)
                )
            places, texts, answers = zip(*pairs, strict=True)
            grades = self._mathematics.grade_all(texts, answers)
            for at, grade in zip(places, grades, strict=True):
                solved[at] |= grade == 1.0
        return solved

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
