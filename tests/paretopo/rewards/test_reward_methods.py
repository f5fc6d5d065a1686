"""Methods that are a reward and an estimator, from rollouts to advantages, by their formulas."""

import math

import numpy as np
import pytest
from support.rollout_groups import rollouts_of

from paretopo.config import dumps, loads, with_method
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.outcomes import Outcomes
from paretopo.rewards.scoring import Scores

ANSWERS = [(1, True), (3, True), (2, False), (0, False), (3, True)]  # calls, right
COSTS, RIGHT = map(np.array, zip(*ANSWERS, strict=True))


def play(name, correct, answers=ANSWERS, overrides=None):
    """Gated vectors and advantages of one group, with the weight of being correct."""
    weights = {"correct": correct, "calls": 1.0 - correct}
    table = {"objectives": [{"name": one, "weight": weight} for one, weight in weights.items()]}
    config = with_method(table, name, overrides)
    scores, rollouts = Scores(config.objectives), rollouts_of(answers)
    scores.learn(rollouts)
    step = ParetoPO(config.paretopo).step(scores.rewards_of(rollouts)[None])
    return step.gated[0], step.advantages[0]


def centre(values):
    return values - values.mean()


def against_others(values):
    return centre(values) * len(values) / (len(values) - 1)


def standardise(values):
    return centre(values) / (values.std(ddof=1) + 1e-6)


def sigmoid_of_right_costs():
    return 1 / (1 + np.exp(-(COSTS - 7 / 3) / math.sqrt(8 / 9)))


LENGTH = 0.5 - COSTS / 3  # of Kimi
METHODS = [
    ("arora_zanette", 0.8, against_others, RIGHT * (1 - 0.2 * sigmoid_of_right_costs())),
    ("arora_zanette", 0.6, against_others, RIGHT * (1 - 0.4 * sigmoid_of_right_costs())),
    ("kimi", 0.6, centre, 0.6 * RIGHT + 0.4 * np.where(RIGHT, LENGTH, np.minimum(LENGTH, 0.0))),
    ("worth", 0.6, against_others, RIGHT * (0.6 + 0.4 * (1 - COSTS / np.quantile(COSTS, 0.75)))),
    # Its default coefficient for tokens, 0.25; 3 of 5 are right.
    ("prime_rl", 0.8, centre, 0.8 * (RIGHT - 0.25 * 0.6 * COSTS / 3)),
    # The mean cost is 1.8, and the weights are an alpha of 2/3.
    ("gr3", 0.6, standardise, RIGHT / (1 + 2 / 3 * COSTS / 1.8)),
    # The product with the tool reward: nothing else reaches the advantages.
    ("otc_grpo", 0.5, standardise, RIGHT * np.sin(math.pi * COSTS / (COSTS + 1))),
]


@pytest.mark.parametrize(("name", "correct", "estimate", "rewards"), METHODS)
def test_a_method_is_its_estimator_on_the_reward_of_its_paper(name, correct, estimate, rewards):
    _, advantages = play(name, correct)
    np.testing.assert_allclose(advantages, estimate(rewards), atol=1e-12)


def test_conditioned_gdpo_gates_the_easier_reward():
    """Equation 8 of the paper: the economy, or 0 where the answer is wrong; then GDPO."""
    own = {"paretopo.weighting": "equal", "objectives.calls.economy": "paretopo"}  # as published
    gated, advantages = play("gdpo", 0.6, overrides=own | {"paretopo.gate": "success"})
    economy = RIGHT * np.exp(-0.7 * (COSTS - 1))
    np.testing.assert_allclose(gated[:, 1], economy, atol=1e-12)
    total = sum(centre(one) / one.std(ddof=1) for one in (RIGHT, economy))
    np.testing.assert_allclose(advantages, total / total.std(ddof=1), atol=1e-3)


def test_laser_d_is_grpo_on_the_reward_of_the_paper():
    """5 of 6 are right, an easy group: 1 / floor(2 * 6 / 3) of its costs are at most 1.

    There a right answer gets 1, a wrong one -1/2 and the bonus is 1/2, a third of the difference.
    """
    answers = [(1, True), (3, True), (2, True), (0, False), (3, True), (5, True)]
    _, advantages = play("laser_d", 0.75, answers)
    wanted = standardise(np.array([1.5, 1.0, 1.0, -0.5, 1.0, 1.0]))
    np.testing.assert_allclose(advantages, wanted, atol=1e-5)


@pytest.mark.parametrize("name", ["arora_zanette", "worth", "gr3"])
def test_held_out_failures_do_not_set_the_minimum(name):
    config = with_method({}, name)
    scores = Scores(config.objectives)
    rollouts = rollouts_of([(3, True), (0, False)], held_out=True)
    scores.learn(rollouts)
    vectors, outcomes = scores.rewards_of(rollouts), Outcomes(config)
    gated = outcomes.gate(vectors, np.fmin(np.zeros(2), outcomes.find_bounds(vectors)))
    assert gated[1, 1] <= gated[0, 1]


def test_otc_is_chosen_by_the_configuration():
    config = loads("[optimiser]\nmax_tool_calls = 3", {"objectives.calls.economy": "otc"})
    assert loads(dumps(config)) == config
    scores = Scores(config.objectives, max_calls=config.optimiser.max_tool_calls)
    trained, held_out = (
        rollouts_of([(at, True) for at in range(3)], held_out=held_out)
        for held_out in (False, True)
    )
    scores.learn([*trained, *held_out])
    economy = scores.rewards_of(trained)[:, 1]
    np.testing.assert_allclose(economy, [1, 0.809017, 0.62349], atol=1e-6)
    np.testing.assert_array_equal(scores.rewards_of(held_out)[:, 1], economy)
