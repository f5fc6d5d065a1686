"""Costs learnt from rollouts: the fewest of a success, the price of one, and LASER's targets."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import groups

from paretopo.rewards.learnt_costs import CostMinimum, CostTargets, SuccessPrice


@given(st.lists(st.tuples(st.sampled_from("abc"), groups()), max_size=8))
def test_minimum_is_the_fewest_calls_of_a_success_of_the_prompt(history):
    tracker, seen = CostMinimum(), {name: [] for name in "abc"}
    for name, rollouts in history:
        tracker.update(name, [calls for _, calls in rollouts], [solved for solved, _ in rollouts])
        seen[name] += [calls for solved, calls in rollouts if solved]
        fewest = {one: min(calls, default=None) for one, calls in seen.items()}
        assert {one: tracker.n_opt(one) for one in "abc"} == fewest


# ---- the price -----------------------------------------------------------------------------------

OF_FEW = {"groups": 4}
PRICES = {  # settings; groups of right costs, then the price after them, and so on
    "a quantile of the dearest right answers": ({}, [[1, 2], [6, 0]], 3.0, [[10]], 4.0),
    "no price of wrong and free answers": ({}, [[], [0, 0]], None, [[4]], 4.0, [[0, 0]] * 500, 4.0),
    "a fall while few groups are known": (OF_FEW, [[8]], 8.0, [[2]], 3.5),
    "no fall once it is known well": (
        *(OF_FEW, [[8]] * 3, 8.0, [[2]], 6.5),
        *([[1]] * 20, 6.5, [[30]] * 4, 30.0),
    ),
    "another quantile": ({"quantile": 1.0}, [[8], [2]], 8.0),
}


@pytest.mark.parametrize("case", PRICES.values(), ids=PRICES)
def test_the_price_is_learnt_from_right_answers(case):
    settings, *story = case
    price = SuccessPrice(**settings)
    for costs, wanted in zip(story[::2], story[1::2], strict=True):
        for one in costs:
            price.update([*one, 99.0], [True] * len(one) + [False])
        assert price.value == wanted


def test_price_covers_the_dearest_of_several_right_answers():
    price = SuccessPrice()
    price.update([[4.0, 9.0]], [[True, False]])
    given = price.of_groups(
        [[1, 9, 99], [9, 1, 1], [1, 2, 3], [0, 0, 0]],
        [[True, True, False], [True, False, False], [True, True, True], [False] * 3],
    )
    assert given.tolist() == [9.0, 4.0, 4.0, 4.0]
    assert SuccessPrice().of_groups([0, 0], [True, True]) == 0.0


# ---- targets -------------------------------------------------------------------------------------

EASY = [True] * 4
groups_of_eight = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=8, max_size=8), max_size=12
)


@given(groups_of_eight)
def test_targets_are_those_of_the_authors_code(groups):
    """Its loops over thresholds, with one at every whole cost; infinity where no group is such."""
    targets = CostTargets()
    by_level = {"low": [], "medium": [], "high": []}
    for group in groups:
        costs, right = zip(*group, strict=True)
        targets.update(costs, right)
        accuracy = sum(right) / 8
        level = "low" if accuracy <= 1 / 3 else "medium" if accuracy <= 2 / 3 else "high"
        by_level[level] += costs
    for level, right, lower in (("low", 0, 1), ("medium", 4, int(8 / 3)), ("high", 8, int(16 / 3))):
        costs = by_level[level]
        within = (
            threshold
            for threshold in range(13)
            if costs and sum(cost <= threshold for cost in costs) * lower // len(costs) >= 1
        )
        assert targets.target([True] * right + [False] * (8 - right)) == min(
            within, default=math.inf
        )


def test_targets_change_only_with_a_complete_block():
    targets, seen = CostTargets(groups=2), []
    assert targets.target(EASY) == math.inf
    for costs in ([4, 5, 6, 7], [1] * 4, [9] * 4, [9] * 4):
        targets.update(costs, EASY)
        seen.append(targets.target(EASY))
    assert seen == [5.0, 1.0, 1.0, 9.0]  # first floor(8 / 3) = 2: the lower half


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SuccessPrice().update([1.0, -1.0], [True, True]), "so that the cheapest possible"),
        (lambda: SuccessPrice().update([1.0, 1.0], [True]), r"the shape of costs, \(2,\)"),
        (lambda: CostMinimum().update("q", [-1], [True]), "finite numbers of at least 0, got"),
        (lambda: CostTargets().update([-1.0], [True]), "finite numbers of at least 0"),
    ],
)
def test_groups_without_costs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
