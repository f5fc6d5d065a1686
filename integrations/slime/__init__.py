"""slime: advantages, evaluations, records and state of ours, by paths on slime's command line.

`hooks` has what slime calls in its rollout manager, `data_source` the class that keeps the state
beside slime's checkpoints. Importing this package imports neither slime nor torch.
"""
