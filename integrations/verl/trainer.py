"""Our trainers and estimators, under the names that verl's options use.

``algorithm.adv_estimator=paretopo`` is the method of the run's configuration; ``paretopo_NAME`` is
the same method with another estimator in stage 2.
"""

from __future__ import annotations

from verl.trainer.ppo.core_algos import register_adv_est
from verl.trainer.ppo.v1 import PPOTrainerColocateAsync, PPOTrainerSync, register_trainer

from paretopo.controller.estimators import ESTIMATORS
from paretopo.integrations.advantages import spread
from paretopo.integrations.verl.options import ESTIMATOR
from paretopo.integrations.verl.training import ParetoTraining

for _name in (ESTIMATOR, *(f"{ESTIMATOR}_{one}" for one in ESTIMATORS)):
    register_adv_est(_name)(spread)


@register_trainer("paretopo_sync")
class ParetoPPOTrainerSync(ParetoTraining, PPOTrainerSync):
    """The synchronous trainer."""

    verl_mode = "sync"


@register_trainer("paretopo_colocate_async")
class ParetoPPOTrainerColocateAsync(ParetoTraining, PPOTrainerColocateAsync):
    """The asynchronous trainer on the same GPUs: a rollout may end a step later."""

    verl_mode = "colocate_async"
