"""Our hooks in verl's own classes, over a queue in this process; skipped where verl is not."""

import importlib.util
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

import ray
import torch
from support.sessions import new_session

with warnings.catch_warnings():  # of engines that are not installed
    warnings.simplefilter("ignore")
    import verl
    from hydra import compose, initialize_config_dir
    from omegaconf import OmegaConf
    from tensordict import TensorDict
    from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
    from verl.trainer.ppo.ray_trainer import compute_advantage
    from verl.trainer.ppo.v1 import replay_buffer, trainer_base
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from transfer_queue import KVBatchMeta

from paretopo.config import ConfigError, loads
from paretopo.integrations.verl.options import Files, verl_options
from paretopo.integrations.verl.rehearsal.plan import plan_options
from paretopo.integrations.verl.rollouts import column
from paretopo.integrations.verl.settings import VerlRun
from paretopo.integrations.verl.trainer import ParetoPPOTrainerSync
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout

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
            columns = {name: column(fields[name]) for name in fields.keys()}  # noqa: SIM118
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


@pytest.fixture(scope="module")
def cluster():
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def fill(queue, uid, answers):
    """One finished group, as verl's agent loops write it."""
    queue.tags[uid] = {"is_prompt": True, "status": "finished", "global_steps": 1}
    for at, (correct, calls) in enumerate(answers):
        tokens = [5] * (2 + at) + [END]
        queue.rows[f"{uid}_{at}_0"] = {
            "uid": uid,
            "prompts": torch.tensor([7, 8]),
            "responses": torch.tensor(tokens),
            "input_ids": torch.tensor([7, 8, *tokens]),
            "response_mask": torch.ones(len(tokens), dtype=torch.int64),
            "rm_scores": torch.zeros(len(tokens)),
            "rollout_log_probs": torch.zeros(len(tokens)),
            "old_log_probs": torch.zeros(len(tokens)),
            "num_turns": 2,
            "raw_prompt": [{"role": "user", "content": uid}],
            "data_source": "sum",
            "extra_info": {"id": uid},
            "extra_fields": {"reward_extra_info": {"correct": correct, "calls": calls}},
        }
        queue.tags[f"{uid}_{at}_0"] = {"status": "success", "seq_len": 2 + len(tokens)}


def trainer_of(session):
    trainer = object.__new__(ParetoPPOTrainerSync)
    trainer.session, trainer._objectives = session, session.objectives
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


def test_verl_buffer_filters_uninformative_groups(queue, cluster, tmp_path):
    session = new_session(tmp_path, paretopo__stage1_steps=0, objectives__calls__economy="paretopo")
    trainer = trainer_of(session)
    trainer.replay_buffer = trainer._build_replay_buffer()
    trainer.agent_loop_manager = SimpleNamespace(agent_loop_workers=[])
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


@pytest.mark.parametrize("mode", ["sync", "colocate_async"])
@pytest.mark.parametrize("partition", ["train", "val"])
def test_rollouts_that_failed_or_cannot_end_stop_the_run(
    queue, cluster, tmp_path, mode, partition, monkeypatch
):
    """verl trains on the rest of a group, or waits for ever (its issue 7155)."""
    trainer = trainer_of(new_session(tmp_path))
    trainer.trainer_mode = mode
    trainer.config.algorithm.filter_groups.enable = False
    monkeypatch.setattr(queue, "kv_list", lambda: {partition: queue.tags})
    monkeypatch.setattr("transfer_queue.kv_list", queue.kv_list)
    buffer = trainer._build_replay_buffer()
    workers = [ray.remote(num_cpus=0)(type("Worker", (), {})).remote() for _ in range(2)]
    trainer.agent_loop_manager = SimpleNamespace(agent_loop_workers=workers)
    fill(queue, "whole", [(1.0, 1), (1.0, 2)])
    buffer._sync_metadata_from_transfer_queue()
    fill(queue, "half", [(1.0, 1)])
    queue.tags["half"]["status"] = "failure"
    with pytest.raises(BadRollout, match="rollouts of 1 prompts failed"):
        buffer.sample(1, partition, 2)
    queue.tags["half"]["status"] = "running"
    ray.kill(workers[1])
    with pytest.raises(RuntimeError, match="an agent-loop worker of verl died"):
        buffer.sample(1, partition, 2)


