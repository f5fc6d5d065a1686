"""Every named method on every example; the command line puts a method and overrides on a file."""

import sys
from pathlib import Path

import pytest

from paretopo import cli
from paretopo.config import (
    ABOUT,
    METHODS,
    ConfigError,
    dumps,
    expand_method,
    load,
    loads,
    read_table,
    with_method,
)
from paretopo.config.backend import check_backend
from paretopo.records.folder import RunFolder

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.toml"))
CALCULATOR = str(EXAMPLES[0])


# Methods that go by weights from the first step, and by no others than are given.
STEERABLE = {
    *("recommended", "grpo", "dr_grpo", "rloo", "hypervolume_gd2po", "gdpo", "gd2po"),
    *("without_stage_1", "without_dynamic_weighting", "without_ranking"),
}


def test_there_are_examples():
    assert len(EXAMPLES) >= 6
    assert EXAMPLES[0].name == "calculator.toml"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_every_example(example, name):
    if name == "sft" and load(example).backend == "openrlhf":
        with pytest.raises(ConfigError, match="learn_from = 'answers' is not for"):
            check_backend(with_method(example, name))
        return
    if name == "otc_grpo" and len(load(example).objectives) != 2:
        with pytest.raises(ConfigError, match=r"OTC multiplies .* is for two objectives, got 3"):
            with_method(example, name)
        return
    economies = {"gr3": "gr3"}
    others = [one for one in load(example).objectives[1:] if one.name != "calls"]
    if name in economies and others:
        wanted = f'economy = "{economies[name]}", or use .*, got objectives.{others[0].name}'
        with pytest.raises(ConfigError, match=f"{wanted}|no objective .calls."):
            with_method(example, name)
        return
    given = load(example).paretopo.preference == "given"
    if (
        (name == "worth" or "tchebycheff" in name)
        and not given
        and not all(one.is_share for one in load(example).objectives[1:])
    ):
        with pytest.raises(ConfigError, match=r'economy = "saving".*dollars|dollars.*"saving"'):
            with_method(example, name)
        return
    if given and name not in STEERABLE:
        reasons = r'preference = "given"|no objective .calls.|decision_entropy = 0'
        with pytest.raises(ConfigError, match=reasons):
            with_method(example, name)
        return
    config = with_method(example, name)
    weighted = any("weight" in one for one in read_table(example).get("objectives", ()))
    for key, value in METHODS[name].items():
        if key == "paretopo.weighting" and value == "equal" and weighted:
            value = "as given"
        section, _, last = key.rpartition(".")
        if section.startswith("objectives."):
            of = config.objective(section.removeprefix("objectives."))
        else:
            of = getattr(config, section) if section else config
        seen = getattr(of, last)
        assert seen == (tuple(value) if isinstance(value, list) else value), key
    assert loads(dumps(config)) == config


@pytest.mark.parametrize("name", METHODS)
def test_method_changes_only_its_keys(name):
    plain, changed = loads(""), with_method({}, name)
    sections = {key.partition(".")[0] for key in METHODS[name]}
    if "recipe" in sections:
        sections |= {"objectives", "paretopo", "rewards"}
    if "objectives" in sections:
        sections.add("paretopo")  # holds their floors
    for section in vars(plain):
        if section not in sections:
            assert getattr(plain, section) == getattr(changed, section)


def test_methods_apply_from_left_to_right():
    names = "without_stage_1", "without_stage_2"
    assert with_method({}, "+".join(names)).paretopo.stage1_steps == "all"
    assert with_method({}, "+".join(reversed(names))).paretopo.stage1_steps == 0
    both = with_method({"seed": 4}, "paper+without_stage_1", {"optimiser.steps": 7})
    assert (both.recipe, both.paretopo.stage1_steps) == ("paper", 0)
    assert (both.seed, both.optimiser.steps) == (4, 7)


def test_overrides_win_and_are_not_modified():
    given = {"paretopo": {"beta": 0.25}}
    config = with_method(given, "paper", {"paretopo.gate": "success"})
    assert (config.paretopo.gate, config.paretopo.beta) == ("success", 0.25)
    assert given == {"paretopo": {"beta": 0.25}}


@pytest.mark.parametrize("name", ["mo_grop", "", "grpo+", "paper + grpo", "one_stage", "gated"])
def test_an_unknown_method_is_refused(name):
    with pytest.raises(ConfigError, match=r"unknown method '.*'; (did you mean|known:)"):
        with_method({}, name)


