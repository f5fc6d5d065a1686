"""The gate of a script: chosen by name in either order of its functions, or none, and said so."""

import logging

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy
from trl import GRPOTrainer

from paretopo.config import ConfigError, ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.trl import ControllerTrainer, ParetoGRPOTrainer, ScriptSession
from paretopo.records.folder import RunFolder

UNGATED = "No objective says whether a rollout solved its prompt"


def correct(completions, **_):
    return [float(any(letter.isdigit() for letter in text)) for text in completions]


def brief(completions, **_):
    return [-0.02 * len(text) for text in completions]


def graded(completions, **_):
    """From 0 to 1, the share of digits."""
    return [sum(map(str.isdigit, text)) / max(len(text), 1) for text in completions]


def make_trainer(folder, functions, session, kind=ParetoGRPOTrainer, **settings):
    questions = [{"prompt": f"{number}+1="} for number in range(6)]
    sizes = {"per_device_train_batch_size": 16, "num_generations": 8, "max_completion_length": 6}
    given = {} if session is None else {"session": session}
    if isinstance(session, ParetoPO):
        kind, given = ControllerTrainer, {"controller": session}
    return kind(
        **given,
        args=grpo_arguments(folder, max_steps=3, **sizes, **settings),
        reward_funcs=list(functions),
        train_dataset=Dataset.from_list(questions),
        **tiny_policy("a b"),
    )


pytestmark = pytest.mark.filterwarnings("ignore:there is no eval_dataset:UserWarning")


