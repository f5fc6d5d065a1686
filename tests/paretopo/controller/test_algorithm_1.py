"""The controller against Algorithm 1 of the paper, written out once more, line by line.

The transcription shares no code with the library: plain Python lists, its own ranks, its own
hypervolume.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paretopo.config import ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO

W, GAMMA, BETA, EPSILON = (0.6, 0.4), 0.5, 0.5, 1e-6


def dominates(a, b):
    return all(x >= y for x, y in zip(a, b, strict=True)) and a != b


def hypervolume(points, reference):
    """Area of the union of the boxes from the reference to each point."""
    inside = [p for p in points if p[0] > reference[0] and p[1] > reference[1]]
    area, height = 0.0, reference[1]
    for x, y in sorted(inside, reverse=True):
        if y > height:
            area += (x - reference[0]) * (y - height)
            height = y
    return area


def grpo(scalars):
    mean = sum(scalars) / len(scalars)
    variance = sum((s - mean) ** 2 for s in scalars) / (len(scalars) - 1)
    return [(s - mean) / (math.sqrt(variance) + EPSILON) for s in scalars]


def pareto_advantages(group):
    ranks, left, rank = [0] * len(group), set(range(len(group))), 0
    while left:  # line 24: Pareto ranking, rank 1 first
        rank += 1
        front = {i for i in left if not any(dominates(group[j], group[i]) for j in left)}
        for i in front:
            ranks[i] = rank
        left -= front
    advantages = []
    for i, vector in enumerate(group):
        scores = [W[0] * v[0] + W[1] * v[1] for j, v in enumerate(group) if ranks[j] == ranks[i]]
        score, low, high = W[0] * vector[0] + W[1] * vector[1], min(scores), max(scores)
        normalised = 0.5 if low == high else (score - low) / (high - low)  # line 25
        advantages.append(rank - ranks[i] + 1 + BETA * (normalised - 0.5))  # line 26
    return advantages


def algorithm_1(batches, evaluations, stage_1):
    """Yield per step the advantages, and after each stage-1 step (gain, smoothed, r_pareto).

    ``batches[t]`` are the reward vectors of step t+1, ``evaluations[t]`` is Evaluate(pi_t).
    """
    reference = evaluations[0]  # line 1
    archive, smoothed, r_pareto = [reference], 0.0, 1.0  # line 2
    for t in range(1, len(batches) + 1):
        if t <= stage_1:  # lines 4 to 18
            advantages = []
            for group in batches[t - 1]:  # lines 6 to 11
                scalars = [r_pareto * (W[0] * v[0] + W[1] * v[1]) for v in group]
                advantages.append(grpo(scalars))  # line 12
            outcome = evaluations[t]  # line 13
            gain = hypervolume([*archive, outcome], reference) - hypervolume(archive, reference)
            smoothed = GAMMA * smoothed + (1 - GAMMA) * gain  # line 14
            r_pareto = 0.5 + 1.5 * math.tanh(smoothed)  # line 15
            if not any(dominates(b, outcome) for b in archive):  # lines 16 and 17
                archive.append(outcome)
            yield advantages, (gain, smoothed, r_pareto)
        else:  # lines 20 to 29
            yield [pareto_advantages(group) for group in batches[t - 1]], None


def literal(**switches):
    """Algorithm 1 itself: the paper's text adds DAPO's filter, which its listing lacks."""
    return ParetoPOConfig(recipe="paper", group_filter="off", **switches)


economies = st.integers(0, 4).map(lambda extra: math.exp(-0.7 * extra))
reward = st.tuples(st.sampled_from([0.0, 1.0]), economies)
batch = st.lists(st.lists(reward, min_size=4, max_size=4), min_size=1, max_size=2)
outcome = st.tuples(st.integers(0, 10), st.integers(0, 10)).map(lambda p: (p[0] / 10, p[1] / 10))
runs = st.integers(1, 6).flatmap(
    lambda steps: st.tuples(
        st.lists(batch, min_size=steps, max_size=steps),
        st.lists(outcome, min_size=steps + 1, max_size=steps + 1),
        st.integers(0, steps),
    )
)


@settings(max_examples=200)
@given(runs)
def test_line_by_line(run):
    batches, evaluations, stage_1 = run
    controller = ParetoPO(literal(stage1_steps=stage_1))
    first = controller.observe(evaluations[0])
    assert (first.gain, first.smoothed_gain, first.multiplier) == (0.0, 0.0, 1.0)
    assert first.archived
    for t, (advantages, signal) in enumerate(algorithm_1(*run), start=1):
        np.testing.assert_allclose(
            controller.step(batches[t - 1]).advantages, advantages, atol=1e-9
        )
        assert controller.steps_taken == t
        assert controller.stage == (1 if t <= stage_1 else 2)
        seen = controller.observe(evaluations[t])
        if signal is not None:
            assert (seen.gain, seen.smoothed_gain, seen.multiplier) == pytest.approx(
                signal, abs=1e-12
            )


@given(runs)
def test_the_archive_keeps_the_undominated_outcomes(run):
    _, evaluations, _ = run
    controller = ParetoPO(literal(stage1_steps=9))
    for number, point in enumerate(evaluations):
        seen, before = controller.observe(point), evaluations[:number]
        beaten = any(dominates(b, point) or b == point for b in before)
        assert seen.archived == (not beaten)
        expected = hypervolume(evaluations[: number + 1], evaluations[0])
        assert seen.hypervolume == pytest.approx(expected, abs=1e-12)
    undominated = {p for p in evaluations if not any(dominates(q, p) for q in evaluations)}
    assert {tuple(p) for p in controller.archive.points.tolist()} == undominated


def test_paper_recipe_differs_from_algorithm_1_only_in_the_filter():
    for_paper = ParetoPO(ParetoPOConfig(recipe="paper", stage1_steps=0))
    for_listing = ParetoPO(literal(stage1_steps=0))
    mixed, solved = [(1.0, 1.0), (0.0, 1.0)], [(1.0, 1.0), (1.0, 0.5)]
    listing = for_listing.step([mixed, solved]).advantages
    np.testing.assert_allclose(for_paper.step([mixed, solved]).advantages, [listing[0], [0, 0]])


# ---- the paper's ablations as switches ---------------------------------------------------------


def trajectory(config: ParetoPOConfig, seed: int) -> np.ndarray:
    """The advantages of six steps on one stream of rollouts and outcomes."""
    rng = np.random.default_rng(seed)
    controller = ParetoPO(config)
    controller.observe(rng.random(2) / 2)
    steps = []
    for _ in range(6):
        solved = rng.random((4, 8)) < 0.5
        solved[:, 0], solved[:, 1] = True, False  # no group whose spread is all rounding
        economy = np.exp(-0.7 * rng.integers(0, 4, (4, 8)))
        steps.append(controller.step(np.stack([solved, economy], axis=-1)).advantages)
        controller.observe(rng.random(2))
    return np.array(steps)


@pytest.mark.parametrize(
    ("switches", "acts"),
    [
        ({"multiplier_on": "reward"}, False),
        ({"multiplier_on": "reward", "stage1_estimator": "dr_grpo"}, True),
        ({"multiplier_on": "advantage"}, True),
        ({"multiplier_on": "advantage", "stage1_estimator": "dr_grpo"}, True),
    ],
)
def test_where_the_multiplier_reaches_the_advantages(switches, acts):
    with_it = literal(stage1_steps=10**9, **switches)
    without = dataclasses.replace(with_it, multiplier_on="none")
    difference = np.abs(trajectory(with_it, 0) - trajectory(without, 0)).max()
    assert (difference > 0.05) == acts
    assert acts or difference < 2e-5
