"""Settings that the TRL adapter refuses."""

from paretopo.config import NONE, RunConfig
from paretopo.config.backend import Backend, Limit


def _writes_texts(config: RunConfig) -> bool:
    """Return whether rollouts come from `ProtocolRollouts`, with an engine asked for."""
    task = config.task
    is_protocol = task.name in ("math", "multihop") or (task.name, task.tools) == ("questions", NONE)
    return is_protocol and "--use" in config.trl.generation


BACKEND = Backend(
    "trl",
    ("torch", "transformers", "trl", "accelerate", "matplotlib", "tqdm", "httpx", "math_verify"),
    extra="train",
    limits=(
        Limit(
            "trl.generation",
            (NONE,),
            "in a script, GRPOConfig takes these options",
            lambda config: config.effective is not None,
        ),
        Limit(
            "trl.generation",
            (NONE,),
            "a task without functions as tools generates with transformers: leave out --use_vllm "
            "and --use_transformers_continuous_batching, or train on OpenRLHF",
            _writes_texts,
        ),
    ),
)
