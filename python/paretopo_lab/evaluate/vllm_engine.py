"""Rollouts of an evaluation on vLLM: every request has its own stop strings, room and seed."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from vllm import LLM, SamplingParams

from paretopo.config import ConfigError, ModelConfig
from paretopo.integrations.huggingface.files import find_model_files
from paretopo.integrations.huggingface.loading import load_tokenizer
from paretopo.integrations.huggingface.rollouts import Piece, RolloutState
from paretopo_lab.evaluate.settings import EvaluationSettings


class VllmEngine:
    """A model in vLLM.

    Args:
        model: Folder or Hub name.
        settings: Temperature and seed.
        gpus: Number of GPUs that share the model (tensor parallel).
        memory: Share of a GPU's memory that vLLM takes.
        further: Further arguments of `vllm.LLM`.

    Raises:
        ConfigError: vLLM cannot load the model.
    """

    def __init__(
        self,
        model: str,
        settings: EvaluationSettings,
        *,
        gpus: int = 1,
        memory: float = 0.9,
        **further: Any,
    ) -> None:
        if find_model_files(model).gguf is not None:
            raise ConfigError(
                f"--engine vllm loads a checkpoint of transformers itself, and {model!r} is a "
                ".gguf file: use --engine transformers"
            )
        self.tokenizer = load_tokenizer(ModelConfig(path=model))
        try:
            self._model = LLM(
                model=model,
                seed=settings.seed,
                tensor_parallel_size=gpus,
                gpu_memory_utilization=memory,
                generation_config="vllm",  # only the evaluation's settings apply
                **further,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise ConfigError(f"vLLM cannot load {model!r}: {error}") from error
        self.context = int(self._model.llm_engine.model_config.max_model_len)
        self._settings = settings

    def generate(self, rollouts: Sequence[RolloutState], stop: tuple[str, ...]) -> list[Piece]:
        """Generate one piece for each rollout; vLLM batches them itself."""
        prompts = [{"prompt_token_ids": one.prompt + one.tokens} for one in rollouts]
        params = [
            SamplingParams(
                temperature=self._settings.temperature,
                max_tokens=one.room,
                stop=list(stop) or None,
                include_stop_str_in_output=True,
                seed=one.piece_seed,
            )
            for one in rollouts
        ]
        outputs = self._model.generate(prompts, params, use_tqdm=False)
        return [_make_piece(output.outputs[0], stop) for output in outputs]

    def close(self) -> None:
        """Stop vLLM's processes."""
        del self._model
        gc.collect()


def _make_piece(output: Any, stop: tuple[str, ...]) -> Piece:
    tokens = list(output.token_ids)
    if output.finish_reason == "length":
        return Piece(tokens, "length")
    return Piece(tokens, "stop" if output.stop_reason in stop else "end")
