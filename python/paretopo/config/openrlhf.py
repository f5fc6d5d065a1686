"""The section of a run's configuration that only OpenRLHF reads: GPUs, engines, rollouts.

>>> OpenRLHFConfig(asynchronous=True, colocate=True)
Traceback (most recent call last):
paretopo.config.keys.ConfigError: openrlhf.asynchronous generates while it trains, which \
needs GPUs of its own for the engines: set openrlhf.colocate = false
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from paretopo.config.keys import ConfigError, check_section, key

FROM_TASK = "task"


@dataclass(frozen=True)
class OpenRLHFConfig:
    """How OpenRLHF spreads a run over GPUs."""

    agent: str = key(
        FROM_TASK, 'The environment of a rollout: "task", or a Python file with an AgentExecutor.'
    )
    prompts: str = key(
        FROM_TASK, 'Training prompts: "task", or a JSONL or Parquet file of prompts and labels.'
    )
    held_out: str = key(FROM_TASK, "Held-out prompts, likewise.")
    chat_template: bool = key(
        True, "Prompts of such a file pass through the chat template; a task sees to its own."
    )
    turn_timeout: float = key(
        600.0, "Seconds after which a turn of the agent counts as hanging.", low=0.0, open_low=True
    )
    max_length: int = key(0, "Longest prompt and response in tokens; 0: response + 512.", low=0)
    nodes: int = key(1, "Machines for the policy.", low=1)
    gpus_per_node: int = key(8, "GPUs of each machine for the policy.", low=1)
    engines: int = key(8, "vLLM engines, over all machines.", low=1)
    engine_gpus: int = key(1, "GPUs of each engine (tensor parallel).", low=1)
    colocate: bool = key(
        True, "Engines and policy take turns on the same GPUs; else engines get their own."
    )
    engine_memory: float = key(
        0.6, "Share of a GPU's memory that an engine takes.", low=0.0, high=1.0, open_low=True
    )
    eager_engine: bool = key(False, "Engines run without CUDA graphs.")
    prefix_caching: bool = key(True, "Engines keep the keys and values of shared prefixes.")
    asynchronous: bool = key(False, "Generate the next rollouts while training on the last.")
    queue: int = key(1, "Rollout batches that may wait for training, when asynchronous.", low=1)
    partial_rollouts: bool = key(
        False, "Exchange weights in the middle of rollouts, when asynchronous."
    )
    zero_stage: int = key(2, "DeepSpeed ZeRO stage.", low=0, high=3)
    adam_offload: bool = key(False, "The optimiser's state lives in host memory.")
    gradient_checkpointing: bool = key(True, "Recompute activations instead of keeping them.")
    attention: Literal["flash_attention_2", "sdpa", "eager"] = key(
        "flash_attention_2", "Attention of the policy."
    )
    packing: bool = key(False, "Pack samples without padding; needs flash_attention_2.")
    max_tokens_per_gpu: int = key(
        0, "Micro-batches of at most so many tokens; needs packing, 0 counts rollouts.", low=0
    )
    lora_rank: int = key(0, "Rank of LoRA adapters; 0 trains all weights.", low=0)
    lora_alpha: int = key(16, "Scale of LoRA adapters.", low=1)
    correction: Literal["off", "token", "sequence"] = key(
        "off",
        "Importance weights where log-probabilities of engine and policy differ, and by what unit.",
    )
    dynamic_sampling: bool = key(
        False, "Replace groups that teach nothing by paretopo.group_filter, until a step is full."
    )
    overlong_buffer: int = key(
        0,
        "The last so many tokens of the response budget cost advantage, linearly; 0 none do.",
        low=0,
    )
    overlong_penalty: float = key(1.0, "Advantage lost at the end of the budget.", low=0.0)
    tensorboard: bool = key(True, "Write TensorBoard files into the run folder.")
    wandb_project: str = key(
        "none", 'Weights & Biases project, with the key in WANDB_API_KEY; "none" for none.'
    )
    options: str = key("none", 'Further options of OpenRLHF, as on its command line; "none".')

    def __post_init__(self) -> None:
        check_section(self, "openrlhf")
        if self.asynchronous and self.colocate:
            raise ConfigError(
                "openrlhf.asynchronous generates while it trains, which needs GPUs of its own for "
                "the engines: set openrlhf.colocate = false"
            )
        if self.partial_rollouts and not self.asynchronous:
            raise ConfigError("openrlhf.partial_rollouts needs openrlhf.asynchronous = true")
        if self.colocate and self.engines * self.engine_gpus != self.nodes * self.gpus_per_node:
            raise ConfigError(
                "with openrlhf.colocate, engines * engine_gpus must be nodes * gpus_per_node, got "
                f"{self.engines * self.engine_gpus} and {self.nodes * self.gpus_per_node}"
            )
        if self.packing and self.attention != "flash_attention_2":
            raise ConfigError(
                f'openrlhf.packing needs attention = "flash_attention_2", got "{self.attention}"'
            )
        if self.lora_rank and self.zero_stage == 3:
            raise ConfigError(
                "openrlhf.lora_rank needs openrlhf.zero_stage of at most 2: adapters are added to "
                "whole matrices when engines get them"
            )
        if self.max_tokens_per_gpu and not self.packing:
            raise ConfigError("openrlhf.max_tokens_per_gpu needs openrlhf.packing = true")
