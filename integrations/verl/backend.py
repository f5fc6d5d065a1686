"""Settings that the verl adapter refuses."""

from __future__ import annotations

from paretopo.config import FROM_TASK, RunConfig
from paretopo.config.backend import Backend, Limit


def _reads_files(config: RunConfig) -> bool:
    own = config.verl
    return any(one != FROM_TASK for one in (own.prompts, own.held_out, own.reward))


BACKEND = Backend(
    "verl",
    ("torch", "transformers", "verl", "ray", "transfer_queue", "matplotlib"),
    extra="verl",
    rehearsal="scripts/install_verl_cpu.sh",
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
            "paretopo.multiplier_on",
            ("advantage", "reward", "none"),
            'its policy processes set the learning rate themselves: use "advantage" instead of '
            '"learning_rate"',
        ),
        Limit(
            "paretopo.preference",
            ("fixed",),
            f'other values work only if verl.prompts, held_out and reward are "{FROM_TASK}", '
            "because the preference is written into the questions of [task]",
            _reads_files,
        ),
    ),
)
