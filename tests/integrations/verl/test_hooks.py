"""Our hooks without verl: rows, settings, filter, state."""

import json
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.sessions import new_session

from paretopo.config import ConfigError
from paretopo.integrations.advantages import hand_over, spread
from paretopo.integrations.verl.rollouts import Rows, UnexpectedVerl, column, group_rows
from paretopo.integrations.verl.settings import VerlRun
from paretopo.integrations.verl.training import ParetoTraining
from paretopo.rollout import BadRollout
from paretopo.session import Session

END = 0
TOKENIZER = SimpleNamespace(
    eos_token="<end>", eos_token_id=END, decode=lambda tokens: " ".join(map(str, tokens))
)
NAMES = ("correct", "calls")


def row(correct=1.0, calls=1, *, prompt="why?", tokens=(5, END), **more):
    return {
        "prompts": torch.tensor([7, 8]),
        "responses": torch.tensor(tokens),
        "response_mask": torch.ones(len(tokens), dtype=torch.int64),
        "raw_prompt": [{"role": "user", "content": prompt}],
        "extra_fields": {"reward_extra_info": {"correct": correct, "calls": calls, "score": 3.0}},
    } | more


def rows_of(table, objectives=NAMES, longest=4):
    columns = {name: [one[name] for one in table.values()] for name in next(iter(table.values()))}
    return Rows(list(table), columns, objectives=objectives, longest=longest, tokenizer=TOKENIZER)


def rollouts_of(table, **more):
    groups = group_rows(list(table), [{}] * len(table))
    rows = rows_of(table, **more)
    return [rows.rollout(session) for group in groups for session in group]


def test_last_output_defines_the_rollout():
    table = {"u_0_1": row(0.0, 3, tokens=(5, 6, END)), "u_0_0": row(1.0, 9, tokens=(5, 6))}
    [one] = rollouts_of(table)
    assert one.reward_components == {"correct": 0.0, "calls": 3}
    assert one.tokens == 5  # of all outputs
    assert not one.truncated


def test_full_response_without_an_end_is_truncated():
    full, ended = rollouts_of({"u_0_0": row(tokens=(5,) * 4), "u_1_0": row(tokens=(5, 5, 5, END))})
    assert full.truncated
    assert not ended.truncated


def test_an_agent_loop_says_whether_a_response_is_whole():
    scored = {"reward_extra_info": {"correct": 1.0, "calls": 1}}
    cut, whole = rollouts_of(
        {
            "u_0_0": row(extra_fields={**scored, "truncated": True}),
            "u_1_0": row(tokens=(5,) * 4, extra_fields={**scored, "truncated": False}),
        }
    )
    assert cut.truncated
    assert not whole.truncated


def test_a_missing_reward_names_prompt_and_row():
    table = {"u_0_0": row(), "u_1_0": row(extra_fields={"reward_extra_info": {"corect": 1.0}})}
    with pytest.raises(BadRollout, match=r"\(row u_1_0\) has no 'correct'.*did you mean 'corect'"):
        rollouts_of(table)
    table["u_1_0"] = row(extra_fields={})
    with pytest.raises(BadRollout, match=r"row u_1_0.*compute_score must return it with 'score'"):
        rollouts_of(table)


def test_tokens_and_turns_need_no_reward_of_that_name():
    [one] = rollouts_of({"u_0_0": row(num_turns=6)}, objectives=(*NAMES, "tokens", "turns"))
    assert one.reward_components["turns"] == 3


def test_prompts_are_named_by_their_id_or_by_their_text():
    named, plain, same, other = rollouts_of(
        {
            "a_0_0": row(extra_info={"id": 17}),
            "b_0_0": row(extra_info={"index": 3}),
            "c_0_0": row(extra_info={}),
            "d_0_0": row(extra_info={}, prompt="what?"),
        }
    )
    assert named.prompt_id == "17"
    assert plain.prompt_id == same.prompt_id != other.prompt_id


def test_malformed_key_is_reported():
    with pytest.raises(UnexpectedVerl, match=r"must be UID_SESSION_INDEX, got 'u_1'"):
        group_rows(["u_1"], [{}])


def test_columns_come_as_tensors_and_otherwise():
    nested = torch.nested.as_nested_tensor([torch.arange(2), torch.arange(3)], layout=torch.jagged)
    assert [len(one) for one in column(nested)] == [2, 3]
    assert column(np.array([{"a": 1}, None], object)) == [{"a": 1}, None]
    assert column(["x"]) == ["x"]


def test_only_policy_tokens_get_advantages():
    mask = torch.tensor([[1, 0, 1], [1, 1, 0]])
    with hand_over(np.array([0.5, -1.0])):
        advantages, _ = spread(torch.zeros(2, 3), mask, index=None, config=None)
    assert advantages.tolist() == [[0.5, 0.0, 0.5], [-1.0, -1.0, 0.0]]
    with pytest.raises(ConfigError, match=r"trainer_mode=paretopo_sync.*RayPPOTrainer"):
        spread(torch.zeros(2, 3), mask)


class Settings(dict):
    """As much of OmegaConf as is read."""

    __getattr__ = dict.__getitem__


