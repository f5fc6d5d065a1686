"""verl's plug-in: the entry point ``paretopo`` of the group ``verl.plugins``.

It registers our estimators, and puts the hook in front of verl's trainers for the jobs that choose
one. ``algorithm.adv_estimator=paretopo`` is the method of the job's table; ``paretopo_NAME`` is the
same method with another estimator in stage 2.

verl drops the error of a failed plug-in (it only logs it for debugging) and then lacks our
estimators. This module therefore prints the error on the error stream of every process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from paretopo.records.provenance import check_release

_MODES = ("sync", "colocate_async")  # trainer.v1.trainer_mode; others update several times a step


def _choose_trainer(theirs: type) -> Callable[..., Any]:
    from paretopo.integrations.verl.training import ParetoTraining, is_ours

    ours = type(theirs.__name__, (ParetoTraining, theirs), {})
    return lambda config: (ours if is_ours(config) else theirs)(config)


def _register() -> None:
    from verl.trainer.ppo.core_algos import register_adv_est
    from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY

    from paretopo.controller.estimators import ESTIMATORS
    from paretopo.integrations.advantages import spread
    from paretopo.integrations.verl.training import ESTIMATOR

    for name in (ESTIMATOR, *(f"{ESTIMATOR}_{one}" for one in ESTIMATORS)):
        register_adv_est(name)(spread)
    for mode in _MODES:
        TRAINER_REGISTRY[mode] = _choose_trainer(TRAINER_REGISTRY[mode])


try:
    check_release(
        "verl",
        "0.9.1",
        'an environment of its own: pip install torch, then, in a clone, pip install ".[verl]" '
        "and an engine (docs/trainers.md)",
    )
    _register()
except Exception as error:
    print(
        f"paretopo: the plug-in for verl failed, and verl has none of its estimators: "
        f"{type(error).__name__}: {error}",
        file=sys.stderr,
        flush=True,
    )
    raise
