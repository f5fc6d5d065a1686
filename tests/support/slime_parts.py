"""The parts of slime that our hooks meet, as small as they can be: slime wants a GPU's packages.

Written after THUDM/slime, `setup.py` 0.4.0, at commit 0b0c277d5b4cc66efc3b6db269e2e5184e8f3b1e;
docs/slime.md lists the files, and at which commit each was read. Names, fields, defaults and the
order of calls are slime's; what a policy would generate is made up.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import sys
from argparse import Namespace
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

HOOKS = "paretopo.integrations.slime.hooks"
END = 0


@dataclass
class Sample:
    """Of `slime/utils/types.py`, what is read or written here."""

    class Status(Enum):
        PENDING = "pending"
        COMPLETED = "completed"
        TRUNCATED = "truncated"
        ABORTED = "aborted"
        FAILED = "failed"

    group_index: int | None = None
    index: int | None = None
    rollout_id: int | None = None
    prompt: str | list[dict[str, str]] = ""
    tokens: list[int] = field(default_factory=list)
    response: str = ""
    response_length: int = 0
    label: str | None = None
    reward: float | dict[str, Any] | None = None
    loss_mask: list[int] | None = None
    status: Status = Status.PENDING
    metadata: dict = field(default_factory=dict)

    def get_reward_value(self, args):
        return self.reward if not args.reward_key else self.reward[args.reward_key]


@dataclass
class DynamicFilterOutput:
    """Of `slime/rollout/filter_hub/base_types.py`."""

    keep: bool
    reason: str | None = None


class RolloutDataSourceWithBuffer:
    """Of `slime/data/data_source.py`, without its buffer; its own state as JSON."""

    prompts: ClassVar[list[Sample]] = []  # in the place of the file of --prompt-data

    def __init__(self, args):
        self.args = args
        self.sample_offset = self.sample_group_index = self.sample_index = 0

    def get_samples(self, num_samples):
        groups = []
        for _ in range(num_samples):
            prompt = self.prompts[self.sample_offset % len(self.prompts)]
            self.sample_offset += 1
            group = []
            for _ in range(self.args.n_samples_per_prompt):
                sample = copy.deepcopy(prompt)
                sample.group_index = self.sample_group_index
                sample.index = self.sample_index
                self.sample_index += 1
                group.append(sample)
            self.sample_group_index += 1
            groups.append(group)
        return groups

    def save(self, rollout_id):
        path = Path(self.args.save) / "rollout" / f"global_dataset_state_dict_{rollout_id}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        state = [self.sample_offset, self.sample_group_index, self.sample_index]
        path.write_text(json.dumps(state))

    def load(self, rollout_id=None):
        if self.args.load is None:
            return
        path = Path(self.args.load) / "rollout" / f"global_dataset_state_dict_{rollout_id}.pt"
        if path.exists():
            state = json.loads(path.read_text())
            self.sample_offset, self.sample_group_index, self.sample_index = state

    def __len__(self):
        return len(self.prompts)


def install() -> None:
    """Make `slime` importable, as far as we import it."""
    parts = {
        "slime.data.data_source": {"RolloutDataSourceWithBuffer": RolloutDataSourceWithBuffer},
        "slime.rollout.filter_hub.base_types": {"DynamicFilterOutput": DynamicFilterOutput},
        "slime.utils.processing_utils": {
            "load_tokenizer": lambda name, trust_remote_code: TOKENIZER
        },
    }
    for name, content in parts.items():
        packages = name.split(".")
        for depth in range(1, len(packages) + 1):
            sys.modules.setdefault(".".join(packages[:depth]), ModuleType(packages[depth - 1]))
        vars(sys.modules[name]).update(content)


TOKENIZER = SimpleNamespace(
    eos_token="<end>",
    decode=lambda tokens: "".join("<end>" if token == END else chr(token) for token in tokens),
)


def arguments(folder, **changes) -> Namespace:
    """slime's arguments that are read here, with its defaults where they do not matter."""
    given: dict[str, Any] = {
        "save": str(folder),
        "load": None,
        "hf_checkpoint": "a-model",
        "seed": 1234,
        "lr": 1e-6,
        "num_rollout": 4,
        "num_epoch": None,
        "start_rollout_id": 0,
        "save_interval": 1,
        "rollout_batch_size": 2,
        "n_samples_per_prompt": 4,
        "rollout_max_response_len": 40,
        "eval_interval": 1,
        "skip_eval_before_train": False,
        "reward_key": "correct",
        "advantage_estimator": "grpo",
        "normalize_advantages": False,
        "rollout_data_transport": "object-store",
        "data_source_path": "paretopo.integrations.slime.data_source.DataSource",
        "custom_reward_post_process_path": f"{HOOKS}.post_process_rewards",
        "custom_eval_rollout_log_function_path": f"{HOOKS}.log_evaluation",
        "dynamic_sampling_filter_path": None,
        "custom_convert_samples_to_train_data_path": None,
        "custom_advantage_function_path": None,
        "paretopo_config": {"objectives": [{"name": "correct"}, {"name": "calls"}]},
    }
    return Namespace(**(given | changes))


