"""The gate is chosen by a table or by the name of an objective; without either there is none."""

import itertools
import re

import numpy as np
import pytest
from support.sessions import new_session

from paretopo.config import ConfigError, dumps, from_table, load, loads, with_method
from paretopo.config.objectives import is_gate_name
from paretopo.controller.two_stages import ParetoPO
from paretopo.rollout import Rollout

BOUNDED = {"low": 0, "high": 1}


def make(*objectives, **sections):
    """A configuration with objectives by name, or by a table of their own."""
    tables = [{"name": one} if isinstance(one, str) else one for one in objectives]
    return from_table({"objectives": tables, **sections})


def gate_of(config):
    first = config.objectives[0]
    assert all(not one.gate for one in config.objectives[1:])
    return first.name if first.gate else None


# ---- by name -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("correct", "correctness", "accuracy", "accurate", "solved", "right", "exact_match"),
        *("accuracy_reward", "correctness_reward_func", "is_correct", "isCorrect", "exact-match"),
        *("answer_correctness", "final_answer_correct", "the_right_answer", "AccuracyReward"),
        "reasoning_accuracy_reward",  # of TRL
    ],
)
def test_names_of_success_become_the_gate(name):
    assert is_gate_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("brief", "format_reward", "reward", "answer", "score", "incorrect", "inaccuracy"),
        *("correct_format", "format_accuracy", "right_length", "not_correct", "copyright"),
        *("exact", "match", "bright", "unsolved", "correct_correct"),
    ],
)
def test_other_names_do_not_become_the_gate(name):
    assert not is_gate_name(name)


@pytest.mark.parametrize("order", [*itertools.permutations(("brief", "accuracy_reward", "polite"))])
def test_the_order_of_objectives_chooses_no_gate(order):
    config = make(*({"name": one, **BOUNDED} for one in order))
    assert gate_of(config) == "accuracy_reward"
    others = [one for one in order if one != "accuracy_reward"]
    assert [one.name for one in config.objectives] == ["accuracy_reward", *others]
    [note] = config.notes
    assert not note.warns
    assert note.text.startswith("'accuracy_reward' decides whether a rollout")


def test_a_chosen_gate_wins_over_names_and_says_nothing():
    config = make(
        "correct", {"name": "routed", "gate": True}, paretopo={"stage2_estimator": "gdpo"}
    )
    assert gate_of(config) == "routed"
    assert config.notes == ()


def test_the_measure_correct_is_the_gate_before_other_names():
    config = make("accuracy", "correct", paretopo={"stage2_estimator": "gdpo"})
    assert gate_of(config) == "correct"
    assert config.notes == ()


def test_gate_false_removes_the_gate():
    config = make({"name": "correct", "gate": False}, {"name": "brief", "gate": False})
    assert gate_of(config) is None
    assert config.notes == ()


@pytest.mark.parametrize(
    "table",
    [
        {"name": "accuracy", "better": "fewer"},
        {"name": "accuracy", "high": 0.0},
        {"name": "accuracy", "high": 1.0, "economy": "saving"},
    ],
)
def test_unsuitable_objectives_do_not_become_the_gate(table):
    assert gate_of(make("brief", table)) is None


# ---- without a gate ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [["brief", "polite"], ["polite", "brief"]])
def test_without_a_gate_training_is_ungated_and_says_so(order):
    config = make(*order)
    assert gate_of(config) is None
    switches = config.paretopo
    assert (switches.gate, switches.stage2_estimator) == ("none", "rloo")
    assert switches.group_filter == "vector"
    [note] = config.notes
    assert note.warns
    assert "Set gate = true" in note.text
    assert 'ScriptSession(gate="NAME")' in note.in_script
    assert [one.name for one in config.objectives] == order


def test_a_chosen_gate_that_a_method_leaves_out_is_named():
    table = {"objectives": [{"name": "routed", "gate": True}, {"name": "polite", **BOUNDED}]}
    told = "The gate 'routed' acts in evaluations only"
    for overrides, named in (({}, True), ({"paretopo.gate": "success"}, False)):
        notes = with_method(table, "gdpo", overrides).notes
        assert any(one.text.startswith(told) for one in notes) == named


