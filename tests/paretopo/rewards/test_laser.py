"""LASER and LASER-D: a bonus below a target cost, and how the targets are learnt."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import rollouts_of

from paretopo.config import Objective, with_method
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.economy import laser_economy
from paretopo.rewards.learnt_costs import CostTargets
from paretopo.rewards.scoring import Scores

groups_of_eight = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=8, max_size=8), max_size=12
)


def test_the_step_by_hand():
    costs, right = [[1, 2, 3, 1], [5, 0, 5, 6]], [[True, True, True, False], [True] * 4]
    values = laser_economy(costs, right, [2, math.inf])
    assert values.tolist() == [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    assert laser_economy([0.0, 0.1], [True, True], 0.0).tolist() == [1.0, 0.0]
    assert laser_economy([], [], 1.0).tolist() == []


@pytest.mark.parametrize("target", [math.nan, -1.0])
def test_invalid_targets_are_refused(target):
    with pytest.raises(ValueError, match="target must be numbers of at least 0 or infinity, got"):
        laser_economy([1.0], [True], target)


@given(groups_of_eight)
def test_targets_are_those_of_the_authors_code(groups):
    """Its loops over thresholds, with one at every whole cost; infinity where no group is such."""
    targets = CostTargets(by="difficulty")
    by_level = {"low": [], "medium": [], "high": []}
    for group in groups:
        costs, right = zip(*group, strict=True)
        targets.update(costs, right)
        accuracy = sum(right) / 8
        level = "low" if accuracy <= 1 / 3 else "medium" if accuracy <= 2 / 3 else "high"
        by_level[level] += costs
    for level, right in (("low", 0), ("medium", 4), ("high", 8)):
        costs = by_level[level]
        lower = {"low": 1, "medium": int(8 / 3), "high": int(8 * 2 / 3)}[level]
        wanted = math.inf
        for threshold in range(13):
            covered = sum(cost <= threshold for cost in costs)
            if costs and covered * lower // len(costs) >= 1:
                wanted = min(wanted, threshold)
        assert targets.target([True] * right + [False] * (8 - right)) == wanted


def test_targets_change_only_with_a_complete_block():
    targets = CostTargets(by="difficulty", groups=2)
    easy = [True] * 4
    assert targets.target(easy) == math.inf
    targets.update([4, 5, 6, 7], easy)
    assert targets.target(easy) == 5.0  # floor(8 / 3) = 2: the lower half
    targets.update([1, 1, 1, 1], easy)
    assert targets.target(easy) == 1.0
    targets.update([9, 9, 9, 9], easy)
    assert targets.target(easy) == 1.0
    targets.update([9, 9, 9, 9], easy)
    assert targets.target(easy) == 9.0


def test_the_target_of_laser_is_the_lower_quartile_of_the_start():
    targets = CostTargets(by="start", groups=2)
    targets.update([8, 7, 6, 5], [False] * 4)
    targets.update([4, 3, 2, 1], [True] * 4)
    targets.update([0, 0, 0, 0], [True] * 4)
    assert [targets.target(right) for right in ([True] * 4, [False] * 4)] == [2.0, 2.0]


def test_targets_of_other_settings_are_refused():
    with pytest.raises(ValueError, match=r"by must be .* got 'both'"):
        CostTargets(by="both")
    with pytest.raises(ValueError, match="groups must be an integer of at least 1, got 0"):
        CostTargets(by="start", groups=0)
    state = CostTargets(by="start").state_dict()
    with pytest.raises(ValueError, match="have by = 'start', these 'difficulty': resume with"):
        CostTargets(by="difficulty").load_state_dict(state)
    with pytest.raises(ValueError, match="costs must be finite numbers of at least 0"):
        CostTargets(by="start").update([-1.0], [True])


# ---- in a run -----------------------------------------------------------------------------------


ANSWERS = [(1, True), (3, True), (2, True), (0, False), (3, True), (5, True)]


def test_laser_d_is_grpo_on_the_reward_of_the_paper():
    """5 of 6 are right, an easy group: 1 / floor(2 * 6 / 3) of its costs are at most 1.

    There a right answer gets 1, a wrong one -1/2 and the bonus is 1/2, a third of the difference.
    Weights of 0.75 and 0.25 give the same.
    """
    table = {"objectives": [{"name": "correct", "weight": 0.75}, {"name": "calls", "weight": 0.25}]}
    config = with_method(table, "laser_d")
    scores, rollouts = Scores(config.objectives), rollouts_of(ANSWERS)
    scores.learn(rollouts)
    step = ParetoPO(config.paretopo).step(scores.rewards_of(rollouts)[None])
    rewards = np.array([1.5, 1.0, 1.0, -0.5, 1.0, 1.0])
    wanted = (rewards - rewards.mean()) / rewards.std(ddof=1)
    np.testing.assert_allclose(step.advantages[0], wanted, atol=1e-5)


def test_held_out_answers_count_raw_and_teach_no_target():
    objectives = (Objective("correct", gate=True), Objective("calls", economy="laser_d"))
    scores = Scores(objectives)
    held_out = rollouts_of([(7, True)], held_out=True)
    scores.learn(held_out)
    assert scores.rewards_of(held_out)[:, 1].tolist() == [-7.0]
    assert scores.rewards_of(rollouts_of([(99, True)]))[:, 1].tolist() == [1.0]
