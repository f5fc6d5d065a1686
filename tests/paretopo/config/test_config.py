import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.config import (
    RECIPES,
    SECTIONS,
    ConfigError,
    ParetoPOConfig,
    RunConfig,
    dumps,
    from_table,
    load,
    loads,
    parse_override,
)
from paretopo.config.keys import keys
from paretopo.records.foreign import ForeignJob

JOB = ForeignJob("output_dir", "resume", "report_to", "eval_dataset", "reward_funcs")


def test_an_empty_file_is_the_recommended_recipe():
    switches, expected = loads("").paretopo, RECIPES["recommended"]
    assert {name: getattr(switches, name) for name in expected} == expected


def test_recipe_fills_only_missing_keys():
    config = loads('recipe = "paper"\n[paretopo]\ncentre = "loo"')
    expected = dict(RECIPES["paper"]) | {"centre": "loo"}
    assert {name: getattr(config.paretopo, name) for name in expected} == expected


def test_recipes_differ_in_the_same_switches():
    paper, recommended = RECIPES["paper"], RECIPES["recommended"]
    assert paper.keys() == recommended.keys()
    assert all(paper[name] != recommended[name] for name in paper)


def test_the_defaults_are_the_papers_constants():
    config = ParetoPOConfig(recipe="paper")
    assert (config.weights, config.beta, config.gamma) == ((0.6, 0.4), 0.5, 0.5)
    assert loads("").objective("calls").alpha == 0.7
    assert loads("").optimiser.group_size == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("method = 'gdpo'", "unknown key method: a method is applied to a file, .* --method"),
        ("sed = 1", r"unknown key sed; did you mean 'seed'\?"),
        ("[optimizer]", r"unknown key optimizer; did you mean 'optimiser'\?"),
        ("steps = 3", r"unknown key steps; did you mean warmup.steps or optimiser.steps\?"),
        ("[optimiser]\nstep = 3", r"unknown key optimiser.step; did you mean 'steps'\?"),
        ("[paretopo]\nrefrence = 'zero'", r"did you mean 'reference'\?"),
        ("[rewards]\nzzz = 1", r"unknown key rewards.zzz; known: failing, file, retries, timeout"),
        ("[paretopo]\nrecipe = 'paper'", r"recipe belongs at the top of the file"),
        ("recipe = 'papper'", r'^recipe must be "recommended" or "paper", got \'papper\''),
        ("seed = -1", r"seed must be an integer from 0 to 4294967295, got -1"),
        ("seed = 1.0", r"seed must be an integer .*, got 1.0"),
        ("seed = true", r"seed must be an integer .*, got True"),
        ("model = 3", r"model is a section, \[model\]: set one of its keys, like model.path"),
        ("[optimiser]\nsteps = 0", r"optimiser.steps must be an integer of at least 1, got 0"),
        ("[optimiser]\nsteps = '9'", r"optimiser.steps must be an integer of at least 1, got '9'"),
        ("[optimiser]\nlearning_rate = 0", r"learning_rate must be a number greater than 0, got 0"),
        ("[optimiser]\nlearning_rate = inf", r"learning_rate must be .*, got inf"),
        ("[paretopo]\nbeta = 1.5", r"paretopo.beta must be a number from 0 to 1, got 1.5"),
        ("[paretopo]\nbeta = nan", r"paretopo.beta must be a number from 0 to 1, got nan"),
        ("[paretopo]\ngamma = 1", "gamma must be a number of at least 0 and less than 1, got 1"),
        ("[paretopo]\nweight = 0.5", r"did you mean objectives.NAME.weight\?"),
        ("[rewards]\neconomy = 'otc'", r"did you mean objectives.NAME.economy\?"),
        ("[paretopo]\nreference = 'intial'", r'reference must be "initial" or "zero", got'),
        ("[paretopo]\nstage1_steps = -1", r'"epoch" or "all" or an integer of at least 0, got -1'),
        ("[paretopo]\nstage1_steps = 'epochs'", r'"epoch" or "all" or an integer .*, got'),
        ("[paretopo]\nstage2_estimator = 'gae'", r'must be "pareto" or "hypervolume"'),
        ("[model]\nheads = 3", "model.heads must divide .*, got heads = 3 and width = 128"),
        ("[model]\nwidth = 9\nheads = 3", "must be even .* got width = 9 and heads = 3"),
        ("[optimiser]\nmicro_batch = 7", "micro_batch must divide .* = 7 and rollouts = 128"),
        ("[model]\npath = ''", r"model.path must be a string, got ''"),
        ("[task]\nkinds = [1.0]", r"task.kinds must be 3 shares summing to 1"),
        ("seed = ", r"not valid TOML"),
        ("a = " + 3000 * "[", r"not valid TOML: nested too deeply"),
        ("seed = 1" + 5000 * "0", r"not valid TOML: Exceeds the limit"),
        ("seed = 1" + 400 * "0", r"seed must be an integer from 0 to 4294967295, got 1000"),
        ("[optimiser]\nsteps = 1" + 30 * "0", r"steps must be an integer of at least 1, got 1000"),
        ("[optimiser]\nlearning_rate = 1" + 400 * "0", r"learning_rate must be a number greater"),
        ("recipe = ['paper']", r"recipe must be \"recommended\" or \"paper\", got \['paper'\]"),
        ("[recipe]\nname = 'paper'", "unknown section recipe of recipe.name"),
        ("[task.name]", "task.name must be .*, got {}"),
        ("paretopo = { k = 2, stage2_estimator = { k = 3 } }", "k is given twice, 2 and 3"),
        ("[run]\nout = 'a\\u0000'".replace("'", '"'), r"run.out must be a string, got 'a\\x00'"),
    ],
)
def test_a_bad_configuration_names_key_and_cure(text, message):
    with pytest.raises(ConfigError, match=message):
        loads(text)


