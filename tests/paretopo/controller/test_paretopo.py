from __future__ import annotations

import json

import numpy as np
import pytest

from paretopo.config import ParetoPOConfig, from_table
from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.two_stages import ParetoPO

MIXED = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 1.0], [0.0, 0.2]]])


RANKS = {"stage2_estimator": "pareto"}  # stage 2 as the paper has it
EPOCH = ParetoPOConfig(stage1_steps="epoch", **RANKS)


def controller(**switches) -> ParetoPO:
    return ParetoPO(ParetoPOConfig(**RANKS | {"stage1_steps": 2} | switches))


def test_without_a_gate_unknown_units_never_favour_the_worst_rollouts():
    table = {"objectives": [{"name": "a"}, {"name": "b"}], "paretopo": {"gate": "none"}}
    config = from_table(table, any_unit=True).paretopo
    rewards = np.array(
        [[[0, 0]] * 5 + [[1, 0]] * 2 + [[0, 1]], [[0, 0]] * 3 + [[1, 0]] * 3 + [[0, 1]] * 2]
    )
    found = ParetoPO(config).step(rewards).advantages
    worst = (rewards == 0).all(axis=-1)
    assert (found[worst] < 0.0).all()
    assert (found[~worst] > 0.0).all()


# ---- stages -----------------------------------------------------------------------------------


def test_an_epoch_needs_its_length():
    config = ParetoPOConfig(stage1_steps="epoch")
    assert config.stage1_steps == "epoch"
    assert ParetoPO(config, steps_per_epoch=7).stage1_steps == 7
    for steps in (None, 0):
        with pytest.raises(ValueError, match=r"needs steps_per_epoch.*got"):
            ParetoPO(config, steps_per_epoch=steps)


# ---- gate and filter --------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 6000.0])  # zeros of padding above or below all rewards
def test_masked_rollouts_are_no_floor(shift):
    rewards = np.array([[[1.0, -80.0], [0.0, -10.0], [0.0, -5000.0]]])
    rewards[..., 1] += shift
    mask = np.array([[True, True, False]])
    method = controller(floors=("worst",), stage1_steps=0)
    whole, part = method.step(rewards, mask=mask), method.step(rewards[:, :2])
    np.testing.assert_array_equal(whole.advantages[:, :2], part.advantages)
    np.testing.assert_array_equal(whole.gated[:, :2], part.gated)
    assert not method.step(rewards, mask=np.zeros((1, 3), bool)).advantages.any()


ALL_SOLVED = [(1.0, 1.0), (1.0, 0.5)]
ALL_FAILED = [(0.0, 1.0), (0.0, 0.5)]
ALL_SAME = [(1.0, 1.0), (1.0, 1.0)]
BOTH = [(1.0, 1.0), (0.0, 0.5)]


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ({"group_filter": "vector", "gate": "success"}, [True, False, False, True]),
        ({"group_filter": "vector", "gate": "none"}, [True, True, False, True]),
        ({"group_filter": "accuracy", "gate": "none"}, [False, False, False, True]),
        ({"group_filter": "accuracy", "gate": "success"}, [False, False, False, True]),
        ({"group_filter": "off", "gate": "none"}, [True, True, True, True]),
    ],
)
def test_which_groups_teach(switches, expected):
    rewards = np.array([ALL_SOLVED, ALL_FAILED, ALL_SAME, BOTH])
    method = controller(stage1_steps=0, centre="none", **switches)
    assert method.gate_groups(rewards).informative.tolist() == expected
    assert method.steps_taken == 0
    taught = (method.step(rewards).advantages != 0).all(axis=1)
    assert taught.tolist() == expected


def test_stage_1_can_finish_early_and_stays_finished():
    controller = ParetoPO(EPOCH, steps_per_epoch=5)
    controller.step(np.ones((1, 2, 2)))
    controller.finish_stage1()
    again = ParetoPO(EPOCH, steps_per_epoch=5)
    again.load_state_dict(controller.state_dict())
    for one in (controller, again):
        one.step(np.ones((1, 2, 2)))
        assert one.stage == 2
    longer = ParetoPO(EPOCH, steps_per_epoch=6).state_dict()
    with pytest.raises(ValueError, match="stage1_steps = 6, this one 1"):
        again.load_state_dict(longer)


def test_masked_rollouts_neither_teach_nor_learn():
    rewards = np.array([[*ALL_SAME, (np.nan, 3.0)], [*ALL_SOLVED, (np.inf, np.nan)]])
    mask = np.array([[True, True, False]] * 2)
    method = controller(stage1_steps=0)
    assert method.gate_groups(rewards, mask=mask).informative.tolist() == [False, True]
    advantages = method.step(rewards, mask=mask).advantages
    np.testing.assert_allclose(advantages, [[0, 0, 0], [0.5, -0.5, 0]])
    assert method.gate_groups(rewards, mask=np.zeros((2, 3), bool)).informative.tolist() == [
        False,
        False,
    ]


