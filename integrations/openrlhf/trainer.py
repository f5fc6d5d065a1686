"""OpenRLHF's trainer, with evaluations by the session and a saved session state.

Evaluations run before the first step, every `evaluation.every` steps and after the last. Each runs
before the checkpoint of its step, so that a resumed run has its result.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import ray
import torch
from openrlhf.trainer import ppo_trainer
from openrlhf.utils.logging_utils import init_logger

from paretopo.integrations.openrlhf.experience import ParetoExperienceMaker
from paretopo.integrations.openrlhf.rollouts import ROLLOUTS, read_status, with_text
from paretopo.integrations.openrlhf.samples import ParetoSamplesGenerator
from paretopo.records.trajectories import choose_recorded
from paretopo.rollout import Rollout

logger = init_logger(__name__)

_STATE = "paretopo"  # name of our part of OpenRLHF's checkpoint


def unwrap_actor(remote: Any) -> Any:
    """Return the class that `ray.remote` was applied to."""
    return remote.__ray_metadata__.modified_class


class ParetoTraining:
    """Mixin before a trainer of OpenRLHF, synchronous or not."""

    args: Any
    strategy: Any
    samples_generator: Any
    eval_dataloader: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # OpenRLHF looks these names up in this process when it creates its trainer.
        ppo_trainer.RemoteExperienceMaker = ParetoExperienceMaker
        ppo_trainer.SamplesGenerator = ParetoSamplesGenerator
        super().__init__(*args, **kwargs)
        self._session = ray.get_actor(self.args.paretopo.session)
        self._restored = False

    def get_max_steps(self) -> int:
        """Return the updates of the learning-rate schedule."""
        return count_updates(self.args)

    def restore_best_checkpoint_state(self, checkpoint_states: Any) -> None:
        """Begin or resume the session, after OpenRLHF has looked for a checkpoint."""
        super().restore_best_checkpoint_state(checkpoint_states)  # type: ignore[misc]
        if self._restored:
            return
        self._restored = True
        if checkpoint_states and checkpoint_states["global_step"] > 0:
            ray.get(self._session.restore.remote(json.loads(checkpoint_states[_STATE])))
            return
        if self.args.paretopo.resuming:
            ray.get(self._session.restore.remote(None))
        self._evaluate_now(0)

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """Train, and evaluate the last policy if dropped groups used up the prompts early."""
        super().fit(*args, **kwargs)  # type: ignore[misc]
        done, evaluated = ray.get(
            [self._session.steps_done.remote(), self._session.evaluated.remote()]
        )
        if evaluated != done:
            self._evaluate_now(done)

    def save_logs_and_checkpoints(
        self, global_step: int, logs_dict: Any = None, client_states: Any = None
    ) -> None:
        """Record the step, evaluate if it is due, then log and save as OpenRLHF does."""
        logs = dict(logs_dict or {})
        ours = ray.get(self._session.record_step.remote(global_step, read_status(logs), logs))
        logger.info(f"step {global_step} of {self.args.paretopo.steps}: {_format_numbers(ours)}")
        logs |= ours
        if self.args.paretopo.rehearsal:
            self._record_weights(global_step)
        due = global_step % self.args.paretopo.evaluate_every == 0
        if due or global_step == self.args.paretopo.steps:
            self._evaluate_now(global_step)
        states = {
            **(client_states or {}),
            _STATE: json.dumps(ray.get(self._session.state.remote())),
        }
        super().save_logs_and_checkpoints(global_step, logs, states)  # type: ignore[misc]

    @torch.no_grad()
    def _evaluate_now(self, step: int) -> None:
        if self.eval_dataloader is None:
            return
        began = time.perf_counter()
        sampling = {
            **self._sampling_options(),
            "temperature": self.args.eval.temperature,
            "n_samples_per_prompt": self.args.eval.n_samples_per_prompt,
        }
        samples = self.samples_generator.generate_eval_samples(**sampling)
        seconds = time.perf_counter() - began
        rollouts = self._read(samples)
        outcome = ray.get(self._session.observe.remote(step, rollouts, seconds))
        logger.info(
            f"step {step} of {self.args.paretopo.steps}, held out: {_format_numbers(outcome)}"
        )

    def _read(self, samples: list[Any]) -> list[Rollout]:
        """Return the held-out rollouts; the same few questions each time have their text."""
        rollouts = [one for sample in samples for one in sample.info[ROLLOUTS]]
        names = (one.prompt_id for one in rollouts)
        chosen = choose_recorded(names, self.args.paretopo.trajectories)
        rows = [(sample, row) for sample in samples for row in range(len(sample.prompts))]
        tokenizer = self.tokenizer  # type: ignore[attr-defined]
        return [
            with_text(one, sample, row, tokenizer) if one.prompt_id in chosen else one
            for one, (sample, row) in zip(rollouts, rows, strict=True)
        ]

    def _record_weights(self, step: int) -> None:
        """Record trained weights and engine weights, for a rehearsal to compare."""
        group = self.actor_model_group  # type: ignore[attr-defined]
        policy = ray.get(group.async_run_method(method_name="weight_digest"))[0]
        engines = ray.get([engine.weight_digest.remote() for engine in self.vllm_engines])  # type: ignore[attr-defined]
        path = Path(self.args.paretopo.rehearsal) / "weights.jsonl"
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "policy": policy, "engines": engines}) + "\n")

    def _sampling_options(self) -> dict[str, Any]:
        """Return the keyword arguments of generation."""
        sampling: dict[str, Any] = self.generate_kwargs  # type: ignore[attr-defined]
        return sampling


def count_updates(args: Any) -> int:
    """Return the updates of all steps; OpenRLHF's own count includes prompts without a step."""
    rollouts = args.rollout.batch_size * args.rollout.n_samples_per_prompt
    updates = rollouts // args.train.batch_size * args.train.max_epochs
    return int(args.paretopo.steps * max(updates, 1))


def _format_numbers(numbers: dict[str, float]) -> str:
    return ", ".join(f"{name.removeprefix('paretopo/')} {v:.3g}" for name, v in numbers.items())


class ParetoPPOTrainer(ParetoTraining, unwrap_actor(ppo_trainer.PPOTrainer)):  # type: ignore[misc]
    """The synchronous trainer."""
