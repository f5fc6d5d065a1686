"""Many sets in one array, as moocore has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from paretopo_core._machinery.numbers import labels_of


def apply_within_sets(
    x: ArrayLike, sets: ArrayLike, func: Callable[..., Any], **kwargs: Any
) -> np.ndarray:
    """Call func on the rows of each set, and join the results.

    Results with one row per row of the set are returned in the order of x. Results with a single
    row, and scalars, are returned in the order in which the sets begin.

    >>> apply_within_sets([[5], [7], [6]], ["b", "a", "b"], lambda rows: rows.max())
    array([6, 7])
    """
    rows = np.asarray(x)
    labels = labels_of(sets, "sets", len(rows), "the set of each row")
    _, first, of_row = np.unique(labels, return_index=True, return_inverse=True)
    members = [np.flatnonzero(of_row == which) for which in first.argsort()]
    answers = [np.atleast_1d(func(rows[chosen], **kwargs)) for chosen in members]
    for answer, chosen in zip(answers, members, strict=True):
        if len(answer) not in (1, len(chosen)):
            raise ValueError(
                f"func must return one row, or as many as it is given ({len(chosen)}), got "
                f"{len(answer)}"
            )
    joined: np.ndarray = np.concatenate(answers)
    if len(joined) == len(rows):
        joined = joined[np.concatenate(members).argsort()]
    return joined
