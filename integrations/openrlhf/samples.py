"""Generation: score groups as they finish, and drop those whose rewards teach nothing.

OpenRLHF filters by the mean of `scores`, so it would drop a group whose answers are all right even
if its calls differ. This module sets the scores of a finished group so that OpenRLHF's filter keeps
or drops it correctly. OpenRLHF's own refilling, which keeps the engines busy, stays in use.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import ray
import torch
from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator
from openrlhf.utils.logging_utils import init_logger

from paretopo.config import loads
from paretopo.integrations.openrlhf.options import CONFIG_VARIABLE
from paretopo.integrations.openrlhf.rollouts import (
    REWARD_COMPONENTS,
    ROLLOUTS,
    UnexpectedOpenRLHF,
    check_response,
    find_components,
    make_rollout,
    measure_own,
)
from paretopo.rewards.own import load_own_rewards

logger = init_logger(__name__)


class ParetoSamplesGenerator(SamplesGenerator):
    """OpenRLHF's generator with the session's scores; it ends after `steps` full batches."""

    def __init__(self, strategy: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(strategy, *args, **kwargs)
        self._session = ray.get_actor(strategy.args.paretopo.session)
        self._steps = strategy.args.paretopo.steps
        self._batches: int | None = None
        self._group: list[Any] = []
        self._evaluating = False
        self._own = load_own_rewards(loads(os.environ[CONFIG_VARIABLE]))

    def generate_samples(self, **kwargs: Any) -> Any:
        """Return one full training batch, or nothing."""
        if self._batches is None:  # a resumed run has used some batches
            self._batches = int(ray.get(self._session.steps_done.remote()))
        if self._batches >= self._steps:
            return [], None, 0, True
        samples, rate, consumed, exhausted = super().generate_samples(**kwargs)
        rollout = self.args.rollout
        if len(samples) < rollout.batch_size * rollout.n_samples_per_prompt:
            # An incomplete batch would leave gradients without an optimiser step.
            if samples:
                logger.info(f"dropped {len(samples)} rollouts at the end of a pass: no whole step")
            return [], rate, consumed, exhausted
        self._batches += 1
        return samples, rate, consumed, exhausted

    def generate_eval_samples(self, **kwargs: Any) -> Any:
        """Return all held-out rollouts; they are scored once all are finished."""
        self._evaluating = True
        try:
            samples = super().generate_eval_samples(**kwargs)
        finally:
            self._evaluating = False
        self._measure_own(samples)
        return samples

    def _process_response_into_experience(self, response: Any, **kwargs: Any) -> Any:
        check_response(response)
        ours, logs = self.args.paretopo, dict(response.get("extra_logs") or {})
        components = find_components(response, logs, ours.objectives)
        # OpenRLHF accepts only numbers; the session logs the means of the objectives.
        dropped = {REWARD_COMPONENTS, *ours.objectives}
        response = {
            **response,
            "extra_logs": {k: v for k, v in logs.items() if k not in dropped},
        }
        experience = super()._process_response_into_experience(response, **kwargs)
        experience.info[ROLLOUTS] = [make_rollout(experience, components, ours.objectives)]
        if not self._evaluating:
            self._group.append(experience)
            if len(self._group) == self.args.rollout.n_samples_per_prompt:
                group, self._group = self._group, []
                self._score(group)
        return experience

    def _measure_own(self, experiences: list[Any]) -> None:
        """Add the values of the user's rewards to experiences of one rollout each."""
        settings = self.args.paretopo
        if self._own is None:
            return
        further = {
            # The same arguments as on TRL; OpenRLHF has no table of completions.
            "trainer_state": SimpleNamespace(
                global_step=self._batches or 0, max_steps=settings.steps
            ),
            "log_metric": _log,
            "log_extra": _log,
        }
        measure_own(self._own, experiences, self.tokenizer, settings.objectives, further)

    def _score(self, group: list[Any]) -> None:
        self._measure_own(group)
        rollouts = [rollout for one in group for rollout in one.info[ROLLOUTS]]
        if len({one.prompt_id for one in rollouts}) != 1:
            raise UnexpectedOpenRLHF(
                "the rollouts of one answer must belong to one prompt, got "
                f"{sorted({one.prompt_id for one in rollouts})}"
            )
        [scored] = ray.get(self._session.score.remote([rollouts]))
        low, high = self.args.algo.dynamic_filtering_range
        first = self.args.paretopo.objectives[0]
        for experience, one in zip(group, scored.rollouts, strict=True):
            experience.info[ROLLOUTS] = [one]
            # OpenRLHF logs this score: the user's reward, not the agent's own grade.
            experience.rewards = torch.tensor([one.reward_components.get(first) or 0.0])
            experience.scores = torch.tensor([(low + high) / 2 if scored.informative else high])


def _log(name: str, value: Any) -> None:
    """Write a value that a reward function logs as a line of the log."""
    logger.info(f"reward: {name} = {value!r:.200}")
