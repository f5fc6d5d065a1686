from __future__ import annotations

import pytest

from paretopo.rewards.correctness import exact_match, normalised_match


@pytest.mark.parametrize(
    ("answer", "targets", "right"),
    [
        ("42", "42", 1.0),
        (" 42\n", ["7", "42"], 1.0),
        ("42", ["7", "8"], 0.0),
        ("Paris", "paris", 0.0),
        (None, "42", 0.0),
        ("", "42", 0.0),
    ],
)
def test_exact(answer, targets, right):
    assert exact_match(answer, targets) == right


@pytest.mark.parametrize(
    ("answer", "targets", "right"),
    [
        ("The Eiffel Tower.", "eiffel tower", 1.0),
        ("an  apple", ["pear", "Apple!"], 1.0),
        ("theatre", "atre", 0.0),
        ("eiffel", "eiffel tower", 0.0),
        (None, "x", 0.0),
    ],
)
def test_normalised(answer, targets, right):
    assert normalised_match(answer, targets) == right
