"""Tabular tasks: exact expectations, and an agent that learns by its rewards."""

import itertools

import numpy as np
import pytest

from paretopo.config import METHODS, from_table
from research.agent import TabularRun, train_tabular
from research.tables import CHANGE, Unit
from research.tasks import TASKS

ALL = [task for task in TASKS.values() if not task.named]
KINDS = [task.name for task in ALL if not task.name.startswith(("tune_", "fresh_"))]
MEASURES = ("hypervolume", "preference")


def new_run(task, method, *, seed=0, steps=1):
    return TabularRun(task, from_table({}, METHODS[method]), seed, steps)


def policies(task, count):
    shape = int(task.policy_rows.max()) + 1, task.ways
    for seed in range(count):
        concentration = (0.3, 1.0)[seed % 2]
        yield np.random.default_rng(seed).dirichlet(concentration * np.ones(shape[1]), shape[0])


def sample(task, policy, draws=200_000):
    """Draw correctness and savings."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, len(task.success), draws)
    rows = policy.cumsum(axis=1)[task.policy_rows[kinds]]
    ways = (rng.random((draws, 1)) > rows[:, :-1]).sum(axis=1)
    return rng.random(draws) < task.success[kinds, ways], task.saved[kinds, ways]


def test_each_kind_of_task_has_a_tuning_twin():
    first = ["", "tune_", "fresh_"]
    names = [f"{one}{name}{last}" for one in first for name in KINDS for last in ("", "_named")]
    assert sorted(TASKS) == sorted(names)
    for name in KINDS:
        one, other = TASKS[name], TASKS[f"tune_{name}"]
        assert one.cost.shape == other.cost.shape, name
        assert (one.counted, one.scaled) == (other.counted, other.scaled), name
        assert (one.later is None, one.rows is None) == (other.later is None, other.rows is None)
        assert (one.start is None, one.group, one.parts) == (
            other.start is None, other.group, other.parts,
        )  # fmt: skip
        assert not np.array_equal(one.success, other.success), name


@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_outcomes_and_scores_are_expectations(task):
    policy = next(policies(task, 2))
    right, saved = sample(task, policy)
    economy = (right * saved.prod(axis=1)) if saved.shape[1] > 1 else saved[:, 0]
    np.testing.assert_allclose(task.outcome(policy), [right.mean(), economy.mean()], atol=0.005)
    value = (right * (0.6 + 0.4 * saved.mean(axis=1))).mean()
    best = task.best_policy("preference")
    rightly, leanly = sample(task, best)
    most = (rightly * (0.6 + 0.4 * leanly.mean(axis=1))).mean()
    assert task.score(policy, "preference") == pytest.approx(value / most, rel=0.06)


@pytest.mark.parametrize("name", KINDS)
def test_a_fresh_task_is_of_the_same_kind_with_other_numbers(name):
    task, fresh, named = (TASKS[one] for one in (name, f"fresh_{name}", f"fresh_{name}_named"))
    assert (task.group, task.parts, task.units) == (fresh.group, fresh.parts, fresh.units)
    assert not np.array_equal(task.success, fresh.success)
    np.testing.assert_array_equal(task.success == 0.0, fresh.success == 0.0)
    np.testing.assert_array_equal(task.cost.argmin(axis=-2), fresh.cost.argmin(axis=-2))
    assert not np.array_equal(task.cost, fresh.cost)
    assert (fresh.saved >= 0.0).all()
    np.testing.assert_array_equal(fresh.success, named.success)
    np.testing.assert_array_equal(fresh.cost, named.cost)
    assert (fresh.named, named.named) == (False, True)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("task", ALL, ids=lambda task: task.name)
def test_nothing_is_worth_more_than_the_best(task, measure):
    for step in (0, CHANGE + 1):
        assert task.score(task.best_policy(measure, step), measure, step) == pytest.approx(1.0)
        for policy in policies(task, 30):
            assert 0.0 <= task.score(policy, measure, step) <= 1.0 + 1e-12


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "name", ["trade_off", "aliased", "four_objectives", "negligible", "hundredfold"]
)
def test_the_best_is_that_of_all_policies_without_chance(name, measure):
    task = TASKS[name]
    rows, ways = int(task.policy_rows.max()) + 1, task.ways
    scores = [
        task.score(np.eye(ways)[list(choice)], measure)
        for choice in itertools.product(range(ways), repeat=rows)
    ]
    assert max(scores) == pytest.approx(1.0)


def test_a_task_that_changes_has_another_best_afterwards():
    task = TASKS["drift"]
    before, after = (task.best_policy("preference", step) for step in (CHANGE, CHANGE + 1))
    assert not np.array_equal(before, after)
    assert task.score(before, "preference", CHANGE + 1) < 0.9


def test_costs_have_the_stated_mean():
    rng, calls = np.random.default_rng(0), np.full((400_000, 1), 2.0)
    for noise, sigma in (("none", 0.0), ("normal", 0.3), ("lognormal", 1.0)):
        drawn = Unit(90.0, 400.0, noise, sigma).draw(calls, rng)
        assert drawn.mean() == pytest.approx(890.0, rel=0.01)
        assert (drawn.std() == 0.0) == (noise == "none")
    assert Unit(0.0, 1.0, "normal", 1.0).draw(np.zeros((100, 1)), rng).min() == 0.0
    each = Unit(slope=(1.0, 200.0)).draw(np.array([[0.5, 0.25]]), rng)
    assert each.tolist() == [[0.5, 50.0]]


def test_training_is_reproducible_from_its_seed():
    one, same, other = (
        train_tabular(TASKS["tune_any_unit"], METHODS["recommended"], seed=seed, steps=20)
        for seed in (5, 5, 6)
    )
    assert one == same != other


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_on_every_kind_of_task(method):
    names = ["lucky", "any_unit", "offset", "concave", "aliased", "graded", "hundredfold"]
    if method == "otc_grpo":
        with pytest.raises(ValueError, match="goes by the fewest calls, and tune_offset is paid"):
            train_tabular(TASKS["tune_offset"], METHODS[method], seed=1, steps=4)
        names = ["lucky"]
    for name in names:
        rows = train_tabular(TASKS[f"tune_{name}"], METHODS[method], seed=1, steps=4)
        assert all(np.isfinite(list(row.values())).all() for row in rows)


@pytest.mark.parametrize(
    ("name", "way", "share"),
    [("cheap_start", 0, 0.93), ("guessing_start", 0, 0.85), ("zero_start", 0, 0.99),
     ("dear_start", 5, 0.93)],
)  # fmt: skip
def test_a_start_answers_its_way(name, way, share):
    runs = [new_run(TASKS[name], "recommended", seed=seed) for seed in range(50)]
    shares = [run.policy()[:, way].mean() for run in runs]
    assert np.mean(shares) == pytest.approx(share, abs=0.02)


def test_an_answer_of_several_parts_can_be_right_in_part():
    run, seen = new_run(TASKS["graded"], "grpo", steps=3), set()
    draw = run.rewards.draw

    def keep(chosen, right, step, rng):
        seen.update(right.ravel().tolist())
        return draw(chosen, right, step, rng)

    run.rewards.draw = keep
    run.step(1)
    assert seen == {0.0, 0.25, 0.5, 0.75, 1.0}


@pytest.mark.parametrize("size", [4, 16])
def test_groups_are_as_large_as_the_task_says(size):
    run = new_run(TASKS[f"groups_of_{size}"], "grpo")
    assert run.answer(run.policy()[:, None], 1).shape == (5, 4, size, 6)


def test_the_recommended_recipe_trains_with_its_own_weights():
    spelt = METHODS["rloo"] | {"paretopo.gate": "success", "paretopo.economies": "least"}
    spelt |= {"objectives.calls.economy": "saving", "objectives.correct.weight": 0.5}
    spelt |= {"objectives.calls.weight": 0.5}
    task = TASKS["tune_four_objectives"]
    given, own = (
        train_tabular(task, one, seed=3, steps=30) for one in (spelt, {"recipe": "recommended"})
    )
    assert given == own


def test_named_kinds_have_a_price_each():
    ends = [
        train_tabular(TASKS[f"tune_own_price{named}"], {}, seed=0, steps=400)[-1]["hypervolume"]
        for named in ("", "_named")
    ]
    assert ends[1] > ends[0] + 0.05


@pytest.mark.parametrize("name", ["tune_cheap_start", "tune_guessing_start", "tune_dear_start"])
def test_recommended_recipe_learns_from_cheap_guessing_and_dear_starts(name):
    """With the initial cost as reference, an agent with cheap starts unlearned being right."""
    rows = train_tabular(TASKS[name], METHODS["recommended"], seed=0, steps=300)
    assert rows[-1]["accuracy"] > 0.64
    assert rows[-1]["hypervolume"] > 0.7
