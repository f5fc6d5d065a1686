"""Baselines for each turn of a rollout: bias and variance of the policy gradient, without sampling.

A policy answers at once, or first calls tools, for some turns. All paths through such a tree can be
listed, so that expectations over groups of independent rollouts are exact. `python -m
research.turns` prints the table of docs/estimators.md.

>>> tree = grow_tree(turns=3, actions=2, seed=35)
>>> [round(one, 2) for one in measure_baselines(tree, points=8)]
[17.1, 1.07]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_PRICE = 0.3  # of a unit of cost, subtracted from 1 for a right answer
TREES = ((3, 2, 35), (4, 3, 47), (6, 3, 69))  # turns, actions, seed


@dataclass(frozen=True)
class Tree:
    """All paths of a policy.

    Attributes:
        chances: (paths,) their probabilities.
        scores: (paths, turns, actions) gradients of the log-probability; 0 for turns not reached.
        reached: (paths, turns) bool.
        right: (paths,) probability of a right answer.
        costs: (paths, turns) of the calls.
    """

    chances: Floats
    scores: Floats
    reached: NDArray[np.bool_]
    right: Floats
    costs: Floats

    @property
    def rewards(self) -> Floats:
        """Return (paths, turns) mean rewards: 1 for a right answer, minus the price of calls."""
        last = self.reached & ~np.pad(self.reached, ((0, 0), (0, 1)))[:, 1:]
        rewards: Floats = self.right[:, None] * last - _PRICE * self.costs
        return rewards


def grow_tree(turns: int, actions: int, seed: int) -> Tree:
    """Return a random policy that answers in the last turn at the latest; action 0 answers."""
    rng = np.random.default_rng(seed)
    price = np.concatenate([[0.0], rng.uniform(0.2, 1.5, actions - 1)])
    use = np.concatenate([[0.0], rng.uniform(0.0, 1.2, actions - 1)])
    logits = rng.normal(0.0, 0.7, (turns, actions))
    logits[-1, 1:] = -np.inf
    policy = np.exp(logits - logits.max(axis=-1, keepdims=True))
    policy /= policy.sum(axis=-1, keepdims=True)
    paths = [
        (*calls, 0)
        for count in range(turns)
        for calls in itertools.product(range(1, actions), repeat=count)
    ]
    scores, costs = np.zeros((len(paths), turns, actions)), np.zeros((len(paths), turns))
    for path, row, paid in zip(paths, scores, costs, strict=True):
        row[: len(path)] = np.eye(actions)[[*path]] - policy[: len(path)]
        paid[: len(path)] = price[[*path]]
    return Tree(
        chances=np.array([np.prod([policy[t, a] for t, a in enumerate(one)]) for one in paths]),
        scores=scores,
        reached=np.arange(turns) < np.array([[len(one)] for one in paths]),
        right=np.array([1 / (1 + np.exp(1.5 - 1.6 * use[[*one]].sum())) for one in paths]),
        costs=costs,
    )


def measure_baselines(tree: Tree, points: int) -> tuple[float, float]:
    """Return the bias of the usual baseline, and the variance of an unbiased one.

    The usual one subtracts from the reward of each turn the mean of the group's rollouts that
    reached this turn, and adds up the differences from a turn on. Its bias is relative to the
    gradient. The unbiased one subtracts, in each turn, the mean return of the other rollouts that
    reached this turn; if there is none, of all others. Its variance is relative to that of RLOO,
    which has one baseline for the whole rollout.

    Args:
        tree: The policy.
        points: Rollouts of a group, at least 2.
    """
    exact, _ = find_rloo(tree, points)
    usual = find_usual(tree, points)
    bias = float(np.linalg.norm(usual - exact) / np.linalg.norm(exact))
    return bias, find_by_turn(tree, points)[1] / find_rloo(tree, points)[1]


def find_usual(tree: Tree, points: int) -> Floats:
    """Return the mean (turns, actions) of the usual estimate.

    If m of the others reach a turn, the difference is on average m / (m + 1) times the distance of
    the own reward to its mean over the rollouts that reach the turn.
    """
    reach = tree.chances @ tree.reached
    means = tree.chances @ (tree.reached * tree.rewards) / reach
    kept = [_expect(points - 1, one, lambda m: m / (m + 1)) for one in reach]
    off = tree.reached * np.array(kept) * (tree.rewards - means)
    ahead = off[:, ::-1].cumsum(axis=1)[:, ::-1]
    mean: Floats = np.einsum("p,pt,pta->ta", tree.chances, ahead, tree.scores)
    return mean


def find_rloo(tree: Tree, points: int) -> tuple[Floats, float]:
    """Return the mean (turns, actions) of RLOO's estimate, which is exact, and its variance."""
    values, squares, lengths = _measure_returns(tree)
    value, square = tree.chances @ values, tree.chances @ squares
    own = tree.chances @ (lengths.sum(axis=1) * (squares - 2 * value * values + value**2))
    own += tree.chances @ lengths.sum(axis=1) * (square - value**2) / (points - 1)
    gradient = np.einsum("p,p,pta->ta", tree.chances, values, tree.scores)
    size = float((gradient**2).sum())
    pairs = (points - 1) * (1 + 1 / (points - 1) ** 2) * size
    return gradient, float(own + pairs) / points - size


