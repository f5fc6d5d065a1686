import pytest

from paretopo.rewards.correctness import (
    exact_answer,
    last_answer,
    normalised_match,
    number_or_words_match,
)
from paretopo.tasks.questions import grade_answer

WORDS = [
    ("The Eiffel Tower.", "eiffel tower", 1.0),
    ("an  apple", ["pear", "Apple!"], 1.0),
    ("An apple, a pear", "apple pear", 1.0),
    ("U.S.A.", "USA", 1.0),
    ("\n1,000\n", "1000", 1.0),
    ("José", "josé", 1.0),
    ("Jose", "josé", 0.0),
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
]


@pytest.mark.parametrize(("answer", "targets", "right"), WORDS)
def test_words_are_compared_without_articles_and_signs(answer, targets, right):
    assert normalised_match(answer, targets) == right
    assert exact_answer(f"<answer>{answer}</answer>", targets) == (right if answer else 0.0)


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("<answer>Rome</answer>, no: <answer>b\nc</answer> d", "b\nc"),
        ("<answer>Oslo</answer><answer>b", None),  # it was cut off
        ("<search>Oslo</search>", None),
        ("Oslo", None),
        ("", None),
    ],
)
def test_the_last_answer_counts(response, answer):
    assert last_answer(response) == answer
    assert exact_answer(response, "Oslo") == 0.0


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
        ("", "A+", 0.0),
    ],
)
def test_numbers_are_compared_as_numbers(answer, targets, right):
    assert number_or_words_match(answer, targets) == right
    if answer is not None:
        assert grade_answer(answer, targets) == right
        assert grade_answer(f"So: <answer>{answer}</answer>", targets) == right