def load_function(path):
    """Of `slime/utils/misc.py`."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


class RolloutManager:
    """Of `slime/ray/rollout.py`: which hook is called when, and with what."""

    def __init__(self, args, *, policy, held_out=()):
        self.args, self.policy, self.held_out = args, policy, held_out
        self.data_source = load_function(args.data_source_path)(args)
        self.dropped: list[str] = []

    def load(self, rollout_id):
        self.data_source.load(rollout_id)

    def generate(self, rollout_id):
        """Rewards of the samples that are trained on, as the trainer gets them."""
        path, groups = self.args.dynamic_sampling_filter_path, []
        while len(groups) < self.args.rollout_batch_size:
            [group] = self.data_source.get_samples(1)
            group = [self.policy(sample, rollout_id) for sample in group]
            if path is not None:
                output = load_function(path)(self.args, group)
                if not output.keep:
                    self.dropped.append(output.reason)
                    continue
            groups.append(group)
        return self.post_process([sample for group in groups for sample in group])

    def post_process(self, samples):
        hook = load_function(self.args.custom_reward_post_process_path)
        raw, rewards = hook(self.args, samples)
        assert len(raw) == len(rewards) == len(samples)
        return rewards

    def eval(self, rollout_id):
        samples = [
            self.policy(copy.deepcopy(sample), f"{rollout_id} held out") for sample in self.held_out
        ]
        for index, sample in enumerate(samples):
            sample.index = index
        data = {"desk": {"rewards": [], "truncated": [], "samples": samples}}
        hook = load_function(self.args.custom_eval_rollout_log_function_path)
        assert hook(rollout_id, self.args, data, None) is False

    def save(self, rollout_id):
        self.data_source.save(rollout_id)

    def dispose(self):
        if close := getattr(self.data_source, "close", None):
            close()


def train(manager, *, ahead=False, after=lambda what, rollout_id: None):
    """The loops of `train.py` and, `ahead`, of `train_async.py`; what each rollout trained on.

    `after` is called when a rollout is trained on, saved and evaluated.
    """
    args, trained = manager.args, {}
    manager.load(args.start_rollout_id - 1)
    rewards = manager.generate(args.start_rollout_id) if ahead else None
    for rollout_id in range(args.start_rollout_id, args.num_rollout):
        if not ahead:
            if rollout_id == 0 and args.eval_interval and not args.skip_eval_before_train:
                manager.eval(rollout_id)
            rewards = manager.generate(rollout_id)
        trained[rollout_id] = rewards
        if ahead and rollout_id + 1 < args.num_rollout:
            rewards = manager.generate(rollout_id + 1)
        after("train", rollout_id)
        if (rollout_id + 1) % args.save_interval == 0 or rollout_id + 1 == args.num_rollout:
            manager.save(rollout_id)
            after("save", rollout_id)
        if args.eval_interval and (rollout_id + 1) % args.eval_interval == 0:
            manager.eval(rollout_id)
            after("eval", rollout_id)
    manager.dispose()
    return trained


def prompts(names) -> list[Sample]:
    return [Sample(prompt=f"{name}?", label=name, metadata={"id": name}) for name in names]


def made_up(sample, turn):
    """In the place of policy, tools and reward function: the same whenever it is asked again."""
    text = f"{sample.prompt} {turn} {sample.index}".encode()
    luck = hashlib.sha256(text).digest()
    calls = luck[1] % 3
    response, mask = [], []
    for _ in range(calls):
        response += [*map(ord, "<call>a</call>"), *map(ord, "[b]")]
        mask += [1] * 14 + [0] * 3
    response, mask = [*response, ord("x"), END], [*mask, 1, 1]
    sample.tokens = [*map(ord, sample.prompt), *response]
    sample.response_length, sample.loss_mask = len(response), mask
    sample.status = Sample.Status.COMPLETED
    sample.reward = {"correct": float(luck[0] % 4 > 0), "calls": calls}
    return sample
