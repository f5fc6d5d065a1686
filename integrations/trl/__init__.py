"""Hugging Face TRL: several objectives inside `GRPOTrainer`, and the bundled training run.

`ParetoGRPOTrainer` with a `ScriptSession` is for your own script: docs/objectives.md. `paretopo
train` calls `paretopo.integrations.trl.train.train`. Importing this package imports neither TRL nor
torch; using its names does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paretopo.integrations.trl.advantages import ParetoAdvantages
    from paretopo.integrations.trl.script import ScriptSession
    from paretopo.integrations.trl.trainer import ControllerTrainer, ParetoGRPOTrainer

__all__ = ["ControllerTrainer", "ParetoAdvantages", "ParetoGRPOTrainer", "ScriptSession"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"ParetoAdvantages": "advantages", "ScriptSession": "script"}.get(name, "trainer")
    return getattr(import_module(f"{__name__}.{module}"), name)
