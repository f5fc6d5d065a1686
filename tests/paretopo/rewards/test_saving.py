"""What is saved of what the starting policy pays: the reference, the saving, and both in a run."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions import new_session

from paretopo.config import ConfigError, Objective, RewardsConfig
from paretopo.rewards.economy import saving
from paretopo.rewards.learnt_costs import CostReference
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout
from paretopo.session import Session

costs_of = st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 3.0, 40.0]), max_size=30)


# ---- the reference -------------------------------------------------------------------------------


def test_the_reference_is_the_quantile_of_the_first_costs():
    reference = CostReference()
    assert (reference.quantile, reference.first, reference.value) == (0.75, 1024, None)
    costs = np.random.default_rng(0).lognormal(size=3000)
    reference.update(costs[:500])
    assert reference.value == np.quantile(costs[:500], 0.75)
    for part in np.array_split(costs[500:], 7):
        reference.update(part)
    assert reference.value == np.quantile(costs[:1024], 0.75)


def test_where_the_quantile_is_nothing_it_is_the_largest():
    reference = CostReference(first=8)
    reference.update([0, 0, 0, 0, 0, 2])
    assert reference.value == 2.0
    reference.update([5, 0])
    assert reference.value == 1 / 4 * 2  # 6 zeros, 2, 5: a quarter of the way from 0 to 2
    reference.update([900] * 8)
    assert reference.value == 0.5


def test_it_learns_on_until_a_cost_is_above_0():
    reference = CostReference(first=4)
    reference.update([0] * 9)
    assert reference.value is None
    reference.update([0, 7, 900])
    assert reference.value == 7.0
    reference.update([0.5] * 9)
    assert reference.value == 7.0


@given(costs_of, st.integers(1, 12), st.randoms())
def test_in_which_parts_costs_come_does_not_matter(costs, first, random):
    whole, parts = CostReference(first=first), CostReference(first=first)
    whole.update(costs)
    left = list(costs)
    while left:
        size = random.randint(1, len(left))
        parts.update(left[:size])
        left = left[size:]
    assert parts.state_dict() == whole.state_dict()


@given(costs_of, costs_of, st.integers(1, 12))
def test_the_reference_goes_through_json_and_on(before, after, first):
    whole, again = CostReference(first=first), CostReference(first=first)
    whole.update(before)
    again.load_state_dict(json.loads(json.dumps(whole.state_dict())))
    assert again.value == whole.value
    for reference in (whole, again):
        reference.update(after)
    assert again.state_dict() == whole.state_dict()


def test_a_reference_that_stays_is_a_short_state():
    reference = CostReference()
    reference.update(np.arange(5000.0))
    assert len(json.dumps(reference.state_dict())) < 100


def test_a_reference_of_another_kind_is_refused():
    with pytest.raises(ValueError, match=r"saved reference has first = 4, this one 1024"):
        CostReference().load_state_dict(CostReference(first=4).state_dict())
    with pytest.raises(ValueError, match=r"costs must be finite numbers of at least 0"):
        CostReference().update([1.0, -1.0])
    with pytest.raises(ValueError, match="quantile must be a number from 0 to 1, got 75"):
        CostReference(75)
    with pytest.raises(ValueError, match="first must be an integer of at least 1, got 0"):
        CostReference(first=0)


# ---- the saving ----------------------------------------------------------------------------------


def test_a_saving_by_hand():
    np.testing.assert_array_equal(saving([[0, 1], [4, 12]], 4.0), [[1.0, 0.75], [0.0, -2.0]])
    assert saving(3.0, 4.0) == 0.25
    np.testing.assert_array_equal(saving([0.0, 0.0], None), [1.0, 1.0])
    assert saving([], 1.0).shape == (0,)


def test_a_saving_without_a_sense_is_refused():
    with pytest.raises(ValueError, match=r"no cost above 0 is known, got costs up to 3"):
        saving([0.0, 3.0], None)
    for wrong in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="reference must be a number above 0 or None"):
            saving([1.0], wrong)


@given(costs_of, st.floats(1e-6, 1e6))
def test_the_unit_of_a_cost_does_not_matter(costs, factor):
    plain, scaled = CostReference(), CostReference()
    plain.update(costs)
    scaled.update(np.array(costs) * factor)
    np.testing.assert_allclose(
        saving(np.array(costs) * factor, scaled.value), saving(costs, plain.value), rtol=1e-9
    )


# ---- as an economy -------------------------------------------------------------------------------

SECONDS = (Objective("correct", gate=True), Objective("seconds", economy="saving"))


def rollouts_of(costs, *, name="seconds", held_out=False):
    return [
        Rollout(f"q{at}", {"correct": 1.0, name: cost}, held_out=held_out, solved=True)
        for at, cost in enumerate(costs)
    ]


def score(scores, costs, **about):
    rollouts = rollouts_of(costs, **about)
    scores.learn(rollouts)
    return scores.rewards_of(rollouts)[:, 1].tolist()


def test_a_cost_is_worth_what_it_saves():
    scores = Scores(SECONDS, RewardsConfig())
    assert score(scores, [0.0, 2.0, 4.0, 4.0]) == [1.0, 0.5, 0.0, 0.0]
    np.testing.assert_array_equal(score(scores, [None, 8.0]), [np.nan, 1.0 - 8.0 / 4.0])


def test_a_budget_is_worth_the_same_as_the_cost_that_it_leaves():
    left = Objective("left", economy="saving", high=10.0)
    assert left.better == "more"
    told = Scores((SECONDS[0], left), RewardsConfig())
    costs = Scores(SECONDS, RewardsConfig())
    for paid in ([1.0, 2.0, 4.0, 4.0], [10.0, 0.5]):
        assert score(told, [10.0 - one for one in paid], name="left") == score(costs, paid)


def test_neither_side_moves_the_reference_of_the_other():
    scores = Scores(SECONDS, RewardsConfig())
    assert score(scores, [8.0, 8.0]) == [0.0, 0.0]
    assert score(scores, [2.0, 4.0], held_out=True) == pytest.approx([1 - 2 / 3.5, 1 - 4 / 3.5])
    assert score(scores, [8.0]) == [0.0]
    # The first evaluation says what all evaluations are measured by.
    assert score(scores, [7.0, 0.0], held_out=True) == [-1.0, 1.0]


def test_the_whole_of_the_first_evaluation_counts():
    scores = Scores(SECONDS, RewardsConfig())
    assert score(scores, [1.0] * 1500 + [3.0] * 4500, held_out=True)[-1] == 0.0
    assert len(json.dumps(scores.state_dict()["held_out_references"])) < 200


def test_an_evaluation_that_costs_nothing_says_nothing_of_the_next():
    scores = Scores(SECONDS, RewardsConfig())
    assert score(scores, [0.0, 0.0], held_out=True) == [1.0, 1.0]
    assert score(scores, [0.0, 5.0], held_out=True) == pytest.approx([1.0, -3.0 / 1.0])


def test_what_is_learnt_is_part_of_the_state(tmp_path):
    text = '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "calls"\neconomy = "saving"\n'
    session = new_session(tmp_path, text)
    rng = np.random.default_rng(3)

    def rollouts(count):
        return [
            Rollout(
                f"p{at}", {"correct": float(rng.random() < 0.5), "calls": int(rng.integers(0, 5))}
            )
            for at in range(count)
        ]

    def step(session, number, group, asked):
        scored = session.score([group])
        given = session.advantages([one.rollouts for one in scored])
        session.record_step(number, {})
        session.observe(number, asked)
        return given

    session.observe(0, rollouts(5))
    stories = [(rollouts(6), rollouts(5)) for _ in range(4)]
    for number, story in enumerate(stories[:2], start=1):
        step(session, number, *story)
    state = json.loads(json.dumps(session.state()))
    again = Session(session.run, prompts=64, steps_per_epoch=8)
    wanted = [step(session, at, *story) for at, story in enumerate(stories[2:], start=3)]
    end = session.state()
    again.restore(state)
    given = [step(again, at, *story) for at, story in enumerate(stories[2:], start=3)]
    np.testing.assert_array_equal(given, wanted)
    assert again.state() == end


def test_the_configuration_says_what_a_saving_is():
    calls = Objective("calls", economy="saving")
    assert (calls.best, calls.worst, calls.failure, calls.floor) == (1.0, None, "worst", "worst")
    assert calls.low == Objective("words", better="fewer", economy="saving").low == 0.0
    assert calls.reference_reward("zero") == 0.0
    assert calls.reference_reward("initial") is None
    assert Objective("calls", economy="saving", reference=-0.5).reference_reward("zero") == -0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"name": "left"}, r"objectives.left.high must be given for economy = \"saving\""),
        ({"name": "calls", "low": -1.0}, "objectives.calls.low must be at least 0 for a cost"),
        ({"name": "calls", "failure": 0.0}, "needs economy = raw, or a failed rollout could be"),
        ({"name": "calls", "reference": 1.0}, "must be worse than the best value there can be"),
        ({"name": "left", "high": 1.0, "gate": True}, 'left.gate is for economy = "raw", got "sav'),
    ],
)
def test_a_saving_that_does_not_fit_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        Objective(economy="saving", **settings)
