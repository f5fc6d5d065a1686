"""D3PO's regulariser: the policies of two preferences differ in proportion to their distance.

It is the second term of D3PO's loss (docs/estimators.md); the estimator ``d3po`` is the first.

>>> import numpy as np
>>> logits = np.array([[[0.0, np.log(3.0)], [0.0, 0.0]]])  # two ways, one column per objective
>>> loss, gradient = measure_diversity(logits, [[[1.0, 0.0]]], [[[0.0, 1.0]]], scale=0.05)
>>> round(loss, 6), gradient.shape  # (log(4/3) / 2 - 0.1)^2
(0.001922, (1, 2, 2))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def measure_diversity(
    logits: Floats, weights: ArrayLike, others: ArrayLike, scale: float
) -> tuple[float, Floats]:
    """Return the regulariser and its gradient.

    Per question it is ``(KL(p || q) - scale |w - w'|_1)^2``, where p and q are the policies under
    the preferences w and w'. The result is the mean over questions, summed over kinds.

    Args:
        logits: (kinds, ways, objectives), summed with the weights of a preference.
        weights: (kinds, questions, objectives), the preferences w.
        others: The preferences w', of the same shape.
        scale: Divergence per unit of distance.

    Returns:
        The loss, and its gradient with respect to ``logits``.

    Source: Ambadkar et al. (2026), D3PO, arXiv 2602.07764, as the authors' project page gives it.
    """
    mine, theirs = np.asarray(weights, np.float64), np.asarray(others, np.float64)
    log_p, log_q = _log_policy(logits, mine), _log_policy(logits, theirs)
    p, q = np.exp(log_p), np.exp(log_q)
    divergence = (p * (log_p - log_q)).sum(axis=-1, keepdims=True)
    gap = divergence - scale * abs(mine - theirs).sum(axis=-1, keepdims=True)
    factor = 2.0 * gap / mine.shape[1]
    along_p = factor * p * (log_p - log_q - divergence)
    along_q = factor * (q - p)
    gradient: Floats = np.einsum("kqw,kqo->kwo", along_p, mine)
    gradient += np.einsum("kqw,kqo->kwo", along_q, theirs)
    return float((gap**2).sum() / mine.shape[1]), gradient


def _log_policy(logits: Floats, weights: Floats) -> Floats:
    values = np.einsum("kwo,kqo->kqw", logits, weights)
    values -= values.max(axis=-1, keepdims=True)
    normal: Floats = values - np.log(np.exp(values).sum(axis=-1, keepdims=True))
    return normal