def test_one_objective_needs_no_gate():
    assert make("brief").notes == ()


def test_two_names_that_say_so_are_no_choice():
    config = make("accuracy", "correctness")
    assert gate_of(config) is None
    assert "('accuracy' and 'correctness' both have such a name)" in config.notes[0].text


def test_a_run_that_asks_for_no_gate_is_not_warned():
    assert make("brief", "polite", paretopo={"gate": "none"}).notes == ()
    assert with_method({"objectives": [{"name": "brief"}]}, "grpo").notes == ()


def test_the_written_configuration_keeps_the_choice():
    for config in (make("polite", "brief"), make({"name": "brief", **BOUNDED}, "right")):
        again = loads(dumps(config))
        assert again == config
        assert again.notes == ()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[paretopo]\ngate = "success"', 'paretopo.gate = "success"'),
        ('[paretopo]\nstage2_estimator = "worth"', 'the estimator "worth"'),
        ('[paretopo]\nstage2_estimator = "hypervolume"', 'the estimator "hypervolume"'),
        ('[paretopo]\nstage2_estimator = "hypervolume_gd2po"', 'estimator "hypervolume_gd2po"'),
        ('[paretopo]\nweighting = "first alone"', 'paretopo.weighting = "first alone"'),
        ('[paretopo]\ngroup_filter = "accuracy"', 'or use group_filter = "vector"'),
        ('[[objectives]]\nname = "calls"\neconomy = "paretopo"', 'calls.economy = "paretopo"'),
        ('[paretopo]\nstage2_estimator = "gr3"', 'the estimator "gr3"'),
        ('[[objectives]]\nname = "calls"\neconomy = "kimi"', 'calls.economy = "kimi"'),
        ('[[objectives]]\nname = "calls"\neconomy = "laser_d"', 'calls.economy = "laser_d"'),
        ('[[objectives]]\nname = "calls"\neconomy = "pass_rate"', 'calls.economy = "pass_rate"'),
    ],
)
def test_settings_on_solved_rollouts_need_a_gate(text, what):
    table = '[[objectives]]\nname = "brief"\n'
    with pytest.raises(ConfigError, match=re.escape(what)) as refused:
        loads(table + text)
    assert "needs a gate, and none of the objectives is one" in str(refused.value)


def test_without_a_gate_nothing_is_solved_or_failed(tmp_path):
    text = '[[objectives]]\nname = "brief"\n[[objectives]]\nname = "polite"\n'
    session = new_session(tmp_path, text, paretopo__stage1_steps=0)
    held_out = [Rollout(f"q{at}", {"brief": 0.1 * at, "polite": None}) for at in range(3)]
    session.observe(0, held_out)
    rollouts = [Rollout("q", {"brief": value, "polite": 1.0}) for value in (0.1, 0.3)]
    [scored] = session.score([rollouts])
    assert [one.solved for one in scored.rollouts] == [None, None]
    [advantages] = session.advantages([scored.rollouts])
    np.testing.assert_allclose(advantages, [-0.1, 0.1])  # half of 0.2, less the other's
    session.record_step(1, {"loss": 0.0})
    assert session.run.steps()[0]["solved"] is None
    assert session.run.evaluations()[0]["solved"] is None
    assert session.run.evaluations()[0]["measured_of_solved"] == {"brief": None, "polite": None}


def test_unpassable_gate_warns_at_the_start(tmp_path):
    text = '[[objectives]]\nname = "brief"\ngate = true\nreference = -1\n'
    session = new_session(tmp_path, text)
    with pytest.warns(UserWarning, match="passes the gate 'brief', .* from -0.5 to -0.4"):
        session.observe(0, [Rollout(f"q{at}", {"brief": -0.1 * at}) for at in (4, 5)])
    session.observe(1, [Rollout(f"q{at}", {"brief": -0.1 * at}) for at in (4, 5)])


# ---- thresholds and refusals ---------------------------------------------------------------------


