"""The trainer of `paretopo train`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from paretopo.integrations.trl.advantages import UnexpectedTRL
from paretopo.integrations.trl.choices import Choices, compute_entropies, watch_hidden_states
from paretopo.integrations.trl.datasets import read_question
from paretopo.integrations.trl.rewards import SessionRewards
from paretopo.integrations.trl.session_trainer import SessionTrainer
from paretopo.rollout import Rollout
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

    def __init__(
        self,
        *args: Any,
        session: Session,
        rewards: SessionRewards,
        choices: Choices | None = None,
        **kwargs: Any,
    ) -> None:
        self.session, self.controller, self._rewards = session, session.controller, rewards
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
        return super()._generate_and_score_completions(inputs)

    def read_measured(self) -> list[Rollout]:
        """Return the rollouts of the latest batch."""
        return self._rewards.rollouts

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        if self._choices is None:
            return super()._compute_loss(model, inputs)
        with watch_hidden_states(self.accelerator.unwrap_model(model)) as seen:
            loss = super()._compute_loss(model, inputs)
        return loss - self._compute_bonus(self._choices, model, seen[-1], inputs)

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


def give_preference(session: Session, row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row of training questions with the preference of its group."""
    given = None if session.preferences is None else session.preference_of(int(row["row"]))
    if given is None:
        return row
    return {**row, "prompt": with_preference(row["prompt"], given.line), "preference": given.text}
