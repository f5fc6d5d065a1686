"""SMS-EMOA (Beume et al. 2007) in thirty lines, on DTLZ2 with three objectives.

One child a step; who adds least to the hypervolume of the worst front leaves.
"""

import numpy as np

from paretopo_core import hypervolume, hypervolume_contributions, pareto_rank

rng = np.random.default_rng(0)
POINTS, VARIABLES, STEPS = 60, 7, 3000


def evaluate(x):
    """DTLZ2: three objectives, smaller is better; the front is an eighth of the unit sphere."""
    a, b = x[:2] * np.pi / 2
    g = 1 + ((x[2:] - 0.5) ** 2).sum()
    return g * np.array([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)])


def child_of(first, second):
    """Between its parents and a little beyond, with a step in one variable or so."""
    child = first + rng.uniform(-0.1, 1.1, VARIABLES) * (second - first)
    steps = rng.normal(0, 0.1, VARIABLES) * (rng.random(VARIABLES) < 1 / VARIABLES)
    return np.clip(child + steps, 0, 1)


x = rng.random((POINTS, VARIABLES))
f = np.array([evaluate(one) for one in x])
for step in range(STEPS + 1):
    if step % 500 == 0:
        volume = hypervolume(f, ref=1.1, maximise=False)
        print(f"step {step:4}: hypervolume {volume:.4f} of at most 0.8074")
    child = child_of(*x[rng.choice(POINTS, 2, replace=False)])
    x, f = np.append(x, [child], axis=0), np.append(f, [evaluate(child)], axis=0)
    ranks = pareto_rank(f, maximise=False)
    worst = np.flatnonzero(ranks == ranks.max())
    shares = hypervolume_contributions(f[worst], ref=f.max(axis=0) + 1, maximise=False)
    leaves = worst[shares.argmin()]
    x, f = np.delete(x, leaves, axis=0), np.delete(f, leaves, axis=0)