def test_rank_histogram_counts_rollouts_after_the_gate():
    assert controller().step(MIXED).rank_histogram == [1, 1, 2]
    assert controller(gate="none").step(MIXED).rank_histogram == [1, 2, 1]
    mask = np.array([[True, False, False, True]])
    assert controller().step(MIXED, mask=mask).rank_histogram == [1, 1]


# ---- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(4, 2), (1, 4, 3), (2,), (1, 1, 4, 2)])
def test_wrong_shapes_are_named(shape):
    with pytest.raises(ValueError, match=r"\(groups, points, objectives\) with 2 objectives"):
        controller().step(np.zeros(shape))


IDLE = {
    "no rollout is above 0 in the gate 'right' (right 0 to 0, cost -9 to -9)": (
        {},
        [[[0.0, -9.0], [0.0, -1.0]]],  # the gate lowers both costs to the worst
    ),
    "the rewards that teach are equal within every group (right 1 to 1, cost -2 to -2)": (
        {},
        [[[1.0, -2.0], [1.0, -2.0]]],
    ),
    "no group has two rollouts to compare": ({}, [[[1.0, -2.0]], [[1.0, -1.0]]]),
    'paretopo.group_filter = "accuracy" drops every group (right 1 to 1, cost -2 to -1)': (
        {"group_filter": "accuracy"},
        [[[1.0, -2.0], [1.0, -1.0]]],
    ),
    "the estimator 'hypervolume' gives the different rewards of a group one value (right 0 to 1": (
        {"stage2_estimator": "hypervolume"},
        [[[1.0, -900.0], [1.0, -100.0], [0.0, -5000.0]]],
    ),
}


@pytest.mark.parametrize("reason", IDLE)
def test_steps_without_any_advantage_are_named_once_and_explained_after_20(reason, caplog):
    switches, rewards = IDLE[reason]
    config = ParetoPOConfig(**{"stage2_estimator": "gd2po"} | switches)
    state = ParetoPO(config, names=("right", "cost")).state_dict()
    for step in range(1, 25):
        method = ParetoPO(config, names=("right", "cost"))
        method.load_state_dict(json.loads(json.dumps(state)))
        assert not method.step(rewards).advantages.any()
        state = method.state_dict()
        said = [one.message for one in caplog.records if "every advantage" in one.message]
        assert len(said) == 1 + (step >= 20)
    assert said[0].startswith("every advantage of step 1 is 0")
    assert said[1].startswith(f"every advantage of the 20 steps up to step 20 is 0: {reason}")


def test_steps_with_advantages_are_not_idle(caplog):
    method = controller(stage1_steps=0)
    method.watch.updates = 2  # of the trainer for each of our steps
    for _ in range(10):
        method.step([[[1.0, 1.0], [1.0, 0.0]]])
        method.step([[[1.0, 1.0], [1.0, 1.0]]])
    method.watch.speaks = False
    for _ in range(30):
        method.step([[[1.0, 1.0], [1.0, 1.0]]])
    [said] = [one.message for one in caplog.records if "every advantage" in one.message]
    assert said.startswith("every advantage of step 3 is 0")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([[0.5, -0.5]], "not negative, got -0.5 for 'objective 1' in the group of prompt 0"),
        ([[np.nan, 0.5]], "must be finite .*, got nan for 'objective 0'"),
        ([[0.5, 0.5]] * 2, r"each of the 1 groups .* got shape \(2, 2\)"),
    ],
)
def test_broken_weights_of_a_group_are_named(weights, message):
    method = controller()
    with pytest.raises(ValueError, match=message):
        method.step([[[1.0, 1.0], [0.0, 0.0]]], weights=weights)
    assert method.steps_taken == 0


def test_a_wrong_mask_is_named():
    with pytest.raises(ValueError, match=r"mask must be bool of shape \(1, 4\), got int64 \(1, 4"):
        controller().step(MIXED, mask=np.ones((1, 4), np.int64))


# ---- state ------------------------------------------------------------------------------------


def drive(method: ParetoPO, rng: np.random.Generator, steps: int) -> list[object]:
    seen: list[object] = []
    for _ in range(steps):
        rewards = np.stack([rng.integers(0, 2, (3, 6)), rng.random((3, 6))], axis=-1)
        seen.append(method.step(rewards).advantages.tolist())
        seen.append(method.observe(rng.random(2)))
        seen.append((method.steps_taken, method.stage, method.multiplier))
    return seen