@pytest.mark.parametrize("name", ["calculators.toml", "calculator.tml", "calculator"])
def test_a_missing_file_suggests_a_similar_one(tmp_path, name):
    (tmp_path / "calculator.toml").touch()
    with pytest.raises(ConfigError, match=r"no conf.*; did you mean .*/calculator\.toml\?$"):
        load(tmp_path / name)


def test_errors_from_a_file_name_the_file(tmp_path):
    path = tmp_path / "x.toml"
    with pytest.raises(ConfigError, match=r"no configuration file at .*x\.toml$"):
        load(path)
    path.write_text("sed = 1")
    with pytest.raises(ConfigError, match=r"x\.toml: unknown key sed"):
        load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"cannot read the configuration file"):
        load(path)


def test_overrides_win_over_the_file_and_are_checked(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("seed = 1\n[optimiser]\nsteps = 5\ngroup_size = 4")
    config = load(path, {"seed": 2, "optimiser.steps": 6, "run.out": "elsewhere"})
    assert (config.seed, config.optimiser.steps, config.optimiser.group_size) == (2, 6, 4)
    assert config.run.out == "elsewhere"
    with pytest.raises(ConfigError, match=r"optimiser.steps must be"):
        load(path, {"optimiser.steps": 0})
    with pytest.raises(ConfigError, match=r"run.out must be a string"):
        load(path, {"run.out": "\udcff"})  # invalid UTF-8 from a shell
    path.write_text("run = 3")
    with pytest.raises(ConfigError, match=r"run is a section, \[run\]"):
        load(path, {"run.out": "elsewhere"})


def test_file_is_named_only_for_its_own_errors(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("[optimiser]\ngroup_size = 4")
    for wrong in ({"paretopo.stage2_estimator": "hypervolume", "paretopo.k": 5}, {"x": 1}):
        with pytest.raises(ConfigError) as refused:
            load(path, wrong)
        assert "x.toml" not in str(refused.value)
    path.write_text("[optimiser]\ngroup_size = 1")
    with pytest.raises(ConfigError, match=r"^.*x\.toml: optimiser.group_size must be .* got 1"):
        load(path, {"seed": 3})
    assert load(path, {"optimiser.group_size": 2}).optimiser.group_size == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("optimizer.steps", r"unknown section optimizer of .*; did you mean 'optimiser'\?"),
        ("paretopo.k.k", r"unknown section paretopo.k of .*; did you mean 'paretopo'\?"),
        ("paretopo", r"paretopo is a section, .*: set one of its keys, like paretopo.weighting"),
        ("", r"unknown key ; known: backend, "),
        ("objectives.tokens.weight", "no objective 'tokens' to set, .*; known: calls, correct"),
        ("objectives.call.weight", "no objective 'call' to set, .*; did you mean 'calls'"),
        ("objectives.calls.weigth", "unknown key objectives.calls.weigth; did you mean 'weight'"),
        ("objectives.calls", "objectives.calls is not a key: set one of an objective's"),
        ("objectives", "objectives is not a key"),
    ],
)
def test_an_override_of_no_key_is_refused(name, message):
    with pytest.raises(ConfigError, match=message):
        loads("", {name: 1})


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("optimiser.steps=40", "optimiser.steps", 40),
        (" seed = 3 ", "seed", 3),
        ("paretopo.k=[4, 2, 1]", "paretopo.k", [4, 2, 1]),
        ("openrlhf.colocate=true", "openrlhf.colocate", True),
        ("paretopo.gate=success", "paretopo.gate", "success"),
        ('paretopo.gate="success"', "paretopo.gate", "success"),
        ("model.path=Qwen/Qwen2.5-1.5B", "model.path", "Qwen/Qwen2.5-1.5B"),
        ("run.out=2026-01-01", "run.out", "2026-01-01"),
        ("tool.search_url=http://h:1/?a=b#c", "tool.search_url", "http://h:1/?a=b#c"),
        ("openrlhf.options=--a 1 --b=2", "openrlhf.options", "--a 1 --b=2"),
        ("paretopo.k=[4, 2", "paretopo.k", "[4, 2"),
        ("seed=3\nbackend='trl'", "seed", "3\nbackend='trl'"),
        ("run.out=", "run.out", ""),
        ("seed=" + 3000 * "[", "seed", 3000 * "["),
    ],
)
def test_an_override_is_toml_or_a_text(text, name, value):
    assert parse_override(text) == (name, value)


