"""The rewards of rollouts, as the costs of a run become known."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from support.rollout_groups import rollouts_of

from paretopo.config import Objective, loads
from paretopo.controller.reward_vectors import fill_missing
from paretopo.rewards.economy import arora_zanette_economy, kimi_economy
from paretopo.rewards.measures import complete_rollouts
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout

CORRECT = Objective("correct", gate=True)


def scores_of(**settings):
    return Scores(loads('recipe = "paper"').objectives, **settings)


def economy_of(scores, rollouts):
    """Learn from rollouts and return their rewards for the second objective."""
    scores.learn(rollouts)
    return scores.rewards_of(rollouts)[:, 1].tolist()


def evaluate(scores, answers):
    rollouts = rollouts_of(answers, held_out=True)
    scores.learn(rollouts)
    return scores.rewards_of(rollouts)


def reload(scores, again):
    again.load_state_dict(json.loads(json.dumps(scores.state_dict())))
    return again


def far(calls):
    return math.exp(-0.7 * calls)


def test_held_out_minima_are_running_and_their_own():
    scores = scores_of()
    economy_of(scores, rollouts_of([(0, True)]))
    assert evaluate(scores, [(1, True)]).tolist() == [[1.0, 1.0]]
    assert evaluate(scores, [(2, True)])[:, 1] == pytest.approx([far(1)])
    assert evaluate(scores, [(0, True)])[:, 1] == [1.0]
    assert evaluate(scores, [(2, True)])[:, 1] == pytest.approx([far(2)])
    again = reload(scores, scores_of())
    assert economy_of(again, rollouts_of([(1, True)])) == pytest.approx([far(1)])


# ---- each economy ------------------------------------------------------------------------------

COSTS, RIGHT = [1.0, 3.0, 6.0, 2.0], [True, True, False, True]
COLUMNS = {
    "share of the group": [1.0, 0.6, 0.0, 0.8],
    "paretopo": [1.0, far(2), far(5), far(1)],
    "saving": [2 / 3, 0.0, -0.5, 1 / 3],
    "arora_zanette": arora_zanette_economy(COSTS, RIGHT),
    "kimi": kimi_economy(COSTS, RIGHT),
    "gr3": [-1 / 3, -1.0, -2.0, -2 / 3],
    "pass_rate": [-0.125, -0.375, -0.75, -0.25],
    "laser_d": [1.0, 0.0, 0.0, 1.0],
}
CASES = [(one, left) for one in COLUMNS for left in (False, True)]
CASES.remove(("paretopo", True))  # its optimum is that of a cost


@pytest.mark.parametrize(("economy", "left"), CASES)
def test_each_economy_makes_a_measure_a_reward(economy, left):
    """A remaining budget is rewarded like the cost; a missing measure belongs to no group."""
    bounds = {"better": "more", "high": 10.0} if left else {"better": "fewer"}
    scores = Scores((CORRECT, Objective("it", economy=economy, **bounds)))
    values = [10.0 - cost if left else cost for cost in COSTS]
    rollouts = [
        Rollout("q", {"correct": float(yes), "it": it}, solved=yes)
        for it, yes in zip([*values, None], [*RIGHT, True], strict=True)
    ]
    found = economy_of(scores, rollouts)
    np.testing.assert_allclose(found, [*COLUMNS[economy], np.nan], atol=1e-12)
    again = reload(scores, Scores((CORRECT, Objective("it", economy=economy, **bounds))))
    np.testing.assert_array_equal(again.rewards_of(rollouts)[:, 1], found)
    if economy not in ("saving", "paretopo"):  # one answer is no group, and counts raw
        held_out = [replace(one, held_out=True) for one in rollouts]
        raw = [one if left else -one for one in values]
        np.testing.assert_array_equal(economy_of(scores, held_out), [*raw, np.nan])


def test_a_raw_measure_counts_in_its_sense_and_equal_shares_are_1():
    rollouts = [Rollout("q", {"correct": 1.0, "it": it}, solved=True) for it in (5.0, 5.0)]
    for settings, wanted in (
        ({}, 5.0),
        ({"better": "fewer", "economy": "raw"}, -5.0),
        ({"economy": "share of the group"}, 1.0),
    ):
        assert economy_of(Scores((CORRECT, Objective("it", **settings))), rollouts) == [wanted] * 2


def test_the_mean_of_equal_rewards_is_a_tie():
    for value in (0.1, 1 / 3, -0.7):
        column = np.array([[value]] * 7 + [[np.nan]])
        assert (fill_missing(column, np.zeros(1)) == value).all()
    nowhere = fill_missing(np.full((2, 3, 1), np.nan), np.array([-4.0]))
    assert (nowhere == -4.0).all()
    filled = fill_missing(np.array([[1.0, 1.0], [1.0, np.nan], [1.0, far(1)]]), np.zeros(2))
    assert filled[:, 1] == pytest.approx([1.0, (1 + far(1)) / 2, far(1)])


# ---- savings -----------------------------------------------------------------------------------

SAVING = (CORRECT, Objective("seconds", economy="saving"))


def paid(*costs, held_out=False, right=True, kind="all"):
    about = {"held_out": held_out, "solved": right, "kind": kind}
    return [
        Rollout("q", {"correct": float(right is True), "seconds": one}, **about) for one in costs
    ]


def test_a_price_is_unknown_until_a_right_answer_costs_anything():
    scores = Scores(SAVING)
    assert economy_of(scores, paid(0.0, 0.0)) == [1.0, 1.0]
    assert economy_of(scores, paid(0.0, 3.0, right=False)) == [1.0, -1.0]
    assert economy_of(scores, paid(0.0, 3.0)) == [1.0, 0.0]
    assert economy_of(scores, paid(0.0, 0.0, held_out=True)) == [1.0, 1.0]
    assert economy_of(scores, paid(1.0, 5.0, held_out=True)) == [0.8, 0.0]


def test_neither_side_moves_the_price_of_the_other():
    scores = Scores(SAVING)
    assert economy_of(scores, paid(8.0, 8.0)) == [0.0, 0.0]
    assert economy_of(scores, paid(2.0, 4.0, held_out=True)) == [0.5, 0.0]
    assert economy_of(scores, paid(8.0)) == [0.0]
    # The first evaluation fixes the price for all evaluations.
    assert economy_of(scores, paid(8.0, 0.0, held_out=True)) == [-0.5, 1.0]


def test_all_answers_count_without_a_gate():
    scores = Scores((Objective("correct", weight=0.5), SAVING[1]))
    assert economy_of(scores, paid(1.0, 2.0, 4.0, right=None)) == [0.75, 0.5, 0.0]


@pytest.mark.parametrize("held_out", [False, True])
def test_each_kind_of_question_has_a_price_of_its_own(held_out):
    scores, again = (Scores(SAVING) for _ in range(2))
    cheap = paid(1.0, 2.0, held_out=held_out, kind="cheap")
    dear = paid(100.0, 50.0, held_out=held_out, kind="dear")
    groups = [cheap + dear] if held_out else [cheap, dear]
    for group in groups:
        scores.learn(group)
    assert scores.prices() == {"seconds": {} if held_out else {"cheap": 2.0, "dear": 100.0}}
    for one in (scores, reload(scores, again)):
        saved = np.concatenate([one.rewards_of(group)[:, 1] for group in groups])
        assert saved.tolist() == [0.5, 0.0, 0.0, 0.5]


def test_the_whole_of_the_first_evaluation_counts():
    scores = Scores(SAVING)
    assert economy_of(scores, paid(3.0, *[1.0] * 1500, held_out=True))[:2] == [0.0, 1 - 1 / 3]
    assert len(json.dumps(scores.state_dict()["held_out_prices"])) < 200


def test_measured_costs_below_0_are_refused_with_advice():
    objectives = (CORRECT, Objective("words", better="fewer", economy="saving"))
    rollouts = [Rollout("q", {"correct": 1.0, "words": -1.0}, solved=True)]
    with pytest.raises(ValueError, match="so that the cheapest possible answer costs 0"):
        complete_rollouts(rollouts, objectives)
