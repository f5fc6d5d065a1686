"""Rank, filter and measure sets of points with several objectives, on CPU and GPU.

Larger is better, unless `maximise` says otherwise. docs/primitives.md lists all functions.

>>> import paretopo_core as pp
>>> points = [[1, 0], [0, 1], [0, 0]]
>>> pp.pareto_rank(points)
array([0, 0, 1], dtype=int32)
>>> pp.hypervolume(points, ref=-1)
np.float64(3.0)
"""

import sys
from typing import Never

# First: it refuses a sub-interpreter, in which the compiled core would deadlock.
from paretopo_core import _interpreter  # noqa: F401
from paretopo_core._core import __version__
from paretopo_core._machinery.other_names import refuse_attribute
from paretopo_core._machinery.sense_hint import SenseWarning
from paretopo_core._machinery.settings import Setting
from paretopo_core.accelerate import accelerate
from paretopo_core.advantage import pareto_advantage
from paretopo_core.archive import ParetoArchive
from paretopo_core.attainment_surfaces import AttainmentSurfaces, attainment_surfaces
from paretopo_core.boxes import Boxes, dominated_boxes, nondominated_boxes
from paretopo_core.crowding_distance import crowding_distance
from paretopo_core.expected_hypervolume import expected_hypervolume, hypervolume_advantage
from paretopo_core.front_files import read_fronts
from paretopo_core.fronts import is_nondominated, pareto_rank
from paretopo_core.hessian import SparseHessian, hypervolume_hessian
from paretopo_core.hypervolume import hypervolume, hypervolume_contributions, hypervolume_gradient
from paretopo_core.hypervolume_approx import (
    Estimate,
    hypervolume_approx,
    hypervolume_contributions_approx,
)
from paretopo_core.improvement import (
    expected_hypervolume_improvement,
    hypervolume_improvement,
    weighted_hypervolume,
)
from paretopo_core.indicators import (
    average_hausdorff_distance,
    epsilon_additive,
    epsilon_multiplicative,
    generational_distance,
    generational_distance_plus,
    inverted_generational_distance,
    inverted_generational_distance_plus,
    r2_indicator,
)
from paretopo_core.isa import get_isa, isa
from paretopo_core.memory import memory_limit
from paretopo_core.normalise import (
    ideal_point,
    knee_points,
    nadir_point,
    normalise,
    reference_point,
)
from paretopo_core.plotting import plot_front
from paretopo_core.smooth import stochastic_dominance, stochastic_pareto_rank
from paretopo_core.subsets import hypervolume_subset, reference_directions, select
from paretopo_core.threads import get_threads, threads
from paretopo_core.uncrowded import uncrowded_contributions

__all__ = [
    "AttainmentSurfaces",
    "Boxes",
    "Estimate",
    "ParetoArchive",
    "SenseWarning",
    "Setting",
    "SparseHessian",
    "__version__",
    "accelerate",
    "attainment_surfaces",
    "average_hausdorff_distance",
    "crowding_distance",
    "dominated_boxes",
    "epsilon_additive",
    "epsilon_multiplicative",
    "expected_hypervolume",
    "expected_hypervolume_improvement",
    "generational_distance",
    "generational_distance_plus",
    "get_isa",
    "get_threads",
    "hypervolume",
    "hypervolume_advantage",
    "hypervolume_approx",
    "hypervolume_contributions",
    "hypervolume_contributions_approx",
    "hypervolume_gradient",
    "hypervolume_hessian",
    "hypervolume_improvement",
    "hypervolume_subset",
    "ideal_point",
    "inverted_generational_distance",
    "inverted_generational_distance_plus",
    "is_nondominated",
    "isa",
    "knee_points",
    "memory_limit",
    "nadir_point",
    "nondominated_boxes",
    "normalise",
    "pareto_advantage",
    "pareto_rank",
    "plot_front",
    "r2_indicator",
    "read_fronts",
    "reference_directions",
    "reference_point",
    "select",
    "stochastic_dominance",
    "stochastic_pareto_rank",
    "threads",
    "uncrowded_contributions",
    "weighted_hypervolume",
]


def __dir__() -> list[str]:
    """List the public names only: completion in a notebook shows these."""
    return __all__


def __getattr__(name: str) -> Never:
    """Translate a name of another library."""
    refuse_attribute(sys.modules[__name__], name, __all__)
