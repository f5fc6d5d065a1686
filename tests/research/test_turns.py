"""Bias and variance of baselines for each turn, compared with all groups of small trees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from research.turns import (
    TREES,
    find_by_turn,
    find_rloo,
    find_usual,
    grow_tree,
    measure_baselines,
    measure_many,
)

PRICE = 0.3


def estimate(tree, group, baseline):
    """Return (turns, actions) of a group, which has (path, right) of each rollout."""
    points, turns = len(group), tree.scores.shape[1]
    rewards = np.array([-PRICE * tree.costs[path] for path, _ in group])
    reached = np.array([tree.reached[path] for path, _ in group])
    for row, there, (_, right) in zip(rewards, reached, group, strict=True):
        row[there.sum() - 1] += right
    total = np.zeros(tree.scores.shape[1:])
    for i, (path, _) in enumerate(group):
        for turn in range(tree.reached[path].sum()):
            others = [j for j in range(points) if j != i]
            there = [j for j in others if reached[j, turn]]
            if baseline == "usual":
                ahead = [t for t in range(turn, turns) if reached[i, t]]
                advantage = sum(rewards[i, t] - rewards[reached[:, t], t].mean() for t in ahead)
            else:
                among = there if baseline == "by turn" and there else others
                advantage = rewards[i].sum() - np.mean([rewards[j].sum() for j in among])
            total[turn] += advantage * tree.scores[path, turn] / points
    return total


@pytest.mark.parametrize("points", [2, 3])
@pytest.mark.parametrize(("turns", "actions"), [(2, 2), (3, 2), (2, 3)])
def test_means_and_variances_are_those_of_all_groups(turns, actions, points):
    tree = grow_tree(turns, actions, seed=5)
    outcomes = [*itertools.product(range(len(tree.chances)), (0, 1))]
    sure = dict.fromkeys(("rloo", "by turn", "usual"), 0.0)
    means, squares = dict(sure), dict(sure)
    for group in itertools.product(outcomes, repeat=points):
        chance = np.prod(
            [tree.chances[p] * (tree.right[p] if yes else 1 - tree.right[p]) for p, yes in group]
        )
        for baseline in sure:
            found = estimate(tree, group, baseline)
            means[baseline] = means[baseline] + chance * found
            squares[baseline] += chance * (found**2).sum()
    for baseline, find in (("rloo", find_rloo), ("by turn", find_by_turn)):
        mean, variance = find(tree, points)
        np.testing.assert_allclose(mean, means[baseline], atol=1e-12)
        assert variance == pytest.approx(squares[baseline] - (means[baseline] ** 2).sum())
    np.testing.assert_allclose(find_usual(tree, points), means["usual"], atol=1e-12)
    assert np.linalg.norm(means["usual"] - means["rloo"]) > 0.1 * np.linalg.norm(means["rloo"])


def test_the_numbers_of_the_page():
    found = [measure_baselines(grow_tree(*one), points=8) for one in TREES]
    np.testing.assert_allclose(found, [[17.10, 1.07], [0.40, 0.99], [1.72, 0.94]], atol=0.005)
    found = np.percentile(measure_many(points=8), [0, 50, 100], axis=0)
    np.testing.assert_allclose(found, [[0.09, 0.81], [1.36, 1.02], [113.39, 1.16]], atol=0.006)
