"""verl: its default trainer with this package's advantages, records and checkpoints.

`plugin` is what verl loads by itself (the entry-point group ``verl.plugins``); `trainer` holds the
trainers that it registers, `train` is what `paretopo train` calls for ``backend = "verl"``.
Importing this package imports neither verl nor torch.
"""
