from pathlib import Path

import pytest

from paretopo.rewards.correctness import (
    exact_answer,
    normalised_match,
    number_or_words_match,
)
from paretopo.tasks.environment import COMPARISONS
from paretopo.tasks.questions import grade_answer


@pytest.mark.parametrize(
    ("answer", "targets", "right"),
    [
        ("The Eiffel Tower.", "eiffel tower", 1.0),
        ("an  apple", ["pear", "Apple!"], 1.0),
        ("theatre", "atre", 0.0),
        ("eiffel", "eiffel tower", 0.0),
        (None, "x", 0.0),
        # Nothing is left of these by the normalisation.
        ("", "A+", 0.0),
        (" ", ["The The", "!!!"], 0.0),
        ("...", "A+", 0.0),
        ("a+", "A+", 1.0),
        ("The the", "The The", 1.0),
        ("---", ["---"], 1.0),
    ],
)
def test_normalised(answer, targets, right):
    assert normalised_match(answer, targets) == right


@pytest.mark.parametrize(
    ("answer", "targets", "right"),
    [
        ("3.5", "35", 0.0),
        ("-7", "7", 0.0),
        ("1/2", "12", 0.0),
        ("7.0", "7", 1.0),
        ("7", "7.0", 1.0),
        ("0.5", "1/2", 1.0),
        ("1,200", "1200", 1.0),
        ("$18", "18", 1.0),
        ("18.", "18", 1.0),
        ("50", "50%", 1.0),
        ("50%", "50", 0.0),
        ("7 apples", "7", 0.0),
        ("seven", ["7", "seven"], 1.0),
        ("35", ["3.5", "thirty-five"], 0.0),
        ("the Nile", "7", 0.0),
        ("Nile", "the Nile", 1.0),
        ("7", "the Nile", 0.0),
        (None, "7", 0.0),
        ("", "7", 0.0),
    ],
)
def test_numbers_are_compared_as_numbers(answer, targets, right):
    assert number_or_words_match(answer, targets) == right
    if answer is not None:
        assert grade_answer(answer, targets) == right
        assert grade_answer(f"So: <answer>{answer}</answer>", targets) == right


def test_an_empty_answer_is_never_right():
    assert exact_answer("<answer></answer>", ["A+", "!!!"]) == 0.0
    assert grade_answer("<answer></answer>", ["A+"]) == 0.0


def test_grading_page_names_the_comparison_of_each_task():
    text = (Path(__file__).parents[3] / "docs" / "grading.md").read_text(encoding="utf-8")
    for task, comparison in COMPARISONS.items():
        assert f"| `{task}` | {comparison} |" in text
