"""The asynchronous trainer: one process generates, another trains; both use one session.

The training process evaluates between two of its updates, so the evaluated policy is the policy of
that step. OpenRLHF's own asynchronous evaluation overlaps with the next update.
"""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import ray
from openrlhf.trainer import ppo_trainer_async
from openrlhf.trainer.ppo_trainer import prepare_datasets

from paretopo.integrations.openrlhf.samples import ParetoSamplesGenerator
from paretopo.integrations.openrlhf.trainer import ParetoTraining, count_updates, unwrap_actor


class GenerateSamplesActor(unwrap_actor(ppo_trainer_async.GenerateSamplesActor)):  # type: ignore[misc]
    """The generating process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        ppo_trainer_async.SamplesGenerator = ParetoSamplesGenerator
        super().__init__(*args, **kwargs)


class TrainingActor(ParetoTraining, unwrap_actor(ppo_trainer_async.TrainingActor)):  # type: ignore[misc]
    """The training process, which also evaluates."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._generation: dict[str, Any] = kwargs.pop("generation")
        super().__init__(*args, **kwargs)
        _, self.eval_dataloader, _ = prepare_datasets(self.strategy, self.tokenizer)
        self.samples_generator = ParetoSamplesGenerator(
            strategy=self.strategy,
            prompts_dataloader=None,
            eval_dataloader=self.eval_dataloader,
            tokenizer=self.tokenizer,
            vllm_engines=self.vllm_engines,
        )

    def _evaluate_now(self, step: int) -> None:
        # The lock stops the other process from filling the engines with training rollouts first.
        ray.get(self.vllm_lock.acquire.remote())
        try:
            super()._evaluate_now(step)
        finally:
            ray.get(self.vllm_lock.release.remote())

    def _sampling_options(self) -> dict[str, Any]:
        return self._generation


class ParetoPPOTrainerAsync(unwrap_actor(ppo_trainer_async.PPOTrainerAsync)):  # type: ignore[misc]
    """Starts both processes."""

    def __init__(self, pretrain: str, strategy: Any, *args: Any, **kwargs: Any) -> None:
        self._updates = count_updates(strategy.args)
        # OpenRLHF looks the names up in this process.
        names = ("do_sample", "max_len", "max_new_tokens", "temperature", "top_p")
        generation = {name: kwargs[name] for name in names if name in kwargs}
        start = partial(ray.remote(TrainingActor).remote, generation=generation)
        ppo_trainer_async.GenerateSamplesActor = ray.remote(GenerateSamplesActor)
        ppo_trainer_async.TrainingActor = SimpleNamespace(remote=start)
        super().__init__(pretrain, strategy, *args, **kwargs)

    def get_max_steps(self) -> int:
        """As :meth:`ParetoTraining.get_max_steps`."""
        return self._updates
