"""The scores of a rubric's parts, with a stand-in for OpenEnv's class."""

import pytest

from paretopo.integrations.trl.of_openenv import clear_scores, read_scores


class Rubric:
    """Keeps the latest score of itself and its parts, as OpenEnv's class does."""

    def __init__(self, score, **parts):
        self.last_score, self.parts = score, parts

    def rubrics(self):
        return [
            *self.parts.values(),
            *(inner for one in self.parts.values() for inner in one.rubrics()),
        ]

    def named_children(self):
        return self.parts.items()


def test_scores_of_the_parts_are_read_and_cleared():
    inner = Rubric(0.25)
    rubric = Rubric(1.5, correct=Rubric(1.0, inner=inner), polite=Rubric(0.5))
    assert read_scores(rubric) == {"correct": 1.0, "polite": 0.5}
    clear_scores(rubric)
    assert (rubric.last_score, inner.last_score) == (None, None)
    assert read_scores(rubric) == {"correct": None, "polite": None}
    assert read_scores(rubric, without_step=0.0) == {"correct": 0.0, "polite": 0.0}
    with pytest.raises(ValueError, match="Rubric has no parts"):
        read_scores(inner)
