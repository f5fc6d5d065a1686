"""The core answers with the same bits wherever it was built and runs."""

import json
from pathlib import Path

import numpy as np
import pytest
from support import core_story

TOLD = json.loads(Path(__file__).with_name("story.json").read_text(encoding="utf-8"))


def test_every_answer_has_the_bits_that_were_recorded(each_isa):
    """Recorded on x86-64 by tests/support/core_story.py, for all systems and processors."""
    digests = each_isa(lambda: np.array(list(core_story.digests().items())))
    assert dict(digests.tolist()) == TOLD


@pytest.mark.parametrize("other", [np.float32, np.float64])
def test_digest_sees_the_last_bit_but_not_the_kind_of_nan(other):
    value = np.array([1.0, np.nan], other)
    negated = np.array([1.0, -value[1]], other)
    assert core_story.bytes_of(value) == core_story.bytes_of(negated)
    assert core_story.bytes_of(value) != core_story.bytes_of(np.nextafter(value, other(2)))
