"""Hugging Face TRL: several objectives inside `GRPOTrainer`, and the bundled training run.

`ParetoGRPOTrainer` with a `ScriptSession` is for a script of your own: docs/objectives.md.
`train` in `paretopo.integrations.trl.train` is what `paretopo train` calls.
"""

from paretopo.integrations.trl.script import ScriptSession
from paretopo.integrations.trl.trainer import ParetoAdvantages, ParetoGRPOTrainer

__all__ = ["ParetoAdvantages", "ParetoGRPOTrainer", "ScriptSession"]
