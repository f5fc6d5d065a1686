"""Every door to the controller keeps the rules of a reward vector: a table of rules and doors.

A door is a module that makes a controller or a session. A new one fails here until it is in the
table with each rule, or has a reason.
"""

from __future__ import annotations

import ast
import importlib
import math
import sys
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy
from support.trainer_rollouts import make_experience, make_row
from support.vectors import check, is_ours, list_cases, make_config

from paretopo.config import ConfigError, ParetoPOConfig, from_table
from paretopo.controller.by_group import advantages_by_group
from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.advantages import spread
from paretopo.integrations.nemo_rl import ParetoAdvantageEstimator
from paretopo.integrations.openrlhf.rollouts import find_components
from paretopo.integrations.openrlhf.rollouts import make_rollout as make_rollout_on_openrlhf
from paretopo.integrations.trl import ControllerTrainer, ParetoGRPOTrainer, ScriptSession
from paretopo.integrations.verl.training import make_rollout
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout, Rollout
from paretopo.session import Session
from paretopo.vectors import load

ROOT = Path(__file__).parents[2]
NAMES = ("correct", "brief")
POINTS = 4
ROWS = [{"prompt": "q"}] * POINTS

# ---- the doors: each makes f(correct, brief), the advantages of four rollouts of a prompt --------


def open_function(_folder, config, _patch):
    state = None

    def step(*columns):
        nonlocal state
        vectors = [*zip(*columns, strict=True)]
        found, state = advantages_by_group(vectors, ["q"] * POINTS, config, state, names=NAMES)
        return found

    return step


def open_controller(_folder, config, _patch):
    controller = ParetoPO(config, names=NAMES)

    def step(*columns):
        vectors = [[*zip(*columns, strict=True)]]
        return controller.step(vectors, prompts=["q"]).advantages[0]

    return step


def make_session(folder, config):
    run = RunFolder.create(folder, from_table(table_of(config)))
    return Session(run, prompts=1, steps_per_epoch=1)


def table_of(config):
    switches = ("stage1_steps", "stage2_estimator", "gate", "group_filter", "centre", "economies")
    right, weight = config.weights
    brief = {"name": "brief", "high": 1.0, "weight": weight}
    if config.floors:
        brief |= {"low": 0.0, "failure": config.floors[0]}
    correct = {"name": "correct", "gate": True, "threshold": config.threshold, "weight": right}
    return {
        "paretopo": {name: getattr(config, name) for name in switches},
        "run": {"trajectories": 0},
        "objectives": [correct, brief],
    }


def open_session(
    folder, config, _patch, *, read=lambda rows, _: [Rollout("q", row) for row in rows]
):
    session = make_session(folder, config)

    def step(*columns):
        rows = [dict(zip(NAMES, values, strict=True)) for values in zip(*columns, strict=True)]
        [scored] = session.score([read(rows, session)])
        return session.advantages([scored.rollouts])[0]

    return step


def read_on_openrlhf(rows, session, *, by_name=False):
    rollouts = []
    for row in rows:
        response = {"prompt": "why?", "label": '{"id": "q"}', "action_ranges": [(1, 2)]}
        logs = row if by_name else {"reward_components": row}
        found = find_components(response, logs, session.objectives)
        rollouts.append(make_rollout_on_openrlhf(make_experience({}), found, session.objectives))
    return rollouts


def read_on_verl(rows, _session):
    return [make_rollout([make_row(row, extra_info={"id": "q"})], NAMES, 4, 0) for row in rows]


def open_openrlhf(*given):
    return open_session(*given, read=read_on_openrlhf)


def open_script_on_openrlhf(*given):
    return open_session(*given, read=partial(read_on_openrlhf, by_name=True))


def open_verl(*given):
    return open_session(*given, read=read_on_verl)


