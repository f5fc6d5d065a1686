"""Grade a model's text as its row requires: boxed mathematics, or an exact answer in tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from paretopo.records.schema import Example
from paretopo.rewards.correctness import add_percentages, exact_answer
from paretopo.rewards.mathematics import MathGrader
from paretopo_lab.evaluate.prompting import grading_domain


class Grader:
    r"""Grades responses.

    Args:
        rows: The questions; the workers for mathematics start only if some need it.
        workers: Number of comparisons of mathematics at a time.
        isolation: Isolation of these workers, as for `MathGrader`.

    Raises:
        SandboxError: Mathematics is to be compared, and bubblewrap is missing.

    >>> row = Example("1", "nq", "Where?", "Answer within <answer> … </answer>. Where?", ("Oslo",))
    >>> with Grader([row]) as grader:
    ...     grader.grade_all([row], ["<answer> oslo </answer>"])
    [True]
    """

    def __init__(
        self,
        rows: Iterable[Example],
        *,
        workers: int = 2,
        isolation: Literal["bubblewrap", "process"] = "bubblewrap",
    ) -> None:
        self._mathematics: MathGrader | None = None
        if any(grading_domain(row) == "mathematics" for row in rows):
            self._mathematics = MathGrader(workers=workers, isolation=isolation)

    def grade_all(self, rows: Sequence[Example], written: Sequence[str]) -> list[bool | None]:
        """Return whether each response is right; None if the comparison reached a limit.

        Args:
            rows: The questions.
            written: The model's own text, without observations.
        """
        grades: list[float | None] = [
            exact_answer(text, row.answers) for row, text in zip(rows, written, strict=True)
        ]
        places = [at for at, row in enumerate(rows) if grading_domain(row) == "mathematics"]
        if places:
            assert self._mathematics is not None
            texts = [written[at] for at in places]
            answers = [add_percentages(rows[at].question, rows[at].answers) for at in places]
            for at, grade in zip(places, self._mathematics.grade_all(texts, answers), strict=True):
                grades[at] = grade
        return [None if grade is None else grade == 1.0 for grade in grades]

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *_: object) -> None:
        if self._mathematics is not None:
            self._mathematics.close()
