import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rollout_groups import groups

from paretopo.config import dumps, loads, with_method
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.economy import otc_economy, tool_economy
from paretopo.rewards.learnt_costs import CostMinimum
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout

GOLDEN = [1, 0.496585, 0.246597, 0.122456, 0.060810, 0.030197]


def split(rollouts):
    return [calls for _, calls in rollouts], [solved for solved, _ in rollouts]


def test_economy_golden_vector():
    np.testing.assert_allclose(tool_economy(range(6), 0), GOLDEN, atol=1e-6)
    np.testing.assert_allclose(tool_economy([5, 4, 3, 2, 1, 0], 5), GOLDEN, atol=1e-6)


def test_groups_without_success_get_zero():
    np.testing.assert_array_equal(tool_economy([0, 1, 2], None), [0, 0, 0])


@given(st.lists(groups(), max_size=6))
def test_minimum_is_the_fewest_calls_of_a_success(history):
    tracker, seen = CostMinimum(), []
    for rollouts in history:
        before = tracker.n_opt("q")
        tracker.update("q", *split(rollouts))
        seen += [calls for solved, calls in rollouts if solved]
        after = tracker.n_opt("q")
        assert after == (min(seen) if seen else None)
        assert before is None or after <= before
        assert all(calls >= after for solved, calls in rollouts if solved)


@given(st.lists(st.tuples(st.sampled_from("abc"), groups()), max_size=8))
def test_prompts_do_not_touch_each_other(history):
    together, alone = CostMinimum(), {name: CostMinimum() for name in "abc"}
    for name, rollouts in history:
        together.update(name, *split(rollouts))
        alone[name].update(name, *split(rollouts))
    assert {name: together.n_opt(name) for name in "abc"} == {
        name: alone[name].n_opt(name) for name in "abc"
    }


@pytest.mark.parametrize(
    ("calls", "successes", "message"),
    [
        (
            [float("inf")],
            [True],
            r"prompt 'q7': costs must be finite numbers of at least 0, got \[inf\]",
        ),
        ([-1], [True], r"prompt 'q7': costs must be finite numbers of at least 0, got \[-1\]"),
        ([float("nan")], [True], r"prompt 'q7': costs must be finite numbers .*nan"),
        (["a"], [True], r"prompt 'q7': costs must be finite numbers"),
        ([1, 2], [True], r"prompt 'q7': successes must have the shape of costs, \(2,\), got \(1,"),
        ([1, 2], [1.0, float("nan")], r"prompt 'q7': successes must be yes or no, got nan"),
    ],
)
def test_bad_groups_name_the_prompt(calls, successes, message):
    with pytest.raises(ValueError, match=message):
        CostMinimum().update("q7", calls, successes)


def test_a_great_many_calls_cost_no_memory():
    assert tool_economy([[0, 10**15]], 0).tolist() == [[1.0, 0.0]]
    assert tool_economy(np.zeros((2, 0)), 0).shape == (2, 0)


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match=r"alpha must be a positive number, got 0"):
        tool_economy([1], 1, 0)


# ---- OTC ----------------------------------------------------------------------------------------


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 6))
def test_otc_is_the_formula_of_its_paper(m, n, c):
    if n == 0:
        wanted = math.cos(m * math.pi / (2 * m + c))
    else:
        f = 2 * n * m / (m + n)
        wanted = math.sin(f * math.pi / (2 * n))
    value = otc_economy([m], n, c)[0]
    assert value == pytest.approx(wanted, abs=1e-12)
    assert 0.0 <= value <= 1.0
    assert (value == 1.0) == (m == n)


def test_otc_without_a_success_or_without_calls():
    np.testing.assert_array_equal(otc_economy([0, 1], None, 3), [0, 0])
    np.testing.assert_array_equal(otc_economy([0, 0], 0, 0), [1, 1])
    with pytest.raises(ValueError, match="costs must be finite numbers of at least 0"):
        otc_economy([-1], 0, 3)


def test_otc_is_chosen_by_the_configuration():
    config = loads("[optimiser]\nmax_tool_calls = 3", {"objectives.calls.economy": "otc"})
    assert config.objective("calls").most == 3
    assert loads(dumps(config)) == config
    scores = Scores(config.objectives, recompute=True)
    rollouts = [
        Rollout("q", {"correct": 1.0, "calls": row}, held_out=held_out, solved=True)
        for row in range(3)
        for held_out in (True, False)
    ]
    scores.learn(rollouts)
    economy = scores.rewards_of([one for one in rollouts if not one.held_out])[:, 1]
    np.testing.assert_allclose(economy, [1, 0.809017, 0.62349], atol=1e-6)
    held_out = [one for one in rollouts if one.held_out]
    evaluated, *_ = scores.evaluate(held_out, np.zeros((3, 2)), lambda rows: rows.mean(axis=0))
    assert evaluated[:, 1].tolist() == [1.0, 1.0, 1.0]  # each question has its own optimum


def test_otc_grpo_trains_on_the_product():
    """Correctness times the tool reward, standardised: nothing else reaches the advantages."""
    controller = ParetoPO(with_method({}, "otc_grpo").paretopo)
    solved, economy = [1, 1, 1, 0, 0], otc_economy([1, 2, 3, 1, 0], 1, 4)
    advantages = controller.step([np.stack([solved, economy], axis=-1)]).advantages[0]
    product = np.array(solved) * economy
    wanted = (product - product.mean()) / (product.std(ddof=1) + 1e-6)
    np.testing.assert_allclose(advantages, wanted, atol=1e-12)