def open_trl(folder, kind=ParetoGRPOTrainer, **given):
    """Return the rewards and advantages of TRL's trainer, without its generation."""
    values = {}

    def correct(**_):
        return values["correct"]

    async def brief(**_):
        return values["brief"]

    trainer = kind(
        args=grpo_arguments(folder, num_generations=POINTS, per_device_train_batch_size=POINTS),
        reward_funcs=[correct, brief],
        train_dataset=Dataset.from_list(ROWS),
        eval_dataset=Dataset.from_list([{"prompt": "another"}]),
        **tiny_policy("a"),
        **given,
    )

    def step(*columns):
        values.update(zip(NAMES, columns, strict=True))
        trainer.model.train()
        trainer._tokens = [[1]] * POINTS, None
        trainer._calculate_rewards(ROWS, ["q"] * POINTS, ["a"] * POINTS, [[1]] * POINTS)
        return trainer.compute_advantages(POINTS)[0]

    return trainer, step


def open_trainer(folder, config, _patch):
    return open_trl(folder, ControllerTrainer, controller=ParetoPO(config))[1]


def open_script(folder, config, _patch):
    script = ScriptSession(table_of(config))
    _, step = open_trl(folder, session=script)
    script.open(30)
    return step


def open_nemo_rl(_folder, config, _patch, names=NAMES):
    estimator = ParetoAdvantageEstimator(names, config)

    def step(*columns):
        columns = [torch.tensor(one, dtype=torch.float32) for one in columns]
        batch = {f"reward/{name}": one for name, one in zip(NAMES, columns, strict=True)}
        prompts, mask = torch.zeros(POINTS, 3, dtype=torch.int64), torch.ones(POINTS, 1)
        return estimator.compute_advantage(prompts, columns[0], mask, batch)[:, 0].numpy()

    return step


def open_skyrl(_folder, config, patch, names=NAMES):
    utils = "skyrl.backends.skyrl_train.utils.ppo_utils"
    parts = utils.split(".")
    for end in range(1, len(parts) + 1):
        patch.setitem(sys.modules, ".".join(parts[:end]), ModuleType(parts[end - 1]))
    sys.modules[utils].register_advantage_estimator = lambda _: lambda function: function
    patch.delitem(sys.modules, "paretopo.integrations.skyrl", raising=False)
    hook = importlib.import_module("paretopo.integrations.skyrl")
    patch.delitem(sys.modules, "paretopo.integrations.skyrl")
    algorithm = SimpleNamespace(
        advantage_estimator="paretopo",
        use_kl_in_reward=False,
        zero_variance_filter=False,
        dynamic_sampling=SimpleNamespace(type=None),
    )
    generator = SimpleNamespace(batched=False, step_wise_trajectories=False)

    class StandIn:
        def __init__(self):
            trainer = SimpleNamespace(algorithm=algorithm)
            self.cfg = SimpleNamespace(trainer=trainer, generator=generator)

        def postprocess_generator_output(self, output, uids):
            return output, uids

        def compute_advantages_and_returns(self, _data):
            return spread(torch.zeros(POINTS, 1), torch.ones(POINTS, 1))[0][:, 0].numpy()

    settings = {"objectives": names} | ({} if config is None else {"pareto": config})
    trainer = type("Trainer", (hook.ParetoTraining, StandIn), settings)()

    def step(*columns):
        rows = [dict(zip(NAMES, values, strict=True)) for values in zip(*columns, strict=True)]
        uids = ["q"] * POINTS
        trainer.postprocess_generator_output({"env_metrics": rows}, uids)
        return trainer.compute_advantages_and_returns(SimpleNamespace(metadata={"uids": uids}))

    return step


DOORS = {
    "advantages_by_group": ("paretopo.controller.by_group", open_function),
    "ParetoPO.step": ("paretopo.controller.two_stages", open_controller),
    "paretopo train": ("paretopo.session", open_session),
    "a trainer of TRL": ("paretopo.integrations.trl.trainer", open_trainer),
    "a script with TRL": ("paretopo.integrations.trl.script", open_script),
    "an agent on OpenRLHF": ("paretopo.integrations.openrlhf.rollouts", open_openrlhf),
    "a script with OpenRLHF": ("paretopo.integrations.openrlhf.rollouts", open_script_on_openrlhf),
    "verl": ("paretopo.integrations.verl.training", open_verl),
    "NeMo-RL": ("paretopo.integrations.nemo_rl", open_nemo_rl),
    "SkyRL": ("paretopo.integrations.skyrl", open_skyrl),
}

