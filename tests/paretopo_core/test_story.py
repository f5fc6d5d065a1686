"""The core answers with the same bits wherever it was built and runs."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import core_story

import paretopo_core as pp

TOLD = json.loads(Path(__file__).with_name("story.json").read_text(encoding="utf-8"))


def test_every_answer_has_the_bits_that_were_recorded(each_isa):
    """Recorded on x86-64 by tests/support/core_story.py, for all systems and processors."""
    digests = each_isa(lambda: np.array(list(core_story.digests().items())))
    assert dict(digests.tolist()) == TOLD


def test_the_story_has_every_operation():
    names = {name.split()[0] for name in TOLD}
    computed = {name for name in pp.__all__ if callable(getattr(pp, name))}
    assert computed - names == NOT_COMPUTED | PLATFORM_DEPENDENT


NOT_COMPUTED = {
    *("AttainmentSurfaces", "Boxes", "Estimate"),
    *("SenseWarning", "SparseHessian", "plot_front", "read_fronts"),
    *("accelerate", "get_isa", "isa", "get_threads", "threads", "memory_limit", "Setting"),
}
# The last digit depends on the exp of NumPy or the C library, or on the order of NumPy's sums.
PLATFORM_DEPENDENT = {
    *(
        "expected_hypervolume_improvement",
        "hypervolume_contributions_approx",
        "weighted_hypervolume",
    ),
    *("stochastic_dominance", "stochastic_pareto_rank"),
}


@pytest.mark.parametrize("other", [np.float32, np.float64])
def test_digest_sees_the_last_bit_but_not_the_kind_of_nan(other):
    value = np.array([1.0, np.nan], other)
    negated = np.array([1.0, -value[1]], other)
    assert core_story.bytes_of(value) == core_story.bytes_of(negated)
    assert core_story.bytes_of(value) != core_story.bytes_of(np.nextafter(value, other(2)))
