"""What slime's rollout manager gets of our hooks, and what they refuse; slime's parts stand in."""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import json
import re
from pathlib import Path

import pytest
from support.slime_parts import (
    HOOKS,
    RolloutDataSourceWithBuffer,
    RolloutManager,
    Sample,
    arguments,
    install,
    load_function,
    made_up,
    prompts,
    train,
)

install()

from paretopo.config import ConfigError, loads  # noqa: E402
from paretopo.integrations.slime import hooks  # noqa: E402
from paretopo.integrations.slime.samples import (  # noqa: E402
    group_rollouts,
    read_rollout,
    split_rollouts,
)
from paretopo.integrations.slime.settings import check_arguments, state_path  # noqa: E402
from paretopo.rollout import BadRollout  # noqa: E402
from paretopo.run.folder import RunFolder  # noqa: E402

PAGE = (Path(__file__).parents[3] / "docs" / "slime.md").read_text(encoding="utf-8")
CONFIG = {
    "paretopo": {"stage1_steps": 0, "stage2_estimator": "pareto"},
    "objectives": [{"name": "correct"}, {"name": "calls", "economy": "paretopo"}],
}
FILTER = {"dynamic_sampling_filter_path": f"{HOOKS}.keep_informative"}


@pytest.fixture(autouse=True)
def desk(monkeypatch):
    monkeypatch.setattr(RolloutDataSourceWithBuffer, "prompts", prompts("abcdef"))
    monkeypatch.setattr(hooks, "_source", None)


def sample(correct=1.0, calls=1, *, group=0, index=0, rollout_id=None, mask=(1, 1), **more):
    told = {
        "reward": {"correct": correct, "calls": calls},
        "prompt": f"{group}?",
        "status": Sample.Status.COMPLETED,
        "loss_mask": list(mask),
    }
    return Sample(
        group_index=group,
        index=index,
        rollout_id=rollout_id,
        tokens=[97] * (2 + len(mask)),
        response_length=len(mask),
        **(told | more),
    )


def manager(tmp_path, *, policy=made_up, start=-1, **changes):
    made = RolloutManager(
        arguments(tmp_path / "run", **({"paretopo_config": CONFIG} | changes)),
        policy=policy,
        held_out=prompts("yz"),
    )
    made.load(start)
    return made


def read(*samples, objectives=("correct", "calls")):
    return [read_rollout(one, objectives) for one in split_rollouts(samples)]


# ---- samples -----------------------------------------------------------------------------------


def test_a_rollout_is_what_its_last_sample_says():
    first = sample(0.0, 9, rollout_id=4, mask=(1, 0, 1))
    last = sample(1.0, 2, rollout_id=4, mask=(1, 1, 0, 0, 1))
    [one] = read(first, last)
    assert one.reward_components == {"correct": 1.0, "calls": 2, "turns": 4}
    assert one.tokens == 5  # of all its samples, those that the policy wrote
    assert not one.truncated


def test_without_a_mask_the_policy_wrote_everything():
    cut = sample(loss_mask=None, status=Sample.Status.TRUNCATED)
    [one] = read(cut)
    assert (one.tokens, one.reward_components["turns"], one.truncated) == (2, 1, True)


def test_what_the_reward_function_says_of_turns_wins():
    [one] = read(sample(reward={"correct": 1.0, "calls": 0, "turns": 7, "unknown": 3}))
    assert one.reward_components == {"correct": 1.0, "calls": 0, "turns": 7}


@pytest.mark.parametrize(
    ("reward", "message"),
    [
        ({"correct": 1.0, "cals": 2}, r"has no 'calls' in its reward.*did you mean 'cals'"),
        (0.5, r"has the reward 0\.5: the function of --custom-rm-path must return a dictionary"),
        (None, r"has the reward None"),
    ],
)
def test_a_missing_objective_names_the_sample(tmp_path, reward, message):
    bad = sample(index=17, metadata={"id": "q3"}, reward=reward)
    with pytest.raises(BadRollout, match=r"sample 17 of prompt 'q3' \(completed\) " + message):
        read(sample(), bad)
    with pytest.raises(BadRollout, match="sample 17"):
        manager(tmp_path).data_source.advantages([sample(), bad])


