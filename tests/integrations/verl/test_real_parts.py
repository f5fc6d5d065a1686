"""The hook in verl's own classes, over a queue in this process; skipped where verl is not."""

import importlib.util
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

import torch
from support.sessions import new_session
from support.trainer_rollouts import make_row

with warnings.catch_warnings():  # of engines that are not installed
    warnings.simplefilter("ignore")
    import verl
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY
    from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
    from verl.trainer.ppo.ray_trainer import compute_advantage
    from verl.trainer.ppo.v1 import PPOTrainerSync, replay_buffer, trainer_base
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from transfer_queue import KVBatchMeta

from paretopo.config import ConfigError
from paretopo.controller.estimators import ESTIMATORS
from paretopo.integrations.verl.training import ParetoTraining, _column, make_config

END = 0


class Queue:
    """The part of TransferQueue's interface that these classes call, with its types."""

    def __init__(self):
        self.rows, self.tags = {}, {}

    def kv_batch_get(self, keys, partition_id, select_fields=None):
        rows = [self.rows[key] for key in keys]
        names = select_fields or list(rows[0])
        return list_of_dict_to_tensordict(
            [{name: row[name] for name in names if name in row} for row in rows]
        )

    def kv_batch_put(self, keys, partition_id, fields=None, tags=None):
        if fields is not None:
            columns = {name: _column(fields[name]) for name in fields.keys()}  # noqa: SIM118
            for at, key in enumerate(keys):
                own = {name: column[at] for name, column in columns.items()}
                self.rows.setdefault(key, {}).update(own)
        self.tags |= dict(zip(keys, tags or [{}] * len(keys), strict=True))
        return KVBatchMeta(keys=keys, tags=tags or [{}] * len(keys), partition_id=partition_id)

    def kv_list(self, partition_id=None):
        return {"train": self.tags}

    def kv_clear(self, keys, partition_id):
        for key in keys:
            self.rows.pop(key, None)
            self.tags.pop(key, None)


@pytest.fixture
def queue(monkeypatch):
    made = Queue()
    for name in ("kv_batch_get", "kv_batch_put", "kv_list", "kv_clear"):
        monkeypatch.setattr(f"transfer_queue.{name}", getattr(made, name))
    return made


def fill(queue, uid, answers):
    """One finished group, as verl's agent loops write it."""
    queue.tags[uid] = {"is_prompt": True, "status": "finished", "global_steps": 1}
    for at, (correct, calls) in enumerate(answers):
        tokens = [5] * (2 + at) + [END]
        queue.rows[f"{uid}_{at}_0"] = make_row(
            {"correct": correct, "calls": calls},
            prompt=uid,
            tokens=tokens,
            uid=uid,
            input_ids=torch.tensor([7, 8, *tokens]),
            rm_scores=torch.zeros(len(tokens)),
            rollout_log_probs=torch.zeros(len(tokens)),
            old_log_probs=torch.zeros(len(tokens)),
            num_turns=2,
            data_source="sum",
            extra_info={"id": uid},
        )
        queue.tags[f"{uid}_{at}_0"] = {"status": "success", "seq_len": 2 + len(tokens)}


class Trainer(ParetoTraining, PPOTrainerSync):
    """The class that the plug-in makes."""


def trainer_of(session):
    trainer = object.__new__(Trainer)
    trainer.session = session
    trainer._scored, trainer.global_steps = {}, 1
    trainer.tokenizer = SimpleNamespace(eos_token="<end>", eos_token_id=END, decode=str)
    trainer.config = OmegaConf.create(
        {
            "data": {"max_response_length": 16, "train_batch_size": 2},
            "algorithm": {
                "adv_estimator": "paretopo",
                "gamma": 1.0,
                "lam": 1.0,
                "use_kl_in_reward": False,
                "filter_groups": {"enable": True, "metric": "paretopo_informative"},
            },
            "actor_rollout_ref": {"rollout": {"n": 2}},
            "reward": {"reward_model": {"enable": False}},
            "trainer": {
                "v1": {
                    "sync": {},
                    "sampler": {
                        "max_off_policy_threshold": None,
                        "max_off_policy_strategy": "drop",
                        "sampler_kwargs": {},
                    },
                }
            },
        }
    )
    trainer.trainer_mode = "sync"
    return trainer


