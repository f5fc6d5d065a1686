"""The economy of rollouts, and of evaluations as fewer calls become known."""

import json
import math

import numpy as np
import pytest
from support.rollout_groups import rollouts_of

from paretopo.config import Objective, loads
from paretopo.controller.rules import fill_missing
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout


def scores_of(**settings):
    return Scores(loads('recipe = "paper"').objectives, **settings)


def score(scores, answers, *, held_out=False):
    rollouts = rollouts_of(answers, held_out=held_out)
    scores.learn(rollouts)
    return scores.rewards_of(rollouts)[:, 1].tolist()


def evaluate(scores, answers):
    rollouts = rollouts_of(answers, held_out=True)
    scores.learn(rollouts)
    vectors, _, earlier = scores.evaluate(
        rollouts, scores.rewards_of(rollouts), lambda rows: rows.mean(axis=0)
    )
    return vectors, earlier


def far(calls):
    return math.exp(-0.7 * calls)


def test_held_out_minima_are_their_own():
    scores, again = scores_of(), scores_of()
    score(scores, [(0, True)])
    assert evaluate(scores, [(2, True)])[0].tolist() == [[1.0, 1.0]]
    assert scores.latest_answers() is None
    again.load_state_dict(json.loads(json.dumps(scores.state_dict())), [])
    assert score(again, [(1, True)]) == pytest.approx([far(1)])


def test_held_out_minima_are_running():
    scores = scores_of()
    assert evaluate(scores, [(1, True)])[0].tolist() == [[1.0, 1.0]]
    assert evaluate(scores, [(2, True)])[0][:, 1] == pytest.approx([far(1)])


def test_new_minimum_rescores_earlier_evaluations():
    scores, again = (scores_of(recompute=True) for _ in range(2))
    answers = []
    for asked in ([(2, True), (1, True)], [(2, True), (1, False)]):
        assert evaluate(scores, asked)[1] is None
        answers.append(scores.latest_answers())
    assert scores.answers_needed == 2
    again.load_state_dict(*json.loads(json.dumps([scores.state_dict(), answers])))
    vectors, earlier = evaluate(again, [(0, True), (1, True)])
    # Questions that share a prompt count each for itself, so the first one's optimum falls to 0.
    assert vectors.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    np.testing.assert_allclose(earlier, [[1.0, (far(2) + 1) / 2], [0.5, (far(2) + 1) / 2]])
    assert again.outcomes()[:2] == earlier.tolist()


def test_running_minima_keep_earlier_scores():
    scores = scores_of()
    assert evaluate(scores, [(2, True)])[0].tolist() == [[1.0, 1.0]]
    assert evaluate(scores, [(0, True)])[1] is None
    assert evaluate(scores, [(2, True)])[0][:, 1] == pytest.approx([far(2)])


# ---- several objectives ------------------------------------------------------------------------


def scored(objectives, components, *, held_out=False):
    rollouts = [Rollout("q", one, held_out=held_out, solved=True) for one in components]
    scores = Scores(objectives)
    scores.learn(rollouts)
    return scores.rewards_of(rollouts)


def test_each_economy_makes_a_measure_a_reward():
    values = [{"correct": 1.0, "it": 3.0}, {"correct": 1.0, "it": 1.0}, {"correct": 0.5, "it": 2.0}]

    def column(**settings):
        objectives = [Objective("correct", gate=True), Objective("it", **settings)]
        return scored(objectives, values)[:, 1]

    assert column().tolist() == [3.0, 1.0, 2.0]
    assert column(better="fewer", economy="raw").tolist() == [-3.0, -1.0, -2.0]
    assert column(economy="share of the group").tolist() == [1.0, 0.0, 0.5]
    assert column(better="fewer", economy="share of the group").tolist() == [0.0, 1.0, 0.5]
    economy = column(better="fewer", economy="paretopo", alpha=0.5)
    assert economy == pytest.approx([math.exp(-1.0), 1.0, math.exp(-0.5)])


