"""Multi-objective reinforcement learning for tool-using language models, on paretopo_core."""

from typing import Never


def __getattr__(name: str) -> Never:
    """Say where the functions of the core are."""
    import paretopo_core

    hint = f": import paretopo_core as pp, then pp.{name}" if name in paretopo_core.__all__ else ""
    raise AttributeError(f"module 'paretopo' has no attribute {name!r}{hint}", name=name)