def test_derived_method_inherits_and_overrides():
    assert {**METHODS["torl_grpo"], "optimiser.kl": 0.001} == METHODS["search_r1"]
    assert METHODS["otc_grpo"]["paretopo.gate"] == "success"
    assert METHODS["grpo"]["paretopo.gate"] == "none"


def test_the_table_is_tidy():
    assert ABOUT.keys() == METHODS.keys()
    assert len(set(ABOUT.values())) == len(ABOUT)
    assert len({tuple(sorted(map(str, values.items()))) for values in METHODS.values()}) == 28
    for name, values in METHODS.items():
        assert values, name
        assert "+" not in name
        assert ABOUT[name] == ABOUT[name].strip()
        assert not ABOUT[name].endswith(".")
        # A single key needs only --set, unless it is an estimator or an ablation of the paper.
        assert len(values) > 1 or name in ("recommended", "paper") or name.startswith("without_")


def test_switches_of_a_caller_are_names_like_methods():
    switches = {"gated": {"paretopo.gate": "success"}}
    assert expand_method("paper+gated", switches) == {"recipe": "paper", "paretopo.gate": "success"}
    with pytest.raises(ConfigError, match=r"unknown method 'gatd'; did you mean 'gated'\?"):
        expand_method("paper+gatd", switches)


# ---- the command line -------------------------------------------------------------------------


@pytest.fixture
def train(tmp_path, monkeypatch):
    """`paretopo train` without the training: the run that it would train."""
    from paretopo.cli import train

    runs = []
    monkeypatch.setattr(train, "_train", lambda run, **_: runs.append(run))

    def command(*words):
        words = ["train", CALCULATOR, "--out", str(tmp_path), *words]
        monkeypatch.setattr(sys, "argv", ["paretopo", *words])
        assert cli.main(words) == 0
        return RunFolder.open(runs[-1].path)

    return command


def test_the_help_lists_the_methods(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    text = capsys.readouterr().out
    for name, about in ABOUT.items():
        assert any(line.split(maxsplit=1) == [name, about] for line in text.splitlines()), name
    assert "one_stage" not in text


def test_method_option_ranks_between_file_and_options(train):
    run = train(
        "--method", "paper+without_ranking", "--steps", "3", "--set", "paretopo.gate=success"
    )
    assert (run.config.recipe, run.config.paretopo.stage2_estimator) == ("paper", "grpo")
    assert run.config.paretopo.gate == "success"
    assert run.config.optimiser.steps == 3
    assert run.manifest["method"] == "paper+without_ranking"
    assert "-paper-without_ranking-seed" in run.path.name


def test_any_key_is_set_and_the_command_is_kept(train):
    changes = (
        "seed=5",
        "model.path=Qwen/Qwen2.5-1.5B",
        "task.kinds=[1, 0, 0]",
        "paretopo.stage2_estimator=hypervolume",
        "paretopo.k=[4, 2]",
        "optimiser.learning_rate=1e-6",
        "evaluation.prompts=16",
    )
    run = train(*(word for change in changes for word in ("--set", change)))
    config = run.config
    assert (config.seed, config.model.path) == (5, "Qwen/Qwen2.5-1.5B")
    assert config.task.kinds == (1.0, 0.0, 0.0)
    assert (config.paretopo.stage2_estimator, config.paretopo.k) == ("hypervolume", (4, 2))
    assert (config.optimiser.learning_rate, config.evaluation.prompts) == (1e-6, 16)
    assert "--set seed=5" in run.manifest["command"]
    assert "--set 'paretopo.k=[4, 2]'" in run.manifest["command"]


def test_of_two_for_one_key_the_later_wins(train):
    assert train("--steps", "3", "--set", "optimiser.steps=4").config.optimiser.steps == 4
    assert train("--set", "optimiser.steps=4", "--steps", "3").config.optimiser.steps == 3
    words = "paretopo.stage2_estimator=hypervolume", "paretopo.stage2_estimator.k=2", "paretopo.k=4"
    assert train(*(part for one in words for part in ("--set", one))).config.paretopo.k == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--method", "gprpo"], "unknown method 'gprpo'; did you mean 'grpo'?"),
        (["--set", "optimiser.step=3"], "unknown key optimiser.step; did you mean 'steps'?"),
        (["--set", "paretopo.k"], "an override must be KEY=VALUE"),
        (["--steps", "many"], "optimiser.steps must be an integer of at least 1, got 'many'"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line(words, message, capsys):
    assert cli.main(["train", CALCULATOR, *words]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "calculator.toml" not in error
    assert error.count("\n") == 1
