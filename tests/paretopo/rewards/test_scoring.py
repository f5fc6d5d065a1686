"""The economy of rollouts, and of evaluations as fewer calls become known."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from paretopo.config import RewardsConfig
from paretopo.rewards.scoring import CallScores
from paretopo.rollout import Rollout


def rollouts_of(answers, *, held_out=False):
    """Of one prompt; answers are (calls, solved)."""
    return [Rollout("q", float(solved), calls, held_out=held_out) for calls, solved in answers]


def score(scores, answers, *, held_out=False):
    rollouts = rollouts_of(answers, held_out=held_out)
    scores.learn(rollouts)
    return [scores.economy_of(one) for one in rollouts]


def evaluate(scores, answers):
    economy = score(scores, answers, held_out=True)
    rollouts = rollouts_of(answers, held_out=True)
    vectors = [[one.correct, value] for one, value in zip(rollouts, economy, strict=True)]
    return scores.rescore(rollouts, np.array(vectors))


def far(calls):
    return math.exp(-0.7 * calls)


def test_held_out_minima_are_their_own_and_can_be_frozen():
    config = RewardsConfig(evaluation_n_opt="frozen")
    scores, again = CallScores(config), CallScores(config)
    score(scores, [(0, True)])
    assert evaluate(scores, [(2, True)])[0].tolist() == [[1.0, 1.0]]
    again.load_state_dict(json.loads(json.dumps(scores.state_dict())))
    vectors, earlier = evaluate(again, [(1, True), (2, True)])
    assert vectors[:, 1] == pytest.approx([far(1), 1.0])
    assert earlier is None
    assert score(again, [(1, True)]) == pytest.approx([far(1)])


def test_held_out_minima_run_on_whatever_the_scope_of_training():
    scores = CallScores(RewardsConfig(evaluation_n_opt="running", n_opt_scope="group"))
    assert evaluate(scores, [(1, True)])[0].tolist() == [[1.0, 1.0]]
    assert evaluate(scores, [(2, True)])[0][:, 1] == pytest.approx([far(1)])


def test_earlier_evaluations_are_scored_anew_when_fewer_calls_suffice():
    config = RewardsConfig(evaluation_n_opt="recompute")
    scores, again = CallScores(config), CallScores(config)
    assert evaluate(scores, [(2, True), (1, True)])[1] is None
    assert evaluate(scores, [(2, True), (1, False)])[1] is None
    again.load_state_dict(json.loads(json.dumps(scores.state_dict())))
    vectors, earlier = evaluate(again, [(0, True), (1, True)])
    # Questions that share a prompt count each for itself, so the first one's optimum falls to 0.
    assert vectors.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert earlier[:, :, 0].tolist() == [[1.0, 1.0], [1.0, 0.0]]
    np.testing.assert_allclose(earlier[:, :, 1], [[far(2), 1.0], [far(2), 1.0]])


def test_running_minima_leave_earlier_evaluations_alone():
    scores = CallScores(RewardsConfig(evaluation_n_opt="running"))
    assert evaluate(scores, [(2, True)])[0].tolist() == [[1.0, 1.0]]
    assert evaluate(scores, [(0, True)])[1] is None
    assert evaluate(scores, [(2, True)])[0][:, 1] == pytest.approx([far(2)])
