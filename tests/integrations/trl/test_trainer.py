"""The mixin trains on the controller's advantages and stops if TRL changes a shape."""

from __future__ import annotations

import sys
from collections import defaultdict, deque
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy

from paretopo.config import ConfigError, ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.trl import ControllerTrainer, ParetoAdvantages
from paretopo.integrations.trl.advantages import UnexpectedTRL

POINTS = 4
CONFIG = ParetoPOConfig(stage1_steps=1, stage2_estimator="gd2po")  # of any unit
PROMPTS = ["a", "b", "c"]


class StandIn:
    """The parts of GRPOTrainer that the mixin uses; `change` alters its output like a new TRL."""

    def __init__(self, rewards, change=None, processes=1, process=0, training=True):
        self.controller = ParetoPO(CONFIG)
        self.model = SimpleNamespace(training=training)
        self.num_generations = POINTS
        self.reward_func_names = ["correct", "economy"]
        self.accelerator = SimpleNamespace(
            num_processes=processes, process_index=process, gather=lambda tensor: tensor
        )
        self._logs = {"advantages": deque(maxlen=1000)}
        self._all = torch.as_tensor(rewards, dtype=torch.float32)
        self._change = change or {}

    def _generate(self, prompts):
        tokens, written = [[0] * 5 for _ in prompts], [[1, 1, 0, 0, 1] for _ in prompts]
        return None, tokens, written, *[None] * 5

    def _calculate_rewards(self, inputs, prompts, completions):
        return self._change.get("matrix", lambda matrix: matrix)(self._all)

    def _generate_and_score_completions(self, inputs):
        if "skip generation" not in self._change:
            self._generate([row["prompt"] for row in inputs])
        if "skip rewards" not in self._change:
            self._calculate_rewards(inputs, [row["prompt"] for row in inputs], [None] * len(inputs))
        theirs = torch.full((len(inputs),), 9.0)
        self._logs["advantages"].extend([9.0] * self._change.get("logged", len(self._all)))
        return {
            "advantages": self._change.get("advantages", lambda advantages: advantages)(theirs),
        }


class Trainer(ParetoAdvantages, StandIn):
    pass


def rows(names=PROMPTS):
    return [{"id": name, "prompt": "?"} for name in names for _ in range(POINTS)]


def some_rewards(seed=0, groups=3):
    rng = np.random.default_rng(seed)
    solved = rng.integers(0, 2, (groups * POINTS, 1))
    economy = rng.choice(np.exp(-0.7 * np.arange(4)), (groups * POINTS, 1))
    return np.hstack([solved, economy]).astype(np.float32)


def test_advantages_are_the_controllers_in_both_stages():
    rewards, ours = some_rewards(), ParetoPO(CONFIG)
    trainer = Trainer(rewards)
    for stage in (1, 2):
        out = trainer._generate_and_score_completions(rows())
        expected = ours.step(rewards.astype(np.float64).reshape(3, POINTS, 2)).advantages
        assert trainer.controller.stage == stage
        np.testing.assert_array_equal(trainer.advantages, expected)
        np.testing.assert_array_equal(
            out["advantages"].numpy(), expected.reshape(-1).astype(np.float32)
        )
        assert out["advantages"].dtype == torch.float32
        logged = list(trainer._logs["advantages"])[-12:]
        assert logged == expected.reshape(-1).tolist()
    assert len(trainer._logs["advantages"]) == 24
    assert trainer.generated.count_written() == [3] * 12
    assert trainer.generated.find_truncated(5, 7, reported=False) == [True] * 12


def test_rollouts_of_a_protocol_say_themselves_whether_they_were_cut():
    trainer = Trainer(some_rewards())
    cuts = [number % 3 == 0 for number in range(12)]
    inputs = [{**row, "truncated": cut} for row, cut in zip(rows(), cuts, strict=True)]
    trainer._generate_and_score_completions(inputs)
    assert trainer.generated.find_truncated(5, 7, reported=True) == cuts


def test_every_process_gets_its_slice():
    rewards = some_rewards()
    whole = ParetoPO(CONFIG).step(rewards.astype(np.float64).reshape(3, POINTS, 2)).advantages
    parts = []
    for process in (0, 1):  # 6 rows each: the group in the middle is on both
        trainer = Trainer(rewards, processes=2, process=process)
        trainer_rows = rows()[6 * process : 6 * process + 6]
        module = sys.modules[ParetoAdvantages.__module__]
        with pytest.MonkeyPatch.context() as patch:
            every = [row["id"] for row in rows()]
            patch.setattr(module, "gather_object", lambda _, every=every: every)
            out = trainer._generate_and_score_completions(trainer_rows)
        parts.append(out["advantages"].numpy())
    np.testing.assert_array_equal(np.concatenate(parts), whole.reshape(-1).astype(np.float32))


