"""Multi-objective reinforcement learning for tool-using language models, on paretopo_core."""

import sys
from typing import Never


def __getattr__(name: str) -> Never:
    """Say where the functions of the core are."""
    import paretopo_core
    from paretopo_core._machinery.other_names import refuse_attribute

    way = "import paretopo_core as pp, and "
    refuse_attribute(sys.modules[__name__], name, paretopo_core.__all__, way)
