"""verl: its default trainer with this package's advantages, records and checkpoints.

verl loads `plugin` through the entry-point group ``verl.plugins``. `trainer` holds the trainers
that the plug-in registers, and `paretopo train` calls `train` for ``backend = "verl"``.
Importing this package imports neither verl nor torch.
"""
