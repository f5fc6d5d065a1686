"""Methods that are a reward and an estimator, from rollouts to advantages, by their formulas."""

import math

import numpy as np
import pytest
from support.rollout_groups import rollouts_of

from paretopo.config import with_method
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.scoring import Scores

TABLE = {
    "objectives": [
        {"name": "correct", "weight": 0.6},
        {"name": "calls", "weight": 0.4, "economy": "paretopo"},
    ]
}
ANSWERS = [(1, True), (3, True), (2, False), (0, False), (3, True)]  # calls, right


def play(name, answers, overrides=None):
    """Gated vectors and advantages of one group."""
    config = with_method(TABLE, name, overrides)
    scores, rollouts = Scores(config.objectives), rollouts_of(answers)
    scores.learn(rollouts)
    step = ParetoPO(config.paretopo).step(scores.rewards_of(rollouts)[None])
    return step.gated[0], step.advantages[0]


def against_others(values):
    return [one - (sum(values) - one) / (len(values) - 1) for one in values]


def test_arora_zanette_is_rloo_on_the_reward_of_the_paper():
    for alpha in (0.2, 0.4):
        weights = {"objectives.correct.weight": 1 - alpha, "objectives.calls.weight": alpha}
        mean, std = 7 / 3, math.sqrt(8 / 9)
        wanted = [
            (1 - alpha / (1 + math.exp(-(calls - mean) / std))) if yes else 0.0
            for calls, yes in ANSWERS
        ]
        _, advantages = play("arora_zanette", ANSWERS, weights)
        np.testing.assert_allclose(advantages, against_others(wanted), atol=1e-12)


def test_kimi_adds_its_length_reward_to_correctness():
    coefficient = 0.4 / 0.6
    rewards = []
    for calls, yes in ANSWERS:
        length = 0.5 - calls / 3
        rewards.append(yes + coefficient * (length if yes else min(0.0, length)))
    _, advantages = play("kimi", ANSWERS)
    np.testing.assert_allclose(advantages, 0.6 * (np.array(rewards) - np.mean(rewards)), atol=1e-12)


def test_conditioned_gdpo_gates_the_easier_reward():
    """Equation 8 of the paper: the economy, or 0 where the answer is wrong; then GDPO."""
    equal = {"paretopo.weighting": "equal"}  # as published; the weights of a file hold
    gated, advantages = play("gdpo_conditioned", ANSWERS, equal)
    economy = [math.exp(-0.7 * (calls - 1)) if yes else 0.0 for calls, yes in ANSWERS]
    np.testing.assert_allclose(gated[:, 1], economy, atol=1e-12)
    columns = np.array([[yes for _, yes in ANSWERS], economy], float)
    z = (columns - columns.mean(axis=1, keepdims=True)) / columns.std(axis=1, ddof=1)[:, None]
    wanted = z.sum(axis=0) / z.sum(axis=0).std(ddof=1)
    np.testing.assert_allclose(advantages, wanted, atol=1e-3)


def test_worth_is_the_saving_of_a_right_answer():
    costs = [calls for calls, _ in ANSWERS]
    reference = np.quantile(costs, 0.75)
    assert reference == 3.0
    wanted = [(0.6 + 0.4 * (1 - calls / reference)) if yes else 0.0 for calls, yes in ANSWERS]
    _, advantages = play("worth", ANSWERS)
    np.testing.assert_allclose(advantages, against_others(wanted), atol=1e-12)


def test_prime_rl_is_its_linear_penalty():
    """Its default coefficient for tokens, 0.25, is weights of (0.8, 0.2); 3 of 5 are right."""
    weights = {"objectives.correct.weight": 0.8, "objectives.calls.weight": 0.2}
    rewards = np.array([yes - 0.25 * 0.6 * calls / 3 for calls, yes in ANSWERS])
    assert rewards.round(2).tolist() == [0.95, 0.85, -0.1, 0.0, 0.85]
    _, advantages = play("prime_rl", ANSWERS, weights)
    np.testing.assert_allclose(advantages, 0.8 * (rewards - rewards.mean()), atol=1e-12)


def test_gr3_is_grpo_on_the_rescaled_reward():
    """Costs 1, 3, 2, 0, 3 have the mean 1.8; weights (0.6, 0.4) are an alpha of 2/3."""
    values = np.array([yes / (1 + 2 / 3 * calls / 1.8) for calls, yes in ANSWERS])
    _, advantages = play("gr3", ANSWERS)
    wanted = (values - values.mean()) / (values.std(ddof=1) + 1e-6)
    np.testing.assert_allclose(advantages, wanted, atol=1e-12)


@pytest.mark.parametrize("name", ["arora_zanette", "worth", "gdpo_conditioned", "gr3"])
def test_held_out_failures_do_not_set_the_minimum(name):
    config = with_method({}, name)
    scores = Scores(config.objectives)
    rollouts = rollouts_of([(3, True), (0, False)], held_out=True)
    scores.learn(rollouts)
    gated = ParetoPO(config.paretopo).gate(scores.rewards_of(rollouts))
    assert gated[1, 1] <= gated[0, 1]
