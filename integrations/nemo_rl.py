"""Train with several rewards in NeMo-RL: an advantage estimator in the place of its own.

It reads the same columns `reward/NAME` as NeMo-RL's GDPO. This module imports nothing of NeMo-RL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from paretopo.config import ParetoPOConfig
from paretopo.controller.by_group import step_by_group
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.advantages import DEFAULT, spread_over_tokens


class ParetoAdvantageEstimator:
    """The advantages of several objectives, for NeMo-RL's trainers.

    Args:
        objectives: Names of the columns `reward/NAME`. Larger values are better; the first
            objective is the gate.
        config: The switches of the controller; its `weights` has a number for each objective. By
            default two rewards of any unit have equal weights.

    Attributes:
        controller: After an evaluation, you may call its `observe`.

    Raises:
        ConfigError: The number of objectives is not that of the weights.

    >>> estimator = ParetoAdvantageEstimator(("correct", "brief"))
    >>> prompts = torch.tensor([[7, 8], [9, 0], [7, 8], [9, 0]])
    >>> right, brief = torch.tensor([1.0, 1.0, 1.0, 0.0]), torch.tensor([0.2, 0.5, 0.8, 0.5])
    >>> batch = {"reward/correct": right, "reward/brief": brief}
    >>> mask = torch.tensor([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    >>> estimator.compute_advantage(prompts, right + brief, mask, batch)[:, 1].sign().tolist()
    [-1.0, 1.0, 1.0, -1.0]
    """

    def __init__(self, objectives: Sequence[str], config: ParetoPOConfig | None = None) -> None:
        self.objectives = tuple(objectives)
        self.controller = ParetoPO(config or DEFAULT, names=self.objectives)

    def compute_advantage(
        self,
        prompt_ids: torch.Tensor,
        rewards: torch.Tensor,
        mask: torch.Tensor,
        repeated_batch: Mapping[str, torch.Tensor],
        **_: Any,
    ) -> torch.Tensor:
        """Return the advantages of one training step, as NeMo-RL's estimators do.

        Args:
            prompt_ids: (rollouts, tokens) or (rollouts,); rollouts of equal prompts form a group.
            rewards: (rollouts,); the result has its device and its dtype, or float32 if that is
                narrower. The values are not used.
            mask: (rollouts, tokens), 1 where the policy wrote the token.
            repeated_batch: Has a column `reward/NAME` of shape (rollouts,) for each objective.

        Returns:
            (rollouts, tokens) advantages, 0 where `mask` is 0.

        Raises:
            ValueError: A column is missing, or as
                :func:`~paretopo.controller.by_group.step_by_group`.
        """
        if missing := [one for one in self.objectives if f"reward/{one}" not in repeated_batch]:
            found = [name for name in repeated_batch if str(name).startswith("reward/")]
            raise ValueError(
                f"the environment must return rewards named {missing}, got the columns {found}"
            )
        columns = [repeated_batch[f"reward/{name}"].flatten() for name in self.objectives]
        vectors = torch.stack([one.double() for one in columns], dim=-1).cpu()
        # A gate equal to the threshold in its own dtype stays equal in float64.
        threshold = self.controller.config.threshold
        vectors[columns[0].cpu() == threshold, 0] = threshold
        first: dict[tuple[int, ...], str] = {}
        prompts = [
            first.setdefault(tuple(one), f"of row {row}")
            for row, one in enumerate(prompt_ids.reshape(len(prompt_ids), -1).tolist())
        ]
        step = step_by_group(self.controller, vectors.numpy(), prompts)
        return spread_over_tokens(step.advantages, rewards, mask)
