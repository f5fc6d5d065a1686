"""Reward vectors to the advantages of HV@k, against its formula in NumPy: no package has it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

OPERATION = "expected_hypervolume"


def cases(*, quick: bool = False) -> Sequence[Case]:
    """From one training step's groups to a million; larger groups, and ragged ones."""
    case = partial(Case, OPERATION, "hypervolume_advantage")
    uniform = ((128, 8, 2), (1_024, 8, 2), (1_024, 16, 2), (1_024, 8, 3), (128, 16, 3))
    large = ((1_000_000, 8, 2), (256, 64, 2), (16, 64, 3))
    shapes = uniform[:4] if quick else (*uniform, *large)
    return [
        *(case("uniform", points, m, groups, "float32") for groups, points, m in shapes),
        case("ragged", 8, 2, 1_024, "float32"),
    ]
