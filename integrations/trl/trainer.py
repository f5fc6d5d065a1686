"""Pareto advantages inside TRL's `GRPOTrainer`: two overridden methods, nothing copied.

TRL computes rewards for all processes, then advantages, and then takes this process's slice. The
mixin stores the reward matrix and replaces the advantages at the end. TRL has no public extension
point for this, so every step checks every assumption about its shapes. A change in TRL stops the
run with `UnexpectedTRL` instead of training on wrong data.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate.utils import gather_object
from numpy.typing import NDArray
from trl import GRPOTrainer

from paretopo.controller.rules import check_number, name_objectives
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.trl.calls import check_type, explain_calls
from paretopo.integrations.trl.generated import Generated
from paretopo.integrations.trl.random_state import keep_random_state
from paretopo.integrations.trl.scaling import find_scaling
from paretopo.rollout import Rollout, digest_prompt, format_prompt
from paretopo.session import Session

if TYPE_CHECKING:
    from paretopo.integrations.trl.rewards import SessionRewards
    from paretopo.integrations.trl.script import ScriptSession
    from paretopo.integrations.trl.script_rewards import ScriptRewards

_LONGEST_NAME = 200  # characters of a prompt without another name


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
        response_tokens: (rollouts of all processes,) tokens that the policy wrote, without tool
            results.
        truncated: (rollouts of all processes,) bool, did the response run out of room?
        advantages: (groups, points) float64 of the latest training batch.
        prompt_names: Column "id" of every rollout of the latest batch, or its prompt.
        generated: The rollouts of this process in the latest batch.
        generation_seconds: Time of generation and tools for the latest batch.
    """

    controller: ParetoPO
    rewards: NDArray[np.float64]
    values: dict[int, list[float | None]]
    failed: set[int]
    response_tokens: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    advantages: NDArray[np.float64]
    prompt_names: list[str]
    generated: Generated
    generation_seconds: float = 0.0
    _generation_started: float = 0.0
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
        self.generated = Generated(list(inputs), list(prompts), list(completions))
        self.prompt_names = gather_object([name_prompt(row) for row in inputs])
        self.rewards = self._check_rewards(matrix, len(inputs))
        return matrix

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        self._generation_started = time.perf_counter()
        self.rewards = np.empty((0, 0))
        out = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        if self.rewards.shape[0] == 0:
            raise UnexpectedTRL("TRL scored completions without calling _calculate_rewards")
        self.generated.tokens = out["completion_ids"]
        self.generated.mask = out["completion_mask"]
        self.generated.written = out.get("tool_mask")
        self.response_tokens = self._count_written(out)
        self.truncated = self._find_truncated()
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

    def _count_written(self, out: Any) -> NDArray[np.int64]:
        mask = out["completion_mask"]
        if out.get("tool_mask") is not None:
            mask = mask * out["tool_mask"]
        gathered = self.accelerator.gather(mask.sum(dim=1))  # type: ignore[attr-defined]
        tokens: NDArray[np.int64] = gathered.cpu().numpy()
        return tokens

    def _find_truncated(self) -> NDArray[np.bool_]:
        reported = [row.get("truncated") for row in self.generated.inputs]
        if getattr(self, "rollout_func", None) is not None and None not in reported:
            # A protocol reports it itself: a turn may have a limit, and an answer may lack an end
            # token.
            assert self.generated.tokens is not None
            own = torch.tensor(reported, dtype=torch.bool, device=self.generated.tokens.device)
        else:
            most = self.max_completion_length  # type: ignore[attr-defined]
            own = self.generated.truncated(most, self.processing_class.eos_token_id)  # type: ignore[attr-defined]
        gathered = self.accelerator.gather(own)  # type: ignore[attr-defined]
        truncated: NDArray[np.bool_] = gathered.cpu().numpy()
        return truncated

    def _replace_logged(self) -> None:
        """Replace TRL's logged advantages of these rollouts by the trained ones."""
        log = self._logs["advantages"]  # type: ignore[attr-defined]
        flat = self.advantages.reshape(-1).tolist()
        if len(log) < len(flat):
            raise UnexpectedTRL(f"TRL logged {len(log)} advantages for {len(flat)} rollouts")
        for _ in flat:
            log.pop()
        log.extend(flat)


class TiedWeights:
    """Mixin: suppresses warnings of tied weights that a checkpoint leaves out."""

    model: Any

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        tied = set(getattr(self.model, "all_tied_weights_keys", None) or ())
        if not load_result.unexpected_keys and set(load_result.missing_keys) <= tied:
            self.model.tie_weights()
            return
        super()._issue_warnings_after_load(load_result)  # type: ignore[misc]