def test_an_override_needs_a_value():
    with pytest.raises(ConfigError, match=r"must be KEY=VALUE, like .*, got 'optimiser.steps'"):
        parse_override("optimiser.steps")


def test_exact_is_asked_of_the_stages_that_a_run_has():
    exact = {"centre": "exact", "stage2_estimator": "hypervolume"}
    assert ParetoPOConfig(**exact, stage1_estimator="pareto", stage1_steps=0).centre == "exact"
    with pytest.raises(ConfigError, match=r'"exact" is for .* got .*"pareto"'):
        ParetoPOConfig(**exact, stage1_estimator="pareto", stage1_steps=1)


def test_checks_also_hold_where_sections_are_built_by_hand():
    derived = {"floors": (0.0,), "references": ("initial", "initial")}
    assert loads('recipe = "paper"').paretopo == ParetoPOConfig(recipe="paper", **derived)
    for recipe in ("papper", ["paper"]):
        with pytest.raises(ConfigError, match=r"paretopo.recipe must be"):
            ParetoPOConfig(recipe=recipe)


def test_integers_become_floats_and_lists_tuples():
    text = '[paretopo]\ngamma = 0\nstage2_estimator = { name = "hypervolume", k = [2, 1] }'
    config = loads(text).paretopo
    assert isinstance(config.gamma, float)
    assert config.k == (2, 1)


@pytest.mark.parametrize("recipe", ["recommended", "paper"])
def test_a_resolved_configuration_reads_back_equal(recipe):
    config = loads(
        f'recipe = "{recipe}"\nseed = 5\n[paretopo]\n'
        'stage1_steps = 3\n[model]\npath = "a \\"quoted\\" \\\\ path é 🙂 \\u007f"'
    )
    assert loads(dumps(config)) == config


@given(
    beta=st.floats(0, 1),
    gamma=st.floats(0, 1, exclude_max=True),
    share=st.floats(0, 1),
)
def test_every_number_survives_writing_and_reading(beta, gamma, share):
    objectives = [
        {"name": "right", "weight": share},
        {"name": "cost", "weight": 1 - share, "better": "fewer"},
    ]
    switches = {"multiplier_on": {"name": "reward", "gamma": gamma}}
    estimator = {"stage2_estimator": {"name": "pareto", "beta": beta}, "economies": "each"}
    config = from_table({"objectives": objectives, "paretopo": switches | estimator})
    assert loads(dumps(config)) == config


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"rewards": {"file": "rewards.py"}}, "reward_funcs gives the rewards"),
        ({"run": {"tensorboard": True}}, "report_to names the trackers"),
        ({"paretopo": {"preference": "given", "stage1_steps": 0}}, "prompts are its own"),
    ],
)
def test_keys_that_only_paretopo_train_takes_are_refused_in_a_script(settings, complaint):
    with pytest.raises(ConfigError, match=complaint):
        JOB.make_config(settings, {})


def test_the_file_of_a_script_has_the_given_keys_of_inner_sections():
    config = JOB.make_config({"model": {"lora": {"rank": 8}}}, {"optimiser.steps": 3})
    assert loads(dumps(config)) == config
    assert "dtype" not in dumps(config)


def test_every_field_is_documented_and_has_a_sound_default():
    for section in [RunConfig, *SECTIONS.values()]:
        documented = keys(section)
        others = {*SECTIONS, "objectives", "notes", "effective", "lora", "limits"}
        for field in dataclasses.fields(section):
            assert field.name in others or documented[field.name].doc.endswith("."), field.name
        if section is not RunConfig:
            section()