def find_by_turn(tree: Tree, points: int) -> tuple[Floats, float]:
    """Return the mean and the variance with a baseline of those who reached each turn."""
    values, squares, lengths = _measure_returns(tree)
    gradient = np.einsum("p,p,pta->ta", tree.chances, values, tree.scores)
    size, total = (gradient**2).sum(axis=1), 0.0
    for turn, reached in enumerate(tree.reached.T):
        chance = tree.chances @ reached
        value, square = (tree.chances @ (reached * one) / chance for one in (values, squares))
        weights = tree.chances * lengths[:, turn]
        own = weights @ (squares - 2 * value * values + value**2)
        own += (
            weights.sum()
            * (square - value**2)
            * _expect(points - 1, chance, lambda m: 1 / m if m else 0.0)
        )
        if chance < 1.0 - 1e-12:  # no other rollout may reach the turn
            others = tree.chances @ (~reached * values) / (1 - chance)
            spread = tree.chances @ (~reached * squares) / (1 - chance) - others**2
            lonely, gap = (1 - chance) ** (points - 1), value - others
            own += lonely * (weights.sum() * (gap**2 + spread / (points - 1)))
            own += lonely * 2 * gap * (weights @ (values - value))
        shared = _expect(points - 2, chance, lambda m: 1 + 1 / (m + 1) ** 2)
        total += (own + (points - 1) * shared * size[turn]) / points - size[turn]
    return gradient, float(total)


def _measure_returns(tree: Tree) -> tuple[Floats, Floats, Floats]:
    """Return means and mean squares of the returns, (paths,), and the scores' (paths, turns)."""
    paid = _PRICE * tree.costs.sum(axis=1)
    squares = tree.right * (1 - paid) ** 2 + (1 - tree.right) * paid**2
    return tree.right - paid, squares, (tree.scores**2).sum(axis=2)


def _expect(count: int, chance: float, function: Callable[[int], float]) -> float:
    """Return the mean of a function of a binomial number."""
    return sum(
        comb(count, m) * chance**m * (1 - chance) ** (count - m) * function(m)
        for m in range(count + 1)
    )


def measure_many(points: int) -> Floats:
    """Return (trees, 2), :func:`measure_baselines` of 200 random trees of two to six turns."""
    kinds = itertools.product(range(2, 7), (2, 3), range(20))
    return np.array([measure_baselines(grow_tree(*one), points) for one in kinds])


def main() -> None:
    """Print the table of docs/estimators.md."""
    print("turns  actions  bias of the usual baseline  variance of the unbiased one")
    for turns, actions, seed in TREES:
        bias, variance = measure_baselines(grow_tree(turns, actions, seed), points=8)
        print(f"{turns:5}  {actions:7}  {bias:26.2f}  {variance:28.2f}")
    for share in (0, 50, 100):
        bias, variance = np.percentile(measure_many(points=8), share, axis=0)
        print(f"{f'200 trees, {share} %':>14}  {bias:26.2f}  {variance:28.2f}")


if __name__ == "__main__":
    main()
