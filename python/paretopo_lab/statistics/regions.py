"""Regions of confidence: of a model's means, and of a front in the plane."""

from __future__ import annotations

import math

import numpy as np

from paretopo_lab.statistics.bootstrap import Floats

_ELLIPSE = math.sqrt(-2 * math.log(0.05))  # standard deviations with 95 % of a normal distribution


def covariance_of_means(values: Floats) -> Floats:
    """Return the covariance of a model's means, (objectives, objectives); NaN for one question.

    Args:
        values: (questions, objectives).
    """
    count, objectives = values.shape
    if count < 2:
        return np.full((objectives, objectives), np.nan)
    covariance: Floats = np.atleast_2d(np.cov(values.T)) / count
    return covariance


def trace_ellipse(covariance: Floats) -> Floats:
    """Return the edge of the 95 % region around a mean, as (41, 2) differences from it.

    Args:
        covariance: (2, 2) of two means.
    """
    sizes, axes = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * math.pi, 41)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    edge: Floats = (axes * np.sqrt(np.maximum(sizes, 0.0))) @ circle * _ELLIPSE
    return edge.T


def trace_front(x: Floats, y: Floats, senses: tuple[float, float]) -> tuple[Floats, Floats]:
    """Return the edge of the region dominated by the outcomes, from the best x to the worst.

    Args:
        x: (outcomes,); NaN is left out.
        y: (outcomes,); NaN is left out.
        senses: For x and y, 1 if larger is better, -1 if smaller is.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = senses[0] * x[known], senses[1] * y[known]
    if not len(x):
        return x, y
    order = np.lexsort((-y, -x))  # best x first, best y first among equals
    best_x, best_y = x[order], y[order]
    previous = np.concatenate([[-np.inf], np.maximum.accumulate(best_y)[:-1]])
    best_x, best_y = best_x[best_y > previous], best_y[best_y > previous]
    corners_x = np.concatenate([np.repeat(best_x, 2), [x.min()]])
    corners_y = np.concatenate([[y.min()], np.repeat(best_y, 2)])
    return senses[0] * corners_x, senses[1] * corners_y
