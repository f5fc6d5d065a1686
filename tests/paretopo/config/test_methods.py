"""Every named method on every example, and what the names promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from paretopo.config import ABOUT, METHODS, ConfigError, dumps, expand_method, load, loads, with_method
from paretopo_core import cli

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_goes_on_every_example(example, name):
    on_trl_only = {"sgd": 'optimiser.method = "sgd"', "sft": 'optimiser.learn_from = "answers"'}
    if name in on_trl_only and load(example).backend == "openrlhf":
        with pytest.raises(ConfigError, match=f'{on_trl_only[name]} is for backend = "trl"'):
            with_method(example, name)
        return
    config = with_method(example, name)
    for key, value in overrides(name).items():
        section, _, last = key.rpartition(".")
        seen = getattr(getattr(config, section) if section else config, last)
        assert seen == (tuple(value) if isinstance(value, list) else value), key
    assert loads(dumps(config)) == config


@pytest.mark.parametrize("name", METHODS)
def test_a_method_changes_what_it_says_and_nothing_else(name):
    plain, changed = loads(""), with_method({}, name)
    sections = {key.partition(".")[0] for key in overrides(name)}
    if "recipe" in sections:
        sections |= {"paretopo", "rewards"}
    for section in vars(plain):
        if section not in sections:
            assert getattr(plain, section) == getattr(changed, section)


def test_methods_are_put_on_top_of_each_other_from_left_to_right():
    assert with_method({}, "gated+ungated").paretopo.gate == "none"
    assert with_method({}, "ungated+gated").paretopo.gate == "success"
    both = with_method({"seed": 4}, "paper+without_stage_1", {"optimiser.steps": 7})
    assert (both.recipe, both.paretopo.stage1_steps) == ("paper", 0)
    assert (both.seed, both.optimiser.steps) == (4, 7)


def test_what_the_caller_says_wins_and_the_mapping_stays_as_it_was():
    given = {"paretopo": {"beta": 0.25}}
    config = with_method(given, "gated", {"paretopo.gate": "none"})
    assert (config.paretopo.gate, config.paretopo.beta) == ("none", 0.25)
    assert given == {"paretopo": {"beta": 0.25}}


@pytest.mark.parametrize("name", ["mo_grop", "", "gated+", "gated + grpo"])
def test_an_unknown_method_is_refused(name):
    with pytest.raises(ConfigError, match=r"unknown method '.*'; (did you mean|known:)"):
        with_method({}, name)


def test_the_table_is_tidy():
    assert ABOUT.keys() == METHODS.keys()
    assert len(set(ABOUT.values())) == len(ABOUT)
    for name, changes in METHODS.items():
        assert changes, name
        assert "+" not in name
        assert ABOUT[name] == ABOUT[name].strip()
        assert not ABOUT[name].endswith(".")


def test_the_help_lists_the_methods(capsys):
    with pytest.raises(SystemExit):
        cli.main(["train", "--help"])
    text = capsys.readouterr().out
    for name, about in ABOUT.items():
        assert any(line.split(maxsplit=1) == [name, about] for line in text.splitlines()), name


def test_a_method_of_the_command_line_comes_between_file_and_options(tmp_path, monkeypatch):
    from paretopo.cli import train

    seen = []
    monkeypatch.setattr(train, "_carry_out", lambda run, **_: seen.append(run))
    out = str(tmp_path)
    words = ["train", str(EXAMPLES[0]), "--method", "grpo+gated", "--steps", "3", "--out", out]
    assert cli.main(words) == 0
    (run,) = seen
    assert run.config.paretopo.stage2_estimator == "grpo"
    assert run.config.optimiser.steps == 3
    assert run.manifest["method"] == "grpo+gated"
    assert "-grpo-gated-seed" in run.path.name
    assert load(run.path / "config.toml") == run.config


def test_an_unknown_method_of_the_command_line_is_refused(capsys):
    assert cli.main(["train", str(EXAMPLES[0]), "--method", "gprpo"]) == 2
    assert "unknown method 'gprpo'; did you mean 'grpo'?" in capsys.readouterr().err
    assert cli.main(["train", "--resume", "x", "--method", "grpo"]) == 2
    assert "a resumed run keeps its own configuration" in capsys.readouterr().err
