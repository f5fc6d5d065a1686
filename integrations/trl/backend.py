"""The TRL adapter refuses no setting of a configuration."""

from paretopo.config.backend import Backend

BACKEND = Backend(
    "trl",
    ("torch", "transformers", "trl", "accelerate", "matplotlib", "tqdm", "httpx", "math_verify"),
    extra="train",
)