def compose_options(*words):
    """verl's own configuration with these words of its command line."""
    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose("ppo_trainer", [*words, "actor_rollout_ref.rollout.name=vllm"])


def test_three_options_give_a_job_of_ones_own_a_run_folder(tmp_path):
    toml = tmp_path / "objectives.toml"
    toml.write_text('[[objectives]]\nname = "correct"\n[[objectives]]\nname = "polite"\n'
                    '[paretopo]\nstage2_estimator = "gd2po"\n')  # fmt: skip
    options = [
        "trainer.v1.trainer_mode=paretopo_sync",
        "algorithm.adv_estimator=paretopo",
        f"+paretopo.config={toml}",
    ]
    beside = [
        f"trainer.default_local_dir={tmp_path / 'run'}",
        "data.train_batch_size=8",
        "actor_rollout_ref.rollout.n=4",
    ]
    run = VerlRun(compose_options(*options, *beside))
    session = run.open(steps=6, prompts=64, held_out=8, resumed=False)
    assert session.objectives == ("correct", "polite")
    assert session.config.optimiser.group_size == 4
    assert session.config.paretopo.stage2_estimator == "gd2po"
    assert RunFolder.open(tmp_path / "run").config == session.config
    method = VerlRun(compose_options(*options, *beside, "+paretopo.method=mo_grpo"))
    with pytest.raises(ConfigError, match="begun with other values of paretopo"):
        method.open(steps=6, prompts=64, held_out=8, resumed=True)
    with pytest.raises(ConfigError, match=r"needs \+paretopo.config=FILE"):
        VerlRun(compose_options(*options[:2], *beside))
    with pytest.raises(ConfigError, match="adv_estimator must be paretopo"):
        VerlRun(compose_options(options[0], options[2], *beside))


def test_the_command_line_of_a_run_is_one_that_verl_takes(tmp_path):
    config = loads(
        'backend = "verl"\n[verl]\nreward = "r.py"\nprompts = "p"\nheld_out = "h"\n'
        "dynamic_sampling = true\ngpus_per_node = 2\n[optimiser]\nkl = 0.01"
    )
    files = Files("a model", tmp_path / "it's.parquet", 64, tmp_path / "h", tmp_path / "r")
    run = RunFolder(tmp_path, config)
    words = [one for one in verl_options(config, run, files) if not one.startswith("hydra.")]
    seen = compose_options(*words)
    assert seen.data.train_files == str(files.prompts)
    assert seen.actor_rollout_ref.model.path == "a model"
    assert seen.actor_rollout_ref.actor.checkpoint.save_contents[-1] == "hf_model"
    assert seen.algorithm.filter_groups.metric == "paretopo_informative"
    assert VerlRun(seen) is not None
    assert compose_options(*words, *plan_options()).trainer.device == "cpu"


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
    assert trainer_base.TRAINER_REGISTRY["paretopo_sync"] is ParetoPPOTrainerSync


@pytest.mark.filterwarnings("ignore")
def test_engine_loads_adapters_and_refuses_incomplete_ones(tmp_path):
    peft = pytest.importorskip("peft")
    from support.small_models import make_tokenizer, save_folder
    from transformers import AutoModelForCausalLM

    import paretopo.integrations.verl.rehearsal.platform  # noqa: F401  it comes first
    from paretopo.integrations.verl.rehearsal.parts import CpuEngine, RehearsalFailed

    folder = save_folder(tmp_path, make_tokenizer())
    settings = peft.LoraConfig(task_type="CAUSAL_LM", r=4, init_lora_weights=False)
    policy = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(folder), settings).eval()
    weights, settings = peft.get_peft_model_state_dict(policy), settings.to_dict()
    engine = CpuEngine(str(folder), 8)
    asked = torch.tensor([[5, 6, 7]])
    for step in (1, 2):
        engine.load(weights, step, settings)
        assert torch.equal(engine._model(asked).logits, policy(asked).logits)
    assert engine.__dict__["_step"] == 2
    name = next(iter(weights))
    for wrong in ({**weights, "strange": weights[name]}, {"strange": weights[name]}):
        with pytest.raises(RehearsalFailed, match="strange"):
            engine.load(wrong, 3, settings)
    weights.pop(name)
    with pytest.raises(RehearsalFailed, match="weights are missing"):
        engine.load(weights, 3, settings)
