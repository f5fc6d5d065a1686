"""The audit of advantages: the estimator, planted faults, the records of trainers, the command."""

from __future__ import annotations

import json

import numpy as np
import pytest
from support.pages import read_data
from support.vectors import list_cases

from paretopo.cli import main
from paretopo.controller.estimators import ESTIMATORS
from paretopo.records.schema import DataError
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


def test_a_group_that_a_filter_dropped_takes_no_part_in_the_whitening(tmp_path):
    rewards = make_rewards()
    kept = np.delete(rewards, 5, axis=0)
    advantages = np.insert(ESTIMATORS["gdpo"](kept, WEIGHTS), 5, 0.0, axis=0)
    match = find_match(read_dump([plant(tmp_path, rewards, advantages)]), WEIGHTS)
    assert (match.name, match.weights, match.fitted) == ("gdpo", tuple(WEIGHTS), False)
    assert match.agrees.sum() == GROUPS - 1


def test_unknown_advantages_follow_nothing(tmp_path):
    dump = read_dump(
        [plant(tmp_path, make_rewards(), np.random.default_rng(1).normal(size=(24, 8)))]
    )
    assert not find_match(dump).follows


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


def plant_nothing(folder):
    rewards = make_rewards()
    return plant(folder, rewards, standardise(rewards @ WEIGHTS))


def plant_small_weight(folder):
    rewards = make_rewards()
    return plant(folder, rewards, standardise(rewards @ [0.98, 0.02]))


def plant_bfloat16(folder):
    rewards = make_rewards()
    advantages = standardise(rewards @ WEIGHTS)
    step = 2.0 ** (np.floor(np.log2(np.abs(advantages))) - 7)
    return plant(folder, rewards, np.round(advantages / step) * step)


def plant_nan(folder):
    rewards = make_rewards()
    advantages = standardise(rewards @ WEIGHTS)
    rewards[5, 2, 1], advantages[5] = np.nan, np.nan
    return plant(folder, rewards, advantages)


def plant_missing_as_zero(folder):
    rewards = make_rewards()
    rewards[5, 2, 1] = np.nan
    return plant(folder, rewards, standardise(np.nan_to_num(rewards) @ WEIGHTS))


def plant_dead_reward(folder):
    rewards = make_rewards()
    return plant(folder, rewards, standardise(rewards @ [1.0, 0.0]))


def plant_dead_reward_of_unknown_estimator(folder):
    rewards = make_rewards(two_levels=True)
    return plant(folder, rewards, np.where(rewards[..., 0] > 0.0, 0.3, -0.2))


def plant_still_reward(folder):
    rewards = make_rewards()
    rewards[..., 1] = np.arange(GROUPS)[:, None] / GROUPS
    return plant(folder, rewards, standardise(rewards @ WEIGHTS))


def plant_scale(folder):
    rewards = make_rewards() * [1.0, 1000.0]
    return plant(folder, rewards, standardise(rewards @ [0.5, 0.5]))


def plant_tied_sums(folder):
    rewards = make_rewards()
    rewards[5] = [[1.0, 0.0], [0.0, 1.0]] * 4
    return plant(folder, rewards, standardise(rewards @ [0.5, 0.5]))


def plant_filtered_group(folder):
    rewards = make_rewards()
    advantages = standardise(rewards @ WEIGHTS)
    advantages[5] = 0.0
    return plant(folder, rewards, advantages)


def plant_rounding_among_others(folder):
    """Leave one out: the deviation of seven equal values is rounding."""
    rewards = make_rewards()
    rewards[5, :, 0], rewards[5, :, 1] = 1.0, 0.5
    rewards[5, 4] = 0.0
    advantages = standardise(rewards @ WEIGHTS)
    advantages[5, 4] = -4000.0
    return plant(folder, rewards, advantages)


def plant_noise(folder):
    rewards = make_rewards()
    rewards[5] = [0.7, 0.1]
    advantages = standardise(rewards @ WEIGHTS)
    advantages[5] = [1.0, -1.0] * 4
    return plant(folder, rewards, advantages)


