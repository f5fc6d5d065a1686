"""Pareto ranks, hypervolumes and rank advantages for batches of groups, on CPU and GPU."""

from paretopo_core import _interpreter  # noqa: F401 (first: the next could not refuse)
from paretopo_core._core import __version__
from paretopo_core.accelerate import accelerate
from paretopo_core.advantage import pareto_advantage
from paretopo_core.archive import ParetoArchive
from paretopo_core.boxes import (
    Boxes,
    dominated_boxes,
    hypervolume_improvement,
    nondominated_boxes,
)
from paretopo_core.crowding import crowding_distance
from paretopo_core.expected_hypervolume import expected_hypervolume, hypervolume_advantage
from paretopo_core.fronts import is_nondominated, pareto_rank
from paretopo_core.hypervolume import hv_contributions, hypervolume, hypervolume_gradient
from paretopo_core.isa import get_isa, set_isa
from paretopo_core.smooth import stochastic_dominance, stochastic_pareto_rank
from paretopo_core.threads import get_num_threads, set_num_threads

__all__ = [
    "Boxes",
    "ParetoArchive",
    "__version__",
    "accelerate",
    "crowding_distance",
    "dominated_boxes",
    "expected_hypervolume",
    "get_isa",
    "get_num_threads",
    "hv_contributions",
    "hypervolume",
    "hypervolume_advantage",
    "hypervolume_gradient",
    "hypervolume_improvement",
    "is_nondominated",
    "nondominated_boxes",
    "pareto_advantage",
    "pareto_rank",
    "set_isa",
    "set_num_threads",
    "stochastic_dominance",
    "stochastic_pareto_rank",
]
