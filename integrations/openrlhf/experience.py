"""Advantages: the session computes them, and every token of a rollout gets its number."""

from __future__ import annotations

from typing import Any

import numpy as np
import ray
import torch
from openrlhf.trainer.ppo_utils.experience_maker import RemoteExperienceMaker

from paretopo.integrations.openrlhf.rollouts import ROLLOUTS, UnexpectedOpenRLHF, with_text
from paretopo.rollout import Rollout

# The estimator's name in OpenRLHF's arguments. OpenRLHF does not know the name, so it neither
# subtracts a baseline nor whitens. `_PER_TOKEN` gives all tokens of a rollout one number.
ESTIMATOR, _PER_TOKEN = "paretopo", "group_norm"


class ParetoExperienceMaker(RemoteExperienceMaker):
    """OpenRLHF's experience maker with the session's advantages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._session = ray.get_actor(self.args.paretopo.session)
        self.advantage_estimator = _PER_TOKEN

    @torch.no_grad()
    def compute_advantages_and_returns(self, experiences: list[Any]) -> list[Any]:
        """Make OpenRLHF give every token its rollout's advantage, and keep the logged rewards.

        OpenRLHF carries the advantages in the field of the rewards, and overwrites the logged
        rewards with them. This method restores the logged rewards afterwards.
        """
        order, groups = self._group_rollouts(experiences)
        # Ray's arrays are read-only, and torch needs writable ones.
        advantages = ray.get(self._session.advantages.remote(groups))
        given: Any = torch.tensor(np.array(advantages))
        rewards = [experience.rewards for experience in experiences]
        # OpenRLHF logs the spread of one objective: the first, which is the gate if there is one.
        first = torch.tensor([[one.rewards[0] for one in group] for group in groups])
        spread: Any = first.std(dim=-1, keepdim=True).expand_as(first)
        sizes = [len(experience.index) for experience in experiences]
        for experience, own in zip(experiences, given.flatten()[order].split(sizes), strict=True):
            experience.rewards = own.float()
            del experience.info[ROLLOUTS]  # OpenRLHF logs the mean of every other entry
        experiences = super().compute_advantages_and_returns(experiences)
        for experience, reward, std in zip(
            experiences, rewards, spread.flatten()[order].split(sizes), strict=True
        ):
            experience.rewards = reward
            experience.info["reward"] = reward.clone()
            experience.info["group_reward_std"] = std
        return experiences

    def _group_rollouts(self, experiences: list[Any]) -> tuple[torch.Tensor, list[list[Rollout]]]:
        """Return the index of every sample in order of the experiences, and rollouts by group."""
        order = [number for experience in experiences for number in experience.index]
        points = self.args.rollout.n_samples_per_prompt
        kept = self.args.paretopo.trajectories * points
        found: dict[int, Rollout] = {}
        for experience in experiences:
            rollouts = zip(experience.index, experience.info[ROLLOUTS], strict=True)
            for row, (number, rollout) in enumerate(rollouts):
                if not rollout.rewards:
                    raise UnexpectedOpenRLHF("a sample reached the update without being scored")
                if number < kept:
                    rollout = with_text(rollout, experience, row, self.tokenizer)
                found[number] = rollout
        whole = [rollout for _, rollout in sorted(found.items())]
        if len(whole) % points or sorted(order) != [*range(len(whole))]:
            raise UnexpectedOpenRLHF(f"{len(order)} samples do not make groups of {points}")
        groups = [whole[first : first + points] for first in range(0, len(whole), points)]
        for number, group in enumerate(groups):
            names = {one.prompt_id for one in group}
            if len(names) != 1:
                raise UnexpectedOpenRLHF(
                    f"the rollouts of group {number} must belong to one prompt, got {sorted(names)}"
                )
        return torch.tensor(order), groups