def test_verl_buffer_filters_uninformative_groups(queue, tmp_path):
    session = new_session(tmp_path, paretopo__stage1_steps=0, objectives__calls__economy="paretopo")
    trainer = trainer_of(session)
    trainer.replay_buffer = trainer._build_replay_buffer()
    assert type(trainer.replay_buffer) is replay_buffer.ReplayBuffer
    refilled = []
    trainer.replay_buffer.refill_fn = refilled.append
    fill(queue, "dear", [(1.0, 1), (1.0, 2)])
    fill(queue, "same", [(1.0, 2), (1.0, 2)])
    fill(queue, "mixed", [(1.0, 1), (0.0, 0), (1.0, 3)])
    batch, numbers = trainer.replay_buffer.sample(
        global_steps=1, partition_id="train", batch_size=2
    )
    assert numbers["training/filter_groups/evicted_samples"] == 1
    assert {key.split("_")[0] for key in batch.keys} == {"dear", "mixed"}
    assert "same_0_0" not in queue.rows

    batch = upsample_batch_to_divisible_size(batch, 4, END)
    assert sum(tag.get("is_padding", False) for tag in batch.tags) == 3
    order = np.random.default_rng(0).permutation(len(batch.keys)).tolist()
    batch.reorder(order)
    trainer._compute_advantage(batch, {})
    session.record_step(1, {})
    given = {}
    for key, tag in zip(batch.keys, batch.tags, strict=True):
        values = queue.rows[key]["advantages"].unique().tolist()
        assert len(values) == 1
        given[key] = values[0]
        assert not tag.get("is_padding") or values == [0.0]
    assert given["dear_0_0"] > given["dear_1_0"]
    assert given["mixed_0_0"] > given["mixed_2_0"] > given["mixed_1_0"]
    [step] = session.run.steps()
    assert (step["generated_groups"], step["kept"]) == (3, pytest.approx(2 / 3))
    kept = {
        f"{group.id}_{at}_0": one.advantage
        for group in session.run.trajectories()
        for at, one in enumerate(group.rollouts)
    }
    assert kept.keys() == given.keys() - {key for key in given if key.startswith("pad")}
    for key, advantage in kept.items():
        assert given[key] == pytest.approx(advantage)


def compose_options(*words):
    """verl's own configuration with these words of its command line."""
    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", [*words, "actor_rollout_ref.rollout.name=vllm"])


def test_two_options_choose_our_estimator_and_its_objectives(tmp_path):
    toml = tmp_path / "objectives.toml"
    toml.write_text('[[objectives]]\nname = "correct"\n[[objectives]]\nname = "polite"\n'
                    '[paretopo]\nstage2_estimator = "gd2po"\n')  # fmt: skip
    beside = ["data.train_batch_size=8", "actor_rollout_ref.rollout.n=4"]
    file, keys = f"+paretopo.config={toml}", "+algorithm.gdpo_reward_keys=[correct,polite]"
    for objectives, name, estimator in ((file, "", "gd2po"), (keys, "_rloo", "rloo")):
        verl = compose_options(f"algorithm.adv_estimator=paretopo{name}", objectives, *beside)
        config = make_config(verl, 6, 8)
        assert [one.name for one in config.objectives] == ["correct", "polite"]
        assert config.paretopo.stage2_estimator == estimator
        assert config.optimiser.group_size == 4


def test_the_plug_in_knows_all_estimators_and_stands_before_chosen_trainers_only(monkeypatch):
    assert {"paretopo", *(f"paretopo_{name}" for name in ESTIMATORS)} <= {*ADV_ESTIMATOR_REGISTRY}
    monkeypatch.setattr(trainer_base.PPOTrainer, "__init__", lambda self, config: None)
    for mode in ("sync", "colocate_async"):
        for estimator, hooked in (("paretopo", True), ("grpo", False)):
            words = [f"algorithm.adv_estimator={estimator}", "+algorithm.gdpo_reward_keys=[a]"]
            config = compose_options(*words, "actor_rollout_ref.rollout.n=4")
            trainer = trainer_base.get_trainer_cls(mode)(config=config)
            assert isinstance(trainer, ParetoTraining) == hooked
            assert isinstance(trainer, trainer_base.PPOTrainer)


def test_the_deprecated_trainer_is_refused_by_name():
    """RayPPOTrainer computes its advantages by this function."""
    mask = torch.ones(2, 3, dtype=torch.int64)
    data = SimpleNamespace(
        batch=TensorDict(
            {"token_level_rewards": torch.zeros(2, 3), "response_mask": mask}, batch_size=2
        ),
        non_tensor_batch={"uid": np.array(["a", "a"], object)},
    )
    with pytest.raises(ConfigError, match=r"RayPPOTrainer \(trainer.use_v1=false\)"):
        compute_advantage(data, adv_estimator="paretopo", config={})