def test_function_named_correct_becomes_the_gate_with_a_log(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        make_trainer(tmp_path, (brief, correct), ScriptSession())
    _, text = read_lines(caplog)
    assert text.startswith("'correct' decides whether a rollout solved its prompt")
    assert 'ScriptSession(gate="NAME")' in text
    assert "gate = true" not in text


@pytest.mark.parametrize("session", [{"gate": "correct"}, {"gate": "none"}])
def test_a_gate_that_is_chosen_needs_no_words(tmp_path, caplog, session):
    make_trainer(tmp_path, (brief, correct), ScriptSession(**session))
    [line] = read_lines(caplog)
    assert line.startswith("Training uses ")


def test_other_names_train_ungated_with_one_warning(tmp_path):
    with pytest.warns(UserWarning, match=UNGATED) as warned:
        trainer = make_trainer(tmp_path, (brief, graded), ScriptSession())
    [text] = [str(one.message) for one in warned if UNGATED in str(one.message)]
    assert 'session=ScriptSession(gate="NAME") to ParetoGRPOTrainer' in text
    assert "gate = true" not in text
    switches = trainer.script.run.config.paretopo
    assert (switches.gate, switches.stage2_estimator) == ("none", "gdpo")


def read_lines(caplog):
    return [one.getMessage() for one in caplog.records if one.name == "paretopo"]


SHARES = [{"name": "correct"}, {"name": "brief", "high": 0, "economy": "saving"}]
BOUNDED = [{"name": "correct"}, {"name": "brief", "low": -8, "high": 0}]
GRADED = [{"name": "correct", "high": 10}, {"name": "brief", "high": 1}]
KEPT = [{"name": "correct"}, {"name": "brief", "high": 1, "failure": "keeps"}]
LIMITED = [{"name": "correct", "weight": 1}, {"name": "brief", "weight": 0}]
LIMITED += [{"name": "tokens", "limit": 5}]
EACH = {"economies": "each"}
GDPO = {"multi_objective_aggregation": "normalize_then_sum"}


@pytest.mark.parametrize(
    ("session", "settings", "estimator", "line"),
    [
        ({"gate": "correct"}, {}, "gd2po", "because brief may have any unit; gate 'correct'"),
        ({"gate": "none"}, {}, "gdpo", "because brief may have any unit; no gate"),
        ({"config": {"objectives": BOUNDED}}, {}, "gd2po", "because brief may have any unit"),
        ({"config": {"objectives": GRADED}}, {}, "gd2po", "because correct may have any unit"),
        ({"config": {"objectives": SHARES, "paretopo": EACH}}, {}, "rloo", 'economies = "each"'),
        ({"config": {"objectives": KEPT}}, {}, "rloo", "the recipe (rloo), because correct is"),
        ({"config": {"objectives": SHARES}}, {}, "rloo", "the recipe (rloo), because correct is"),
        ({"config": {"objectives": SHARES}, "gate": "none"}, {}, "rloo", "every reward is a share"),
        ({"config": {"objectives": LIMITED}}, {}, "rloo", "because there is a limit"),
        ({"config": {"recipe": "paper"}}, {}, "pareto", "uses pareto, as chosen"),
        (
            {"config": {"objectives": SHARES}, "method": "gdpo"},
            {},
            "gdpo",
            "gdpo, as chosen; gate 'correct' in evaluations only (overrides=",
        ),
        ({"method": "recommended"}, {}, "gd2po", "uses gd2po, which scales each"),
        ({}, GDPO, "gdpo", "because GRPOConfig.multi_objective_aggregation = 'normalize_then_sum'"),
        ({}, {"scale_rewards": False}, "dr_grpo", "because GRPOConfig.scale_rewards = 'none'"),
        ({"method": "gdpo"}, GDPO | {"scale_rewards": "batch"}, "gdpo", "because GRPOConfig.multi"),
        ({"method": "trl"}, {"scale_rewards": "batch"}, "grpo", "GRPO as TRL computes it"),
    ],
)
def test_the_first_line_says_the_method_and_why(
    tmp_path, caplog, session, settings, estimator, line
):
    trainer = make_trainer(tmp_path, (brief, correct), ScriptSession(**session), **settings)
    assert trainer.script.run.config.paretopo.stage2_estimator == estimator
    assert line in read_lines(caplog)[0]
    assert f"records in {tmp_path}" in read_lines(caplog)[0]


@pytest.mark.parametrize(
    ("session", "settings", "message"),
    [
        ({}, {"scale_rewards": "batch"}, "scale_rewards = 'batch' is not honoured, because no est"),
        ({"method": "gdpo"}, {"scale_rewards": "none"}, "because 'gdpo' does not scale in this"),
        ({"config": {"recipe": "paper"}}, GDPO, "because 'pareto' does not scale in this way"),
        (ParetoPO(ParetoPOConfig()), GDPO, "because 'rloo' does not scale in this way"),
        ({"method": "trl", "overrides": {"paretopo.k": 2}}, {}, r"so paretopo\.k has no effect"),
        (
            {"method": "trl", "config": {"objectives": [{"name": "brief", "weight": 2}]}},
            {},
            r"so objectives\.brief\.weight has no effect",
        ),
    ],
)
def test_scaling_is_honoured_or_refused_by_name(tmp_path, session, settings, message):
    given = ScriptSession(**session) if isinstance(session, dict) else session
    with pytest.raises(ConfigError, match=message):
        make_trainer(tmp_path, (brief, correct), given, **settings)


@pytest.mark.parametrize("settings", [{"scale_rewards": "batch"}, GDPO])
def test_method_trl_trains_as_trl_and_records_its_advantages(tmp_path, settings):
    settings |= {"reward_weights": [-2.0, 1.0]}
    kept = []
    for folder, *given in (
        (tmp_path, ScriptSession(method="trl")),
        (tmp_path / "theirs", None, GRPOTrainer),
    ):
        trainer = make_trainer(folder, (brief, correct), *given, **settings)
        trainer.train()
        kept.append(torch.cat([one.detach().flatten() for one in trainer.model.parameters()]))
    torch.testing.assert_close(*kept, atol=1e-5, rtol=0.0)
    run = RunFolder.open(tmp_path)
    assert run.manifest["method"] == "trl"
    assert [(one.name, one.better) for one in run.config.objectives] == [
        ("correct", "more"),
        ("brief", "fewer"),
    ]
    last = [one.advantage for group in run.trajectories() for one in group.rollouts][-16:]
    assert last == pytest.approx([*trainer._logs["advantages"]][-16:], abs=1e-5)
    assert np.abs(last).max() > 0.0


def test_threshold_defines_solved(tmp_path):
    session = ScriptSession(gate="graded", threshold=0.3)
    make_trainer(tmp_path, (brief, graded), session).train()
    run = RunFolder.open(tmp_path)
    [first, _] = run.config.objectives
    assert (first.name, first.gate, first.threshold) == ("graded", True, 0.3)
    rollouts = [one for group in run.trajectories() for one in group.rollouts]
    assert {one.solved for one in rollouts} == {False, True}
    for one in rollouts:
        assert one.solved == (one.reward_components["graded"] > 0.3)


@pytest.mark.parametrize(
    ("session", "weights", "expected"),
    [
        ({}, [1.0, 0.0], {"weights": (0.0, 1.0), "gate": "success"}),
        ({"method": "gdpo"}, [1.0, 3.0], {"weights": (0.75, 0.25)}),
        ({"method": "paper"}, None, {"stage2_estimator": "pareto"}),
    ],
)
def test_weights_and_recipe_that_are_asked_for_are_kept(tmp_path, session, weights, expected):
    given = ScriptSession(gate="correct", **session)
    trainer = make_trainer(tmp_path, (brief, correct), given, reward_weights=weights)
    switches = trainer.script.run.config.paretopo
    assert {name: getattr(switches, name) for name in expected} == expected


def test_replaced_trl_weights_warn(tmp_path):
    table = {"objectives": [{"name": "correct", "weight": 1}, {"name": "brief", "weight": 1}]}
    table["paretopo"] = {"stage2_estimator": "gdpo"}
    session = ScriptSession(table, gate="correct")
    with pytest.warns(UserWarning, match=r"reward_weights = \[1.0, 3.0\] has no effect"):
        make_trainer(tmp_path, (brief, correct), session, reward_weights=[1.0, 3.0])


@pytest.mark.parametrize(
    ("session", "message"),
    [
        ({"gate": "corect"}, r"gate = 'corect' is not an objective: .*; did you mean 'correct'\?"),
        ({"gate": "correct", "method": "gated"}, "unknown method 'gated'"),
        (
            {"gate": "none", "method": "accuracy_only"},
            "needs a gate, and none of",
        ),
        ({"threshold": 0.5}, "threshold = 0.5 needs gate"),
        ({"gate": "none", "threshold": 0.5}, "threshold = 0.5 needs gate"),
    ],
)
def test_invalid_gates_are_refused_before_training(tmp_path, session, message):
    with pytest.raises(ConfigError, match=message):
        make_trainer(tmp_path, (brief, correct), ScriptSession(**session))
