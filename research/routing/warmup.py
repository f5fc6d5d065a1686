"""Rollouts to imitate: each model equally often."""


def demonstrate(random, **_):
    """The name of a model."""
    return random.choice(["small", "medium", "large"])
