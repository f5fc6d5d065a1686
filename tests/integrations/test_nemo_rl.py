"""NeMo-RL's hook, on recorded batches and, where its source code is installed, on its own parts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from paretopo.config import ParetoPOConfig
from paretopo.controller.by_group import advantages_by_group
from paretopo.integrations.nemo_rl import ParetoAdvantageEstimator

# As NeMo-RL's environment for mathematics returns them: three rollouts of two prompts.
BATCH = {
    "reward/correctness": [1.0, 1.0, 0.0, 0.0, 1.0, 0.0],
    "reward/format": [1.0, 0.0, 1.0, 1.0, 0.0, 0.0],
    "reward/integer": [0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
    "total_reward": [2.0, 2.0, 1.0, 1.0, 1.0, 1.0],
}
NAMES = ("correctness", "format", "integer")
CONFIG = ParetoPOConfig(stage2_estimator="gd2po", weights=(0.5, 0.25, 0.25))
PROMPTS = torch.tensor([[5, 6, 0], [5, 6, 7], [5, 6, 0], [5, 6, 7], [5, 6, 0], [5, 6, 7]])
MASK = torch.tensor([[0, 1, 1]] * 5 + [[0, 0, 0]])  # NeMo-RL masks the last rollout


def compute(estimator, batch):
    """Call the estimator as NeMo-RL's `grpo_train` does."""
    return estimator.compute_advantage(
        prompt_ids=PROMPTS,
        rewards=batch["total_reward"],
        mask=MASK,
        repeated_batch=batch,
        logprobs_policy=torch.zeros(6, 3),
        logprobs_reference=None,
    )


def recorded(kind=dict):
    return kind({name: torch.tensor(column) for name, column in BATCH.items()})


def check(advantages):
    vectors = np.stack([BATCH[f"reward/{name}"] for name in NAMES], axis=-1)
    expected, state = advantages_by_group(vectors, [0, 1] * 3, CONFIG, names=NAMES)
    assert len(set(expected.tolist())) >= 4
    assert advantages.dtype == torch.float32
    np.testing.assert_array_equal(advantages, np.float32(expected[:, None] * MASK.numpy()))
    return state


def test_named_rewards_become_advantages_of_each_token():
    estimator = ParetoAdvantageEstimator(NAMES, CONFIG)
    state = check(compute(estimator, recorded()))
    assert estimator.controller.state_dict() == state


def test_missing_column_is_named():
    with pytest.raises(ValueError, match=r"rewards named \['brief'\], got .*'reward/correctness'"):
        compute(ParetoAdvantageEstimator(("correctness", "brief")), recorded())


def test_nemo_rl_uses_the_estimator(monkeypatch):
    grpo = pytest.importorskip("nemo_rl.algorithms.grpo", reason="needs NeMo-RL of its repository")
    from nemo_rl.distributed.batched_data_dict import BatchedDataDict
    from nemo_rl.environments.nemo_gym import build_reward_component_columns

    monkeypatch.setattr(
        grpo, "_create_advantage_estimator", lambda _: ParetoAdvantageEstimator(NAMES, CONFIG)
    )
    from nemo_rl.algorithms import grpo_sync

    assert grpo_sync._create_advantage_estimator is grpo._create_advantage_estimator
    estimator = grpo._create_advantage_estimator(SimpleNamespace())
    check(compute(estimator, recorded(BatchedDataDict)))
    replies = [{name: BATCH[f"reward/{name}"][at] for name in NAMES} for at in range(6)]
    columns = build_reward_component_columns(replies)  # of NeMo-Gym
    total = torch.tensor(BATCH["total_reward"])
    check(compute(estimator, BatchedDataDict(columns | {"total_reward": total})))
