"""Settings that the OpenRLHF adapter refuses."""

from __future__ import annotations

from paretopo.config import NONE, RunConfig
from paretopo.config.backend import Backend, Limit


def _serves_one_machine(config: RunConfig) -> bool:
    return config.task.name == "multihop" and config.openrlhf.nodes > 1


BACKEND = Backend(
    "openrlhf",
    ("torch", "transformers", "openrlhf", "ray", "vllm", "deepspeed", "matplotlib"),
    extra="openrlhf",
    rehearsal="scripts/install_openrlhf_cpu.sh",
    limits=(
        Limit(
            "optimiser.learn_from",
            ("rewards",),
            "fine-tune on TRL or with the trainer's own script, then set model.path to the result",
        ),
        Limit(
            "optimiser.decision_entropy",
            (0.0,),
            "its entropy bonus covers all tokens, not only the choice between tools: train on TRL",
        ),
        Limit("model.dtype", ("auto", "bfloat16"), "it computes in bfloat16"),
        Limit(
            "openrlhf.zero_stage",
            (0, 1, 2),
            "ZeRO-3 splits the matrices to which the adapters of model.lora are added; without "
            "model.lora, 3 works",
            lambda config: config.model.lora.rank > 0,
        ),
        Limit(
            "tool.search_url",
            (),
            "with openrlhf.nodes above 1, run paretopo serve-search with a --host that all "
            "machines can reach, and set tool.search_url to its address",
            lambda config: _serves_one_machine(config) and config.tool.search_url == NONE,
        ),
    ),
)
