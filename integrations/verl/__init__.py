"""verl: its trainers with our advantages, records and state.

verl loads `plugin` through the entry-point group ``verl.plugins``; `training` holds the hook.
Importing this package imports neither verl nor torch.
"""
