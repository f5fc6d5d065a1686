"""Limits on means and shares: the multipliers, the advantages, the records and the refusals."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from support.sessions import group, score

from paretopo.config import ConfigError, ParetoPOConfig, dumps, loads
from paretopo.config.switches import Limit
from paretopo.controller.by_group import advantages_by_group
from paretopo.controller.limits import INTEGRAL, MOST, PROPORTIONAL, VIOLATION, Multipliers
from paretopo.controller.two_stages import ParetoPO
from paretopo.records.folder import RunFolder
from paretopo.session import Session
from paretopo_lab.read.history import read_history
from paretopo_lab.training.charts import make_curves

FILE = """
[[objectives]]
name = "correct"
[[objectives]]
name = "calls"
limit = 2
"""
SHARE = FILE.replace("limit = 2", "limit = { value = 3, share = 0.9 }")


def follow(bound, means, spread=1 / 3):
    held, found = Multipliers([bound]), []
    for mean in means:
        held.update([mean], [spread * abs(bound)])
        found.append(held.values.item())
    return found


def test_a_multiplier_follows_numbers_by_hand():
    # Violations .3, .3, .9 (which counts as .4), -.006, -.3; their averages .3, .3, .5 (as .4),
    # .3735, .2388; the last two violations are lower than these. Integral .015, .03, .05, .068675.
    expected = [1.815, 1.83, 2.45, 0.068675 - 0.036, 0.0]
    assert follow(-300.0, [-330.0, -330.0, -390.0, -299.4, -270.0]) == pytest.approx(expected)


def test_a_violation_is_measured_in_standard_deviations():
    held = Multipliers([-1.0, -1000.0, -1.0, -1.0])
    # The third has no deviation, and the fourth a deviation above its limit.
    held.update([-1.01, -1003.0, -1.001, -1.1], [0.1, 30.0, 0.0, 1e6])
    assert held.units == pytest.approx([0.1, 30.0, 0.01, 1.0])
    assert held.values == pytest.approx([(INTEGRAL + PROPORTIONAL) * 0.1] * 4)


def test_the_weight_of_an_integral_survives_a_change_of_unit():
    held = Multipliers([-300.0])
    held.update([-330.0], [100.0])
    before = held.state_dict()["integral"][0] / held.units[0]
    held.update([-300.0], [20.0])
    assert held.units == pytest.approx([np.sqrt((100.0**2 + 20.0**2) / 2)])
    added = INTEGRAL * (15.0 / held.units[0]) / held.units[0]
    after = held.state_dict()["integral"][0] / held.units[0]
    assert after == pytest.approx(before + added)


def test_a_reward_to_reach_and_a_cost_to_keep_are_mirror_images():
    assert follow(0.8, [0.72, 0.4]) == pytest.approx(follow(-0.8, [-0.88, -1.2]))


def test_the_unit_of_a_cost_does_not_matter():
    dear = follow(-3e5, [-4e5, -2.5e5, -5e5])
    assert follow(-3e-5, [-4e-5, -2.5e-5, -5e-5]) == pytest.approx(dear)


def test_a_kept_limit_has_no_multiplier_and_saves_nothing_up():
    short, long = (follow(-1.0, [-0.5] * steps + [-1.1] * 20) for steps in (20, 500))
    assert long[:500] == [0.0] * 500
    assert long[-20:] == pytest.approx(short[-20:])
    assert long[-1] > 1.0


def test_a_multiplier_ends_at_its_most_and_leaves_it_at_once():
    held = Multipliers([-1.0])
    for _ in range(2200):
        held.update([-9.0], [0.3])
    assert held.values[0] == MOST
    pressure = PROPORTIONAL * VIOLATION
    assert held.state_dict()["integral"][0] == pytest.approx(MOST - pressure, abs=INTEGRAL)
    held.update([-0.5], [0.3])
    assert held.values[0] < MOST


def test_a_step_without_a_measure_changes_nothing():
    held = Multipliers([-1.0, -1.0])
    held.update([-1.5, -1.5], [0.2, 0.2])
    before = held.state_dict()
    held.update([np.nan, -1.5], [np.nan, 0.3])
    after = held.state_dict()
    assert all(before[name][0] == after[name][0] for name in before)
    assert all(before[name][1] != after[name][1] for name in ("updates", "integral", "values"))


def test_a_share_becomes_a_limit_with_its_bound():
    assert loads(SHARE).paretopo.limits == (Limit(1, -3.0, 0.9),)


def test_costs_on_one_side_of_the_bound_are_equal_under_a_limit_on_a_share():
    config = loads(SHARE).paretopo
    within, apart = [[1.0, -3.0], [1.0, -1.0]], [[1.0, -4.0], [1.0, -3.0]]
    _, state = advantages_by_group([*within, [0.0, -9.0]], "aab", config)
    assert state["limits"]["values"][0] > 0.0
    advantages, _ = advantages_by_group(within + apart, "aabb", config, state)
    assert advantages[:2].tolist() == [0.0, 0.0]
    assert advantages[2] < 0.0 < advantages[3]
    controller = ParetoPO(config)
    assert controller.gate_groups([within, apart]).informative.tolist() == [False, True]


def test_a_share_to_reach_takes_the_best_value_of_a_measure():
    text = '[[objectives]]\nname = "correct"\nlimit = { value = 1, share = 0.8 }\n'
    config = loads(text + '[[objectives]]\nname = "polite"\nlow = 0\nhigh = 1\n').paretopo
    vectors = np.array([[1.0, 0.5], [0.0, 0.5], [1.0, 0.5], [0.0, 0.5]])
    states = [
        advantages_by_group(vectors, "aaaa", one)[1]
        for one in (config, dataclasses.replace(config, limits=(Limit(0, 0.8),)))
    ]
    assert [state["limits"]["values"] for state in states] == [
        pytest.approx([(INTEGRAL + PROPORTIONAL) * VIOLATION])
    ] * 2


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_training_on_a_table_reaches_the_best_policy_within_a_share(share):
    # One kind of question. The dear way is right more often, and costs more than the bound, so the
    # best policy takes it for all questions that the share leaves.
    right, calls = np.array([0.3, 0.9]), np.array([1.0, 8.0])
    rng, logits, late = np.random.default_rng(0), np.zeros(2), []
    text = SHARE.replace("value = 3, share = 0.9", f"value = 3, share = {share}")
    controller = ParetoPO(loads(text).paretopo)
    for step in range(1500):
        policy = np.exp(logits) / np.exp(logits).sum()
        way = (rng.random((16, 8)) < policy[1]).astype(int)
        rewards = np.stack([rng.random(way.shape) < right[way], -calls[way]], axis=-1)
        advantages = controller.step(rewards.astype(float)).advantages
        steps = (advantages[..., None] * (np.eye(2)[way] - policy)).mean(axis=(0, 1))
        logits += 1.0 * steps
        late += [policy[0]] if step >= 1000 else []
    assert np.mean(late) == pytest.approx(share, abs=0.02)


def test_a_state_with_limits_is_refused_by_a_configuration_without_them():
    _, state = advantages_by_group(np.eye(2), "aa", loads(FILE).paretopo)
    with pytest.raises(ValueError, match="resume with the configuration of the run"):
        advantages_by_group(np.eye(2), "aa", ParetoPOConfig(gate="none"), state)


def run_steps(session, first, last):
    rows = []
    for step in range(first, last + 1):
        scored = [score(session, group([3, 5, step], [1, 0, 1], prompt_id=name)) for name in "ab"]
        score(session, group([9, 9, 9], [1, 1, 1], prompt_id="alike"))  # a trainer drops this one
        session.advantages(scored)
        session.record_step(step, {})
        rows.append(json.loads(json.dumps(session.state())))
    return rows


def test_curves_have_the_limit_and_its_multiplier(tmp_path):
    histories = {}
    for name, text in {"held": FILE, "free": FILE.replace("limit = 2", "")}.items():
        run = RunFolder.create(tmp_path / name, loads(text))
        session = Session(run, prompts=8, steps_per_epoch=8)
        session.observe(0, group([1, 2], [1, 0]))
        run_steps(session, 1, 3)
        session.observe(3, group([1, 1], [1, 1]))
        histories[name] = read_history(run)
    curves = {one.title: one.lines for one in make_curves(histories).curves}
    held, free = curves["multiplier of the limit on calls"]
    multipliers = [row["limits"]["calls"]["multiplier"] for row in histories["held"].steps]
    assert (held.trained.tolist(), free) == (multipliers, None)
    assert [one.bound for one in curves["calls per question, fewer is better"]] == [2.0, None]


def test_rows_of_a_share_have_it_next_to_the_mean(tmp_path):
    run = RunFolder.create(tmp_path, loads(SHARE))
    session = Session(run, prompts=8, steps_per_epoch=8)
    tracked = session.observe(0, group([3, 4], [1, 1]))
    assert tracked["paretopo/limits/calls/share"] == 0.5
    assert run.evaluations()[0]["limits"] == {"calls": {"share": 0.5}}
    run_steps(session, 1, 2)
    rows = [row["limits"]["calls"] for row in run.steps()]
    assert rows[0]["mean"] == pytest.approx((2 * 9 + 27) / 9)
    # Calls of 3, 5 and the step, twice; and 9, 9, 9.
    assert [row["share"] for row in rows] == [pytest.approx(4 / 9)] * 2
    expected = (INTEGRAL + PROPORTIONAL) * VIOLATION
    assert [row["multiplier"] for row in rows] == pytest.approx([0.0, expected])
    session.advantages([score(session, group([3, 4, 9, 9], [1, 1, 0, 0]))])
    assert session.tracked()["paretopo/limits/calls/share"] == 0.25


def test_curves_of_a_share_show_it_next_to_its_multiplier(tmp_path):
    run = RunFolder.create(tmp_path, loads(SHARE))
    session = Session(run, prompts=8, steps_per_epoch=8)
    session.observe(0, group([1, 4], [1, 0]))
    run_steps(session, 1, 3)
    session.observe(3, group([1, 1], [1, 1]))
    curves = {one.title: one for one in make_curves({"held": read_history(run)}).curves}
    [share] = curves["answers within the limit on calls (%)"].lines
    rows = [row["limits"]["calls"] for row in run.steps()]
    assert share.trained == pytest.approx([100 * row["share"] for row in rows])
    assert (share.evaluated.tolist(), share.bound) == ([50.0, 100.0], 90.0)
    [multiplier] = curves["multiplier of the limit on calls"].lines
    assert multiplier.trained.tolist() == [row["multiplier"] for row in rows]


def test_each_limit_has_a_multiplier_next_to_weights(tmp_path):
    text = """
    [[objectives]]
    name = "correct"
    weight = 3
    [[objectives]]
    name = "polite"
    weight = 1
    low = 0
    high = 1
    [[objectives]]
    name = "calls"
    limit = 2
    [[objectives]]
    name = "tokens"
    limit = 300
    """
    config = loads(text)
    assert loads(dumps(config)) == config
    assert config.paretopo.weights == (0.75, 0.25, 0.0, 0.0)
    assert config.paretopo.limits == (Limit(2, -2.0), Limit(3, -300.0))
    vectors = np.array([[1.0, 0.5, -4.0, -150.0], [0.0, 0.5, -4.0, -150.0]])
    state = None
    for _ in range(2):
        _, state = advantages_by_group(vectors, "aa", config.paretopo, state)
    multiplier = (2 * INTEGRAL + PROPORTIONAL) * VIOLATION
    assert state["limits"]["values"] == pytest.approx([multiplier, 0.0])


def test_preferences_share_the_weight_that_limits_leave(tmp_path):
    given = '[paretopo]\npreference = "given"\n[preference]\nlevels = 2\ngrid = 1\n'
    polite = '[[objectives]]\nname = "polite"\nlow = 0\nhigh = 1\n'
    run = RunFolder.create(tmp_path, loads(FILE + polite + given))
    session = Session(run, prompts=8, steps_per_epoch=8)
    texts = [one.text for one in session.preferences.all]
    assert texts == ["correct 1, polite 0", "correct 0.5, polite 0.5", "correct 0, polite 1"]
    assert session.preferences["correct 0.5, polite 0.5"].weights == (0.5, 0.0, 0.5)
    for step in (1, 2):
        rollouts = [
            type(one)("q", {**one.reward_components, "polite": 0.5}, preference=texts[1], tokens=10)
            for one in group([3, 5], [1, 1])
        ]
        [advantages] = session.advantages([score(session, rollouts)])
        session.record_step(step, {})
    assert advantages[0] > 0.0 > advantages[1]
    assert "weight" not in run.steps()[0]
    assert run.steps()[1]["limits"]["calls"]["multiplier"] > 0.0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("weight = 1", "calls.weight and limit exclude each other"),
        ('economy = "saving"', 'must be "raw" with a limit: .* got economy = "saving"'),
        ('failure = "worst"', "calls.failure must not be given .* with a limit"),
        ("high = 2", "must be above low and below high, .* and high = 2"),
        ("low = 3", "must be above low .* got limit = 2.0 and low = 3"),
        ('[paretopo]\nstage2_estimator = "gdpo"', 'use the estimator "rloo" .*r = "gdpo"'),
        ("[paretopo]\nstage1_steps = 2", 'as it is: .* stage1_estimator = "grpo"'),
        ('[paretopo]\neconomies = "least"', 'limit needs .* "each", .* got .* = "least"'),
        ('[paretopo]\ngroup_filter = "accuracy"', 'needs .* got .*group_filter = "accuracy"'),
        ('[optimiser]\nlearn_from = "answers"', 'limit needs .* got .*learn_from = "answers"'),
        ('[[objectives]]\nname = "points"', "weighed against shares, .*points needs an upper"),
        ("share = 1", "calls.share must be a number greater than 0 and less than 1, got 1"),
        ("share = 0.0", "calls.share must be a number greater than 0 and less than 1, got 0"),
        ('share = "most"', "greater than 0 and less than 1, got 'most'"),
    ],
)
def test_a_limit_refuses_keys_that_contradict_it(more, message):
    with pytest.raises(ConfigError, match=message):
        loads(FILE + more)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("{ value = 2, shares = 0.9 }", "calls.limit has no argument 'shares'; did you mean 'sha"),
        ("{ share = 0.9 }", "calls.share = 0.9 is an argument of objectives.calls.limit = 'a num"),
        ("{ value = 0, share = 0.9 }", "calls.limit must be a number greater than 0, got 0"),
        ("{ value = 2, share = 0.9 }\nhigh = 2", "calls.limit must be .* below high, .* high = 2"),
    ],
)
def test_the_table_of_a_share_is_checked(limit, message):
    with pytest.raises(ConfigError, match=message):
        loads(FILE.replace("limit = 2", f"limit = {limit}"))


def test_a_share_can_be_set_without_a_table():
    config = loads(SHARE)
    assert loads(dumps(config)) == config
    for overrides in (
        {"objectives.calls.limit": {"value": 3, "share": 0.9}},
        {"objectives.calls.limit": 3, "objectives.calls.limit.share": 0.9},
    ):
        assert loads(FILE, overrides).paretopo == config.paretopo


def test_the_controller_refuses_a_share_of_nothing():
    with pytest.raises(ConfigError, match="with shares between 0 and 1"):
        ParetoPOConfig(weights=(1.0, 0.0), limits=(Limit(1, -2.0, 1.0),))
    with pytest.raises(ConfigError, match=r'use the estimator "rloo" .* stage2_estimator = "gdpo"'):
        ParetoPOConfig(stage2_estimator="gdpo", weights=(1.0, 0.0), limits=(Limit(1, -2.0),))


def test_a_limit_for_every_objective_is_refused():
    with pytest.raises(ConfigError, match="one objective needs no limit, the one to improve"):
        loads(FILE.replace('"correct"', '"correct"\nlimit = 0.5'))


def test_a_limit_can_be_set_without_a_table():
    config = loads("", {"objectives.calls.limit": 2.0})
    assert config.paretopo == loads(FILE).paretopo


def test_the_gate_can_have_the_limit():
    config = loads(
        '[[objectives]]\nname = "correct"\nlimit = 0.8\n[[objectives]]\nname = "calls"\n'
    )
    assert config.paretopo.limits == (Limit(0, 0.8),)
    assert config.objectives[0].gate
    vectors = np.array([[1.0, 0.5], [0.0, 0.5], [0.0, 0.5], [0.0, 0.5]])
    _, state = advantages_by_group(vectors, "aaaa", config.paretopo)
    assert state["limits"]["values"] == pytest.approx([(INTEGRAL + PROPORTIONAL) * VIOLATION])