def plant_single(folder):
    rows = [
        {"prompt": f"q{max(at - 1, 0) // 4}b" if at else "q", "correct": right, "advantage": one}
        for at, (right, one) in enumerate([(1.0, 1.0), *[(1.0, 0.5), (0.0, -0.5)] * 8])
    ]
    return write(folder / "dump.jsonl", rows)


def plant_wrong_rollout(folder):
    rewards = make_rewards()
    advantages = standardise(rewards @ WEIGHTS)
    order = np.lexsort([rewards[5, :, 1], rewards[5, :, 0]])
    advantages[5, order[[0, -1]]] = advantages[5, order[[-1, 0]]]
    return plant(folder, rewards, advantages)


def plant_nan_of_a_batch(folder):
    return plant(folder, make_rewards(), np.full((GROUPS, POINTS), np.nan))


def plant_length(folder):
    rewards = make_rewards(two_levels=True)
    lengths = np.random.default_rng(5).integers(50, 900, (GROUPS, POINTS))
    return plant(folder, rewards, standardise(rewards @ WEIGHTS) - lengths / 2000, lengths)


def plant_order(folder):
    rewards = make_rewards(two_levels=True)
    seen = np.cumsum(rewards @ WEIGHTS, axis=1) / np.arange(1, POINTS + 1)
    return plant(folder, rewards, rewards @ WEIGHTS - seen)


def plant_first_as_baseline(folder):
    rewards = make_rewards()
    total = rewards @ WEIGHTS
    return plant(folder, rewards, total - total[:, :1])


def plant_another_baseline_in_a_group(folder):
    total = make_rewards() @ WEIGHTS
    advantages = total - total.mean(axis=1, keepdims=True)
    advantages[5] = total[5] - total[5, 0]
    return plant(folder, make_rewards(), advantages)


def plant_blocks(folder):
    rewards, order = make_rewards(), np.arange(GROUPS * POINTS).reshape(GROUPS, -1).T.ravel()
    advantages = np.empty(GROUPS * POINTS)
    total = (rewards @ WEIGHTS).ravel()[order].reshape(-1, POINTS)
    advantages[order] = standardise(total).ravel()
    return plant(folder, rewards, advantages.reshape(GROUPS, POINTS), order=order)


PLANTED = {
    plant_nothing: (),
    plant_small_weight: (),
    plant_bfloat16: (),
    plant_nan: (("NaN", "q5"),),
    plant_missing_as_zero: (("missing reward counts as 0", "q5"),),
    plant_dead_reward: (("dead reward", "q0"),),
    plant_dead_reward_of_unknown_estimator: (("dead reward", "q0"),),
    plant_still_reward: (("reward without differences", ""),),
    plant_scale: (("scale taken by another reward", "q0"),),
    plant_tied_sums: (("group without advantages", "q5"),),
    plant_filtered_group: (("group without advantages", "q5"),),
    plant_rounding_among_others: (("advantage beyond sqrt(n - 1)", "q5"),),
    plant_noise: (
        ("advantage without a difference", "q5"),
        ("depends on the order of the rows", "q5"),
    ),
    plant_single: (("advantage of a single rollout", "q"),),
    plant_wrong_rollout: (("better rollout gets less", "q5"),),
    plant_nan_of_a_batch: (("NaN", "q0"),),
    plant_length: (("depends on the rollout's own length", "q0"),),
    plant_order: (
        ("better rollout gets less", "q7"),
        ("depends on the order of the rows", "q0"),
    ),
    plant_first_as_baseline: (("only the first rollout is the baseline", "q0"),),
    plant_another_baseline_in_a_group: (("other advantages", "q5"),),
    plant_blocks: (("consecutive rows as groups", "q0"),),
}


@pytest.mark.parametrize("planted", PLANTED, ids=lambda one: one.__name__)
def test_a_planted_fault_is_found_and_no_other(planted, tmp_path):
    dump = read_dump([planted(tmp_path)])
    match = find_match(dump)
    found = find_faults(dump, match)
    assert PLANTED[planted] or match.follows
    assert tuple((one.name, one.group) for one in found) == PLANTED[planted]


# ---- records of trainers -------------------------------------------------------------------------

RIGHT, BRIEF, ADVANTAGES = (1.0, 0.0, 1.0, 1.0), (0.9, 0.5, 0.1, 0.3), (0.55, -0.57, -0.05, 0.07)


