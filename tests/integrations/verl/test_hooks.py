"""The hook without verl: rows, options, filter, state."""

import json
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.sessions import new_session
from support.trainer_rollouts import make_row

from paretopo.config import ConfigError
from paretopo.integrations.advantages import hand_over, spread
from paretopo.integrations.verl.training import (
    ParetoTraining,
    _column,
    is_ours,
    make_config,
    make_rollout,
)
from paretopo.rollout import BadRollout
from paretopo.session import Session

END = 0
TOKENIZER = SimpleNamespace(
    eos_token="<end>", eos_token_id=END, decode=lambda tokens: " ".join(map(str, tokens))
)
NAMES = ("correct", "calls")


def row(correct=1.0, calls=1, **more):
    rewards = {"correct": correct, "calls": calls, "score": 3.0}
    return make_row(rewards, key="u_0_0", **more)


def rollout_of(*outputs, objectives=NAMES):
    return make_rollout(outputs, objectives, 4, END)


def test_the_last_output_is_measured_and_all_count_their_tokens():
    one = rollout_of(row(1.0, 9, tokens=(5, 6)), row(0.0, 3, tokens=(5, 6, END)))
    assert one.reward_components == {"correct": 0.0, "calls": 3}
    assert (one.tokens, one.truncated) == (5, False)


@pytest.mark.parametrize(
    ("given", "truncated"),
    [
        ({"tokens": (5,) * 4}, True),
        ({"tokens": (5, 5, 5, END)}, False),
        ({"extra": {"truncated": True}}, True),  # as the agent loop says
        ({"tokens": (5,) * 4, "extra": {"truncated": False}}, False),
    ],
)
def test_a_full_response_without_an_end_is_truncated(given, truncated):
    assert rollout_of(row(**given)).truncated is truncated


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"reward_extra_info": {"corect": 1.0}}, "has no 'correct'.*did you mean 'corect'"),
        ({"reward_extra_info": None}, "compute_score must return it with 'score'"),
    ],
)
def test_a_missing_reward_names_prompt_and_row(extra, message):
    with pytest.raises(BadRollout, match=rf"prompt 'q7' \(row u_0_0\) .*{message}"):
        rollout_of(row(extra=extra, extra_info={"id": "q7"}))


def test_tokens_and_turns_need_no_reward_of_that_name():
    one = rollout_of(row(num_turns=6), objectives=(*NAMES, "tokens", "turns"))
    assert one.reward_components["turns"] == 3


def test_prompts_are_named_by_their_id_or_by_their_text():
    given = [{"id": 17}, {"index": 3}, {}]
    named, plain, same = (rollout_of(row(extra_info=one)).prompt_id for one in given)
    assert named == "17"
    assert plain == same != rollout_of(row(prompt="what?")).prompt_id


def test_columns_come_as_tensors_and_otherwise():
    nested = torch.nested.as_nested_tensor([torch.arange(2), torch.arange(3)], layout=torch.jagged)
    assert [len(one) for one in _column(nested)] == [2, 3]
    assert _column(np.array([{"a": 1}, None], object)) == [{"a": 1}, None]
    assert _column(["x"]) == ["x"]


def test_only_policy_tokens_get_advantages():
    mask = torch.tensor([[1, 0, 1], [1, 1, 0]])
    with hand_over(np.array([0.5, -1.0])):
        advantages, _ = spread(torch.zeros(2, 3), mask, index=None, config=None)
    assert advantages.tolist() == [[0.5, 0.0, 0.5], [-1.0, -1.0, 0.0]]
    with pytest.raises(ConfigError, match=r"trainer_mode=sync.*RayPPOTrainer"):
        spread(torch.zeros(2, 3), mask)


class Settings(dict):
    """As much of OmegaConf as is read."""

    __getattr__ = dict.__getitem__


OBJECTIVES = {"objectives": [{"name": "correct"}, {"name": "polite"}]}


