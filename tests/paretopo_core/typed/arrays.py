"""A typed user's program on arrays and lists: mypy and pyright hold each type to the call's own."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import paretopo_core as pp
from paretopo_core import minimise
from paretopo_core.compat import moocore

Bools = NDArray[np.bool_]
Doubles = NDArray[np.float64]
Singles = NDArray[np.float32]
Ranks = NDArray[np.int32]
Places = NDArray[np.int64]
Volume = np.float64 | NDArray[np.float64]

rows = [[1.0, 2.0], [2.0, 1.0]]
points: Doubles = np.array(rows)
narrow: Singles = np.float32(1) * np.array(rows, dtype=np.float32)
integers: NDArray[np.int64] = np.array([[1, 2], [2, 1]])
mask: Bools = np.array([True, True])
senses: Bools = np.array([True, True])

# Ranks and filters.
assert_type(pp.pareto_rank(points), Ranks)
assert_type(pp.pareto_rank(rows), Ranks)
assert_type(pp.pareto_rank(points=rows), Ranks)
assert_type(pp.pareto_rank([(1, 2), (2, 1)]), Ranks)
assert_type(pp.pareto_rank(points, violation=[0.0, 1.0], n_below=1, dominance="weak"), Ranks)
assert_type(pp.is_nondominated(points, epsilon=0.1, mask=mask), Bools)
assert_type(pp.knee_points(points), Bools)
assert_type(pp.crowding_distance(points, ranks=pp.pareto_rank(points)), Doubles)
print(pp.pareto_rank(rows).max())

# Every way to give senses.
assert_type(pp.pareto_rank(points, maximise=False), Ranks)
assert_type(pp.pareto_rank(points, maximise=[True, False]), Ranks)
assert_type(pp.pareto_rank(points, maximise=(True, False)), Ranks)
assert_type(pp.pareto_rank(points, maximise=senses), Ranks)
assert_type(pp.pareto_rank(points, maximise=np.array([True, False])), Ranks)
assert_type(pp.pareto_rank(points, maximise=senses[0]), Ranks)

# Volumes: one set as lists is a number, sets as lists are an array, an array may be either.
assert_type(pp.hypervolume(rows, 0), np.float64)
assert_type(pp.hypervolume([rows, rows], [0, 0]), Doubles)
assert_type(pp.hypervolume(points, [0.0, 0.0]), Volume)
assert_type(pp.expected_hypervolume(rows, 0, k=1), np.float64)
assert_type(pp.expected_hypervolume(points, 0, k=1), Volume)
assert_type(pp.r2_indicator(rows, [3, 3]), np.float64)
assert_type(pp.r2_indicator(points, 3, weights=4), Volume)
number: float = pp.hypervolume(rows, 0)
gain = pp.hypervolume(points, 0) - pp.hypervolume(points, 1)
print(float(gain), gain > 0, gain.round(3), number)

# Two arguments whose leading dimensions are broadcast.
assert_type(minimise.hypervolume(points, 3, maximise=[True, False]), Volume)
assert_type(pp.inverted_generational_distance(points, rows), Volume)
assert_type(pp.inverted_generational_distance_plus(points, rows, p=2.0), Volume)
assert_type(pp.generational_distance(points, rows), Volume)
assert_type(pp.generational_distance_plus(points, rows), Volume)
assert_type(pp.average_hausdorff_distance(points, rows, mask=mask), Volume)
assert_type(pp.epsilon_additive(points, rows), Volume)
assert_type(pp.epsilon_multiplicative(points, rows, maximise=False), Volume)

# One value a point, and one a coordinate.
assert_type(pp.hypervolume_contributions(points, 0, ignore_dominated=False), Doubles)
assert_type(pp.uncrowded_contributions(rows, [0, 0]), Doubles)
assert_type(pp.hypervolume_gradient(rows, 0, wanted=mask), Doubles)
assert_type(pp.stochastic_dominance(points, sigma=0.1), Doubles)
assert_type(pp.stochastic_pareto_rank(points, sigma=0.1, margin=0.0), Doubles)

# The dtype of the points: float32 for at most 32 bits, else float64.
assert_type(pp.pareto_advantage(points, weights=[0.5, 0.5]), Doubles)
assert_type(pp.pareto_advantage(rows, weights=[0.5, 0.5], centre="std"), Doubles)
assert_type(pp.pareto_advantage(integers, weights=[0.5, 0.5]), Doubles)
assert_type(pp.pareto_advantage(narrow, weights=[0.5, 0.5]), Singles)
assert_type(pp.pareto_advantage(narrow, weights=[1, 1], return_ranks=False), Singles)
assert_type(pp.pareto_advantage(narrow, weights=[1, 1], return_ranks=True), tuple[Singles, Ranks])
assert_type(pp.hypervolume_advantage(points, 0, k=1, centre="exact"), Doubles)
assert_type(pp.hypervolume_advantage(narrow, 0), Singles)
assert_type(pp.ideal_point(points), Doubles)
assert_type(pp.nadir_point(narrow), Singles)
assert_type(pp.reference_point(points, scale=0.2), Doubles)
assert_type(pp.normalise(rows, ideal=[3, 3], nadir=0), Doubles)
assert_type(pp.normalise(narrow), Singles)

# Subsets.
assert_type(pp.select(points, k=1), Places)
assert_type(pp.select(rows, k=1, method="hypervolume", ref=0), Places)
assert_type(pp.hypervolume_subset(points, 0, k=1, method="exact"), Places)
assert_type(pp.reference_directions(2, 4), Doubles)

# Named tuples.
boxes = pp.nondominated_boxes(points, 0)
assert_type(boxes, pp.Boxes[Doubles, Places])
assert_type(boxes.lower, Doubles)
assert_type(boxes.counts, Places)
assert_type(pp.dominated_boxes(rows, 0).upper, Doubles)
assert_type(pp.hypervolume_improvement([[3.0, 3.0]], boxes=boxes), Volume)
assert_type(pp.hypervolume_improvement(points, boxes=(boxes.lower, boxes.upper)), Volume)
assert_type(pp.expected_hypervolume_improvement(points, 0.1, boxes=boxes), Doubles)
gains = pp.expected_hypervolume_improvement([[3.0, 3.0]], 0.1, boxes=boxes, return_gradient=True)
assert_type(gains, tuple[Doubles, Doubles, Doubles])
assert_type(pp.weighted_hypervolume(points, 0, boxes=boxes, weights=[1.0, 1.0, 1.0]), Volume)
estimate = pp.hypervolume_approx(rows, 0, samples=64, rng=1)
assert_type(estimate.value, np.float64)
assert_type(estimate.error, np.float64)
assert_type(pp.hypervolume_approx(points, 0, rng=0).value, Volume)
parts = pp.hypervolume_contributions_approx(points, 0, samples=64, rng=0)
assert_type(parts, pp.Estimate[Doubles])
assert_type(parts.value, Doubles)
sparse = pp.hypervolume_hessian(rows, 0, mask=mask)
assert_type(sparse, pp.SparseHessian[Places, Doubles])
assert_type(sparse.indices, Places)
surfaces = pp.attainment_surfaces(points, sets=["a", "b"], percentiles=[50])
assert_type(surfaces, pp.AttainmentSurfaces[Doubles])
assert_type(surfaces.points, Doubles)

# The archive.
archive = pp.ParetoArchive([0.0, 0.0], maximise=senses, capacity=5, keep_history=True)
assert_type(archive.add([1.0, 1.0], payload="a"), float)
assert_type(archive.extend(points).gains, Doubles)
assert_type(archive.extend(rows).joined, Bools)
assert_type(archive.gain([1.0, 2.0]), float)
assert_type(archive.gain(rows), Doubles)
assert_type(archive.gain(points), float | Doubles)
assert_type(archive.points, Doubles)
assert_type(archive.indices, Places)
assert_type(archive.history, Doubles)
assert_type(archive.ref, Doubles | None)
assert_type(archive.epsilon, Doubles | None)
assert_type(archive.maximise, list[bool])
assert_type(archive.hypervolume, float)
assert_type(next(iter(archive)), Doubles)
assert_type(next(archive.items())[0], Doubles)
assert_type(archive == pp.ParetoArchive([0.0]), bool)

# The machine.
assert_type(pp.get_isa(), str)
assert_type(pp.get_threads(), int)
pp.isa(pp.get_isa())
pp.threads(pp.get_threads())
with pp.threads(count=1) as setting:
    assert_type(setting.value, int)
with pp.memory_limit(2**32) as limit:
    held: pp.Setting[int] = limit
assert_type(held.value, int)

# moocore's names.
assert_type(moocore.is_nondominated(points, maximise=senses), Bools)
assert_type(moocore.any_dominated(points), bool)
assert_type(moocore.pareto_rank(rows), Ranks)
assert_type(moocore.hypervolume(points, ref=[3, 3]), float)
assert_type(moocore.hv_contributions(points, ref=[3, 3]), Doubles)
assert_type(moocore.hv_approx(points, ref=3, nsamples=32), float)
assert_type(moocore.igd(points, ref=rows), float)
assert_type(moocore.normalise(points), Doubles)