def test_a_state_is_a_snapshot():
    method = controller()
    drive(method, np.random.default_rng(0), 2)
    state = method.state_dict()
    kept = json.dumps(state)
    drive(method, np.random.default_rng(1), 2)
    assert json.dumps(state) == kept
    method.load_state_dict(state)
    assert json.dumps(method.state_dict()) == kept


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ({"stage1_steps": 3}, r"the saved controller has stage1_steps = 2, this one 3"),
        ({"weights": (0.5, 0.25, 0.25)}, r"has objectives = 2, this one 3: resume with"),
    ],
)
def test_a_state_of_another_run_is_refused(switches, message):
    state = controller().state_dict()
    with pytest.raises(ValueError, match=message):
        controller(**switches).load_state_dict(state)


@pytest.mark.parametrize("group_filter", ["vector", "accuracy", "off"])
@pytest.mark.parametrize("shape", [(2, 0, 2), (0, 3, 2)])
def test_groups_without_rollouts_have_no_advantages(group_filter, shape):
    method = controller(group_filter=group_filter)
    assert method.step(np.zeros(shape)).advantages.shape == shape[:2]
    assert method.gate_groups(np.zeros(shape)).informative.tolist() == [False] * shape[0]
    assert method.step(np.zeros(shape)).rank_histogram == []


@pytest.mark.parametrize("size", [1e308, 1e200])  # sums overflow, squares overflow
def test_sums_that_overflow_are_refused_and_do_not_count(size):
    method = controller(stage1_estimator="grpo", stage1_steps=1)
    rewards = [[[size, size], [size, size], [-size, 1.0]]]
    with pytest.raises(ValueError, match=r"too large for the estimator 'grpo'.* of 1e\+"):
        method.step(rewards)
    assert method.steps_taken == 0
    assert np.isfinite(
        controller(stage1_steps=0).step(rewards).advantages
    ).all()  # ranks do not mind


# ---- the schedule of HV@k -----------------------------------------------------------------------


def ks(steps, **switches):
    method = ParetoPO(ParetoPOConfig(**switches), steps=steps)
    method.observe([0.5, 0.5])
    seen = []
    for _ in range(steps):
        seen.append(method.k)
        method.step(np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 0.2], [0.0, 0.0]]]))
    return seen


def test_k_falls_in_equal_parts_of_its_stage():
    hypervolume = {"stage2_estimator": "hypervolume", "k": (4, 2, 1)}
    assert ks(6, stage1_steps=0, **hypervolume) == [4, 4, 2, 2, 1, 1]
    assert ks(8, stage1_steps=2, **hypervolume) == [4, 4, 4, 4, 2, 2, 1, 1]
    both = {"stage1_estimator": "hypervolume_gd2po", **hypervolume}
    assert ks(6, stage1_steps=3, **both) == [4, 4, 2, 2, 1, 1]
    first = {"stage1_estimator": "hypervolume", "k": (2, 1), **RANKS}
    assert ks(6, stage1_steps=4, **first)[:4] == [2, 2, 1, 1]
    assert ks(4, stage1_steps="all", **first) == [2, 2, 1, 1]


def test_the_k_of_a_step_reaches_the_estimator():
    method = ParetoPO(
        ParetoPOConfig(
            weights=(0.6, 0.4),
            stage1_steps=0,
            stage2_estimator="hypervolume",
            centre="exact",
            k=(3, 1),
        ),
        steps=2,
    )
    group = np.array([[[1.0, 1.0], [1.0, 0.5], [1.0, 0.2], [0.0, 0.0]]])
    for k in (3, 1):
        wanted = ESTIMATORS["hypervolume"](group, (0.6, 0.4), k=k)
        np.testing.assert_array_equal(method.step(group).advantages, wanted)


def test_a_schedule_needs_the_number_of_steps():
    with pytest.raises(ValueError, match=r"k = \[4, 1\] needs steps, .* got None"):
        ParetoPO(ParetoPOConfig(stage1_steps=0, stage2_estimator="hypervolume", k=(4, 1)))
    ParetoPO(ParetoPOConfig(stage1_steps=0, stage2_estimator="hypervolume", k=2))


def test_all_is_the_whole_run():
    method = ParetoPO(ParetoPOConfig(stage1_steps="all"))
    for _ in range(3):
        method.step(np.zeros((1, 2, 2)))
    assert method.stage == 1
    state = json.loads(json.dumps(method.state_dict()))
    ParetoPO(ParetoPOConfig(stage1_steps="all")).load_state_dict(state)


def test_least_economy_takes_the_preference_of_each_group():
    rewards = np.repeat([[[1.0, 0.9, 0.2], [1.0, 0.5, 0.5], [0.0, 1.0, 1.0]]], 2, axis=0)
    given = [[0.5, 0.4, 0.1], [1.0, 0.0, 0.0]]
    config = ParetoPOConfig(weights=(0.5, 0.4, 0.1), preference="given")
    advantages = ParetoPO(config).step(rewards, weights=given).advantages
    np.testing.assert_allclose(advantages[1], [0.5, 0.5, -1.0])
    assert advantages[0][1] > advantages[0][0]
