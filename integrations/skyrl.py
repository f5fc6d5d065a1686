"""Train with several rewards in SkyRL: a mixin for its trainers, and an advantage estimator.

SkyRL's estimators receive one reward per rollout. The values of all objectives therefore come from
the `get_metrics` of its environments, which SkyRL passes to the trainer with each rollout.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from skyrl.backends.skyrl_train.utils.ppo_utils import register_advantage_estimator

from paretopo.config import ConfigError, ParetoPOConfig
from paretopo.controller.by_group import step_by_group
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.advantages import DEFAULT, hand_over, spread

ESTIMATOR = "paretopo"  # trainer.algorithm.advantage_estimator

register_advantage_estimator(ESTIMATOR)(spread)


class ParetoTraining:
    """The advantages of several objectives, in front of a SkyRL trainer's class.

    Rollouts of one prompt form a group. SkyRL's reward of a rollout is only logged.

    Attributes:
        objectives: Names in the dictionary that the environment's `get_metrics` returns at the end
            of a rollout. Larger values are better; the first objective is the gate.
        pareto: The switches of the controller; its `weights` has a number for each objective. By
            default two rewards of any unit have equal weights.
        controller: After an evaluation, you may call its `observe`.

    Raises:
        ConfigError: Options select another estimator, use the single reward, or make SkyRL drop the
            metrics; or the number of objectives is not that of the weights.
        ValueError: A rollout lacks an objective, or as
            :func:`~paretopo.controller.by_group.step_by_group`.

    Example:
        >>> class Trainer(ParetoTraining, RayPPOTrainer):  # doctest: +SKIP
        ...     objectives = ("correct", "brief")
    """

    objectives: ClassVar[tuple[str, ...]]
    pareto: ClassVar[ParetoPOConfig] = DEFAULT

    def __init__(self, *parts: Any, **named: Any) -> None:
        super().__init__(*parts, **named)
        cfg = self.cfg  # type: ignore[attr-defined]
        given = cfg.trainer.algorithm
        for name, found, needed in (
            ("trainer.algorithm.advantage_estimator", given.advantage_estimator, ESTIMATOR),
            ("trainer.algorithm.use_kl_in_reward", given.use_kl_in_reward, False),
            ("trainer.algorithm.zero_variance_filter", given.zero_variance_filter, False),
            ("trainer.algorithm.dynamic_sampling.type", given.dynamic_sampling.type, None),
            ("generator.batched", cfg.generator.batched, False),
            ("generator.step_wise_trajectories", cfg.generator.step_wise_trajectories, False),
        ):
            if found != needed:
                raise ConfigError(f"several objectives need {name} = {needed!r}, got {found!r}")
        self.controller = ParetoPO(self.pareto, names=self.objectives)

    def postprocess_generator_output(
        self, generator_output: Any, uids: list[str], *others: Any, **named: Any
    ) -> Any:
        """Keep the reward vectors of the rollouts until their advantages are due."""
        metrics = generator_output["env_metrics"]
        for one in metrics:
            if missing := [name for name in self.objectives if name not in one]:
                raise ValueError(
                    f"get_metrics of the environment must return {missing}, got {sorted(one)}"
                )
        self._vectors = [[one[name] for name in self.objectives] for one in metrics]
        return super().postprocess_generator_output(  # type: ignore[misc]
            generator_output, uids, *others, **named
        )

    def compute_advantages_and_returns(self, data: Any) -> Any:
        """Make SkyRL write the controller's advantages into its batch."""
        uids, count = data.metadata["uids"], len(self._vectors)
        step = step_by_group(self.controller, self._vectors, uids[:count])
        with hand_over(np.pad(step.advantages, (0, len(uids) - count))):  # SkyRL's padding
            return super().compute_advantages_and_returns(data)  # type: ignore[misc]
