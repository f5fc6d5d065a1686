"""The table of estimators by name: each turns the reward vectors of a group into advantages.

All estimators share one signature::

    f(rewards, weights, *, mask=None, **switches) -> advantages

``rewards`` has shape (groups, points, objectives), larger is better, in NumPy or in torch on any
device. ``weights`` has one number per objective, or shape (groups, objectives) with a preference
for each group. ``mask`` (groups, points) is False for padding of ragged groups. The result is
float64 (groups, points), 0 where masked. ``f.switches`` names the switches of an estimator; it
ignores others. An estimator is a function in one of the modules here whose name is in
:data:`~paretopo.config.EstimatorName`, the values of a configuration. ``docs/estimators.md`` has
formulas, sources, claims and known faults.

>>> import numpy as np
>>> rewards = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 0.0], [0.0, 0.0]]])
>>> ESTIMATORS["dr_grpo"](rewards, [0.6, 0.4]).round(2)
array([[ 0.55,  0.35, -0.45, -0.45]])
>>> ESTIMATORS["pareto"](rewards, [0.6, 0.4], beta=0.5, centre="none")
array([[3., 2., 1., 1.]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from paretopo.config import EstimatorName
from paretopo.controller.estimators import decoupled, ranked, scalarised, volume
from paretopo.controller.estimators.estimator import Estimator, refuse_broken
from paretopo.controller.estimators.groups import Array

__all__ = ["ESTIMATORS", "Estimator", "refuse_broken"]


def _method(name: str) -> Callable[..., Array]:
    for module in (ranked, volume, scalarised, decoupled):
        if hasattr(module, name):
            method: Callable[..., Array] = getattr(module, name)
            return method
    raise ImportError(
        f"EstimatorName of paretopo.config has {name!r}, but no module of "
        f"{__name__} has a function of that name"
    )


ESTIMATORS: dict[str, Estimator] = {
    name: Estimator(_method(name)) for name in get_args(EstimatorName)
}