# ---- the rules ---------------------------------------------------------------------------------

RIGHT, BRIEF = (1.0, 1.0, 0.0, 0.0), (0.2, 0.6, 0.4, 0.4)
NO_NONE = "a tensor has no None"
REFUSED = {
    "NaN": (RIGHT, (0.5, math.nan, 0.5, 0.5), "'brief' = nan .* expected a finite number"),
    "an infinite value": (RIGHT, (0.5, math.inf, 0.5, 0.5), "'brief' = inf .* finite number"),
    "a text": (RIGHT, (0.5, "much", 0.5, 0.5), "'brief' = 'much' .* finite number"),
    "a gate above its end": ((1.0, 2.0, 0.0, 0.0), BRIEF, "'correct' = 2.0 .* at most 1"),
    "more than the best": (RIGHT, (0.5, 2.0, 0.5, 0.5), "'brief' = 2.0 .* at most 1"),
    "a gate that does not apply": ((1.0, None, 0.0, 0.0), BRIEF, "'correct' = None .* the gate"),
}
# One group of four rollouts with two rewards, of each estimator and of the gate.
PLAIN = {"missing measure", *(f"{name}: four" for name in ESTIMATORS)}
TAUGHT = {
    case["name"]: (case, step)
    for case in [*filter(is_ours, list_cases()), *load("controller")]
    for step in [case.get("steps", [case])[0]]
    if case["settings"].get("floors") or case["name"] in PLAIN
    if len(step["rewards"]) == POINTS and len(case["weights"]) == 2
}
CANNOT = {
    ("a script with TRL", "a gate that does not apply"): "TRL's rewards skip rollouts with None",
    ("NeMo-RL", "a text"): "a tensor has no text",
    ("NeMo-RL", "a gate that does not apply"): NO_NONE,
    ("NeMo-RL", "missing measure"): NO_NONE,
    **{
        (door, "gr3: four"): "a run wants the economy gr3, which these rewards have not"
        for door in DOORS
        if door.startswith(("a script", "an agent", "paretopo train", "verl"))
    },
}
# Modules that make a controller or a session, and take their rewards from one of the doors.
BEHIND = {
    "paretopo.integrations.openrlhf.rehearsal.checks": "recomputes the records of a rehearsal",
    "paretopo.integrations.trl.train": "a session of paretopo train",
}


def open_door(door, folder, monkeypatch, threshold=0.0):
    config = ParetoPOConfig(threshold=threshold)
    return DOORS[door][1](folder, config, monkeypatch)


def pairs(rules):
    return [
        pytest.param(door, rule, id=f"{door}-{rule}")
        for door in DOORS
        for rule in rules
        if (door, rule) not in CANNOT
    ]


@pytest.mark.parametrize(("door", "rule"), pairs(REFUSED))
def test_a_broken_value_is_refused_by_name(door, rule, tmp_path, monkeypatch):
    *columns, message = REFUSED[rule]
    step = open_door(door, tmp_path, monkeypatch)
    prompt = "of row 0" if door == "NeMo-RL" else "q"
    with pytest.raises(BadRollout, match=f"the rollout of prompt '{prompt}' has {message}"):
        step(*columns)


@pytest.mark.filterwarnings("ignore:The weights of the objectives")  # not all have weights
@pytest.mark.parametrize(("door", "rule"), pairs(TAUGHT))
def test_every_door_gives_the_advantages_of_the_vectors(door, rule, tmp_path, monkeypatch):
    case, step = TAUGHT[rule]
    take = DOORS[door][1](tmp_path, make_config(case), monkeypatch)
    check(take(*zip(*step["rewards"], strict=True)), step, tolerance=1e-6)


