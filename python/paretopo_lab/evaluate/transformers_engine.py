"""Generation by transformers, on a CPU or one GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TemperatureLogitsWarper,
)
from transformers.utils import logging as transformers_logging

from paretopo.config import ModelConfig
from paretopo.integrations.huggingface.attention import fold_attention_heads
from paretopo.integrations.huggingface.generation import generate_pieces, stop_generation
from paretopo.integrations.huggingface.loading import (
    as_tokens,
    compute_dtype,
    load_model,
    load_tokenizer,
)
from paretopo.integrations.huggingface.rollouts import Piece, RolloutState
from paretopo_lab.evaluate.settings import EvaluationSettings

_NO_LIMIT = 2**30  # for a model without a longest length


class TransformersEngine:
    """A model in transformers: in bfloat16 on a GPU if there is one, else in float32 on a CPU.

    The evaluation's settings replace the model's own generation settings (penalties, top-k).

    Args:
        model: Folder or Hub name.
        settings: The temperature.
        should_stop: Called at every token; True raises `GenerationStopped`.

    Raises:
        ConfigError: The model cannot be loaded.
    """

    def __init__(
        self,
        model: str,
        settings: EvaluationSettings,
        *,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        transformers_logging.disable_progress_bar()  # our own bar counts questions
        named = ModelConfig(path=model)
        self.tokenizer = load_tokenizer(named)
        usual: Literal["bfloat16", "float32"] = "bfloat16" if self._device == "cuda" else "float32"
        dtype = compute_dtype(replace(named, dtype=usual), self._device)
        self._model: Any = load_model(named, self.tokenizer, dtype=dtype)
        self._model.to(self._device).eval()
        if self._device == "cpu":
            fold_attention_heads(self._model)
        stop_generation(self._model, should_stop)
        own = self._model.config.get_text_config()
        self.context = int(getattr(own, "max_position_embeddings", None) or _NO_LIMIT)
        self._ends = as_tokens(self._model.generation_config.eos_token_id)
        self._settings = settings
        self._generation = GenerationConfig(
            do_sample=False, pad_token_id=self.tokenizer.pad_token_id, eos_token_id=self._ends
        )
        self._model.generation_config = self._generation  # defaults of `generate`

    def generate(self, rollouts: Sequence[RolloutState], stop: tuple[str, ...]) -> list[Piece]:
        """Generate one piece for each rollout, all in one batch."""
        processors = LogitsProcessorList()
        if self._settings.temperature > 0:
            processors.append(TemperatureLogitsWarper(self._settings.temperature))
            processors.append(GumbelNoise([one.piece_seed for one in rollouts]))
        return generate_pieces(
            self._model,
            self.tokenizer,
            rollouts,
            stop,
            settings=self._generation,
            ends=self._ends,
            device=self._device,
            logits_processor=processors,
        )

    def close(self) -> None:
        """Free the memory."""
        del self._model
        if self._device == "cuda":
            torch.cuda.empty_cache()


class GumbelNoise(LogitsProcessor):
    """Adds noise of each row's own, so that the likeliest token is a sample (Gumbel-max trick).

    The samples of a question therefore do not depend on the other rows of its batch, and a resumed
    evaluation draws the same samples as an uninterrupted one.

    Args:
        seeds: For each row, an integer that fixes its noise; only its lower 32 bits matter.

    Source: Gumbel (1954), Statistical Theory of Extreme Values, for the distribution; Maddison et
    al. (2014), "A* sampling", for its use.
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        self._noise = [torch.Generator().manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: Any, scores: Any) -> Any:  # noqa: ARG002
        """Add noise to the (rows, vocabulary) logits."""
        # Draw on the CPU, so that every device samples the same tokens.
        drawn = torch.stack(
            [torch.rand(scores.shape[-1], generator=noise) for noise in self._noise]
        ).to(scores.device)
        return scores.float() - torch.log(-torch.log(drawn.clamp_(1e-20, 1 - 2**-24)))
