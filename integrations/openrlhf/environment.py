"""Variables that every worker process of a run gets."""

from __future__ import annotations

import os

from paretopo.config import RunConfig, dumps

# The configuration travels to the engines in this variable, so that they need no shared files.
CONFIG_VARIABLE = "PARETOPO_CONFIG"

# What OpenRLHF would give its workers itself, were it the one to start Ray.
_DEFAULTS = {
    "TOKENIZERS_PARALLELISM": "true",
    "TQDM_DISABLE": "1",  # a bar for each of the many processes would bury ours
    "NCCL_DEBUG": "WARN",
    "RAY_ENABLE_ZERO_COPY_TORCH_TENSORS": "1",
}


def worker_environment(config: RunConfig) -> dict[str, str]:
    """Names and values; what is set already wins over the defaults."""
    defaults = {name: os.environ.get(name, value) for name, value in _DEFAULTS.items()}
    return defaults | {CONFIG_VARIABLE: dumps(config)}
