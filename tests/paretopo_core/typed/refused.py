"""Calls that a type checker refuses, one a line: each comment has the code of mypy's error."""

import numpy as np

import paretopo_core as pp

points = np.array([[1.0, 2.0], [2.0, 1.0]])

pp.pareto_rank(points, maximize=True)  # call-overload
pp.pareto_rank(points, maximise="max")  # arg-type
pp.pareto_rank(points, maximise=[1.0])  # list-item
pp.hypervolume(points, ref_point=0)  # call-overload
pp.hypervolume(points)  # call-overload
pp.select(points, k=1, method="nsga2")  # call-overload
pp.pareto_advantage(points, weights=[1, 1], centre="median")  # call-overload
pp.ParetoArchive([0.0, 0.0], capacity="5")  # arg-type
pp.crowding(points)  # attr-defined
