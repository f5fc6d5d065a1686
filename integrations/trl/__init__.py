"""Hugging Face TRL: Pareto advantages inside `GRPOTrainer`, and the bundled training run.

`ParetoGRPOTrainer` is for your own script: a `GRPOTrainer` that takes a `ParetoPO` controller.
`train` in `paretopo.integrations.trl.train` is what `paretopo train` calls.
"""

from paretopo.integrations.trl.trainer import ParetoAdvantages, ParetoGRPOTrainer

__all__ = ["ParetoAdvantages", "ParetoGRPOTrainer"]
