"""The memory and time of a run on GPUs, from the sizes of the model and of a step.

A policy of P parameters on N GPUs takes 2P bytes of weights, 2P of gradients and 12P of Adam's
states, divided by N as the ZeRO stage says. A GPU is an H100 of 80 GB, which reaches 40 % of 990
TFLOP/s and 3.35 TB/s.
"""

from __future__ import annotations

from dataclasses import dataclass

from paretopo.config import ConfigError, ModelConfig, RunConfig
from paretopo.integrations.huggingface.files import find_model_files
from paretopo.integrations.openrlhf.options import ENGINE_MEMORY, longest_sequence, micro_batch
from paretopo.integrations.openrlhf.prepare import check_step

_GPU_BYTES, _FLOPS, _BANDWIDTH = 80e9, 0.4 * 990e12, 3.35e12
_LOGIT_BYTES = 14  # bfloat16, and in float32 a copy, the softmax and the gradient
_UPDATE_FLOPS = 10  # for each parameter and token: two passes forward, one backward, recomputation
_OVERHEAD_SECONDS = 0.003  # of a decoding step


@dataclass(frozen=True)
class Shape:
    """Sizes of a model.

    Attributes:
        parameters: Number of weights.
        vocabulary: Number of logits of a token.
        cache_bytes: Keys and values of a token.
    """

    parameters: int
    vocabulary: int
    cache_bytes: int


def read_shape(model: ModelConfig) -> Shape:
    """Return the sizes of a model without loading its weights.

    Raises:
        ConfigError: Its configuration cannot be read.
    """
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    files = find_model_files(model.path)
    try:
        config = AutoConfig.from_pretrained(files.name, **files.options).get_text_config()
        with torch.device("meta"):
            made = AutoModelForCausalLM.from_config(config)
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(
            f"model.path: cannot read the configuration of {model.path!r}: {error}"
        ) from error
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    kept = getattr(config, "num_key_value_heads", None) or heads
    cache = 2 * 2 * config.num_hidden_layers * kept * width
    return Shape(sum(one.numel() for one in made.parameters()), config.vocab_size, cache)


def estimate_run(config: RunConfig) -> list[str]:
    """Return lines on the step, the memory of a GPU and the time of a run.

    Raises:
        ConfigError: The step does not fit its prompts or GPUs, or the model cannot be read.
    """
    optimiser, cluster, prompts = config.optimiser, config.openrlhf, check_step(config)
    gpus, size = cluster.nodes * cluster.gpus_per_node, micro_batch(config)
    rollouts = optimiser.prompts_per_step * optimiser.group_size
    lines = [
        f"step: {optimiser.prompts_per_step} prompts x {optimiser.group_size} rollouts, "
        f"{rollouts // gpus} rollouts on each of {gpus} GPUs, micro-batches of {size}; "
        f"{optimiser.steps_per_epoch(prompts):,} steps take each of {prompts:,} prompts once"
    ]
    if config.model.is_made:
        return [*lines, f"memory and time: not estimated for model.path = {config.model.path!r}"]
    shape = read_shape(config.model)
    states, logits = count_bytes(config, shape)
    weights, room = 2 * shape.parameters / cluster.engine_gpus, _GPU_BYTES * ENGINE_MEMORY
    held = (room - weights) * cluster.engine_gpus / shape.cache_bytes
    if held <= 0:
        raise ConfigError(
            f"openrlhf.engine_gpus: {room / 1e9:.0f} GB of a GPU do not hold the engine's "
            f"{weights / 1e9:.0f} GB of weights: raise it"
        )
    seconds = count_seconds(config, shape)
    hours, all_gpus = optimiser.steps * seconds / 3600, gpus
    if not cluster.colocate:
        all_gpus += cluster.engines * cluster.engine_gpus
    return [
        *lines,
        f"memory of a GPU of 80 GB while training: {states / 1e9:.1f} GB of weights, gradients and "
        f"Adam's states, {logits / 1e9:.1f} GB of logits, and activations",
        f"while generating: an engine of {room / 1e9:.1f} GB with {weights / 1e9:.1f} GB of "
        f"weights; the rest holds {held:,.0f} tokens",
        f"time on H100s, if every response has {optimiser.max_completion_tokens:,} tokens and "
        f"tools answer at once: {seconds:.0f} s a step, {hours:.0f} hours, "
        f"{hours * all_gpus:,.0f} GPU hours",
    ]


def count_bytes(config: RunConfig, shape: Shape) -> tuple[float, float]:
    """Return the bytes of a policy's GPU for the states of training, and for logits."""
    cluster, trained = config.openrlhf, 0 if config.model.lora.rank else shape.parameters
    gpus = cluster.nodes * cluster.gpus_per_node
    of_stage = [gpus if cluster.zero_stage >= stage else 1 for stage in (3, 2, 1)]
    models = 2 if config.optimiser.kl > 0 else 1  # the reference model
    parts = (2 * models * shape.parameters, 2 * trained, 12 * trained)
    tokens = micro_batch(config) * longest_sequence(config)
    states = sum(part / share for part, share in zip(parts, of_stage, strict=True))
    return states, float(shape.vocabulary * _LOGIT_BYTES * tokens)


def count_seconds(config: RunConfig, shape: Shape) -> float:
    """Return the seconds of a step whose responses all have the longest length."""
    optimiser, cluster = config.optimiser, config.openrlhf
    gpus, longest = cluster.nodes * cluster.gpus_per_node, optimiser.max_completion_tokens
    decoding = 2 * shape.parameters / cluster.engine_gpus / _BANDWIDTH + _OVERHEAD_SECONDS
    tokens = optimiser.prompts_per_step * optimiser.group_size * longest
    update = _UPDATE_FLOPS * shape.parameters * tokens / (gpus * _FLOPS)
    # Dropped groups are generated again; an evaluation decodes once.
    rounds = (2 if cluster.dynamic_sampling else 1) + 1 / config.evaluation.every
    return rounds * longest * decoding + update