def test_the_threshold_reaches_rollouts_and_controller(tmp_path):
    text = '[[objectives]]\nname = "score"\ngate = true\nthreshold = 0.5\n'
    session = new_session(tmp_path, text + '[[objectives]]\nname = "polite"\nlow = 0\nhigh = 1')
    assert session.config.paretopo.threshold == 0.5
    rollouts = [
        Rollout("q", {"score": score, "polite": polite})
        for score, polite in ((0.5, 1.0), (0.6, 0.5), (0.9, 0.0))
    ]
    [scored] = session.score([rollouts])
    assert [one.solved for one in scored.rollouts] == [False, True, True]
    assert [one.gated[1] for one in scored.rollouts] == [0.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("objective", "settings", "polite"),
    [
        ("gate = true", {}, 0.4),
        ("gate = true", {"paretopo__gate": "none", "paretopo__stage1_steps": 0}, 0.4),
        ("gate = true", {"recipe": "paper"}, 0.5),  # stage 1 trains by the gains
        ("gate = false", {}, 0.5),
    ],
)
def test_an_outcome_is_gated_if_a_gate_is_known(tmp_path, objective, settings, polite):
    text = f'[[objectives]]\nname = "score"\nlow = 0\nhigh = 1\n{objective}\n'
    text += '[[objectives]]\nname = "polite"\nlow = 0\nhigh = 1'
    session = new_session(tmp_path, text, **settings)
    values = ((1.0, 0.8), (0.0, 0.0), (1.0, 0.8), (0.0, 0.4))
    session.observe(
        0, [Rollout(str(at), {"score": x, "polite": y}) for at, (x, y) in enumerate(values)]
    )
    [row] = session.run.evaluations()
    assert row["outcome"]["polite"] == pytest.approx(polite)
    corner = row["outcome"] if "recipe" in settings else {"score": 0.0, "polite": 0.0}
    assert row["reference"] == corner


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"name": "brief", "better": "fewer", "gate": True},
            "brief.gate cannot be true for a cost",
        ),
        ({"name": "tokens", "gate": True}, "tokens.gate cannot be true for a cost"),
        ({"name": "brief", "high": 0, "gate": True}, "got high = 0.0 and threshold = 0"),
        ({"name": "a", "high": 1, "gate": True, "threshold": 1}, "no rollout would ever solve"),
        ({"name": "brief", "threshold": 0.5}, r"brief.threshold is for the gate: set gate = true"),
        ({"name": "brief", "gate": False, "threshold": 0.5}, "brief.threshold is for the"),
    ],
)
def test_invalid_gate_is_refused_by_name(table, message):
    with pytest.raises(ConfigError, match=message):
        make({"name": "polite", **BOUNDED}, table)


def test_estimators_with_own_thresholds_refuse_others():
    table = {"objectives": [{"name": "score", "gate": True, "threshold": 0.5}, {"name": "calls"}]}
    with pytest.raises(
        ConfigError,
        match=r"hypervolume_gd2po take a rollout above 0 as right.* got objectives.score",
    ):
        with_method(table, "hypervolume_gd2po")


def test_both_orders_give_the_same_advantages():
    rewards = {"brief": [-0.3, -0.1, -0.2, -0.2], "correct": [1.0, 0.0, 1.0, 0.0]}
    rewards["polite"] = [1.0, 1.0, 0.0, 0.0]
    seen = set()
    for order in itertools.permutations(rewards):
        config = make(*order, paretopo={"stage2_estimator": "gd2po", "conflict": 0.0})
        columns = [rewards[one.name] for one in config.objectives]
        step = ParetoPO(config.paretopo).step(np.transpose(columns)[None])
        places = [one.name for one in config.objectives].index("brief")
        seen.add((*step.advantages[0].round(12), *step.gated[0, :, places]))
    assert len(seen) == 1


def test_the_example_with_rewards_of_its_own_chooses_its_gate():
    assert load("examples/own_rewards/train.toml").objectives[0].name == "routed"
    assert load("examples/own_rewards/train.toml").paretopo.gate == "success"
    assert load("examples/own_rewards/train.toml").notes == ()