def verl_settings(tmp_path, **changes):
    def tree(table):
        return Settings({k: tree(v) if isinstance(v, dict) else v for k, v in table.items()})

    config = {
        "paretopo.config": {"objectives": [{"name": "correct"}, {"name": "polite"}]},
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


def test_script_gets_a_run_folder_next_to_its_checkpoints(tmp_path):
    run = VerlRun(verl_settings(tmp_path))
    session = run.open(steps=8, prompts=64, held_out=16, resumed=False)
    config = session.config
    assert session.objectives == ("correct", "polite")
    assert (config.backend, config.optimiser.steps, config.optimiser.group_size) == ("verl", 8, 4)
    assert config.paretopo.stage2_estimator == "gd2po"
    assert (config.evaluation.every, config.evaluation.prompts) == (5, 16)
    assert run.folder.path == tmp_path
    assert run.folder.manifest["script"]
    with run.training():
        pass
    longer = VerlRun(verl_settings(tmp_path)).open(steps=9, prompts=64, held_out=16, resumed=True)
    assert longer.config.optimiser.steps == 9
    other = verl_settings(tmp_path, **{"algorithm.adv_estimator": "paretopo_gdpo"})
    with pytest.raises(ConfigError, match="begun with other values of paretopo"):
        VerlRun(other).open(steps=9, prompts=64, held_out=16, resumed=True)
    anew = verl_settings(tmp_path)
    anew.trainer["resume_mode"] = "disable"
    VerlRun(anew).open(steps=9, prompts=64, held_out=16, resumed=False)  # nothing was recorded
    run.folder.append_step({"step": 1})
    with pytest.raises(ConfigError, match="holds the records of a run"):
        VerlRun(anew).open(steps=9, prompts=64, held_out=16, resumed=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm.adv_estimator": "grpo"}, "adv_estimator must be paretopo"),
        ({"algorithm.adv_estimator": "paretopogrpo"}, "adv_estimator must be paretopo"),
        ({"algorithm.use_kl_in_reward": True}, "use_kl_loss=true"),
        ({"reward.reward_model": {"enable": True, "enable_resource_pool": False}}, "its own pool"),
        ({"algorithm.filter_groups": {"enable": True, "metric": "acc"}}, "paretopo_informative"),
        ({"paretopo.config": {}, "paretopo.run": "x"}, r"needs \+paretopo.config=FILE"),
        ({"paretopo.confg": "x"}, "did you mean 'config'"),
    ],
)
def test_unsupported_trainer_settings_are_refused(tmp_path, changes, message):
    with pytest.raises(ConfigError, match=message):
        VerlRun(verl_settings(tmp_path, **changes))


def test_an_unknown_estimator_is_refused_by_its_name(tmp_path):
    run = VerlRun(verl_settings(tmp_path, **{"algorithm.adv_estimator": "paretopo_gdop"}))
    with pytest.raises(ConfigError, match="stage2_estimator"):
        run.open(steps=8, prompts=64, held_out=16, resumed=False)


class Verl:
    """The parts of verl's trainer that our hooks use."""

    def __init__(self, config):
        self.saved = []

    def _val_metrics_update(self, *args, **kwargs):
        return {}

    def _save_checkpoint(self):
        folder = self.config.trainer.default_local_dir / f"global_step_{self.global_steps}"
        assert (folder / "paretopo.json").exists()  # before the mark of the latest
        self.saved.append(self.global_steps)

    def _load_checkpoint(self):
        self.global_steps = self.found


class Trainer(ParetoTraining, Verl):
    def __init__(self, tmp_path, session, found=0):
        Verl.__init__(self, None)
        self.config = SimpleNamespace(
            trainer=SimpleNamespace(default_local_dir=tmp_path, resume_mode="auto")
        )
        self.run = SimpleNamespace(open=lambda **_: session, folder=session.run)
        self.total_training_steps, self.train_dataset, self.val_dataset = 4, [1] * 8, [1]
        self._scored, self._held_out, self._began_evaluation = {}, [], 0.0
        self.found = found
        self._load_checkpoint()

    def _read(self, keys, partition_id):
        return rows_of({key: self.queue[key] for key in keys})


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
    rows = rows_of(table)
    [[session]] = group_rows(list(table), [{}])
    trainer._held_out = [(rows, session, rows.rollout(session, held_out=True))]
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
    assert [row["step"] for row in session.run.answers()] in ([], [0, 1])
    train(resumed, 2)
    evaluate(resumed, 2)
    assert [row["step"] for row in session.run.steps()] == [1, 2]
    assert again.state()["evaluations"] == 3
    assert json.loads((tmp_path / "global_step_2" / "paretopo.json").read_text()) == again.state()


def test_checkpoint_of_another_trainer_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"that checkpoint was written without paretopo"):
        Trainer(tmp_path, new_session(tmp_path), found=3)


def test_a_held_out_rollout_that_failed_stops_the_run(tmp_path):
    trainer = Trainer(tmp_path, new_session(tmp_path))
    with pytest.raises(BadRollout, match=r"2 of 2 held-out rollouts failed"):
        trainer._val_metrics_update([], [], {}, [], expected_acc_counts={("all", "v"): 2})
