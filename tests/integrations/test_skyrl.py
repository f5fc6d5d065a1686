"""SkyRL's real trainer, generator, environments and batches on a CPU.

Its workers and engines need a GPU: here a script answers instead, and no policy is updated.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("skyrl")

import skyrl_gym
from skyrl.train.config import SkyRLTrainConfig
from skyrl.train.generators.skyrl_gym_generator import SkyRLGymGenerator
from skyrl.train.generators.utils import prepare_generator_input
from skyrl.train.trainer import RayPPOTrainer
from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput
from support.tiny_trainers import tiny_policy

from paretopo.config import ConfigError, ParetoPOConfig
from paretopo.controller.by_group import advantages_by_group
from paretopo.integrations.skyrl import ParetoTraining

RIGHT = {"1+1=": "2", "2+1=": "3"}
ANSWERS = {"1+1=": ["2", "1", "2, I think"], "2+1=": ["3, I think", "3", "4"]}
ROLLOUTS = [(question, text) for question, texts in ANSWERS.items() for text in texts]
WORDS = "You are a helpful assistant. I am a user."
TOKENIZER = tiny_policy(WORDS + " ".join(map("".join, ROLLOUTS)))["processing_class"]


class Sum(BaseTextEnv):
    """A question whose answer may be right, and brief."""

    def __init__(self, env_config, extras):
        super().__init__()
        self.right = extras["answer"]

    def step(self, action):
        self.metrics = {"correct": float(action.startswith(self.right)), "brief": -len(action)}
        return BaseTextEnvStepOutput(observations=[], reward=7.0, done=True, metadata={})

    def get_metrics(self):
        return self.metrics


skyrl_gym.register(id="sum", entry_point=Sum)


class Engine:
    """Gives the answers of the script."""

    async def generate(self, engine_input, model=None):
        question, at = engine_input["session_ids"][0].split("_")
        answer = ANSWERS[question][int(at)]
        tokens = TOKENIZER.encode(answer, add_special_tokens=False)
        return {"responses": [answer], "response_ids": [tokens], "stop_reasons": ["stop"]}

    async def finish_session(self, session_id):
        """Nothing is kept."""


class Trainer(ParetoTraining, RayPPOTrainer):
    objectives = ("correct", "brief")
    pareto = ParetoPOConfig(stage2_estimator="gd2po")


def make_trainer(kind=Trainer, **options):
    fixed = {
        "trainer.algorithm.advantage_estimator": "paretopo",
        "trainer.enable_ray_gpu_monitor": "false",
        "generator.inference_engine.enable_ray_prometheus_stats": "false",
        "generator.n_samples_per_prompt": 3,
        "trainer.train_batch_size": 2,
        "trainer.policy_mini_batch_size": 2,
    }
    words = [f"{name}={value}" for name, value in (fixed | options).items()]
    cfg = SkyRLTrainConfig.from_cli_overrides(words)
    gym, engine = cfg.environment.skyrl_gym, Engine()
    trainer = kind(
        cfg=cfg,
        tracker=None,
        tokenizer=TOKENIZER,
        train_dataset=None,
        inference_engine_client=engine,
        generator=SkyRLGymGenerator(cfg.generator, gym, engine, TOKENIZER),
    )
    trainer.dispatch = SimpleNamespace(get_lcm_dp_size=lambda: 4)  # 6 rollouts get 2 of padding
    return trainer


def take_step(trainer):
    """Take the steps of SkyRL's `train` up to the advantages."""
    prompts = [
        {
            "prompt": [{"role": "user", "content": question}],
            "env_class": "sum",
            "env_extras": {"answer": answer},
            "uid": question,
        }
        for question, answer in RIGHT.items()
    ]
    asked, uids = prepare_generator_input(prompts, 3, {}, "sum", "train", 1)
    output = asyncio.run(trainer.generate(asked))
    output, uids = trainer.postprocess_generator_output(output, uids)
    data = trainer.convert_to_training_input(output, uids)
    data["values"] = None  # as the forward pass sets it without a critic
    return trainer.compute_advantages_and_returns(data)


def test_vectors_of_environments_become_advantages_of_skyrls_batch():
    trainer = make_trainer()
    data = take_step(trainer)
    vectors = [[text.startswith(RIGHT[asked]), -len(text)] for asked, text in ROLLOUTS]
    groups = [asked for asked, _ in ROLLOUTS]
    config, names = Trainer.pareto, Trainer.objectives
    expected, state = advantages_by_group(vectors, groups, config, names=names)
    assert np.count_nonzero(expected) == 4
    given = np.append(expected, [0.0, 0.0])[:, None] * data["response_mask"].numpy()
    np.testing.assert_array_equal(data["advantages"].numpy(), np.float32(given))
    assert torch.equal(data["advantages"], data["returns"])
    assert trainer.controller.state_dict() == state
    assert trainer.all_metrics["loss/avg_final_rewards"] == 7.0  # of the rewards, as SkyRL logs it


def test_missing_objective_is_named():
    class Wordy(Trainer):
        objectives = ("correct", "polite")

    with pytest.raises(ValueError, match=r"must return \['polite'\], got \['brief', 'correct'\]"):
        take_step(make_trainer(Wordy))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("trainer.algorithm.advantage_estimator", "grpo"),
        ("trainer.algorithm.use_kl_in_reward", "true"),
        ("trainer.algorithm.zero_variance_filter", "true"),
        ("trainer.algorithm.dynamic_sampling.type", "filter"),
        ("generator.batched", "true"),
        ("generator.step_wise_trajectories", "true"),
    ],
)
def test_options_that_use_the_single_reward_are_refused(option, value):
    with pytest.raises(ConfigError, match=f"several objectives need {option} = "):
        make_trainer(**{option: value})


def test_estimator_refuses_another_trainer():
    trainer = make_trainer(RayPPOTrainer)
    with pytest.raises(ConfigError, match=r"SkyRL needs a trainer with .*ParetoTraining"):
        take_step(trainer)
