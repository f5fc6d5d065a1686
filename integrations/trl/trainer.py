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
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from accelerate.utils import gather_object
from numpy.typing import NDArray
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from paretopo.controller.rules import check_number, name_objectives
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.huggingface.turns import Turns, can_keep
from paretopo.integrations.trl import shared_prompts
from paretopo.integrations.trl.batches import count_tokens, sort_rows, trim
from paretopo.integrations.trl.choices import Choices, compute_entropies, watch_hidden_states
from paretopo.integrations.trl.datasets import read_question
from paretopo.integrations.trl.generated import Generated
from paretopo.rollout import Rollout, digest_prompt, format_prompt
from paretopo.session import Session
from paretopo.tasks.task import with_preference

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
    `reward_weights`, `scale_rewards` and `multi_objective_aggregation` have no effect.

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
            self.advantages = self.compute_advantages(points)
            out["advantages"] = self._local_advantages(out.get("advantages"), len(inputs))
            self._replace_logged()
        return out

    def compute_advantages(self, points: int) -> NDArray[np.float64]:
        """Return (groups, points) advantages of the latest batch of all processes."""
        given = np.where(np.isnan(self.rewards), None, self.rewards)
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


class ParetoGRPOTrainer(TiedWeights, ParetoAdvantages, GRPOTrainer):
    """TRL's `GRPOTrainer` with several objectives; it replaces `GRPOTrainer` in a script.

    It computes advantages and held-out evaluations, and keeps archive, records and checkpoints of
    the script's run. Reward functions, data, model and arguments stay the script's. With a
    controller it computes only the advantages.

    Args:
        *args: As for `GRPOTrainer`.
        session: The script's `ScriptSession`. The default, `ScriptSession()`, makes every reward
            function an objective. `paretopo train` passes its own session, with its `rewards`.
        controller: Computes the advantages; its objectives are the trainer's reward functions.
        rewards: Measures the rollouts for a session of `paretopo train`, without `reward_funcs`.
        evaluation_temperature: Sampling temperature of evaluations; 0 decodes greedily, None
            samples as in training. Only with generation by transformers, not by vLLM.
        choices: Finds the choices between tools that get the bonus `optimiser.decision_entropy` of
            the session's configuration; None for no bonus. Only in one process.
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

    generation_config: Any  # of GRPOTrainer; replaced during evaluations
    generation_kwargs: Any
    _buffered_inputs: Any  # micro-batches of the step; set by GRPOTrainer
    session: Session | None = None
    session_rewards: SessionRewards | ScriptRewards
    script: ScriptSession | None = None
    _turns: Turns | None = None
    _trained: torch.Tensor | None = None  # mask of the micro-batch, without tool tokens

    def __init__(
        self,
        *args: Any,
        session: Session | ScriptSession | None = None,
        controller: ParetoPO | None = None,
        rewards: SessionRewards | None = None,
        evaluation_temperature: float | None = None,
        choices: Choices | None = None,
        **kwargs: Any,
    ) -> None:
        self._choices = choices
        if session is not None and controller is not None:
            raise ValueError(
                "ParetoGRPOTrainer takes a session, or a controller that only computes advantages, "
                "got both: drop controller="
            )
        if controller is None and session is None:
            from paretopo.integrations.trl.script import ScriptSession

            session = ScriptSession()
        if controller is not None:
            self.controller = controller
        elif isinstance(session, Session):
            assert rewards is not None, "a session of paretopo train comes with rewards"
            self.session, self.controller, self.session_rewards = (
                session,
                session.controller,
                rewards,
            )
            kwargs["reward_funcs"] = [rewards.measure]
        super().__init__(*args, **kwargs)
        if evaluation_temperature is not None:
            if evaluation_temperature < 0:
                raise ValueError(
                    f"evaluation_temperature must be at least 0, got {evaluation_temperature}"
                )
            if self.use_vllm:
                raise ValueError("evaluation_temperature has no effect on vLLM: leave it None")
        self._evaluation_temperature = evaluation_temperature
        if controller is not None:
            controller.names = name_objectives(controller.config, self.reward_func_names)
            controller.watch.speaks = self.accelerator.is_main_process
            from paretopo.integrations.trl.script_rewards import check_rewards

            check_rewards(self)
        if session is not None and not isinstance(session, Session):
            self.script = session
            self.session_rewards = session.attach(self)

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

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """Write TRL's model card in a script only: `paretopo train` has records of its own."""
        if self.session is None or self.script is not None:
            super().create_model_card(*args, **kwargs)

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
        kept = min(self.session.config.run.trajectories * points, count)
        rollouts = self.rollouts(with_text=range(kept))
        scored = self.session.score(
            [rollouts[first : first + points] for first in range(0, count, points)]
        )
        advantages = self.session.advantages([group.rollouts for group in scored])
        if self.script is not None:
            self.script.track(self.session.tracked())
        return np.array(advantages)

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

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        if self.session is not None and self.script is None:
            inputs = [read_question(row) for row in inputs]
            if self.model.training:
                inputs = [give_preference(self.session, row) for row in inputs]
        self._turns = self._begin_turns()
        try:
            return super()._generate_and_score_completions(inputs)
        finally:
            self._turns = None

    def _begin_turns(self) -> Turns | None:
        """Return a generator that reads each token once; None unless only transformers runs."""
        elsewhere = self.use_vllm or self.use_transformers_continuous_batching
        if elsewhere or self._is_vlm or self.accelerator.num_processes > 1:
            return None
        if not can_keep(self.accelerator.unwrap_model(self.model)):
            return None
        return Turns(
            padding=self._tokenizer.pad_token_id,
            ends=self.eos_token_ids,
            most=self.max_completion_length,
            settings=self.generation_config,
        )

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if self._turns is None or images is not None or multimodal_fields:
            return super()._generate_single_turn(
                prompt_ids, images, multimodal_fields, *args, **kwargs
            )
        with unwrap_model_for_generation(
            self.model_wrapped,
            self.accelerator,
            generation_kwargs=self.generation_kwargs,
            gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
        ) as model:
            return self._turns.generate(model, prompt_ids), None

    def _prepare_inputs(self, generation_batch: Any) -> Any:
        before = self._buffered_inputs
        inputs = super()._prepare_inputs(generation_batch)
        each = self.args.steps_per_generation
        # If a step takes several updates, each must see rollouts of all lengths.
        if self._buffered_inputs is before or each > self.args.gradient_accumulation_steps:
            return inputs
        shared = self._can_share(self.model)
        count = shared_prompts.count_tokens if shared else count_tokens
        self._buffered_inputs = sort_rows(self._buffered_inputs, count)
        return self._buffered_inputs[self._step % each]

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        trimmed = trim(inputs)
        self._trained = trimmed.get("tool_mask")
        if self._trained is not None and self._can_share(model):
            # Tool tokens have no log-probability below, so the mask must leave them out.
            for name in ("old_per_token_logps", "ref_per_token_logps"):
                if trimmed.get(name) is not None:
                    trimmed[name] = trimmed[name] * self._trained
        try:
            if self._choices is None:
                return super()._compute_loss(model, trimmed)
            with watch_hidden_states(self.accelerator.unwrap_model(model)) as seen:
                loss = super()._compute_loss(model, trimmed)
            return loss - self._compute_bonus(self._choices, model, seen[-1], trimmed)
        finally:
            self._trained = None

    def _compute_bonus(self, choices: Choices, model: Any, hidden: Any, inputs: Any) -> Any:
        """Return the bonus for the entropy of the choices in a micro-batch of training.

        It counts like an advantage of these tokens, and falls linearly to 0 over the run.
        """
        assert self.session is not None
        responses = inputs["completion_ids"]
        places = [
            place
            for row, tokens in enumerate(responses.tolist())
            for place in choices.find(row, tokens)
        ]
        if not places:
            return 0.0
        head = self.accelerator.unwrap_model(model).get_output_embeddings()
        entropies = compute_entropies(
            places, hidden[:, -responses.shape[1] - 1 : -1], head, self.temperature
        )
        self._metrics["train"]["decision_entropy"].append(entropies.mean().item())
        values = torch.zeros(responses.shape, device=hidden.device)
        rows, tokens = ([place[at] for place in places] for at in (0, 1))
        values = values.index_put((torch.tensor(rows), torch.tensor(tokens)), entropies)
        left = 1.0 - self.state.global_step / max(self.state.max_steps, 1)
        weight = left * self.session.config.optimiser.decision_entropy
        return weight * self._average_tokens(values, inputs)

    def _average_tokens(self, values: torch.Tensor, inputs: Any) -> Any:
        """Average (rows, tokens) numbers as TRL averages the losses of trained tokens."""
        mask = inputs["completion_mask"]
        if inputs.get("tool_mask") is not None:
            mask = mask * inputs["tool_mask"]
        accumulated = self.current_gradient_accumulation_steps
        if self.loss_type == "grpo":
            return ((values * mask).sum(1) / mask.sum(1).clamp(min=1)).mean() / accumulated
        total = (values * mask).sum()
        if self.loss_type == "bnpo":
            return total / mask.sum().clamp(min=1) / accumulated
        if self.loss_type == "dr_grpo":
            return total / (len(mask) * self.max_completion_length) / accumulated
        if self.loss_type == "dapo":
            trained = inputs["num_items_in_batch"].clamp(min=1)
            return total / (trained * accumulated / self.args.steps_per_generation)
        raise UnexpectedTRL(f"no average of token losses is known for the loss {self.loss_type!r}")

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Any,
        attention_mask: Any,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **others: Any,
    ) -> tuple[Any, Any, Any]:
        """Compute log-probabilities as TRL does, but read shared prompts once."""
        if not self._can_share(model) or any(
            value is not None and value is not False for value in others.values()
        ):
            whole: tuple[Any, Any, Any] = super()._get_per_token_logps_and_entropies(
                model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy,
                **others,
            )  # fmt: skip
            return whole
        size, pairs = batch_size or len(input_ids), []
        for at in range(0, len(input_ids), size):
            ids, mask = input_ids[at : at + size], attention_mask[at : at + size]
            trained = None if self._trained is None else self._trained[at : at + size]
            prompts, responses = ids[:, :-logits_to_keep], ids[:, -logits_to_keep:]
            shares = shared_prompts.find_shares(prompts, mask[:, :-logits_to_keep])
            with self.accelerator.autocast():
                pairs.append(
                    shared_prompts.compute_log_probs(
                        model, shares, prompts, responses, mask[:, -logits_to_keep:], trained
                    )
                )
        logps = torch.cat([one for one, _ in pairs])
        if not compute_entropy:
            return logps, None, None
        return logps, torch.cat([one for _, one in pairs if one is not None]), None

    def _can_share(self, model: Any) -> bool:
        if self._is_vlm or self.accelerator.num_processes > 1:
            return False
        return shared_prompts.can_share(self.accelerator.unwrap_model(model))

    def prediction_step(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Generate rollouts; for scripts also return their loss, which a session does not use."""
        if self.session is None or self.script is not None:
            return super().prediction_step(model, inputs, *args, **kwargs)
        self._prepare_inputs(inputs)
        return torch.zeros((), device=self.accelerator.device), None, None

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, *args: Any, **kwargs: Any
    ) -> Any:
        matrix = super()._calculate_rewards(inputs, prompts, completions, *args, **kwargs)
        if self.script is not None:
            self.script.measure(self.rewards)
        return matrix

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


def give_preference(session: Session, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of training questions with the preference of its group."""
    given = None if session.preferences is None else session.preference_of(int(row["row"]))
    if given is None:
        return row
    return {**row, "prompt": with_preference(row["prompt"], given.line), "preference": given.text}


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
