"""The audit of advantages: the estimator, planted faults, the records of trainers, the command."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from support import made_data
from support.pages import read
from support.vectors import list_cases

import paretopo_core as pp
from paretopo.cli import main
from paretopo.controller.estimators import ESTIMATORS
from paretopo.records.schema import DataError
from paretopo_lab.audit.describe import summarise
from paretopo_lab.audit.faults import find_faults
from paretopo_lab.audit.match import RULES, find_match
from paretopo_lab.audit.read import read_dump

GROUPS, POINTS = 24, 8
WEIGHTS = np.array([0.6, 0.4])
NAMES = ("correct", "brief")
# With the settings that the audit tries.
CASES = [
    one
    for one in list_cases()
    if one["name"].endswith(": three")
    and one["estimator"] in {*ESTIMATORS, *(rule.name for rule in RULES), "pass_at_k"}
    and (one["estimator"] == "grpo" or "(" not in one["name"] or "pass_at_k (k 2)" in one["name"])
    and one["name"] != "pass_at_k: three"  # which is rloo
]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


# ---- the estimator -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_advantages_of_the_vectors_are_recognised(case, tmp_path):
    rows = [
        {"group": group, "advantage": advantage}
        | {f"reward/{at}": one for at, one in enumerate(vector)}
        for group, vector, advantage in zip(
            case["groups"], case["rewards"], case["advantages"], strict=True
        )
    ]
    dump = read_dump([write(tmp_path / "dump.jsonl", rows)])
    match = find_match(dump, case["weights"])
    assert match.follows
    assert match.error < 1e-9
    assert case["estimator"] in (match.name, *match.alike)
    if case["estimator"] in ("grpo", "gdpo", "dvao"):
        assert match.settings.items() >= case["settings"].items()
        fitted = find_match(dump)
        assert (fitted.name, fitted.settings) == (match.name, match.settings)
        shares = np.array(fitted.weights) / sum(fitted.weights)
        np.testing.assert_allclose(shares, case["weights"], atol=1e-6)


@pytest.mark.parametrize("weights", [(1.0, 0.5), (2.0, 1.0), (0.7, 0.2), (1.2, 0.35)])
def test_the_estimator_with_round_weights_is_named(weights, tmp_path):
    rewards = make_rewards()
    dump = read_dump([plant(tmp_path, rewards, ESTIMATORS["rloo"](rewards, np.array(weights)))])
    match = find_match(dump)
    assert match.name == "rloo"
    np.testing.assert_allclose(match.weights, weights)
    assert "dr_grpo" in match.alike


def test_a_group_that_a_filter_dropped_takes_no_part_in_the_whitening(tmp_path):
    rewards = make_rewards()
    kept = np.delete(rewards, 5, axis=0)
    advantages = np.insert(ESTIMATORS["gdpo"](kept, WEIGHTS), 5, 0.0, axis=0)
    match = find_match(read_dump([plant(tmp_path, rewards, advantages)]), WEIGHTS)
    assert (match.name, match.weights, match.fitted) == ("gdpo", tuple(WEIGHTS), False)
    assert match.agrees.sum() == GROUPS - 1


def test_weights_that_do_not_fit_are_overruled_with_a_word(tmp_path):
    dump = read_dump([plant(tmp_path, REWARDS, standardise(REWARDS @ [0.7, -0.3]))])
    match = find_match(dump, [0.7, 0.3])
    assert "with fitted weights, not those of --weights, within" in summarise(dump, match)[1]
    match = find_match(dump, [0.7, -0.3])
    assert not match.overruled
    assert find_faults(dump, match) == []  # a cost, as the user says


def test_unknown_advantages_follow_nothing(tmp_path):
    dump = read_dump(
        [plant(tmp_path, make_rewards(), np.random.default_rng(1).normal(size=(24, 8)))]
    )
    assert not find_match(dump).follows


def test_the_last_step_may_have_no_differences(tmp_path):
    levels = [[1.0, 0.2], [0.0, 0.4]]
    rows = [
        {"step": step, "prompt": f"q{step}", "advantage": 0.1 * sign * (step == 0)}
        | dict(zip(NAMES, levels[0 if step else at], strict=True))
        for step in range(2)
        for at, sign in enumerate((1, -1))
    ]
    match = find_match(read_dump([write(tmp_path / "dump.jsonl", rows)]))
    assert match.informative.tolist() == [True, False]


def test_large_advantages_are_no_fault_where_none_are_standardised(tmp_path):
    rewards = make_rewards(two_levels=True)
    advantages = pp.pareto_advantage(rewards, weights=[0.9, 0.1], beta=0.5, centre="none")
    assert advantages.max() > np.sqrt(POINTS - 1)
    dump = read_dump([plant(tmp_path, rewards, advantages)])
    assert find_faults(dump, find_match(dump)) == []


# ---- planted faults ------------------------------------------------------------------------------


def make_rewards(*, two_levels=False):
    rng = np.random.default_rng(3)
    rewards = np.stack([rng.random((GROUPS, POINTS)) < 0.5, rng.random((GROUPS, POINTS))], axis=-1)
    rewards = rewards.astype(np.float64)
    if two_levels:
        rewards[..., 1] = rewards[..., 1] > 0.5
    return rewards


def standardise(total):
    off, size = total - total.mean(1, keepdims=True), total.std(1, ddof=1, keepdims=True)
    return np.where(size > 1e-12, off / (size + 1e-4), 0.0)


def plant(folder, rewards, advantages, lengths=None, order=None):
    rows = [
        {"prompt": f"q{group}", "advantage": advantages[group, point]}
        | {name: None if np.isnan(one) else one for name, one in zip(NAMES, vector, strict=True)}
        | ({} if lengths is None else {"completion_length": int(lengths[group, point])})
        for group, vectors in enumerate(rewards)
        for point, vector in enumerate(vectors)
    ]
    rows = rows if order is None else [rows[at] for at in order]
    return write(folder / "dump.jsonl", rows)


def set_group(values, own):
    """Return the values with others in group 5."""
    values = values.copy()
    values[5] = own
    return values


def missing():
    rewards = make_rewards()
    rewards[5, 2, 1] = np.nan
    return rewards


def still():
    rewards = make_rewards()
    rewards[..., 1] = np.arange(GROUPS)[:, None] / GROUPS
    return rewards


def round_to_bfloat16(advantages):
    step = 2.0 ** (np.floor(np.log2(np.abs(advantages))) - 7)
    return np.round(advantages / step) * step


def swap_best_and_worst(advantages):
    order = np.lexsort([REWARDS[5, :, 1], REWARDS[5, :, 0]])
    advantages[5, order[[0, -1]]] = advantages[5, order[[-1, 0]]]
    return advantages


def set_outlier(advantages):
    """Leave one out: the deviation of seven equal values is rounding."""
    advantages[5, 4] = -4000.0
    return advantages


def compare_blocks(order):
    advantages = np.empty(GROUPS * POINTS)
    total = (REWARDS @ WEIGHTS).ravel()[order].reshape(-1, POINTS)
    advantages[order] = standardise(total).ravel()
    return advantages.reshape(GROUPS, POINTS)


def plant_single(folder):
    rows = [
        {"prompt": f"q{max(at - 1, 0) // 4}b" if at else "q", "correct": right, "advantage": one}
        for at, (right, one) in enumerate([(1.0, 1.0), *[(1.0, 0.5), (0.0, -0.5)] * 8])
    ]
    return write(folder / "dump.jsonl", rows)


REWARDS, LEVELS = make_rewards(), make_rewards(two_levels=True)
TOTAL, EQUAL = REWARDS @ WEIGHTS, standardise(REWARDS @ WEIGHTS)
OFF = TOTAL - TOTAL.mean(axis=1, keepdims=True)
NEARLY_FLAT = set_group(REWARDS, [*[[1.0, 0.5]] * 4, [0.0, 0.0], *[[1.0, 0.5]] * 3])
TIED = set_group(REWARDS, [[1.0, 0.0], [0.0, 1.0]] * 4)
LENGTHS = np.random.default_rng(5).integers(50, 900, (GROUPS, POINTS))
MIXED = np.arange(GROUPS * POINTS).reshape(GROUPS, -1).T.ravel()
# Rewards, advantages and more of `plant`; the faults to find, each with its group.
PLANTED = {
    "nothing": ((REWARDS, EQUAL), ()),
    "small weight": ((REWARDS, standardise(REWARDS @ [0.98, 0.02])), ()),
    "bfloat16": ((REWARDS, round_to_bfloat16(EQUAL)), ()),
    "nan": ((missing(), set_group(EQUAL, np.nan)), (("NaN", "q5"),)),
    "nan of a batch": ((REWARDS, np.full((GROUPS, POINTS), np.nan)), (("NaN", "q0"),)),
    "missing as zero": (
        (missing(), standardise(np.nan_to_num(missing()) @ WEIGHTS)),
        (("missing reward counts as 0", "q5"),),
    ),
    "dead": ((REWARDS, standardise(REWARDS[..., 0])), (("dead reward", "q0"),)),
    "dead of an unknown estimator": (
        (LEVELS, np.where(LEVELS[..., 0] > 0.0, 0.3, -0.2)),
        (("dead reward", "q0"),),
    ),
    "turned sign": (
        (REWARDS, standardise(REWARDS @ [0.7, -0.3])),
        (("negative weight", "q0"),),
    ),
    "still": ((still(), standardise(still() @ WEIGHTS)), (("reward without differences", ""),)),
    "scale": (
        (REWARDS * [1.0, 1000.0], standardise(REWARDS @ [0.5, 500.0])),
        (("scale taken by another reward", "q0"),),
    ),
    "tied sums": ((TIED, standardise(TIED @ [0.5, 0.5])), (("group without advantages", "q5"),)),
    "filtered": ((REWARDS, set_group(EQUAL, 0.0)), (("group without advantages", "q5"),)),
    "rounding among others": (
        (NEARLY_FLAT, set_outlier(standardise(NEARLY_FLAT @ WEIGHTS))),
        (("advantage beyond sqrt(n - 1)", "q5"),),
    ),
    "noise": (
        (set_group(REWARDS, [0.7, 0.1]), set_group(EQUAL, [1.0, -1.0] * 4)),
        (("advantage without a difference", "q5"), ("depends on the order of the rows", "q5")),
    ),
    "single": (None, (("advantage of a single rollout", "q"),)),
    "wrong rollout": (
        (REWARDS, swap_best_and_worst(EQUAL.copy())),
        (("better rollout gets less", "q5"),),
    ),
    "length": (
        (LEVELS, standardise(LEVELS @ WEIGHTS) - LENGTHS / 2000, LENGTHS),
        (("depends on the rollout's own length", "q0"),),
    ),
    "divided by the length": (
        (LEVELS, standardise(LEVELS @ WEIGHTS) / LENGTHS, LENGTHS),
        (("better rollout gets less", "q1"), ("depends on the rollout's own length", "q0")),
    ),
    "order": (
        (
            LEVELS,
            LEVELS @ WEIGHTS - np.cumsum(LEVELS @ WEIGHTS, axis=1) / np.arange(1, POINTS + 1),
        ),
        (("better rollout gets less", "q7"), ("depends on the order of the rows", "q0")),
    ),
    "first as baseline": (
        (REWARDS, TOTAL - TOTAL[:, :1]),
        (("only the first rollout is the baseline", "q0"),),
    ),
    "another baseline in a group": (
        (REWARDS, set_group(OFF, TOTAL[5] - TOTAL[5, 0])),
        (("other advantages", "q5"),),
    ),
    "blocks": (
        (REWARDS, compare_blocks(MIXED), None, MIXED),
        (("consecutive rows as groups", "q0"),),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found_and_no_other(name, tmp_path):
    given, faults = PLANTED[name]
    dump = read_dump([plant(tmp_path, *given) if given else plant_single(tmp_path)])
    match = find_match(dump)
    assert faults or match.follows
    assert tuple((one.name, one.group) for one in find_faults(dump, match)) == faults


# ---- records of trainers -------------------------------------------------------------------------

RIGHT, BRIEF, ADVANTAGES = (1.0, 0.0, 1.0, 1.0), (0.9, 0.5, 0.1, 0.3), (0.55, -0.57, -0.05, 0.07)


def trace(right, brief, advantage):
    rewards = {"correct": {"score": right, "weight": 1}, "brief": {"score": brief}}
    agent = {"config": {"model": "m"}}
    own = {
        "agent": agent,
        "task": {"key": "q"},
        "rewards": rewards,
        "info": {"advantage": advantage},
    }
    return {"env": {"id": "math"}, "task": {"key": "q"}, "traces": [own]}


def rollout(right, brief, advantage):
    own = {"rewards": [right, 9.0], "gated": [right, brief], "advantage": advantage}
    return {"reward_components": {}, **own}


ANSWERS = list(zip(RIGHT, BRIEF, ADVANTAGES, strict=True))
GROUP = {"id": "q", "step": 3, "kind": "", "held_out": False}
TRAINERS = {
    "TRL": (
        "completions_00003.parquet",
        [
            {"step": 3, "prompt": "q", "completion": "a", "correct": r, "brief": b, "advantage": a}
            for r, b, a in ANSWERS
        ],
        NAMES,
        "q",
    ),
    "verl": (
        "3.jsonl",
        [
            {"input": "q", "output": "a", "gts": "2", "score": 7.0, "step": 3}
            | {"correct": r, "brief": b}
            for r, b, _ in ANSWERS
        ],
        NAMES,
        "q",
    ),
    "NeMo-RL": (
        "train_data_step3.jsonl",
        [
            {"content": ["q", "a"], "rewards": [r], "input_lengths": [3], "idx": at}
            | {"advantages": [[0.0, a, a]], "token_loss_mask": [[0, 1, 1]]}
            for at, (r, _, a) in enumerate(ANSWERS)
        ],
        ("rewards",),
        "1",
    ),
    "prime-rl": ("traces.jsonl", [trace(*one) for one in ANSWERS], NAMES, "math/q"),
    "paretopo": (
        "trajectories.jsonl",
        [
            {**GROUP, "rollouts": [rollout(*one) for one in ANSWERS]},
            {**GROUP, "held_out": True, "rollouts": [rollout(1.0, 0.9, None)]},
        ],
        ("0", "1"),
        "q",
    ),
    "": (
        "dump.csv",
        [{"group": "q", "correct": bool(r), "brief": b, "advantage": a} for r, b, a in ANSWERS],
        NAMES,
        "q",
    ),
}


@pytest.mark.parametrize("trainer", TRAINERS)
def test_records_are_read_as_the_trainer_writes_them(trainer, tmp_path):
    file, rows, names, label = TRAINERS[trainer]
    size = {"group_size": 4} if trainer == "NeMo-RL" else {}
    dump = read_dump([made_data.write(tmp_path / file, rows)], **size)
    assert (dump.trainer, dump.names, dump.labels) == (trainer, names, (label,))
    np.testing.assert_array_equal(dump.rewards, np.stack([RIGHT, BRIEF], -1)[:, : len(names)])
    if trainer == "verl":  # which writes no advantages
        assert dump.advantages is None
        assert find_match(dump) is None
    else:
        np.testing.assert_array_equal(dump.advantages, ADVANTAGES)


@pytest.mark.parametrize("trainer", ["TRL", "paretopo"])
def test_groups_of_a_part_of_a_batch_may_have_large_advantages(trainer, tmp_path):
    # Whitened together with groups that the records of paretopo leave out.
    noise = np.random.default_rng(3).normal(size=(GROUPS, POINTS))
    noise = set_group(standardise(noise), [5.0, -1.0] + [-0.5] * (POINTS - 2))
    dump = replace(read_dump([plant(tmp_path, REWARDS, noise)]), trainer=trainer)
    match = find_match(dump)
    assert not match.follows
    partial = trainer == "paretopo"
    assert ("run.trajectories" in summarise(dump, match)[1]) == partial
    named = {one.name for one in find_faults(dump, match)}
    assert ("advantage beyond sqrt(n - 1)" in named) != partial


def test_a_prompt_of_two_steps_is_two_groups(tmp_path):
    rows = [{"step": at // 2, "prompt": "q", "reward": at, "advantage": at} for at in range(4)]
    dump = read_dump([write(tmp_path / "dump.jsonl", rows)])
    assert dump.labels == ("q, step 0", "q, step 1")
    assert dump.groups.tolist() == dump.batches.tolist() == [0, 0, 1, 1]


ROW = {"prompt": "q", "reward": 1.0, "advantage": 0.5}


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"reward": 1.0, "advantage": 0.5}], {}, r"--group must name .*or give --group-size"),
        (
            [ROW],
            {"rewards": ["brief"]},
            r"--reward: no row has 'brief'; the first row has the columns file, prompt",
        ),
        ([ROW], {"advantage": "a"}, "--advantage: no row has 'a'"),
        ([ROW], {"group_size": 2}, "--group-size must divide the number of rows, 1, got 2"),
        ([{"prompt": "q", "advantage": 0.5}], {}, "--reward must name a reward; the first row"),
        ([ROW | {"advantage": [0.5, 0.6]}], {}, "line 1: 'advantage' must .* tokens differ"),
        ([ROW | {"advantage": "much"}], {}, "line 1: 'advantage' must be a number, got 'much'"),
    ],
)
def test_dumps_that_cannot_be_read(rows, options, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_dump([write(tmp_path / "dump.jsonl", rows)], **options)


def test_a_pickle_is_not_opened(tmp_path):
    with pytest.raises(DataError, match=r"is a pickle, as SkyRL .* can run any code: write its"):
        read_dump([tmp_path / "global_step_1_training_input.pkl"])


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_prints_and_writes_its_report(tmp_path, capsys):
    dump = str(plant(tmp_path, *PLANTED["filtered"][0]))
    assert main(["audit", dump, "--out", str(tmp_path / "report"), "--weights", "0.6,0.4"]) == 0
    text = capsys.readouterr().out
    assert "follow grpo (epsilon 0.0001, divisor n-1), with the weights below, within" in text
    assert "except in 1 of 24 groups" in text
    assert "**group without advantages** (group q5): All advantages are 0" in text
    written = (tmp_path / "report" / "audit.md").read_text(encoding="utf-8")
    assert text.endswith(written[written.index("## Faults") :])
    assert main(["audit", dump, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["estimator"]["name"] == "grpo"
    assert plain["faults"][0]["group"] == "q5"
    page = read((tmp_path / "report" / "audit.html").read_text(encoding="utf-8"))
    assert [name for _, name in page.of("b")] == [one["name"] for one in plain["faults"]]


def test_weights_that_do_not_fit_are_refused(tmp_path, capsys):
    dump = str(plant(tmp_path, REWARDS, EQUAL))
    assert main(["audit", dump, "--weights", "1,2,3"]) == 2
    assert "a number for each reward, correct, brief, got 3" in capsys.readouterr().err