def test_costs_need_not_be_whole_numbers():
    values = [{"correct": 1.0, "seconds": 0.25}, {"correct": 1.0, "seconds": 0.75}]
    objectives = [Objective("correct", gate=True), Objective("seconds", economy="paretopo")]
    assert scored(objectives, values)[:, 1] == pytest.approx([1.0, math.exp(-0.35)])


def test_a_share_of_one_held_out_answer_would_say_nothing():
    objectives = [
        Objective("correct", gate=True),
        Objective("words", better="fewer", economy="share of the group"),
    ]
    answers = [{"correct": 1.0, "words": 5.0}, {"correct": 1.0, "words": 9.0}]
    assert scored(objectives, answers, held_out=True)[:, 1].tolist() == [-5.0, -9.0]
    same = [{"correct": 1.0, "words": 5.0}] * 2 + [{"correct": 1.0}]
    np.testing.assert_array_equal(scored(objectives, same)[:, 1], [1.0, 1.0, np.nan])


def test_missing_measures_get_the_mean_of_the_others():
    objectives = [Objective("correct", gate=True), Objective("calls", economy="paretopo")]
    values = [
        {"correct": 1.0, "calls": 2.0},
        {"correct": 1.0, "calls": None},
        {"correct": 1.0},
        {"correct": 1.0, "calls": 3.0},
    ]
    rewards = scored(objectives, values)
    np.testing.assert_array_equal(np.isnan(rewards[:, 1]), [False, True, True, False])
    filled = fill_missing(rewards, np.zeros(2))[:, 1]
    assert filled == pytest.approx([1.0, (1 + far(1)) / 2, (1 + far(1)) / 2, far(1)])


def test_the_mean_of_equal_rewards_is_a_tie():
    for value in (0.1, 1 / 3, -0.7):
        column = np.array([[value]] * 7 + [[np.nan]])
        assert (fill_missing(column, np.zeros(1)) == value).all()
    nowhere = fill_missing(np.full((2, 3, 1), np.nan), np.array([-4.0]))
    assert (nowhere == -4.0).all()


def test_only_minimum_based_objectives_are_rescored():
    objectives = [
        Objective("correct", gate=True),
        Objective("calls", economy="paretopo"),
        Objective("polite"),
        Objective("seconds", economy="paretopo", alpha=2.0),
    ]
    scores, again = (Scores(objectives, recompute=True) for _ in range(2))

    def evaluate(scores, *answers):
        rollouts = [
            Rollout(
                str(at),
                dict(zip(("correct", "calls", "polite", "seconds"), answer, strict=True)),
                held_out=True,
                solved=answer[0] > 0,
            )
            for at, answer in enumerate(answers)
        ]
        scores.learn(rollouts)
        return scores.evaluate(
            rollouts,
            scores.rewards_of(rollouts),
            lambda rows: fill_missing(rows, np.zeros(4)).mean(axis=0),
        )

    _, first, _ = evaluate(scores, (1.0, 2.0, 7.0, 0.5), (0.5, 1.0, 9.0, None))
    assert first == pytest.approx([0.75, 1.0, 8.0, 1.0])
    kept = [scores.state_dict(), [scores.latest_answers()]]
    again.load_state_dict(*json.loads(json.dumps(kept)))
    vectors, latest, earlier = evaluate(again, (1.0, 1.0, 1.0, 1.0), (1.0, 3.0, 2.0, 4.0))
    assert vectors[0] == pytest.approx([1.0, 1.0, 1.0, math.exp(-1.0)])
    assert vectors[1] == pytest.approx([1.0, far(2), 2.0, 1.0])
    assert earlier == pytest.approx(np.array([[0.75, (far(1) + 1) / 2, 8.0, 1.0]]))
    assert again.outcomes() == [earlier[0].tolist(), latest.tolist()]