def test_prompts_are_named_by_their_id_or_by_their_text():
    chat = [{"role": "user", "content": "0?"}]
    one, same, chatted, other, named = read(
        sample(), sample(), sample(prompt=chat), sample(group=1), sample(metadata={"id": 7})
    )
    assert one.prompt_id == same.prompt_id == chatted.prompt_id != other.prompt_id
    assert named.prompt_id == "7"


def test_the_source_of_a_prompt_is_its_kind():
    mathematics = sample(metadata={"source_name": "math"})
    assert [one.kind for one in read(mathematics, sample(metadata=None))] == ["math", "all"]


def test_groups_are_found_by_index_in_any_order():
    samples = [
        sample(group=5),
        sample(group=2, rollout_id=8),
        sample(group=5),
        sample(group=2, rollout_id=8),
        sample(group=2, rollout_id=9),
    ]
    groups = group_rollouts(samples)
    assert [[one.rows for one in group] for group in groups] == [[(0,), (2,)], [(1, 3), (4,)]]
    assert groups[1][0].last is samples[3]
    samples[0].group_index = None
    with pytest.raises(BadRollout, match="has no group_index"):
        group_rollouts(samples)


# ---- advantages --------------------------------------------------------------------------------


def test_each_sample_gets_the_advantage_of_its_rollout(tmp_path):
    source = manager(tmp_path).data_source
    samples = [
        sample(1.0, 1, group=0, index=0),
        sample(0.0, 2, group=1, index=4, rollout_id=4),
        sample(1.0, 2, group=0, index=1),
        sample(1.0, 0, group=1, index=4, rollout_id=4),
        sample(0.0, 2, group=1, index=5, rollout_id=5),
    ]
    raw, given = hooks.post_process_rewards(source.args, samples)
    assert raw == [1.0, 0.0, 1.0, 1.0, 0.0]  # what --reward-key names
    assert given == pytest.approx([0.5, 0.5, -0.5, 0.5, -0.5])
    assert all(isinstance(one, float) for one in given)
    [row] = source.session.run.steps()
    assert (row["step"], row["generated_groups"], row["measured"]["calls"]) == (1, 2, 1.25)
    assert row["seconds"] >= 0.0


def test_a_group_that_differs_in_cost_alone_is_kept_and_scored_once(tmp_path):
    made = manager(tmp_path, **FILTER)
    args = made.args
    equal = [sample(1.0, 1, group=0, index=at) for at in range(2)]
    differ = [[sample(1.0, 1 + at, group=1, index=2 + at)] for at in range(2)]  # lists of parts
    assert hooks.keep_informative(args, differ).keep
    dropped = hooks.keep_informative(args, equal)
    assert (dropped.keep, dropped.reason) == (False, "uninformative")
    hooks.post_process_rewards(args, [one for part in differ for one in part])
    [row] = made.data_source.session.run.steps()
    assert (row["generated_groups"], row["kept"]) == (2, 0.5)


def test_scores_of_another_session_are_not_taken(tmp_path):
    samples = [sample(1.0, 1 + at, index=at) for at in range(2)]
    first = manager(tmp_path / "one", **FILTER)
    assert hooks.keep_informative(first.args, samples).keep
    dumped = copy.deepcopy(samples)  # --save-debug-rollout-data, --load-debug-rollout-data
    alone = {"objectives": [{"name": "correct"}], "paretopo": CONFIG["paretopo"]}
    second = manager(tmp_path / "two", paretopo_config=alone)
    assert second.post_process(dumped) == [0.0, 0.0]
    [row] = second.data_source.session.run.steps()
    assert list(row["rewards"]) == ["correct"]


