"""Pareto advantages inside TRL's `GRPOTrainer`: overridden methods, nothing copied.

TRL generates, computes rewards for all processes, then advantages, and then takes this process's
slice. The mixin keeps the tokens while they are on the host, stores the reward matrix, and replaces
the advantages at the end. TRL has no public extension
point for this, so every step checks every assumption about its shapes. A change in TRL stops the
run with `UnexpectedTRL` instead of training on wrong data.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from numpy.typing import NDArray

from paretopo.controller.reward_vectors import check_number
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.trl.generated import Generated
from paretopo.integrations.trl.names import name_prompt


class UnexpectedTRL(RuntimeError):
    """TRL's data differ from those of version 1.16."""


class ParetoAdvantages:
    """Mixin before `GRPOTrainer`: advantages come from a `ParetoPO` controller.

    The reward functions of the trainer are the objectives, in the controller's order. TRL's own
    `reward_weights` have no effect; `find_scaling` honours or refuses its scaling.

    Attributes:
        controller: Set it before training starts.
        rewards: (rollouts of all processes, objectives) float64 of the latest batch; NaN where one
            does not apply.
        values: The values of the reward functions, by their index, for this process's rollouts of
            the latest batch: TRL rounds them to float32.
        failed: The indices of functions whose call failed and is skipped.
        advantages: (groups, points) float64 of the latest training batch.
        prompt_names: Column "id" of every rollout of the latest batch, or its prompt.
        generated: The rollouts of this process in the latest batch.
        generation_seconds: Time of generation and tools for the latest batch.
    """

    controller: ParetoPO
    rewards: NDArray[np.float64]
    values: dict[int, list[float | None]]
    failed: set[int]
    advantages: NDArray[np.float64]
    prompt_names: list[str]
    generated: Generated
    generation_seconds: float = 0.0
    _generation_started: float = 0.0
    _tokens: tuple[Any, Any] | None = None  # of this process: responses, and who wrote each token
    _theirs: Any = None  # advantages of this process that TRL computed

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, *args: Any, **kwargs: Any
    ) -> Any:
        self.generation_seconds = time.perf_counter() - self._generation_started
        # Clear it first: if TRL ever stops calling this method, the next batch finds nothing.
        self.rewards, self.values, self.failed = np.empty((0, 0)), {}, set()
        matrix = super()._calculate_rewards(  # type: ignore[misc]
            inputs, prompts, completions, *args, **kwargs
        )
        if self._tokens is None or len(self._tokens[0]) != len(inputs):
            raise UnexpectedTRL(f"TRL scored {len(inputs)} rollouts without calling _generate")
        self.generated = Generated(*self._tokens, list(inputs), list(prompts), list(completions))
        self.prompt_names = gather_object([*map(name_prompt, inputs)])
        self.rewards = self._check_rewards(matrix, len(inputs))
        return matrix

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the tokens of TRL's lists: later they are tensors, and a device has them."""
        made = super()._generate(*args, **kwargs)  # type: ignore[misc]
        self._tokens = made[1], made[2]
        return made

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        """Generate as TRL does, and leave the model's mode: continuous batching sets training."""
        training = self.model.training  # type: ignore[attr-defined]
        try:
            return super()._generate_single_turn(*args, **kwargs)  # type: ignore[misc]
        finally:
            self.model.train(training)  # type: ignore[attr-defined]

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self._generation_started = time.perf_counter()
        self.rewards, self._tokens = np.empty((0, 0)), None
        out = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        if self.rewards.shape[0] == 0:
            raise UnexpectedTRL("TRL scored completions without calling _calculate_rewards")
        if self.model.training:  # type: ignore[attr-defined]
            points = self.num_generations  # type: ignore[attr-defined]
            self._check_groups(points)
            self._theirs = out.get("advantages")
            self.advantages = self.compute_advantages(points)
            out["advantages"] = self._local_advantages(self._theirs, len(inputs))
            self._replace_logged()
        return out

    def compute_advantages(self, points: int) -> NDArray[np.float64]:
        """Return (groups, points) advantages of the latest batch of all processes."""
        given = self.rewards.astype(object)
        given[np.isnan(self.rewards)] = None
        rewards = given.reshape(-1, points, given.shape[1])
        return self.controller.step(rewards, prompts=self.prompt_names[::points]).advantages

    def texts(self, rows: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Return prompt, answer and segments of some rollouts of the latest batch.

        Call it in every process, with the same rows, which count over all processes.
        """
        local = len(self.generated.inputs)
        start = self.accelerator.process_index * local  # type: ignore[attr-defined]
        own = {
            row: self.generated.text(row - start, self.processing_class)  # type: ignore[attr-defined]
            for row in rows
            if start <= row < start + local
        }
        return {row: text for part in gather_object([own]) for row, text in part.items()}

    def _check_rewards(self, matrix: Any, local_rows: int) -> NDArray[np.float64]:
        """Return the rewards of all processes as float64; refuse other shapes, and NaN of models.

        Raises:
            BadRollout: A reward model returned NaN.
        """
        names = self.reward_func_names  # type: ignore[attr-defined]
        rows = self.accelerator.num_processes * local_rows  # type: ignore[attr-defined]
        if not isinstance(matrix, torch.Tensor) or tuple(matrix.shape) != (rows, len(names)):
            seen = tuple(matrix.shape) if isinstance(matrix, torch.Tensor) else type(matrix)
            raise UnexpectedTRL(
                f"rewards must have shape (rollouts of all processes, objectives) = "
                f"({rows}, {len(names)}), TRL returned {seen}"
            )
        if len(self.prompt_names) != rows:
            raise UnexpectedTRL(
                f"expected {rows} prompts with {rows} rewards, got {len(self.prompt_names)}"
            )
        rewards: NDArray[np.float64] = matrix.detach().cpu().double().numpy()
        for row, at in np.argwhere(~np.isfinite(rewards)):
            if at not in self.values:  # of a reward model
                check_number(self.prompt_names[row], names[at], rewards[row, at].item())
        return self._restore(rewards, local_rows) if self.values else rewards

    def _restore(self, rounded: NDArray[np.float64], local_rows: int) -> NDArray[np.float64]:
        """Return TRL's matrix with the numbers that the reward functions returned."""
        start = self.accelerator.process_index * local_rows  # type: ignore[attr-defined]
        local = rounded[start : start + local_rows].copy()
        for at, values in self.values.items():
            exact = np.array(values, np.float64)  # None becomes NaN
            with np.errstate(over="ignore"):
                same = np.array_equal(np.float32(exact), local[:, at], equal_nan=True)
            if not same:
                raise UnexpectedTRL(f"TRL changed the values {values} to {local[:, at].tolist()}")
            local[:, at] = exact
        return np.array(gather_object(local.tolist()), np.float64)

    def _check_groups(self, points: int) -> None:
        """Refuse a batch whose groups are not contiguous."""
        rows = len(self.rewards)
        if rows % points:
            raise UnexpectedTRL(f"{rows} rollouts do not make groups of {points}")
        for first in range(0, rows, points):
            group = self.prompt_names[first : first + points]
            if len(set(group)) != 1:
                raise UnexpectedTRL(
                    f"rollouts {first} to {first + points - 1} must belong to one prompt, got "
                    f"{sorted(set(group))}: TRL no longer keeps groups contiguous"
                )

    def _local_advantages(self, theirs: Any, local_rows: int) -> torch.Tensor:
        """Return this process's slice of the advantages, with TRL's dtype and device."""
        if not isinstance(theirs, torch.Tensor) or tuple(theirs.shape) != (local_rows,):
            seen = tuple(theirs.shape) if isinstance(theirs, torch.Tensor) else type(theirs)
            raise UnexpectedTRL(f"advantages must have shape ({local_rows},), TRL computed {seen}")
        start = self.accelerator.process_index * local_rows  # type: ignore[attr-defined]
        ours = self.advantages.reshape(-1)[start : start + local_rows]
        return torch.as_tensor(ours).to(theirs)

    def _replace_logged(self) -> None:
        """Replace TRL's logged advantages of these rollouts by the trained ones."""
        log = self._logs["advantages"]  # type: ignore[attr-defined]
        flat = self.advantages.reshape(-1).tolist()
        if len(log) < len(flat):
            raise UnexpectedTRL(f"TRL logged {len(log)} advantages for {len(flat)} rollouts")
        for _ in flat:
            log.pop()
        log.extend(flat)
