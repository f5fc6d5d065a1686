"""Settings that the OpenRLHF adapter refuses."""

from __future__ import annotations

from paretopo.config import FROM_TASK, NONE, RunConfig
from paretopo.config.backend import Backend, Limit


def _reads_files(config: RunConfig) -> bool:
    own = config.openrlhf
    return any(one != FROM_TASK for one in (own.prompts, own.held_out, own.agent))


def _lacks_a_step(config: RunConfig) -> bool:
    made_up = config.openrlhf.prompts == FROM_TASK and config.task.is_made_up
    return made_up and config.task.prompts < config.optimiser.prompts_per_step


def _serves_one_machine(config: RunConfig) -> bool:
    return config.task.name == "multihop" and config.openrlhf.nodes > 1


BACKEND = Backend(
    "openrlhf",
    ("torch", "transformers", "openrlhf", "ray", "vllm", "deepspeed", "matplotlib"),
    extra="openrlhf",
    limits=(
        Limit("optimiser.method", ("adamw",), "it trains with DeepSpeed's AdamW"),
        Limit(
            "optimiser.learn_from",
            ("rewards",),
            "fine-tune on TRL, or with OpenRLHF's own train_sft, and set model.path to the result",
        ),
        Limit(
            "optimiser.decision_entropy",
            (0.0,),
            "its entropy bonus counts all tokens of a response, not the choice between tools: "
            "train on TRL",
        ),
        Limit("model.frozen_embeddings", (False,), "it trains the embeddings"),
        Limit("model.dtype", ("auto", "bfloat16"), "it computes in bfloat16"),
        Limit(
            "openrlhf.zero_stage",
            (0, 1, 2),
            "with model.lora, each adapter is added to its complete matrix on the way to the "
            "engines, but ZeRO-3 splits the matrices",
            lambda config: config.model.lora.rank > 0,
        ),
        Limit(
            "task.prompts",
            (),
            "a step needs at least optimiser.prompts_per_step prompts",
            _lacks_a_step,
        ),
        Limit("preference.sampling", ("dirichlet",), "its prompts are written before training"),
        Limit(
            "paretopo.preference",
            ("fixed",),
            "a preference is written into the questions of [task]: keep openrlhf.prompts, held_out"
            f' and agent at "{FROM_TASK}"',
            _reads_files,
        ),
        Limit(
            "tool.search_url",
            (),
            "with openrlhf.nodes above 1, a server that the run starts serves only its own "
            "machine: set the address of a server that you start, paretopo serve-search --host "
            "ADDRESS",
            lambda config: _serves_one_machine(config) and config.tool.search_url == NONE,
        ),
    ),
)
