"""Settings that the TRL adapter refuses."""

from paretopo.config import NONE, RunConfig
from paretopo.config.backend import Backend, Limit


def _writes_texts(config: RunConfig) -> bool:
    """Return whether `ProtocolRollouts` would have to generate with another engine."""
    lacks_functions = config.task.name != "calculator" and config.task.tools == NONE
    return lacks_functions and "--use" in config.trl.generation


BACKEND = Backend(
    "trl",
    ("torch", "transformers", "trl", "accelerate", "matplotlib", "tqdm", "httpx", "math_verify"),
    extra="train",
    limits=(
        Limit(
            "trl.generation",
            (NONE,),
            "a task without functions as tools generates with transformers: leave out --use_vllm "
            "and --use_transformers_continuous_batching, or train on OpenRLHF",
            _writes_texts,
        ),
    ),
)
