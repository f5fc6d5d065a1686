"""The trainer of `paretopo train`: it reads each prompt once for all rollouts of its group.

Greedy tokens, sums and gradients equal those of TRL's own passes up to rounding. Sampled tokens
have the same distribution and other draws, because ended rows leave the batch every 16 tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from trl.models import unwrap_model_for_generation

from paretopo.integrations.huggingface.turns import Turns, can_keep
from paretopo.integrations.trl import shared_prompts
from paretopo.integrations.trl.batches import count_tokens, sort_rows, trim
from paretopo.integrations.trl.choices import Choices, compute_entropies, watch_hidden_states
from paretopo.integrations.trl.datasets import read_question
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.integrations.trl.trainer import SessionTrainer, UnexpectedTRL
from paretopo.session import Session
from paretopo.tasks.task import with_preference


class TaskTrainer(SessionTrainer):
    """Trains on a task in one process, with transformers.

    Args:
        *args: As for `GRPOTrainer`.
        session: The open session of the run.
        rewards: Measures the rollouts, in the place of `reward_funcs`.
        choices: Finds the choices between tools that get the bonus `optimiser.decision_entropy` of
            the session's configuration; None for no bonus.
        **kwargs: As for `GRPOTrainer`.
    """

    session: Session
    _buffered_inputs: Any  # micro-batches of the step; set by GRPOTrainer
    _turns: Turns | None = None
    _trained: torch.Tensor | None = None  # mask of the micro-batch, without tool tokens

    def __init__(
        self,
        *args: Any,
        session: Session,
        rewards: SessionRewards,
        choices: Choices | None = None,
        **kwargs: Any,
    ) -> None:
        self.session, self.controller, self.session_rewards = session, session.controller, rewards
        self._choices = choices
        super().__init__(*args, reward_funcs=[rewards.measure], **kwargs)

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Write no card: the run has records of its own."""

    def prediction_step(self, _model: Any, inputs: Any, *_: Any, **__: Any) -> Any:
        """Generate rollouts without their loss, which a session does not use."""
        self._prepare_inputs(inputs)
        return torch.zeros((), device=self.accelerator.device), None, None

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        inputs = [read_question(row) for row in inputs]
        if self.model.training:
            inputs = [give_preference(self.session, row) for row in inputs]
        if can_keep(self.accelerator.unwrap_model(self.model)):
            self._turns = Turns(
                padding=self._tokenizer.pad_token_id,
                ends=self.eos_token_ids,
                most=self.max_completion_length,
                settings=self.generation_config,
            )
        try:
            return super()._generate_and_score_completions(inputs)
        finally:
            self._turns = None

    def _generate_single_turn(self, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
        if self._turns is None:
            return super()._generate_single_turn(prompt_ids, *args, **kwargs)
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
        return shared_prompts.can_share(self.accelerator.unwrap_model(model))


def give_preference(session: Session, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of training questions with the preference of its group."""
    given = None if session.preferences is None else session.preference_of(int(row["row"]))
    if given is None:
        return row
    return {**row, "prompt": with_preference(row["prompt"], given.line), "preference": given.text}
