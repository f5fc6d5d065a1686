"""Rollouts by a text protocol, for TRL's `rollout_func`: ToRL's programs, Search-R1's queries.

TRL's own `tools=` needs a chat template that renders tool calls. A plain-text protocol works with
any model, base models included, and is the papers' method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from paretopo.integrations.huggingface.generation import generate_pieces
from paretopo.integrations.huggingface.prompts import prompt_tokens
from paretopo.integrations.huggingface.rollouts import Piece, RolloutState, run_rollouts
from paretopo.protocols.episode import Episode


class ProtocolRollouts:
    """Generates rollouts turn by turn; pass it to `GRPOTrainer` as `rollout_func`.

    Tokens of a turn stay as they were sampled; tokens of a feedback are appended after them and
    carry no loss. The reward functions get `calls` (the number of tool executions),
    `failed_calls`, `turns`, `seconds` and `truncated` of each rollout, and the model's own text as
    `written`. The whole response, feedback included, has at most `max_completion_length` tokens.

    It generates with transformers, not with vLLM.

    Args:
        new_episode: Creates the episode of one rollout, for example
            `lambda: TorlEpisode(python, max_calls=1)`.

    Example:
        >>> GRPOTrainer(rollout_func=ProtocolRollouts(new_episode), …)  # doctest: +SKIP
    """

    def __init__(self, new_episode: Callable[[], Episode]) -> None:
        self._new_episode = new_episode

    def __call__(self, prompts: Sequence[Any], trainer: GRPOTrainer) -> dict[str, Any]:
        """Generate one rollout for each prompt.

        Args:
            prompts: Texts, or conversations that the chat template renders.
            trainer: Generates; its `max_completion_length` and sampling settings apply.

        Raises:
            ValueError: The trainer generates with vLLM.
        """
        if trainer.use_vllm:
            raise ValueError(
                "ProtocolRollouts generates with transformers: set use_vllm=False; for vLLM train "
                "on OpenRLHF"
            )
        tokenizer, most = trainer.processing_class, trainer.max_completion_length
        rollouts = [
            RolloutState(prompt_tokens(tokenizer, prompt), self._new_episode(), most)
            for prompt in prompts
        ]
        run_rollouts(rollouts, lambda some, stop: _generate(some, stop, trainer), tokenizer)
        return {
            "prompt_ids": [rollout.prompt for rollout in rollouts],
            "completion_ids": [rollout.tokens for rollout in rollouts],
            "logprobs": None,
            "env_mask": [rollout.written for rollout in rollouts],
            "calls": [rollout.episode.calls for rollout in rollouts],
            "failed_calls": [rollout.episode.failed_calls for rollout in rollouts],
            "turns": [rollout.turns for rollout in rollouts],
            "seconds": [rollout.seconds for rollout in rollouts],
            "truncated": [rollout.truncated for rollout in rollouts],
            "written": [
                tokenizer.decode(rollout.written_tokens(), skip_special_tokens=True)
                for rollout in rollouts
            ],
        }


def _generate(rollouts: Sequence[RolloutState], stop: tuple[str, ...], trainer: Any) -> list[Piece]:
    with unwrap_model_for_generation(
        trainer.model_wrapped,
        trainer.accelerator,
        gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
        generation_kwargs=trainer.generation_kwargs,
        gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
    ) as model:
        return generate_pieces(
            model,
            trainer.processing_class,
            rollouts,
            stop,
            settings=trainer.generation_config,
            ends=trainer.eos_token_ids,
            device=trainer.accelerator.device,
        )