@pytest.mark.parametrize("door", [one for one in DOORS if one != "NeMo-RL"])
def test_a_prompt_to_which_the_gate_does_not_apply_counts_as_right(door, tmp_path, monkeypatch):
    step = open_door(door, tmp_path, monkeypatch)
    expected = (np.array(BRIEF) - np.mean(BRIEF)) * 0.5 * POINTS / (POINTS - 1)
    np.testing.assert_allclose(step((None,) * POINTS, BRIEF), expected, atol=1e-6)


def test_a_best_value_of_1_that_rounding_exceeds_counts_as_1(tmp_path, monkeypatch):
    for door in DOORS:
        found = open_door(door, tmp_path / door, monkeypatch)(RIGHT, (1.0 + 2.0**-52, *BRIEF[1:]))
        expected = (np.array([1.0, 0.8, 0.2, 0.2]) - 0.55) * POINTS / (POINTS - 1)
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("door", DOORS)
def test_steps_that_teach_nothing_are_named_once_and_explained(door, tmp_path, monkeypatch, caplog):
    step = open_door(door, tmp_path, monkeypatch)
    for _ in range(21):
        assert not np.any(step((0.0,) * POINTS, (0.5,) * POINTS))
    said = "\n".join(one.message for one in caplog.records)
    assert said.count("every advantage of step 1 is 0") == 1
    assert said.count("in the first step, the rewards for 'correct' and 'brief' are equal") == 1
    assert said.count("up to step 20 is 0: no rollout is above 0 in the gate 'correct'") == 1
    assert said.count("every advantage") == 2


@pytest.mark.parametrize("open_hook", [open_nemo_rl, open_skyrl])
def test_the_default_of_a_hook_teaches_from_negated_costs(open_hook, tmp_path, monkeypatch):
    step = open_hook(tmp_path, None, monkeypatch)
    first, second, third, fourth = step(RIGHT, (-100.0, -900.0, -50.0, -5000.0))
    assert first > second > third == fourth


@pytest.mark.parametrize("open_hook", [open_nemo_rl, open_skyrl])
def test_a_hook_refuses_another_number_of_rewards_at_the_start(open_hook, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match=r"3 rewards, a, b, c, .* weights=\(1 / 3,\) \* 3\)"):
        open_hook(tmp_path, None, monkeypatch, names=("a", "b", "c"))


def test_the_estimator_of_shares_refuses_negated_costs():
    vectors = [*zip(RIGHT, (-100.0, -900.0, -50.0, -5000.0), strict=True)]
    message = "'tokens' = -100.0 .* at least -1 and at most 1.*recipe, has a fixed scale.*gd2po"
    with pytest.raises(BadRollout, match=message):
        advantages_by_group(vectors, "qqqq", ParetoPOConfig(), names=("correct", "tokens"))


def find_makers():
    """Return the modules that call a controller, or make or extend one."""
    made = {"ParetoPO", "Session", "advantages_by_group", "step_by_group"}
    found = set()
    for package, folder in (
        ("paretopo", "python/paretopo"),
        ("paretopo_lab", "python/paretopo_lab"),
        ("paretopo.integrations", "integrations"),
    ):
        for path in (ROOT / folder).rglob("*.py"):
            used = []
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                used += [node.func] if isinstance(node, ast.Call) else []
                used += node.bases if isinstance(node, ast.ClassDef) else []
            if made & {getattr(one, "id", getattr(one, "attr", None)) for one in used}:
                parts = path.relative_to(ROOT / folder).with_suffix("").parts
                found.add(".".join((package, *parts)))
    return found


def test_every_module_that_feeds_a_controller_is_a_door():
    makers, doors = find_makers(), {module for module, _ in DOORS.values()}
    assert makers - doors - BEHIND.keys() == set(), "give it a row in DOORS, or a reason in BEHIND"
    assert BEHIND.keys() <= makers
