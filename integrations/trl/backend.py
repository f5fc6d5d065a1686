"""What TRL can do: everything that a configuration says."""

from paretopo.config.backend import Backend

BACKEND = Backend(
    "trl", ("torch", "transformers", "trl", "accelerate", "matplotlib", "tqdm"), extra="train"
)
