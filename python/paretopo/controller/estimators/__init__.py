"""The table of estimators by name: each turns the reward vectors of a group into advantages.

All estimators share one signature::

    f(rewards, weights, *, mask=None, **switches) -> advantages

``rewards`` has shape (groups, points, objectives), larger is better, in NumPy or in torch on any
device. ``weights`` has one number per objective, or shape (groups, objectives) with a preference
for each group. ``mask`` (groups, points) is False for padding of ragged groups. The result is
float64 (groups, points), 0 where masked. ``f.switches`` names the switches of an estimator; it
ignores others. An estimator is a function in one of the modules here whose name is in
:data:`~paretopo.config.EstimatorName`, or one of any other module: :func:`find_estimator`.
``docs/estimators.md`` has formulas, sources, claims and known faults.

>>> import numpy as np
>>> rewards = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 0.0], [0.0, 0.0]]])
>>> ESTIMATORS["dr_grpo"](rewards, [0.6, 0.4]).round(2)
array([[ 0.55,  0.35, -0.45, -0.45]])
>>> ESTIMATORS["pareto"](rewards, [0.6, 0.4], beta=0.5, centre="none")
array([[3., 2., 1., 1.]])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import get_args

from paretopo.config import ConfigError, EstimatorName
from paretopo.config.python_files import import_call
from paretopo.controller.estimators import decoupled, ranked, scalarised, volume
from paretopo.controller.estimators.estimator import Estimator, refuse_broken
from paretopo.controller.estimators.groups import Array

__all__ = ["ESTIMATORS", "Estimator", "find_estimator", "refuse_broken"]


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


def find_estimator(key: str, name: str) -> Estimator:
    """Return the estimator of a name, or of ``"package.module:name(argument=1)"``.

    The function of another module has the signature ``f(rewards, weights, mask, *, argument=...)``.
    Its arguments are those in the name; switches of the configuration do not reach it.

    Args:
        key: The key of the configuration, for errors.
        name: Its value.

    Raises:
        ConfigError: There is no such function, or it takes other arguments.
    """
    if name in ESTIMATORS:
        return ESTIMATORS[name]
    function, given = import_call(key, name)
    try:
        inspect.signature(function).bind("rewards", "weights", "mask", **given)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{key} = {name!r} must be f(rewards, weights, mask, *, argument=...): {error}"
        ) from error
    return Estimator(partial(function, **given), name)