def verl_settings(tmp_path, **changes):
    def tree(table):
        return Settings({k: tree(v) if isinstance(v, dict) else v for k, v in table.items()})

    config = {
        "paretopo.config": OBJECTIVES,
        "algorithm.adv_estimator": "paretopo_gd2po",
        "algorithm.use_kl_in_reward": False,
        "algorithm.filter_groups": {"enable": False, "metric": "reward"},
        "reward.reward_model": {"enable": False, "enable_resource_pool": False},
        "trainer": {"default_local_dir": str(tmp_path), "resume_mode": "auto", "test_freq": 5},
        "data": {"seed": None, "train_batch_size": 4, "max_response_length": 32},
        "actor_rollout_ref": {
            "model": {"path": "a-model"},
            "rollout": {"n": 4},
            "actor": {"optim": {"lr": 1e-5}},
        },
    }
    built = {}
    for name, value in (config | changes).items():
        at = built
        *path, last = name.split(".")
        for part in path:
            at = at.setdefault(part, {})
        at[last] = value
    return tree(built)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (("correct", "polite"), (0.5, 0.5), "gd2po")),
        (
            {"paretopo": {"config": OBJECTIVES, "method": "dr_grpo"}}
            | {"algorithm.adv_estimator": "paretopo"},
            (("correct", "polite"), (0.5, 0.5), "dr_grpo"),
        ),
        (
            {"paretopo": {}, "algorithm.gdpo_reward_keys": ["correct", "brief"]}
            | {"algorithm.gdpo_reward_weights": [3, 1], "algorithm.adv_estimator": "paretopo_gdpo"},
            (("correct", "brief"), (0.75, 0.25), "gdpo"),
        ),
    ],
)
def test_verls_options_make_the_configuration(tmp_path, changes, expected):
    config = make_config(verl_settings(tmp_path, **changes), 8, 16)
    names = tuple(one.name for one in config.objectives)
    assert (names, config.paretopo.weights, config.paretopo.stage2_estimator) == expected
    assert (config.optimiser.steps, config.optimiser.group_size) == (8, 4)
    assert (config.evaluation.every, config.evaluation.prompts) == (5, 16)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm.use_kl_in_reward": True}, "use_kl_loss=true"),
        ({"reward.reward_model": {"enable": True, "enable_resource_pool": False}}, "its own pool"),
        ({"algorithm.filter_groups": {"enable": True, "metric": "acc"}}, "paretopo_informative"),
        ({"paretopo": {}}, r"\+algorithm.gdpo_reward_keys=.* or \+paretopo.config=FILE"),
        (
            {"paretopo": {}, "algorithm.gdpo_reward_keys": ["a", "b"]}
            | {"algorithm.gdpo_reward_weights": [1.0]},
            r"a number for each of \['a', 'b'\], got \[1.0\]",
        ),
        ({"paretopo.confg": "x"}, "did you mean 'config'"),
        ({"algorithm.adv_estimator": "paretopo_gdop"}, "stage2_estimator"),
    ],
)
def test_options_that_do_not_fit_several_objectives_are_refused(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        make_config(verl_settings(tmp_path, **changes), 8, 16)


def test_only_jobs_that_choose_our_estimators_get_the_hook(tmp_path):
    names = ["paretopo", "paretopo_gdpo", "paretopogrpo", "grpo"]
    settings = [verl_settings(tmp_path, **{"algorithm.adv_estimator": one}) for one in names]
    assert [*map(is_ours, settings)] == [True, True, False, False]


class Verl:
    """The parts of verl's trainer that our hook uses."""

    total_training_steps, train_dataset, val_dataset = 4, [1] * 8, [1]

    def _val_metrics_update(self, *args, **kwargs):
        return {}

    def _save_checkpoint(self):
        assert self._state_path(self.global_steps).exists()  # before the mark of the latest

    def _load_checkpoint(self):
        self.global_steps = self.found

    def fit(self, agent_loop_manager):
        pass


class Trainer(ParetoTraining, Verl):
    tokenizer = TOKENIZER

    def __init__(self, tmp_path, session=None, found=0, **changes):
        self.config, self.found = verl_settings(tmp_path, **changes), found
        self._scored, self._held_out, self._began_evaluation = {}, [], 0.0
        if session is None:
            self._load_checkpoint()
        else:
            self.session = session
            if found:
                session.restore(self._read_state(found))

    def _read(self, keys, partition_id):
        return [self.queue[key] | {"key": key} for key in keys]


def test_a_job_gets_a_run_folder_next_to_its_checkpoints(tmp_path):
    run = Trainer(tmp_path).session.run
    assert run.path == tmp_path
    assert run.manifest["script"] == "trainer.resume_mode=auto"
    assert Trainer(tmp_path).session.config == run.config
    with pytest.raises(ConfigError, match="checkpoint was written without paretopo"):
        Trainer(tmp_path, found=1)
    fresh = {"trainer.resume_mode": "disable"}
    Trainer(tmp_path, **fresh)  # nothing was recorded
    run.append_step({"step": 1})
    with pytest.raises(ConfigError, match="holds the records of a run"):
        Trainer(tmp_path, **fresh)
    with pytest.raises(ConfigError, match="begun with other values of paretopo"):
        Trainer(tmp_path, **{"algorithm.adv_estimator": "paretopo_gdpo"})
    assert not Trainer(tmp_path).session.run.steps()  # the run ended before a checkpoint


def buffer_of(queue):
    finished = {key.split("_")[0] for key in queue}
    return SimpleNamespace(
        finished_keys=defaultdict(set, train=finished),
        partitions=defaultdict(dict, train={key: {} for key in queue}),
    )


def test_groups_that_differ_only_in_cost_are_kept(tmp_path):
    trainer = Trainer(tmp_path, new_session(tmp_path))
    trainer.queue = {
        **{f"dear_{at}_0": row(calls=at) for at in (1, 2)},
        **{f"same_{at}_0": row(calls=2) for at in (1, 2)},
        **{f"failed_{at}_0": row(0.0, at) for at in (1, 2)},
    }
    trainer.replay_buffer = buffer_of(trainer.queue)
    assert trainer._find_uninformative("train")[0] == {"same", "failed"}
    assert trainer._find_uninformative("val")[0] == set()
    keys = [key for key in trainer.queue if key.startswith("dear")]
    batch = SimpleNamespace(keys=keys, tags=[{}, {}], partition_id="train")
    assert (trainer._advantages_of(batch) != 0).all()
    trainer.session.record_step(1, {})
    [step] = trainer.session.run.steps()
    assert (step["generated_groups"], step["kept"]) == (3, pytest.approx(1 / 3))
    trainer.replay_buffer = buffer_of({})  # groups that were left over are forgotten
    assert trainer._find_uninformative("train")[0] == set()
    assert trainer._scored == {}


def evaluate(trainer, step, **answer):
    trainer.global_steps = step
    table = {"v_0_0": row(**answer)}
    trainer._held_out = [(one, trainer._make_rollout([one])) for one in table.values()]
    counts = {("all", "v"): 1}
    return trainer._val_metrics_update([], [], {}, [], expected_acc_counts=counts)


def train(trainer, step):
    trainer.global_steps = step
    trainer.queue = {f"{step}u_{at}_0": row(calls=at) for at in (1, 2)}
    keys = list(trainer.queue)
    trainer._advantages_of(SimpleNamespace(keys=keys, tags=[{}, {}], partition_id="train"))
    trainer.session.record_step(step, {})
    trainer._save_checkpoint()


@pytest.mark.parametrize("killed", ["behind the evaluation", "before it", "while it is written"])
def test_a_resumed_run_knows_each_evaluation_once(tmp_path, killed):
    session = new_session(tmp_path)
    trainer = Trainer(tmp_path, session)
    assert evaluate(trainer, 0, calls=3)
    train(trainer, 1)
    path = tmp_path / "global_step_1" / "paretopo.json"
    before = path.read_text()
    if killed != "before it":
        evaluate(trainer, 1)
    if killed == "while it is written":
        path.write_text(before)
    again = Session(session.run, prompts=64, steps_per_epoch=8)
    resumed = Trainer(tmp_path, again, found=1)
    seen = evaluate(resumed, 1)  # verl evaluates before it goes on
    assert bool(seen) == (killed != "behind the evaluation")
    assert [row["step"] for row in session.run.evaluations()] == [0, 1]
    train(resumed, 2)
    evaluate(resumed, 2)
    assert [row["step"] for row in session.run.steps()] == [1, 2]
    assert again.state()["evaluations"] == 3
    assert json.loads((tmp_path / "global_step_2" / "paretopo.json").read_text()) == again.state()


def test_a_held_out_rollout_that_failed_stops_the_run(tmp_path):
    trainer = Trainer(tmp_path, new_session(tmp_path))
    trainer.global_steps = 0
    with pytest.raises(BadRollout, match=r"2 of 2 held-out rollouts failed"):
        trainer._val_metrics_update([], [], {}, [], expected_acc_counts={("all", "v"): 2})
