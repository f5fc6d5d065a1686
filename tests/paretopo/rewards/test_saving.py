"""Savings relative to the price of a right answer: the price, the saving, and both in a run."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest

from paretopo.config import ConfigError, Objective, RewardsConfig
from paretopo.rewards.economy import saving
from paretopo.rewards.learnt_costs import SuccessPrice
from paretopo.rewards.measures import complete_rollouts
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout

# ---- the price -----------------------------------------------------------------------------------


def learn(price, groups):
    for group in groups:
        price.update([cost for cost, _ in group], [right for _, right in group])


def test_the_price_is_a_quantile_of_the_dearest_right_answers():
    price = SuccessPrice()
    assert (price.quantile, price.groups, price.value) == (0.25, 128, None)
    price.update([[1, 2, 90], [3, 6, 0], [5, 7, 7]], [[1, 1, 0], [0, 1, 1], [0, 0, 0]])
    assert price.value == np.quantile([2, 6], 0.25)
    price.update([10, 20], [True, False])
    assert price.value == np.quantile([2, 6, 10], 0.25)


def test_wrong_and_free_answers_do_not_move_the_price():
    price = SuccessPrice()
    price.update([[9, 9], [0, 0]], [[False, False], [True, True]])
    assert price.value is None
    price.update([4, 50], [True, False])
    assert price.value == 4.0
    price.update([[0, 0]] * 500, [[True, True]] * 500)
    assert price.value == 4.0


def test_the_price_does_not_fall_once_it_is_known_well():
    price = SuccessPrice(groups=4)
    price.update([[8.0]] * 3, [[True]] * 3)
    price.update([2.0], [True])
    assert price.value == np.quantile([8, 8, 8, 2], 0.25) == 6.5
    price.update([[1.0]] * 20, [[True]] * 20)
    assert price.value == 6.5
    price.update([[30.0]] * 4, [[True]] * 4)
    assert price.value == 30.0


def test_the_price_may_fall_while_few_groups_are_known():
    price = SuccessPrice(groups=4)
    price.update([8.0], [True])
    price.update([2.0], [True])
    assert price.value == 3.5


def test_price_covers_the_dearest_of_several_right_answers():
    price = SuccessPrice()
    price.update([4.0], [True])
    given = price.of_groups(
        [[1, 9, 99], [9, 1, 1], [1, 2, 3], [0, 0, 0]],
        [[True, True, False], [True, False, False], [True, True, True], [False] * 3],
    )
    assert given.tolist() == [9.0, 4.0, 4.0, 4.0]
    assert SuccessPrice().of_groups([0, 0], [True, True]) == 0.0


def test_a_frozen_price_is_a_short_state():
    price = SuccessPrice(1.0, sys.maxsize)
    price.update(np.arange(5000.0)[:, None], np.ones((5000, 1), bool))
    price.freeze()
    price.update([9e9], [True])
    assert price.value == 4999.0
    assert len(json.dumps(price.state_dict())) < 120


def test_a_price_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"saved price has groups = 4, this one 128"):
        SuccessPrice().load_state_dict(SuccessPrice(groups=4).state_dict())
    with pytest.raises(ValueError, match=r"costs must be finite numbers of at least 0"):
        SuccessPrice().update([1.0, -1.0], [True, True])
    with pytest.raises(ValueError, match=r"successes must have the shape of costs, \(2,\)"):
        SuccessPrice().update([1.0, 1.0], [True])
    with pytest.raises(ValueError, match="quantile must be a number from 0 to 1, got 75"):
        SuccessPrice(75)
    with pytest.raises(ValueError, match="groups must be an integer of at least 1, got 0"):
        SuccessPrice(groups=0)


# ---- the saving ----------------------------------------------------------------------------------


def test_a_saving_by_hand():
    np.testing.assert_array_equal(saving([[0, 1], [4, 12]], 4.0), [[1.0, 0.75], [0.0, 4 / 12 - 1]])
    assert saving(3.0, 4.0) == 0.25
    np.testing.assert_array_equal(saving([0.0, 0.0, 5.0], None), [1.0, 1.0, -1.0])
    np.testing.assert_array_equal(
        saving([[1, 3], [1, 3]], [[2], [0]]), [[0.5, 2 / 3 - 1], [-1, -1]]
    )
    assert saving([], 1.0).shape == (0,)


def test_a_saving_without_a_sense_is_refused():
    for wrong in (-1.0, math.inf, math.nan, [1.0, -1.0]):
        with pytest.raises(ValueError, match="price must be finite numbers of at least 0 or None"):
            saving([1.0, 1.0], wrong)


# ---- as an economy -------------------------------------------------------------------------------

SECONDS = (Objective("correct", gate=True), Objective("seconds", economy="saving"))


def rollouts_of(costs, *, name="seconds", held_out=False, right=True):
    return [
        Rollout("q", {"correct": float(right), name: cost}, held_out=held_out, solved=right)
        for cost in costs
    ]


def score(scores, costs, **about):
    rollouts = rollouts_of(costs, **about)
    scores.learn(rollouts)
    return scores.rewards_of(rollouts)[:, 1].tolist()


def test_saving_is_relative_to_the_price():
    scores = Scores(SECONDS)
    assert score(scores, [0.0, 2.0, 4.0, 4.0]) == [1.0, 0.5, 0.0, 0.0]
    np.testing.assert_array_equal(score(scores, [None, 8.0]), [np.nan, 5.0 / 8.0 - 1.0])


def test_price_is_unknown_without_paid_right_answers():
    scores = Scores(SECONDS)
    assert score(scores, [0.0, 0.0]) == [1.0, 1.0]
    assert score(scores, [0.0, 3.0], right=False) == [1.0, -1.0]
    assert score(scores, [0.0, 3.0]) == [1.0, 0.0]


def test_all_answers_count_without_a_gate():
    scores = Scores((Objective("short", weight=0.5), SECONDS[1]))
    rollouts = [
        Rollout("q", {"short": 1.0, "seconds": cost}, solved=None) for cost in (1.0, 2.0, 4.0)
    ]
    scores.learn(rollouts)
    assert scores.rewards_of(rollouts)[:, 1].tolist() == [0.75, 0.5, 0.0]


def test_remaining_budget_is_rewarded_like_the_cost():
    left = Objective("left", economy="saving", high=10.0)
    assert left.better == "more"
    savings = Scores((SECONDS[0], left))
    costs = Scores(SECONDS)
    for paid in ([1.0, 2.0, 4.0, 4.0], [10.0, 0.5]):
        assert score(savings, [10.0 - one for one in paid], name="left") == score(costs, paid)


def test_neither_side_moves_the_price_of_the_other():
    scores = Scores(SECONDS)
    assert score(scores, [8.0, 8.0]) == [0.0, 0.0]
    assert score(scores, [2.0, 4.0], held_out=True) == [0.5, 0.0]
    assert score(scores, [8.0]) == [0.0]
    # The first evaluation fixes the price for all evaluations.
    assert score(scores, [8.0, 0.0], held_out=True) == [-0.5, 1.0]


@pytest.mark.parametrize("held_out", [False, True])
def test_each_kind_of_question_has_a_price_of_its_own(held_out):
    scores, again = (Scores(SECONDS) for _ in range(2))
    rollouts = [
        replace(one, kind=kind)
        for kind, costs in (("cheap", (1.0, 2.0)), ("dear", (100.0, 50.0)))
        for one in rollouts_of(costs, held_out=held_out)
    ]
    groups = [rollouts] if held_out else [rollouts[:2], rollouts[2:]]
    for group in groups:
        scores.learn(group)
    assert scores.prices() == {"seconds": {} if held_out else {"cheap": 2.0, "dear": 100.0}}
    again.load_state_dict(json.loads(json.dumps(scores.state_dict())), [])
    for one in (scores, again):
        saved = np.concatenate([one.rewards_of(group)[:, 1] for group in groups])
        assert saved.tolist() == [0.5, 0.0, 0.0, 0.5]


def test_the_whole_of_the_first_evaluation_counts():
    scores = Scores(SECONDS)
    assert score(scores, [3.0] + [1.0] * 1500, held_out=True)[:2] == [0.0, 1.0 - 1.0 / 3.0]
    assert len(json.dumps(scores.state_dict()["held_out_prices"])) < 200


def test_free_evaluation_sets_no_price():
    scores = Scores(SECONDS)
    assert score(scores, [0.0, 0.0], held_out=True) == [1.0, 1.0]
    assert score(scores, [1.0, 5.0], held_out=True) == [0.8, 0.0]


def test_costs_below_0_are_refused_with_advice_at_every_door():
    words = {"name": "words", "better": "fewer", "economy": "saving"}
    objectives = (SECONDS[0], Objective(**words))
    rollouts = rollouts_of([-1.0, 2.0], name="words")
    for refused in (
        lambda: Objective(**words, low=-1.0),
        lambda: complete_rollouts(rollouts, objectives, RewardsConfig()),
        lambda: SuccessPrice().update([-1.0, 2.0], [True, True]),
        lambda: saving([-1.0, 2.0], 3.0),
    ):
        with pytest.raises(ValueError, match="so that the cheapest possible answer costs 0"):
            refused()


def test_configuration_of_savings():
    calls = Objective("calls", economy="saving")
    assert (calls.best, calls.worst, calls.failure, calls.floor) == (1.0, None, "worst", "worst")
    assert calls.low == Objective("words", better="fewer", economy="saving").low == 0.0
    assert calls.reference_reward("zero") == 0.0
    assert calls.reference_reward("initial") is None
    assert Objective("calls", economy="saving", reference=-0.5).reference_reward("zero") == -0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "left"}, "objectives.left.high must be given for an economy of costs"),
        ({"name": "calls", "low": -1.0}, "objectives.calls.low must be at least 0 for a cost"),
        ({"name": "calls", "failure": 0.0}, "calls.failure could give a failed rollout more"),
        ({"name": "calls", "reference": 1.0}, "must be worse than the best value there can be"),
        (
            {"name": "left", "high": 1.0, "gate": True},
            'left.gate is for economy = "raw", got economy = "sav',
        ),
    ],
)
def test_a_saving_that_does_not_fit_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Objective(economy="saving", **settings)
