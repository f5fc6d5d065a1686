"""NSGA-II (Deb et al. 2002) in thirty lines, on ZDT1: rank, crowd, mate, mutate, survive."""

import numpy as np

from paretopo_core import crowding_distance, hypervolume, pareto_rank

rng = np.random.default_rng(0)
POINTS, VARIABLES, GENERATIONS = 100, 30, 250


def evaluate(x):
    """ZDT1: two objectives, smaller is better; the front is f2 = 1 - sqrt(f1)."""
    g = 1 + 9 * x[:, 1:].mean(axis=1)
    return np.stack([x[:, 0], g * (1 - np.sqrt(x[:, 0] / g))], axis=1)


def best_first(f):
    """Better fronts come first, and in a front the less crowded points."""
    return np.lexsort((-crowding_distance(f, maximise=False), pareto_rank(f, maximise=False)))


def children_of(x):
    """Winners of tournaments have children between and beyond them, a variable or so mutated."""
    first, second = x[rng.integers(POINTS, size=(2, 2, POINTS)).min(axis=0)]  # best come first
    child = first + rng.uniform(-0.25, 1.25, x.shape) * (second - first)
    steps = rng.normal(0, 0.1, x.shape) * (rng.random(x.shape) < 1 / VARIABLES)
    return np.clip(child + steps, 0, 1)


x = rng.random((POINTS, VARIABLES))
for generation in range(GENERATIONS + 1):
    x = x[best_first(evaluate(x))[:POINTS]]
    if generation % 50 == 0:
        volume = hypervolume(evaluate(x), ref=1.1, maximise=False)
        print(f"generation {generation:3}: hypervolume {volume:.4f} of 0.8767")
    x = np.concatenate([x, children_of(x)])
