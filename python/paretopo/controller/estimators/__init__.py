"""The table of estimators by name: each turns the reward vectors of a group into advantages.

All estimators share one signature::

    f(rewards, weights, *, mask=None, **switches) -> advantages

``rewards`` has shape (groups, points, objectives), larger is better. ``weights`` has one number per
objective, or shape (groups, objectives) with a preference for each group. ``mask`` (groups, points)
is False for padding of ragged groups. The result is float64 (groups, points), 0 where masked.
``f.switches`` names the switches of an estimator; it ignores others. An estimator is a function in
one of the modules here whose name is in :data:`~paretopo.config.switches.EstimatorName`, or one of
any other module: :func:`find_estimators`.
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

import numpy as np

from paretopo.config import ConfigError, ParetoPOConfig
from paretopo.config.python_files import import_call
from paretopo.config.switches import EstimatorName
from paretopo.controller.estimators import decoupled, ranked, scalarised, volume
from paretopo.controller.estimators.estimator import Estimator
from paretopo.controller.estimators.groups import Array

__all__ = ["ESTIMATORS", "Estimator", "find_estimators"]


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


def find_estimators(config: ParetoPOConfig) -> dict[str, Estimator]:
    """Return the estimators of both stages by name, also for ``"package.module:name(argument=1)"``.

    The function of another module has the signature ``f(rewards, weights, mask, *, argument=...)``.
    Its arguments are those in the name; switches of the configuration do not reach it. It is called
    once here, with two small groups.

    Raises:
        ConfigError: There is no such function, it takes other arguments, or the call fails.
    """
    found = {}
    for key in ("stage1_estimator", "stage2_estimator"):
        name = getattr(config, key)
        found[name] = ESTIMATORS.get(name) or _import_estimator(f"paretopo.{key}", name, config)
    return found


def _import_estimator(key: str, name: str, config: ParetoPOConfig) -> Estimator:
    function, given = import_call(key, name)
    try:
        inspect.signature(function).bind("rewards", "weights", "mask", **given)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{key} = {name!r} must be f(rewards, weights, mask, *, argument=...): {error}"
        ) from error
    estimator = Estimator(partial(function, **given), name)
    weights = np.array([config.weights] * 2)
    rewards = np.linspace(0.0, 1.0, 6 * weights.shape[1]).reshape(2, 3, -1)
    try:
        advantages = estimator(
            rewards,
            weights if config.preference == "given" else weights[0],
            mask=np.array([[True] * 3, [True, True, False]]),
        )
    except Exception as error:
        raise ConfigError(
            f"{key} = {name!r} fails for two small groups: {type(error).__name__}: {error}"
        ) from error
    if not np.isfinite(advantages).all():
        raise ConfigError(
            f"{key} = {name!r} must return finite advantages, got {advantages!r} for the rewards "
            f"{rewards!r}"
        )
    return estimator