def test_the_filter_of_a_whole_run_keeps_what_teaches(tmp_path):
    def equal_or_not(sample, turn):
        sample = made_up(sample, turn)
        sample.reward = {"correct": 1.0, "calls": sample.index % 2 if "a" in sample.prompt else 1}
        return sample

    made = manager(tmp_path, policy=equal_or_not, rollout_batch_size=1, **FILTER)
    made.generate(0)
    assert made.dropped == []
    made.generate(1)  # prompts b to f teach nothing; then a comes again
    assert made.dropped == ["uninformative"] * 5


# ---- evaluations -------------------------------------------------------------------------------


def test_before_the_first_update_an_evaluation_is_of_step_0(tmp_path):
    made = manager(tmp_path)
    made.eval(0)
    made.generate(0)
    made.eval(0)
    made.eval(0)  # slime repeats one: it counts once
    rows = made.data_source.session.run.evaluations()
    assert [row["step"] for row in rows] == [0, 1]
    assert list(rows[0]["by_kind"]) == ["desk"]


def test_an_evaluation_without_samples_is_told(tmp_path):
    made = manager(tmp_path)
    data = {"desk": {"rewards": [1.0]}}
    with pytest.raises(BadRollout, match=r"'desk' came without samples.*--eval-function-path"):
        hooks.log_evaluation(0, made.args, data, None)


def test_texts_of_training_and_of_evaluations_are_kept(tmp_path):
    made = manager(tmp_path)
    made.eval(0)
    made.generate(0)
    groups = list(made.data_source.session.run.trajectories())
    assert [group.rollouts[0].held_out for group in groups] == [True, True, False, False]
    rollouts = [one for group in groups for one in group.rollouts]
    assert all(one.prompt == f"{one.prompt_id}?" and one.answer for one in rollouts)
    kinds = {piece.kind for one in rollouts for piece in one.segments}
    assert kinds == {"model", "call", "tool"}


