"""verl's command line from a configuration, and settings that are refused before verl starts."""

import doctest
import importlib.util
import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from paretopo.config import ConfigError, load, loads
from paretopo.evaluation.own_task import plan_evaluation
from paretopo.integrations.verl.options import Files, verl_options
from paretopo.integrations.verl.rehearsal.plan import describe_gaps, plan_rehearsal
from paretopo.run.folder import RunFolder
from paretopo.run.provenance import check_release

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_rewards" / "train.toml"
FILES = Files("a-model", Path("/a b/p.parquet"), 40, Path("/h.parquet"), None)


def options_of(tmp_path, text="", **overrides):
    dotted = {name.replace("__", "."): value for name, value in overrides.items()}
    config = loads('backend = "verl"\n' + text, dotted)
    words = verl_options(config, RunFolder(tmp_path, config), FILES)
    return dict(word.split("=", 1) for word in words)


def test_command_line_follows_the_file(tmp_path):
    given = options_of(
        tmp_path,
        optimiser__prompts_per_step=8,
        optimiser__group_size=4,
        optimiser__kl=0.01,
        optimiser__steps=12,
        run__checkpoint_every=0,
        evaluation__every=3,
        verl__gpus_per_node=4,
    )
    assert given["data.train_files"] == "'/a b/p.parquet'"
    assert given["algorithm.adv_estimator"] == "paretopo"
    assert given["trainer.v1.trainer_mode"] == "paretopo_sync"
    assert given["+paretopo.run"] == str(tmp_path)
    assert given["actor_rollout_ref.rollout.agent.default_agent_loop"] == "paretopo_task"
    assert not any(name.startswith("reward.") for name in given)
    assert given["actor_rollout_ref.actor.ppo_mini_batch_size"] == "8"
    assert given["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"] == "8"
    assert given["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"] == "8"
    assert given["actor_rollout_ref.actor.use_kl_loss"] == "true"
    assert given["actor_rollout_ref.actor.loss_agg_mode"] == "token-mean"
    assert given["trainer.total_training_steps"] == "12"
    assert given["trainer.total_epochs"] == "4"  # 5 steps a pass
    assert given["trainer.save_freq"] == "12"  # only the last step
    assert given["trainer.test_freq"] == "3"
    assert "algorithm.filter_groups.enable" not in given


def test_a_filter_goes_by_whole_vectors(tmp_path):
    given = options_of(tmp_path, verl__dynamic_sampling=True, verl__asynchronous=True)
    assert given["algorithm.filter_groups.metric"] == "paretopo_informative"
    assert given["trainer.v1.trainer_mode"] == "paretopo_colocate_async"


def test_own_rewards_work_with_verls_agent_loop(tmp_path):
    config = loads('backend = "verl"\n[verl]\nreward = "r.py"\nagent = "my_loop"')
    words = verl_options(config, RunFolder(tmp_path, config), replace(FILES, reward=Path("/r.py")))
    assert "reward.custom_reward_function.path=/r.py" in words
    assert "actor_rollout_ref.rollout.agent.default_agent_loop=my_loop" in words


def test_words_of_the_users_own_come_last(tmp_path):
    config = loads('backend = "verl"\n[verl]\noptions = "trainer.nnodes=3 +a.b=\'c d\'"')
    words = verl_options(config, RunFolder(tmp_path, config), FILES)
    assert words[-2:] == shlex.split("trainer.nnodes=3 +a.b='c d'")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[optimiser]\nloss = "bnpo"', "optimiser.loss must be one of dapo, grpo, dr_grpo"),
        ("[optimiser]\nprompts_per_step = 9\n", r"the 72 rollouts .*multiple of the 16 GPUs"),
        ("[optimiser]\nprompts_per_step = 64", "at most the number of training prompts, 40"),
    ],
)
def test_settings_unsupported_by_verl_are_refused(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        options_of(tmp_path, text, verl__gpus_per_node=16)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[verl]\nengine_gpus = 3", "engine_gpus must divide the GPUs .* got engine_gpus = 3"),
        ('[verl]\nreward = "r.py"\nagent = "tool_agent"', "belong together"),
        ('[verl]\nagent = "my_loop"', "needs verl.reward, a Python file with compute_score"),
    ],
)
def test_sections_that_do_not_fit_are_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        loads('backend = "verl"\n' + text)


def test_a_rehearsal_keeps_the_method_and_shrinks_the_rest():
    config = load(EXAMPLE, {"backend": "verl", "paretopo.stage1_steps": 9})
    small = plan_rehearsal(config)
    assert small.objectives == config.objectives
    assert (small.optimiser.steps, small.paretopo.stage1_steps) == (4, 2)
    assert small.evaluation.every == 2
    assert small.verl.gpus_per_node == 1
    assert any("8" in line or "several processes" in line for line in describe_gaps(config))
    with pytest.raises(ConfigError, match=r'needs model.path = "tiny"'):
        plan_rehearsal(load(EXAMPLE, {"backend": "verl", "model.path": "a-model"}))
    with pytest.raises(ConfigError, match=r'verl.prompts = verl.held_out = "task"'):
        plan_rehearsal(load(EXAMPLE, {"backend": "verl", "verl.prompts": "p.parquet"}))


def test_a_real_model_is_rehearsed_at_the_size_of_its_steps():
    changes = {"backend": "verl", "model.path": "a-model", "optimiser.group_size": 16}
    config = load(EXAMPLE, changes)
    planned = plan_rehearsal(config, steps=10, real_model=True)
    assert planned.model == config.model
    for name in ("prompts_per_step", "group_size", "micro_batch", "max_completion_tokens"):
        assert getattr(planned.optimiser, name) == getattr(config.optimiser, name)
    assert (planned.optimiser.steps, planned.verl.gpus_per_node) == (10, 1)


def test_releases_outside_the_range_are_refused():
    assert check_release("numpy", (1, 0, 0), (99, 0, 0), "")[0] >= 1
    with pytest.raises(ConfigError, match=r"fit numpy==0\.0\.1 only.*pip install numpy==0\.0\.1"):
        check_release("numpy", (0, 0, 1), (0, 0, 1), "")
    with pytest.raises(ConfigError, match="no-such-package is not installed; ask for it"):
        check_release("no-such-package", (0,), (1,), "ask for it")


OWN = 'backend = "verl"\n[verl]\nprompts = "p"\nheld_out = "h"\nreward = "desk/rewards.py"\n'


def test_own_environment_names_the_run(tmp_path):
    assert RunFolder.create(tmp_path, loads(OWN)).path.name.startswith("rewards-recommended-")
    with pytest.raises(ConfigError, match=r"verl\.reward and verl\.held_out .* runs only on verl"):
        plan_evaluation(loads(OWN), "a-model")


def test_trl_and_verl_need_separate_environments():
    project = tomllib.loads((EXAMPLE.parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {
        name: {re.split(r"[\[=<>!]", one)[0].lower() for one in wanted}
        for name, wanted in project["project"]["optional-dependencies"].items()
    }
    assert "verl" not in extras["train"] | extras["test"]
    assert "trl" not in extras["verl"]
    [plug_in] = project["project"]["entry-points"]["verl.plugins"].values()
    assert importlib.util.find_spec(plug_in) is not None


@pytest.mark.parametrize("name", ["options", "rollouts"])
def test_examples_run(name):
    module = importlib.import_module(f"paretopo.integrations.verl.{name}")
    assert doctest.testmod(module).failed == 0
