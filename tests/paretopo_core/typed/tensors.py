"""A typed user's program on tensors and frames of polars: the result has the points' library."""

from typing import assert_type

import numpy as np
import polars as pl
import torch

import paretopo_core as pp

points = torch.tensor([[1.0, 2.0], [2.0, 1.0]], dtype=torch.float64)
mask = torch.tensor([True, True])
senses = torch.tensor([True, True])

assert_type(pp.pareto_rank(points), torch.Tensor)
assert_type(pp.pareto_rank(torch.nn.Parameter(points)), torch.Tensor)
assert_type(pp.is_nondominated(points, mask=mask, maximise=senses), torch.Tensor)
assert_type(pp.knee_points(points), torch.Tensor)
assert_type(pp.crowding_distance(points, ranks=pp.pareto_rank(points)), torch.Tensor)
assert_type(pp.hypervolume(points, points[0] * 0), torch.Tensor)
assert_type(pp.hypervolume_gradient(points, 0), torch.Tensor)
assert_type(pp.hypervolume_contributions(points, 0), torch.Tensor)
assert_type(pp.uncrowded_contributions(points, 0), torch.Tensor)
assert_type(pp.expected_hypervolume(points, 0, k=1), torch.Tensor)
assert_type(pp.hypervolume_advantage(points, 0), torch.Tensor)
assert_type(pp.pareto_advantage(points, weights=[1, 1]), torch.Tensor)
both = pp.pareto_advantage(points, weights=[1, 1], return_ranks=True)
assert_type(both, tuple[torch.Tensor, torch.Tensor])
assert_type(pp.inverted_generational_distance(points, points), torch.Tensor)
assert_type(pp.inverted_generational_distance_plus(points, points), torch.Tensor)
assert_type(pp.generational_distance(points, points), torch.Tensor)
assert_type(pp.generational_distance_plus(points, points), torch.Tensor)
assert_type(pp.average_hausdorff_distance(points, points), torch.Tensor)
assert_type(pp.epsilon_additive(points, points), torch.Tensor)
assert_type(pp.epsilon_multiplicative(points, points), torch.Tensor)
assert_type(pp.r2_indicator(points, 3), torch.Tensor)
assert_type(pp.ideal_point(points), torch.Tensor)
assert_type(pp.nadir_point(points), torch.Tensor)
assert_type(pp.reference_point(points), torch.Tensor)
assert_type(pp.normalise(points), torch.Tensor)
assert_type(pp.select(points, k=1), torch.Tensor)
assert_type(pp.hypervolume_subset(points, 0, k=1), torch.Tensor)
assert_type(pp.stochastic_dominance(points, sigma=0.1), torch.Tensor)
assert_type(pp.stochastic_pareto_rank(points, sigma=0.1), torch.Tensor)
boxes = pp.nondominated_boxes(points, 0)
assert_type(boxes, pp.Boxes[torch.Tensor, torch.Tensor])
assert_type(pp.dominated_boxes(points, 0).counts, torch.Tensor)
assert_type(pp.hypervolume_improvement(points, boxes=boxes), torch.Tensor)
assert_type(pp.expected_hypervolume_improvement(points, 0.1, boxes=boxes), torch.Tensor)
assert_type(pp.weighted_hypervolume(points, 0, boxes=boxes, weights=[1.0, 1.0, 1.0]), torch.Tensor)
assert_type(pp.hypervolume_approx(points, 0, samples=32, rng=0).error, torch.Tensor)
assert_type(pp.hypervolume_contributions_approx(points, 0, samples=32, rng=0).error, torch.Tensor)
assert_type(pp.hypervolume_hessian(points, 0).indices, torch.Tensor)
assert_type(pp.attainment_surfaces(points, [0, 1]).percentiles, torch.Tensor)
print(pp.ParetoArchive([0.0, 0.0]).extend(points).gains)

frame = pl.DataFrame({"a": [1.0, 2.0], "b": [2.0, 1.0]})
assert_type(pp.pareto_rank(frame, maximise={"a": True, "b": False}), pl.Series)
assert_type(pp.hypervolume(frame, {"a": 0.0, "b": 0.0}, maximise=True), np.float64)
assert_type(pp.normalise(frame), pl.DataFrame)
assert_type(pp.pareto_advantage(frame, weights=[1, 1]), pl.Series)