class SessionTrainer(TiedWeights, ParetoAdvantages, GRPOTrainer):
    """TRL's `GRPOTrainer` whose advantages come from a session, or else from its controller."""

    generation_config: Any  # of GRPOTrainer; replaced during evaluations
    generation_kwargs: Any
    session: Session | None = None
    session_rewards: SessionRewards | ScriptRewards
    script: ScriptSession | None = None
    keeps_advantages = False  # True keeps the advantages that TRL computes

    def __init__(
        self, *args: Any, evaluation_temperature: float | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        if evaluation_temperature is not None:
            if evaluation_temperature < 0:
                raise ValueError(
                    f"evaluation_temperature must be at least 0, got {evaluation_temperature}"
                )
            if self.use_vllm:
                raise ValueError("evaluation_temperature has no effect on vLLM: leave it None")
        self._evaluation_temperature = evaluation_temperature

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        """Load the trained adapter too: with a KL penalty transformers loads only the reference."""
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        model = self.model if model is None else model
        if "ref" in getattr(model, "peft_config", {}):
            from peft import load_peft_weights, set_peft_model_state_dict

            weights = load_peft_weights(resume_from_checkpoint, device="cpu")
            set_peft_model_state_dict(model, weights, "default")

    def compute_advantages(self, points: int) -> NDArray[np.float64]:
        """Return the session's advantages for the measured rollouts, or else the controller's."""
        if self.session is None:
            return super().compute_advantages(points)
        count = len(self.session_rewards.rollouts)
        shown = min(self.session.config.run.trajectories * points, count)
        rollouts = self.rollouts(with_text=range(shown))
        judged = np.array([self.is_judged(one) for one in rollouts])
        groups = [
            [rollouts[at] for at in range(first, first + points) if judged[at]]
            for first in range(0, count, points)
        ]
        scored = self.session.score([group for group in groups if group])
        theirs = self._theirs if self.keeps_advantages else None
        advantages = np.zeros(count)
        if theirs is not None:
            advantages = self.accelerator.gather(theirs).cpu().double().numpy()
        taught = self.session.advantages(
            [group.rollouts for group in scored], None if theirs is None else advantages[judged]
        )
        advantages[judged] = np.concatenate([[], *taught])
        return advantages.reshape(-1, points)

    def is_judged(self, rollout: Rollout) -> bool:
        """Return whether the gate applies to a rollout.

        TRL's own reward functions return None to skip an example. Such a rollout has the advantage
        0, and counts in no mean.
        """
        assert self.session is not None
        gate, measures = self.session.config.objectives[0], rollout.reward_components
        return not gate.gate or gate.name not in measures or measures[gate.name] is not None

    def rollouts(self, with_text: Iterable[int]) -> list[Rollout]:
        """Return the latest batch of all processes; call it in every process.

        Args:
            with_text: Indices of the rollouts to return with their text.
        """
        texts = self.texts(with_text)
        measured = zip(
            self.session_rewards.rollouts, self.response_tokens, self.truncated, strict=True
        )
        return [
            replace(
                one,
                # For rollouts that TRL generates itself, only the total time is known.
                reward_components={"seconds": self.generation_seconds, **one.reward_components},
                tokens=int(tokens),
                truncated=bool(cut),
                **texts.get(number, {}),
            )
            for number, (one, tokens, cut) in enumerate(measured)
        ]

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Evaluate as `GRPOTrainer` does, at the evaluation temperature."""
        with self._sampling_for_evaluation():
            metrics: dict[str, float] = super().evaluate(*args, **kwargs)
        return metrics

    @contextmanager
    def _sampling_for_evaluation(self) -> Iterator[None]:
        if self._evaluation_temperature is None:
            yield
            return
        sampled = self._evaluation_temperature > 0
        changes: dict[str, Any] = {"do_sample": sampled}
        if sampled:
            changes["temperature"] = self._evaluation_temperature
        else:
            changes |= dict.fromkeys(("temperature", "top_p", "top_k", "min_p"))
        training = self.generation_config, self.generation_kwargs
        self.generation_config = copy.deepcopy(self.generation_config)
        self.generation_config.update(**changes)
        self.generation_kwargs = {**self.generation_kwargs, **changes}
        try:
            yield
        finally:
            self.generation_config, self.generation_kwargs = training


class ParetoGRPOTrainer(SessionTrainer):
    """TRL's `GRPOTrainer` with several objectives; it replaces `GRPOTrainer` in a script.

    It computes advantages, adds held-out evaluations, and keeps archive, records and checkpoints of
    the script's run. All else is TRL's own: generation, order of rows, passes and loss. With a
    controller it computes only the advantages.

    Args:
        *args: As for `GRPOTrainer`.
        session: The script's `ScriptSession`. The default, `ScriptSession()`, makes every reward
            function an objective.
        controller: Computes the advantages; its objectives are the trainer's reward functions.
        evaluation_temperature: Sampling temperature of evaluations; 0 decodes greedily, None
            samples as in training. Only with generation by transformers, not by vLLM.
        **kwargs: As for `GRPOTrainer`.

    Raises:
        ValueError: Both `session` and `controller` are given, or `evaluation_temperature` is
            negative or given together with vLLM.
        ConfigError: The controller's weights or the session's objectives do not fit the reward
            functions, or its methods do not fit the arguments; names them.

    Example:
        >>> trainer = ParetoGRPOTrainer(model=…, reward_funcs=[correct, short], …)  # doctest: +SKIP
        >>> session = ScriptSession("objectives.toml", method="recommended")  # doctest: +SKIP
        >>> trainer = ParetoGRPOTrainer(session=session, model=…, …)  # doctest: +SKIP
        >>> trainer.train(resume_from_checkpoint=True)  # doctest: +SKIP
    """

    session_rewards: ScriptRewards

    @explain_calls(SessionTrainer.__init__, GRPOTrainer.__init__)
    def __init__(
        self,
        *args: Any,
        session: ScriptSession | None = None,
        controller: ParetoPO | None = None,
        **kwargs: Any,
    ) -> None:
        from paretopo.integrations.trl.script import ScriptSession

        check_type("session", session, ScriptSession, 'a ScriptSession(gate="correct")')
        check_type("controller", controller, ParetoPO, "a ParetoPO(ParetoPOConfig())")
        if session is not None and controller is not None:
            raise ValueError(
                "ParetoGRPOTrainer takes a session, or a controller that only computes advantages, "
                "got both: drop controller="
            )
        super().__init__(*args, **kwargs)
        if controller is None:
            self.script = session or ScriptSession()
            self.session_rewards = self.script.attach(self)
            self.keeps_advantages = self.script.keeps_advantages
            return
        from paretopo.integrations.trl.script_rewards import check_rewards

        self.controller = controller
        controller.names = name_objectives(controller.config, self.reward_func_names)
        controller.watch.speaks = self.accelerator.is_main_process
        find_scaling(self.args, controller.config.stage2_estimator)
        check_rewards(self)

    def train(self, resume_from_checkpoint: str | bool | None = None, **kwargs: Any) -> Any:
        """Train as `GRPOTrainer` does; afterwards a script's records have its final state.

        Args:
            resume_from_checkpoint: As for `GRPOTrainer`. With a `ScriptSession`, True resumes from
                the last complete checkpoint of `output_dir`, or starts from the beginning if there
                is none.
            **kwargs: As for `GRPOTrainer`.
        """
        if self.script is None:
            return super().train(resume_from_checkpoint, **kwargs)
        with self.script.training(resume_from_checkpoint) as checkpoint:
            return super().train(checkpoint, **kwargs)

    def compute_advantages(self, points: int) -> NDArray[np.float64]:
        """Return the advantages; a script's trackers get the session's numbers."""
        advantages = super().compute_advantages(points)
        if self.script is not None:
            assert self.session is not None
            self.script.track(self.session.tracked())
        return advantages

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, *args: Any, **kwargs: Any
    ) -> Any:
        matrix = super()._calculate_rewards(inputs, prompts, completions, *args, **kwargs)
        if self.script is not None:
            self.session_rewards.take(self.rewards)
        return matrix

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        """Generate as TRL does, and leave the model's mode: continuous batching sets training."""
        training = self.model.training
        try:
            return super()._generate_single_turn(*args, **kwargs)
        finally:
            self.model.train(training)

    def _evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the random state in an evaluation that `GRPOConfig` does not schedule.

        Training then samples the same tokens as without it.
        """
        added = self.script is not None and self.script.adds_evaluation
        with keep_random_state() if added else nullcontext():
            return super()._evaluate(*args, **kwargs)


def name_prompt(row: Mapping[str, Any]) -> str:
    """Return the prompt's name in errors and records: its column "id", or its text, shortened.

    A row without either has the name of its environment.

    >>> name_prompt({"prompt": "why?"}), name_prompt({"prompt": "why?", "id": 17})
    ('why?', '17')
    """
    if row.get("id") is not None:
        return str(row["id"])
    text = format_prompt(row.get("prompt", row.get("environment", "")))
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[:_LONGEST_NAME]}… ({digest_prompt(text)})"