def test_evaluation_keeps_the_rewards_and_counts_no_step():
    trainer = Trainer(some_rewards(), training=False)
    out = trainer._generate_and_score_completions(rows())
    assert trainer.rewards.shape == (12, 2)
    assert trainer.controller.steps_taken == 0
    assert out["advantages"].tolist() == [9.0] * 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix": lambda m: m[:6]}, r"\(12, 2\), TRL returned \(6, 2\)"),
        ({"matrix": lambda m: m[:, :1]}, r"\(12, 2\), TRL returned \(12, 1\)"),
        ({"matrix": lambda m: m.sum(1)}, r"\(12, 2\), TRL returned \(12,\)"),
        ({"matrix": lambda m: m.tolist()}, r"\(12, 2\), TRL returned <class 'list'>"),
        ({"skip generation": True}, "12 rollouts without calling _generate"),
        ({"skip rewards": True}, "without calling _calculate_rewards"),
        ({"advantages": lambda a: a[:, None]}, r"\(12,\), TRL computed \(12, 1\)"),
        ({"advantages": lambda a: None}, r"\(12,\), TRL computed <class 'NoneType'>"),
        ({"logged": 3}, "logged 3 advantages for 12 rollouts"),
    ],
)
def test_a_changed_trl_is_noticed(change, message):
    with pytest.raises(UnexpectedTRL, match=message):
        Trainer(some_rewards(), change)._generate_and_score_completions(rows())


def test_groups_that_are_not_contiguous_are_noticed():
    interleaved = rows(["a", "b", "c"])[::3] + rows()[1::3] + rows()[2::3]
    with pytest.raises(UnexpectedTRL, match="rollouts 0 to 3 must belong to one prompt"):
        Trainer(some_rewards())._generate_and_score_completions(interleaved)
    trainer = Trainer(some_rewards())
    trainer.num_generations = 5
    with pytest.raises(UnexpectedTRL, match="12 rollouts do not make groups of 5"):
        trainer._generate_and_score_completions(rows())


# ---- the real trainer ------------------------------------------------------------------------


def length(completions, **_):
    return [float(len(c[0]["content"]) % 3) for c in completions]


def first_letter(completions, **_):
    return [float(c[0]["content"][:1].isdigit()) for c in completions]


class Watched(ControllerTrainer):
    """Records the inputs of the loss."""

    def _compute_loss(self, model, inputs):
        if self.model.training:
            self.trained_with = inputs["advantages"].clone()
        return super()._compute_loss(model, inputs)


def real_trainer(folder, reward_funcs=(length, first_letter), **settings):
    sizes = {"num_generations": POINTS, "max_completion_length": 8, "max_steps": 2}
    sizes["per_device_train_batch_size"] = 8
    questions = [
        {"prompt": [{"role": "user", "content": f"{i}?"}], "id": f"q{i}"} for i in range(6)
    ]
    return Watched(
        args=grpo_arguments(folder, logging_steps=1, **sizes, **settings),
        reward_funcs=list(reward_funcs),
        train_dataset=Dataset.from_list(questions),
        controller=ParetoPO(CONFIG),
        **tiny_policy("How many?"),
    )


def test_the_real_trainer_trains_on_the_controllers_advantages(tmp_path):
    trainer = real_trainer(tmp_path)
    ours = ParetoPO(CONFIG)
    seen = defaultdict(list)
    whole = trainer._generate_and_score_completions

    def noted(inputs):
        out = whole(inputs)
        seen["expected"].append(ours.step(trainer.rewards.reshape(2, POINTS, 2)).advantages)
        return out

    trainer._generate_and_score_completions = noted
    trainer.train()
    assert len(seen["expected"]) == 2
    last = seen["expected"][-1].reshape(-1)
    assert np.ptp(last) > 0
    assert list(trainer._logs["advantages"])[-8:] == last.tolist()
    trained = np.sort(trainer.trained_with.numpy())  # TRL shuffles the rollouts of a step
    np.testing.assert_array_equal(trained, np.sort(last.astype(np.float32)))


def test_masked_rollouts_keep_their_tokens(tmp_path):
    # TRL empties the mask of a truncated rollout; its cost must not become 0.
    always = {"mask_truncated_completions": True, "generation_kwargs": {"min_new_tokens": 8}}
    trainer = real_trainer(tmp_path, **always)
    trainer.train()
    assert trainer.generated.count_written() == [8] * 8


def test_each_objective_needs_a_reward_function_before_the_start(tmp_path):
    with pytest.raises(ConfigError, match=r"3 rewards, length, length, first_letter, .* for 2"):
        real_trainer(tmp_path, (length, length, first_letter))
