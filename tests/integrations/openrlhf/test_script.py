"""A launch script of OpenRLHF: its options, and the values of its rewards; without OpenRLHF."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace

import pytest

from paretopo.config import ConfigError
from paretopo.integrations.openrlhf.options import refuse_options
from paretopo.integrations.openrlhf.rollouts import find_components
from paretopo.integrations.openrlhf.script import begin_run, check_options, make_config
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout

OBJECTIVES = """
[[objectives]]
name = "math_accuracy"
gate = true
weight = 0.6
[[objectives]]
name = "turns"
weight = 0.4
[paretopo]
stage2_estimator = "gd2po"
"""
RESPONSE = {"prompt": "why?", "label": '{"id": "q"}', "action_ranges": [(1, 3), (5, 8)]}


def make_options(folder, **changes):
    """OpenRLHF's tree of options, those that are read here."""
    (folder / "objectives.toml").write_text(OBJECTIVES, encoding="utf-8")
    (folder / "reward.py").write_text("def reward_func(*_): ...", encoding="utf-8")
    given = {
        "train.agent_func_path": None,
        "train.seed": 42,
        "train.num_episodes": 2,
        "train.batch_size": 128,
        "train.max_epochs": 1,
        "train.async_enable": False,
        "train.colocate_all": True,
        "actor.model_name_or_path": "Qwen/Qwen3-4B",
        "actor.adam": SimpleNamespace(lr=5e-7),
        "actor.num_nodes": 1,
        "actor.num_gpus_per_node": 4,
        "vllm.num_engines": 2,
        "vllm.tensor_parallel_size": 2,
        "ds.zero_stage": 3,
        "ds.packing_samples": True,
        "rollout.batch_size": 32,
        "rollout.n_samples_per_prompt": 4,
        "rollout.max_new_tokens": None,
        "rollout.temperature": 1.0,
        "data.max_len": 2048,
        "data.prompt_dataset": "zhuzilin/dapo-math-17k",
        "eval.dataset": "OpenRLHF/aime-2024",
        "eval.steps": 5,
        "eval.temperature": 0.6,
        "reward.remote_url": str(folder / "reward.py"),
        "reward.overlong_buffer_len": 20.0,
        "reward.overlong_penalty_factor": 0.5,
        "reward.stop_properly_penalty_coef": None,
        "ckpt.output_dir": str(folder / "out"),
        "ckpt.path": str(folder / "checkpoints"),
        "ckpt.load_enable": False,
        "ckpt.save_steps": 5,
        "ckpt.best_metric_key": "",
        "algo.kl": SimpleNamespace(init_coef=1e-5, use_loss=True),
        "algo.advantage": SimpleNamespace(is_correction_level="token"),
        "algo.dynamic_filtering_enable": True,
    }
    tree = {}
    for name, value in (given | {key.replace("__", "."): v for key, v in changes.items()}).items():
        section, _, key = name.partition(".")
        setattr(tree.setdefault(section, SimpleNamespace()), key, value)
    return SimpleNamespace(**tree)


def config_of(folder, held_out=30, method=None, **changes):
    options = make_options(folder, **changes)
    return make_config(str(folder / "objectives.toml"), options, 100, held_out, method)


def test_a_script_is_configured_by_its_own_options(tmp_path):
    config = config_of(tmp_path)
    assert [one.name for one in config.objectives] == ["math_accuracy", "turns"]
    assert config.optimiser.steps == 3 * 2  # 100 prompts make three steps a pass
    assert (config.optimiser.group_size, config.optimiser.learning_rate) == (4, 5e-7)
    assert config.optimiser.max_completion_tokens == 2048
    assert (config.evaluation.every, config.evaluation.prompts) == (5, 30)
    assert (config.openrlhf.overlong_buffer, config.openrlhf.overlong_penalty) == (20, 0.5)
    assert config.openrlhf.correction == "token"
    assert config_of(tmp_path, eval__steps=-1).evaluation.every == config.optimiser.steps
    assert config_of(tmp_path, method="gdpo").paretopo.stage2_estimator == "gdpo"


def test_a_script_without_held_out_prompts_is_warned(tmp_path):
    with pytest.warns(UserWarning, match=r"no --eval\.dataset: nothing is evaluated"):
        config_of(tmp_path, held_out=0, eval__dataset=None)