# ---- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"paretopo_confg": "x"}, "has paretopo_confg; did you mean 'paretopo_config'"),
        ({"save": None}, "--save is missing"),
        ({"reward_key": None}, "--reward-key is missing"),
        ({"custom_reward_post_process_path": None}, "--custom-reward-post-process-path is missing"),
        (
            {"custom_eval_rollout_log_function_path": None},
            "--custom-eval-rollout-log-function-path is missing",
        ),
        ({"advantage_estimator": "ppo"}, "must be grpo or gspo or cispo.*got 'ppo'"),
        ({"normalize_advantages": True}, "--normalize-advantages would whiten"),
        ({"custom_convert_samples_to_train_data_path": "a.b"}, "--custom-convert-samples.*leave"),
        ({"custom_advantage_function_path": "a.b"}, "--custom-advantage-function-path takes the"),
        (
            {
                "dynamic_sampling_filter_path": "slime.rollout.filter_hub."
                "dynamic_sampling_filters.check_reward_nonzero_std"
            },
            "hooks.keep_informative, got 'slime.rollout",
        ),
        ({"rollout_data_transport": "straw"}, "take object-store"),
    ],
)
def test_what_would_undo_our_hooks_is_refused(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        manager(tmp_path, **changes)


def test_a_configuration_must_be_named_and_an_evaluation_is_missed(tmp_path):
    args = arguments(tmp_path, eval_interval=None)
    with pytest.warns(UserWarning, match="no --eval-interval: nothing is evaluated"):
        check_arguments(args)
    del args.paretopo_config
    with pytest.raises(ConfigError, match="needs a line paretopo_config: FILE"):
        check_arguments(args)


def test_what_slime_says_is_recorded(tmp_path):
    made = manager(tmp_path, num_rollout=None, num_epoch=3, eval_interval=5, paretopo_method="gdpo")
    run = RunFolder.open(tmp_path / "run")
    config = run.config
    assert (config.backend, config.seed, config.model.path) == ("slime", 1234, "a-model")
    assert config.optimiser.steps == 9  # 3 times 6 prompts by 2
    assert (config.optimiser.prompts_per_step, config.optimiser.group_size) == (2, 4)
    assert (config.optimiser.max_completion_tokens, config.evaluation.every) == (40, 5)
    assert config.paretopo.stage2_estimator == "gdpo"
    assert (run.method, run.manifest["script"]) == ("gdpo", True)
    assert made.data_source.session.config == config


def test_a_run_of_weights_and_biases_is_left_to_slime(tmp_path):
    config = CONFIG | {"run": {"wandb_project": "mine"}}
    with pytest.raises(ConfigError, match=r"run\.wandb_project would end the run"):
        manager(tmp_path, paretopo_config=config)


def test_the_learning_rate_is_slimes():
    with pytest.raises(ConfigError, match='"learning_rate" is not for backend = "slime"'):
        loads('backend = "slime"\n[paretopo]\nmultiplier_on = "learning_rate"')


def test_hooks_without_the_data_source_say_what_is_missing(tmp_path):
    args = arguments(tmp_path)
    with pytest.raises(RuntimeError, match=r"--data-source-path must be paretopo\.integrations"):
        hooks.post_process_rewards(args, [sample()])
    RolloutManager(args, policy=made_up)  # that slime restarted, without load
    with pytest.raises(RuntimeError, match="has not called load"):
        hooks.post_process_rewards(args, [sample()])


# ---- state -------------------------------------------------------------------------------------


def state_of(folder, rollout_id):
    return json.loads(state_path(folder, rollout_id).read_text())


def test_a_state_knows_the_evaluation_of_its_checkpoint(tmp_path):
    made = manager(tmp_path)
    made.eval(0)
    made.generate(0)
    made.save(0)
    assert state_of(tmp_path / "run", 0)["evaluations"] == 1
    made.eval(0)
    assert state_of(tmp_path / "run", 0)["evaluations"] == 2
    assert state_of(tmp_path / "run", 0) == json.loads(json.dumps(made.data_source.session.state()))


def test_a_loop_that_generates_ahead_saves_the_state_of_its_policy(tmp_path):
    seen = {}

    def note(what, rollout_id):
        if what == "save":
            seen[rollout_id] = state_of(tmp_path / "run", rollout_id)

    args = arguments(tmp_path / "run", paretopo_config=CONFIG)
    train(RolloutManager(args, policy=made_up, held_out=prompts("yz")), ahead=True, after=note)
    assert [state["recorded"] for state in seen.values()] == [1, 2, 3, 4]
    assert [state["controller"]["step"] for state in seen.values()] == [1, 2, 3, 4]
    assert [state["evaluations"] for state in seen.values()] == [0, 1, 2, 3]
    steps = [row["step"] for row in RunFolder.open(tmp_path / "run").evaluations()]
    assert steps == [1, 2, 3, 4]
    resumed = manager(tmp_path, start=1, load=str(tmp_path / "run"))
    assert resumed.data_source.session.steps_done() == 2


def test_a_checkpoint_of_an_earlier_rollout_is_not_made_up(tmp_path):
    made = manager(tmp_path)
    for rollout_id in range(3):
        made.generate(rollout_id)
    with pytest.raises(RuntimeError, match=r"slime saves rollout 0.*advantages for 3 rollouts"):
        made.save(0)


def test_a_run_is_finished_when_slime_is_done(tmp_path):
    args = arguments(tmp_path / "run", paretopo_config=CONFIG)
    train(RolloutManager(args, policy=made_up, held_out=prompts("yz")))
    assert RunFolder.open(tmp_path / "run").manifest["status"] == "finished"


def test_a_job_that_is_disposed_of_early_is_not_finished(tmp_path):
    made = manager(tmp_path)
    made.generate(0)
    made.dispose()
    assert RunFolder.open(tmp_path / "run").manifest["status"] == "running"
    RolloutManager(arguments(tmp_path / "other"), policy=made_up).dispose()  # it never began


def test_two_jobs_do_not_share_a_folder(tmp_path):
    first = manager(tmp_path)
    begun = RunFolder.open(tmp_path / "run").manifest
    with pytest.raises(ConfigError, match="another process works in"):
        manager(tmp_path, num_rollout=9)
    assert RunFolder.open(tmp_path / "run").config.optimiser.steps == 4  # nothing was written
    assert RunFolder.open(tmp_path / "run").manifest == begun
    first.dispose()
    manager(tmp_path)


def test_what_belongs_to_no_checkpoint_is_refused_or_done_again(tmp_path):
    run, other = str(tmp_path / "run"), str(tmp_path / "other")
    made = manager(tmp_path, save_interval=2)
    made.eval(0)
    made.generate(0)
    made.dispose()
    made = manager(tmp_path)  # it ended before its first checkpoint
    assert made.data_source.session.run.steps() == []
    made.generate(0)
    made.save(0)
    made.dispose()
    with pytest.raises(ConfigError, match=rf"holds the checkpoints of a run.*--load {run}"):
        manager(tmp_path)
    with pytest.raises(ConfigError, match=r"from rollout 1, .*paretopo_1\.json cannot be read"):
        manager(tmp_path, start=1, load=run)
    with pytest.raises(ConfigError, match="does not hold the records of that run"):
        manager(tmp_path, start=0, load=run, save=other)
    with pytest.raises(ConfigError, match="begun with other values of paretopo"):
        manager(tmp_path, start=0, load=run, paretopo_method="gdpo")
    longer = manager(tmp_path, start=0, load=run, num_rollout=9)
    assert longer.data_source.session.steps_done() == 1
    assert RunFolder.open(run).config.optimiser.steps == 9


# ---- the page ----------------------------------------------------------------------------------


def test_the_page_names_what_there_is():
    named = set(re.findall(r"paretopo\.integrations\.slime\.[\w.]*\w", PAGE))
    assert {f"{HOOKS}.{name}" for name in ("post_process_rewards", "log_evaluation")} < named
    for path in named:
        load_function(path)
    function, _ = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    given = {"count": lambda text: 2, "judge": lambda text: 0.5}
    exec(compile(function, "docs/slime.md", "exec"), given)
    assert inspect.iscoroutinefunction(given["reward"])
    answered = sample(label="4", response="it is 4")
    with pytest.raises(StopIteration) as returned:
        given["reward"](None, answered).send(None)
    answered.reward = returned.value.value
    [one] = read(answered, objectives=("correct", "calls", "polite"))
    assert one.reward_components == {"correct": 1.0, "calls": 2, "polite": 0.5, "turns": 1}


def test_parameters_have_the_names_that_slime_holds_its_plug_ins_to():
    wanted = {
        hooks.post_process_rewards: ["args", "samples"],
        hooks.log_evaluation: ["rollout_id", "args", "data", "extra_metrics"],
    }
    for function, names in wanted.items():
        assert list(inspect.signature(function).parameters) == names


def test_a_data_source_of_ones_own_keeps_its_part(tmp_path):
    class Own(hooks.SessionSource, RolloutDataSourceWithBuffer):
        def close(self):
            super().close()
            self.closed = True

    source = Own(arguments(tmp_path, paretopo_config=CONFIG))
    source.load(-1)
    source.get_samples(2)
    assert source.session.steps_done() == source.sample_group_index - 2 == 0
    source.close()
    assert source.closed


def test_examples_run():
    module = importlib.import_module("paretopo.integrations.slime.samples")
    result = doctest.testmod(module)
    assert (result.failed, result.attempted > 0) == (0, True)