def of_trl(folder):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"step": [3] * 4, "prompt": ["q"] * 4, "completion": list("abcd")}
    columns |= {"correct": RIGHT, "brief": BRIEF, "advantage": ADVANTAGES}
    parquet.write_table(pyarrow.table(columns), folder / "completions_00003.parquet")
    return folder / "completions_00003.parquet"


def of_verl(folder):
    rows = [
        {"input": "q", "output": "a", "gts": "2", "score": 7.0, "step": 3, "correct": r, "brief": b}
        for r, b in zip(RIGHT, BRIEF, strict=True)
    ]
    return write(folder / "3.jsonl", rows)


def of_nemo_rl(folder):
    rows = [
        {"content": ["q", "a"], "rewards": [right], "input_lengths": [3], "idx": at}
        | {"advantages": [[0.0, one, one]], "token_loss_mask": [[0, 1, 1]]}
        for at, (right, one) in enumerate(zip(RIGHT, ADVANTAGES, strict=True))
    ]
    return write(folder / "train_data_step3.jsonl", rows)


def of_prime_rl(folder):
    rows = [
        {
            "env": {"id": "math"},
            "task": {"key": "q"},
            "traces": [
                {
                    "agent": {"config": {"model": "m"}},
                    "task": {"key": "q"},
                    "rewards": {"correct": {"score": r, "weight": 1}, "brief": {"score": b}},
                    "info": {"advantage": a},
                }
            ],
        }
        for r, b, a in zip(RIGHT, BRIEF, ADVANTAGES, strict=True)
    ]
    return write(folder / "traces.jsonl", rows)


def of_paretopo(folder):
    rollouts = [
        {"reward_components": {}, "rewards": [r, 9.0], "gated": [r, b], "advantage": a}
        for r, b, a in zip(RIGHT, BRIEF, ADVANTAGES, strict=True)
    ]
    row = {"id": "q", "step": 3, "kind": "", "held_out": False, "rollouts": rollouts}
    held_out = row | {"held_out": True, "rollouts": [rollouts[0] | {"advantage": None}]}
    return write(folder / "trajectories.jsonl", [row, held_out])


def of_csv(folder):
    rows = zip(RIGHT, BRIEF, ADVANTAGES, strict=True)
    lines = ["group,correct,brief,advantage", *(f"q,{bool(r)},{b},{a}" for r, b, a in rows)]
    (folder / "dump.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder / "dump.csv"


@pytest.mark.parametrize(
    ("write_records", "trainer", "names", "label"),
    [
        (of_trl, "TRL", NAMES, "q"),
        (of_verl, "verl", NAMES, "q"),
        (of_nemo_rl, "NeMo-RL", ("rewards",), "1"),
        (of_prime_rl, "prime-rl", NAMES, "math/q"),
        (of_paretopo, "paretopo", ("0", "1"), "q"),
        (of_csv, "", NAMES, "q"),
    ],
)
def test_records_are_read_as_the_trainer_writes_them(
    write_records, trainer, names, label, tmp_path
):
    size = {"group_size": 4} if trainer == "NeMo-RL" else {}
    dump = read_dump([write_records(tmp_path)], **size)
    assert (dump.trainer, dump.names, dump.labels) == (trainer, names, (label,))
    np.testing.assert_array_equal(dump.rewards, np.stack([RIGHT, BRIEF], -1)[:, : len(names)])
    if trainer == "verl":  # which writes no advantages
        assert dump.advantages is None
        assert find_match(dump) is None
    else:
        np.testing.assert_array_equal(dump.advantages, ADVANTAGES)


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
    dump = str(plant_filtered_group(tmp_path))
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
    page = read_data((tmp_path / "report" / "audit.html").read_text(encoding="utf-8"))
    [items] = [part["items"] for part in page["parts"] if "items" in part]
    assert [name for name, _ in items] == [one["name"] for one in plain["faults"]]


def test_weights_that_do_not_fit_are_refused(tmp_path, capsys):
    dump = str(plant_nothing(tmp_path))
    assert main(["audit", dump, "--weights", "1,2,3"]) == 2
    assert "a number for each reward, correct, brief, got 3" in capsys.readouterr().err