@pytest.mark.parametrize(
    ("text", "changes", "complaint"),
    [
        ("", {"rollout__batch_size": 128}, r"--rollout\.batch_size must be at most 100.* got 128"),
        ("[run]\ntensorboard = true", {}, r"--logger\.wandb\.key or --logger\.tensorboard_dir"),
        ("[rewards]\nfile = 'a.py'", {}, r"rewards\.file is for .* --train\.agent_func_path or"),
        ("weights = 1", {}, "weights"),
    ],
)
def test_settings_that_a_script_cannot_have_are_refused(tmp_path, text, changes, complaint):
    options = make_options(tmp_path, **changes)
    file = tmp_path / "objectives.toml"
    file.write_text(OBJECTIVES + text, encoding="utf-8")
    with pytest.raises(ConfigError, match=complaint):
        make_config(str(file), options, 100, 30, None)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"reward__remote_url": None}, "reward model gives one number"),
        ({"reward__remote_url": "nowhere.py"}, r"--reward\.remote_url: there is no file nowhere"),
        ({"train__agent_func_path": "reward.py"}, r"reward\.py defines no AgentExecutor"),
        ({"vllm__num_engines": None}, r"--vllm\.num_engines must be at least 1"),
        ({"rollout__n_samples_per_prompt": 1}, r"n_samples_per_prompt must be at least 2, got 1"),
        (
            {"ckpt__best_metric_key": "eval_default_pass1"},
            "own evaluation, which paretopo replaces",
        ),
    ],
)
def test_options_without_a_meaning_for_a_vector_are_refused(
    tmp_path, monkeypatch, changes, complaint
):
    monkeypatch.chdir(tmp_path)
    check_options(make_options(tmp_path))
    check_options(make_options(tmp_path, reward__remote_url="http://127.0.0.1:5000/get_reward"))
    with pytest.raises(ConfigError, match=complaint):
        check_options(make_options(tmp_path, **changes))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("class AgentExecutor(:", "agent.py fails: SyntaxError"),
        ("import no_such_thing", "agent.py fails: ModuleNotFoundError: No module named"),
        ("AgentExecutor = None", "agent.py defines no AgentExecutor"),
    ],
)
def test_a_broken_agent_is_refused_before_anything_starts(tmp_path, text, complaint):
    path = tmp_path / "agent.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=f"--train.agent_func_path: .*{complaint}"):
        check_options(make_options(tmp_path, train__agent_func_path=str(path)))
    path.write_text("class AgentExecutor: pass", encoding="utf-8")
    check_options(make_options(tmp_path, train__agent_func_path=str(path)))


def test_the_files_of_a_script_are_recorded_with_their_contents(tmp_path):
    (tmp_path / "train.jsonl").write_text("{}", encoding="utf-8")
    options = make_options(tmp_path, data__prompt_dataset=str(tmp_path / "train.jsonl"))
    run = RunFolder(tmp_path / "out", config_of(tmp_path))
    begin_run(run, options, None)
    assert run.manifest["files"] == {
        name: hashlib.sha256((tmp_path / file).read_bytes()).hexdigest()
        for name, file in (
            ("--reward.remote_url", "reward.py"),
            ("--data.prompt_dataset", "train.jsonl"),
        )
    }


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"reward__stop_properly_penalty_coef": 0.0}, "return an objective for it"),
        (
            {"algo__kl": SimpleNamespace(init_coef=0.01, use_loss=False)},
            r"--algo\.kl\.init_coef = 0\.01 .* add --algo\.kl\.use_loss, or set 0",
        ),
        ({"rollout__vllm_generate_batch_size": 64}, r"at most rollout\.batch_size = 32, got 64"),
    ],
)
def test_options_that_would_change_advantages_are_refused_for_every_run(
    tmp_path, changes, complaint
):
    refuse_options(make_options(tmp_path))
    with pytest.raises(ConfigError, match=complaint):
        refuse_options(make_options(tmp_path, **changes))


def test_records_are_resumed_or_refused_and_never_overwritten(tmp_path):
    config, begin = config_of(tmp_path), make_options(tmp_path)
    resume = make_options(tmp_path, ckpt__load_enable=True)
    run = RunFolder(tmp_path / "out", config)
    assert not begin_run(run, resume, None)  # example scripts always give --ckpt.load_enable
    assert not begin_run(run, begin, None)  # the first job recorded nothing
    run.append_evaluation({"step": 0})
    with pytest.raises(ConfigError, match=r"resume it with --ckpt\.load_enable, or give another"):
        begin_run(run, begin, None)
    assert begin_run(run, resume, None)
    run.config = config_of(tmp_path, method="gdpo")
    with pytest.raises(ConfigError, match=r"other values of paretopo.* another --ckpt\.output_dir"):
        begin_run(run, resume, None)
    (tmp_path / "checkpoints" / "_actor").mkdir(parents=True)
    with pytest.raises(ConfigError, match="checkpoints without the records of a run"):
        begin_run(RunFolder(tmp_path / "other", config), resume, None)


def test_values_are_found_by_name_among_rewards_scores_and_logs():
    torch = pytest.importorskip("torch")
    reward = torch.tensor([0.5])
    response = RESPONSE | {"reward": reward, "scores": 1.0}
    logs = {"math_accuracy": reward, "polite": None, "other": 3}
    wanted = ("rewards", "scores", "math_accuracy", "polite", "turns")
    assert find_components(response, logs, wanted) == dict(
        zip(wanted, (0.5, 1.0, 0.5, None, 2.0), strict=True)
    )
    assert find_components(response, {"turns": 7}, ("rewards", "turns"))["turns"] == 7.0


@pytest.mark.parametrize(
    ("reward", "logs", "complaint"),
    [
        (1.0, {"dummy_scores": 1.0}, "no 'dummy_score': .* 'rewards', 'scores', 'dummy_scores'"),
        (1.0, {"dummy_score": [1.0, 2.0]}, r"'dummy_score' = \[1\.0, 2\.0\]"),
        (None, {}, "no 'dummy_score': .* gave it no reward; OpenRLHF's log says why"),
    ],
)
def test_a_missing_value_is_explained_by_the_names_that_are_there(reward, logs, complaint):
    with pytest.raises(BadRollout, match=f"prompt 'q' has {complaint}"):
        find_components(RESPONSE | {"reward": reward, "scores": reward}, logs, ("dummy_score",))


def test_a_tensor_of_several_numbers_is_no_value():
    torch = pytest.importorskip("torch")
    with pytest.raises(BadRollout, match="'rewards' = tensor"):
        find_components(RESPONSE | {"reward": torch.ones(2)}, {}, ("rewards",))
