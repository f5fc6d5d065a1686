"""Tabular tasks: exact expectations; the agent learns what its rewards say."""

from __future__ import annotations

import numpy as np
import pytest

from paretopo.config import METHODS, expand_method
from paretopo.study.tabular import TASKS
from paretopo.study.tabular_agent import draw_cost, train_tabular

CALLING = [task for task in TASKS.values() if task.saved is None]
CONCAVE = [task for task in TASKS.values() if task.saved is not None]


def sampled(task, policy, draws=200_000):
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, len(policy), draws)
    ways = (rng.random((draws, 1)) > policy.cumsum(axis=1)[kinds][:, :-1]).sum(axis=1)
    right = rng.random(draws) < task.success[kinds, ways]
    return right, ways


@pytest.mark.parametrize("task", CALLING, ids=lambda task: task.name)
def test_outcomes_are_expectations(task):
    policy = np.random.default_rng(1).dirichlet(np.ones(task.success.shape[1]), len(task.success))
    right, ways = sampled(task, policy)
    economy = 1 - task.calls[ways] / task.calls.max()
    np.testing.assert_allclose(task.outcome(policy), [right.mean(), economy.mean()], atol=0.005)


@pytest.mark.parametrize("task", CONCAVE, ids=lambda task: task.name)
def test_with_several_economies_each_answer_counts_for_itself(task):
    policy = np.random.default_rng(1).dirichlet(np.ones(task.success.shape[1]), len(task.success))
    right, ways = sampled(task, policy)
    volume = right * task.saved[ways].prod(axis=1)
    np.testing.assert_allclose(task.outcome(policy), [right.mean(), volume.mean()], atol=0.005)


@pytest.mark.parametrize("task", CONCAVE, ids=lambda task: task.name)
def test_no_weights_make_a_compromise_the_best_answer(task):
    best = task.best().argmax(axis=1)
    for share in np.linspace(0.0, 1.0, 101):
        linear = task.success * (task.saved @ [share, 1.0 - share])
        assert not (linear.argmax(axis=1) == best).any()


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_nothing_is_worth_more_than_the_best(task):
    assert task.hypervolume(task.outcome(task.best())) == pytest.approx(1.0)
    for seed in range(50):
        policy = np.random.default_rng(seed).dirichlet(
            0.3 * np.ones(task.success.shape[1]), len(task.success)
        )
        assert 0.0 <= task.hypervolume(task.outcome(policy)) <= 1.0


def test_the_best_of_a_calling_task_makes_the_calls_that_are_needed():
    for task in CALLING:
        calls = task.best() @ task.calls
        assert set(calls) == {0, 1, 2, 3}


def test_costs_are_what_they_say_on_average():
    rng, calls = np.random.default_rng(0), np.full(400_000, 2)
    assert draw_cost("seconds", calls, rng).mean() == pytest.approx(0.05, rel=0.01)
    assert draw_cost("tokens", calls, rng).mean() == pytest.approx(650.0, rel=0.02)
    assert draw_cost("dollars", calls, rng).mean() == pytest.approx(3e-4 * np.exp(0.045), rel=0.01)
    with pytest.raises(ValueError, match='unit must be "seconds"'):
        draw_cost("miles", calls, rng)


def test_a_training_is_what_its_seed_says():
    one, same, other = (
        train_tabular(TASKS["any_unit"], METHODS["recommended"], seed=seed, steps=20)
        for seed in (5, 5, 6)
    )
    assert one == same != other


def test_evaluations_are_even_and_begin_before_the_first_step():
    rows = train_tabular(TASKS["free"], METHODS["grpo"], seed=0, steps=40, evaluations=4)
    assert [row["step"] for row in rows] == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_every_kind_of_task(method):
    for name in ("lucky", "any_unit", "concave"):
        rows = train_tabular(TASKS[name], METHODS[method], seed=1, steps=4)
        assert all(np.isfinite(list(row.values())).all() for row in rows)


@pytest.mark.parametrize("name", ["tune_lucky", "tune_any_unit", "tune_concave"])
def test_the_recommended_recipe_comes_near_the_best_on_the_tasks_it_was_tuned_on(name):
    rows = train_tabular(TASKS[name], METHODS["recommended"], seed=0, steps=300)
    assert rows[-1]["hypervolume"] > 0.95


def test_accuracy_only_calls_on():
    rows = train_tabular(TASKS["free"], METHODS["accuracy_only"], seed=0, steps=200)
    assert rows[-1]["accuracy"] > 0.69
    assert rows[-1]["calls"] > 2.0


def test_steps_by_factor_move_plain_ascent_but_hardly_adam():
    """The multiplier of stage 1 scales rewards: Adam divides it out again, z-scores before it."""
    optimisers = {
        "adamw": {},
        "sgd": {"optimiser.method": "sgd", "optimiser.learning_rate": 0.05},
    }
    moved = {}
    for name, optimiser in optimisers.items():
        calls = []
        for multiplier_on in ("none", "advantage"):
            method = {"recipe": "paper", "paretopo.multiplier_on": multiplier_on, **optimiser}
            rows = train_tabular(TASKS["free"], method, seed=0, steps=40)
            calls.append(np.array([row["calls"] for row in rows]))
        moved[name] = abs(calls[0] - calls[1]).max()
    assert moved["sgd"] > 2 * moved["adamw"]


def test_exact_and_mean_are_two_centres_of_the_volume():
    rows = [
        train_tabular(
            TASKS["lucky"],
            {**expand_method("hypervolume"), "paretopo.k": 2, "paretopo.centre": centre},
            seed=0,
            steps=20,
        )
        for centre in ("exact", "mean")
    ]
    assert rows[0] != rows[1]
