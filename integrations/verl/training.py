"""The hook in verl's trainers: advantages, evaluations, records and state.

It only overrides methods and copies no code of verl. verl's estimators get one reward per rollout.
The hook therefore reads the values of `compute_score` from verl's queue, and the session scores
them before verl computes advantages, which calls our estimator. A row of the queue is one output of
one agent loop, under the key ``{uid}_{session}_{index}``: the uid names a prompt of the batch, and
the session one of its rollouts. All outputs of a rollout get the advantage of the last one.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import (
    MEASURES,
    UNASKED,
    ConfigError,
    RunConfig,
    apply_method,
    read_table,
)
from paretopo.config.keys import nearest
from paretopo.config.notes import say
from paretopo.integrations.advantages import hand_over
from paretopo.records.files import write_text
from paretopo.records.folder import RunFolder
from paretopo.records.foreign import ForeignJob
from paretopo.records.trajectories import choose_recorded
from paretopo.rollout import (
    BadRollout,
    Rollout,
    ScoredGroup,
    digest_prompt,
    format_answer,
    format_prompt,
    split_tokens,
)
from paretopo.session import Session

ESTIMATOR = "paretopo"  # algorithm.adv_estimator; "paretopo_NAME" for another of stage 2
INFORMATIVE = "paretopo_informative"  # algorithm.filter_groups.metric

_STATE = "paretopo.json"  # in the folder of a checkpoint
_SETTINGS = ("config", "method")  # of +paretopo.NAME
# The fields of a row; the queue leaves out those that a batch does not have.
_FIELDS = (
    *("prompts", "responses", "response_mask", "num_turns", "raw_prompt"),
    *("data_source", "reward_model", "extra_info", "extra_fields"),
)
# Our name in steps.jsonl, verl's in its metrics or timers.
_MEASURED = {
    "loss": "actor/loss",
    "grad_norm": "actor/grad_norm",
    "learning_rate": "actor/lr",
    "kl": "actor/kl_loss",
    "seconds_generation": "gen",
    "seconds_update": "update_actor",
}
_JOB = ForeignJob(
    folder="trainer.default_local_dir",
    resume="trainer.resume_mode=auto",
    trackers="trainer.logger",
    held_out="data.val_files",
    rewards="compute_score",
)

_Row = Mapping[str, Any]


def is_ours(config: Any) -> bool:
    """Return whether a configuration of verl chooses one of our estimators."""
    return str(config.algorithm.adv_estimator).partition("_")[0] == ESTIMATOR


class ParetoTraining:
    """Mixin before a trainer of verl.

    The run folder is ``trainer.default_local_dir``. The objectives are those of the TOML file
    ``+paretopo.config=FILE``, or else verl's own ``algorithm.gdpo_reward_keys``, with
    ``gdpo_reward_weights``.

    Args:
        config: verl's configuration.

    Raises:
        ConfigError: An option does not work with several objectives, or there are none.
    """

    agent_loop_manager: Any
    config: Any
    global_steps: int
    replay_buffer: Any
    session: Session
    tokenizer: Any

    def __init__(self, config: Any) -> None:
        make_config(config, steps=1, held_out=1)  # refuses options before anything is loaded
        super().__init__(config)  # type: ignore[call-arg]
        self._scored: dict[str, ScoredGroup] = {}
        self._held_out: list[tuple[_Row, Rollout]] = []
        self._began_evaluation = 0.0

    def fit(self, agent_loop_manager: Any) -> None:
        """Train; a run that reaches its last step is marked as finished."""
        with self.session.run.claim(), self.session.run.note_failure():
            super().fit(agent_loop_manager)  # type: ignore[misc]
            if not self.config.trainer.get("val_only", False):
                self.session.finish()

    def _load_checkpoint(self) -> None:
        """Begin or resume the session, after verl has looked for a checkpoint."""
        super()._load_checkpoint()  # type: ignore[misc]
        run, done = self._open_run(), self.global_steps
        prompts = len(self.train_dataset)  # type: ignore[attr-defined]
        epoch = run.config.optimiser.steps_per_epoch(prompts)
        self.session = Session(run, prompts=prompts, steps_per_epoch=epoch)
        if done > 0:
            self.session.restore(self._read_state(done))
        elif run.has_records:
            self.session.restore(None)  # the run ended before its first checkpoint

    def _open_run(self) -> RunFolder:
        path = Path(self.config.trainer.default_local_dir).absolute()
        held_out = len(self.val_dataset)  # type: ignore[attr-defined]
        steps = self.total_training_steps  # type: ignore[attr-defined]
        config = make_config(self.config, steps, held_out)
        say(config.notes)
        run = RunFolder(path, config)
        begun = run.has_records
        if begun and self.config.trainer.resume_mode == "disable":
            _JOB.refuse_records(run)
        method = _settings(self.config).get("method")
        _JOB.begin(run, resumed=begun or self.global_steps > 0, method=method)
        return run

    # ---- a step --------------------------------------------------------------------------------

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> Any:
        """Take a step of verl and record it after its update."""
        began = time.perf_counter()
        batch = super().step(metrics, timing_raw)  # type: ignore[misc]
        known = metrics | timing_raw
        numbers = {ours: float(known[name]) for ours, name in _MEASURED.items() if name in known}
        numbers["seconds"] = time.perf_counter() - began
        metrics |= self.session.record_step(self.global_steps, numbers, dict(metrics))
        return batch

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Make verl write the session's advantages into the queue, for all rows of a rollout."""
        with hand_over(self._advantages_of(batch)):
            return super()._compute_advantage(batch, metrics)  # type: ignore[misc]

    def _advantages_of(self, batch: Any) -> NDArray[np.float64]:
        """Return the advantages of a batch, shape (rows,); 0 for verl's padding."""
        rows = self._read(batch.keys, batch.partition_id)
        groups = group_rows(batch.keys, batch.tags)
        self._score(rows, {uid: one for uid, one in groups.items() if uid not in self._scored})
        rollouts = [list(self._scored.pop(uid).rollouts) for uid in groups]
        recorded = range(min(self.session.config.run.trajectories, len(rollouts)))
        for at, group in zip(recorded, groups.values(), strict=False):
            rollouts[at] = [
                self._with_text(one, rows[outputs[-1]])
                for one, outputs in zip(rollouts[at], group, strict=True)
            ]
        given = np.zeros(len(batch.keys))
        computed = self.session.advantages(rollouts)
        for group, advantages in zip(groups.values(), computed, strict=True):
            for outputs, advantage in zip(group, advantages, strict=True):
                given[outputs] = advantage
        return given

    def _score(self, rows: Sequence[_Row], groups: Mapping[str, list[list[int]]]) -> None:
        read = [
            [self._make_rollout([rows[one] for one in outputs]) for outputs in group]
            for group in groups.values()
        ]
        self._scored |= zip(groups, self.session.score(read), strict=True)

    # ---- verl's queue --------------------------------------------------------------------------

    def _build_replay_buffer(self) -> Any:
        """Return verl's buffer; it reads held-out samples, and its filter calls the session."""
        buffer = super()._build_replay_buffer()  # type: ignore[misc]
        sample = buffer.sample

        def sample_and_read(
            global_steps: int, partition_id: str, batch_size: int
        ) -> tuple[Any, dict[str, Any]]:
            batch, numbers = sample(global_steps, partition_id, batch_size)
            if partition_id == "val":  # read now: verl clears the queue too early
                rows = self._read(batch.keys, partition_id)
                for group in group_rows(batch.keys, batch.tags).values():
                    for outputs in group:
                        rollout = self._make_rollout([rows[one] for one in outputs])
                        self._held_out.append((rows[outputs[-1]], rollout))
            return batch, numbers

        buffer.sample = sample_and_read
        if getattr(buffer, "filter_groups_metric", None) == INFORMATIVE:
            buffer._dapo_filtered_keys = self._find_uninformative
        return buffer

    def _find_uninformative(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """Find prompts whose groups teach nothing; replaces verl's filter by one number."""
        if partition_id == "val":
            return set(), Counter()
        buffer = self.replay_buffer
        finished, partition = buffer.finished_keys[partition_id], buffer.partitions[partition_id]
        self._scored = {uid: one for uid, one in self._scored.items() if uid in finished}
        new = finished - self._scored.keys()
        keys = [key for key in partition if key.rsplit("_", 2)[0] in new]
        if keys:
            tags = [partition[key] for key in keys]
            self._score(self._read(keys, partition_id), group_rows(keys, tags))
        teaching = {uid for uid, one in self._scored.items() if one.informative}
        return finished - teaching, Counter()

    def _read(self, keys: Sequence[str], partition_id: str) -> list[_Row]:
        import transfer_queue

        data = transfer_queue.kv_batch_get(
            keys=keys, partition_id=partition_id, select_fields=list(_FIELDS)
        )
        columns = {name: _column(data[name]) for name in _FIELDS if name in data.keys()}  # noqa: SIM118
        return [
            {name: column[row] for name, column in columns.items()} | {"key": key}
            for row, key in enumerate(keys)
        ]

    def _make_rollout(self, outputs: Sequence[_Row]) -> Rollout:
        """Return a rollout with the values of `compute_score`; the last output is measured."""
        longest, end = self.config.data.max_response_length, self.tokenizer.eos_token_id
        return make_rollout(outputs, self.session.objectives, int(longest), end)

    def _with_text(self, rollout: Rollout, row: _Row) -> Rollout:
        """Return the rollout with the texts of prompt and response."""
        graded, decode = row.get("reward_model"), self.tokenizer.decode
        answer = graded.get("ground_truth", "") if isinstance(graded, Mapping) else ""
        written = _plain(row["responses"]), _plain(row["response_mask"])
        return replace(
            rollout,
            prompt=decode(_plain(row["prompts"])),
            answer=format_answer(answer),
            segments=split_tokens(*written, decode, self.tokenizer.eos_token),
        )

    # ---- an evaluation -------------------------------------------------------------------------

    def _validate(self) -> dict[str, float]:
        """Run verl's evaluation and read its rollouts."""
        self._held_out = []
        self._began_evaluation = time.perf_counter()
        numbers: dict[str, float] = super()._validate()  # type: ignore[misc]
        return numbers

    def _val_metrics_update(
        self, *columns: Any, expected_acc_counts: Mapping[Any, int] | None = None
    ) -> dict[str, float]:
        """Record the evaluation once for each step: a resumed run repeats its first evaluation."""
        numbers: dict[str, float] = super()._val_metrics_update(  # type: ignore[misc]
            *columns, expected_acc_counts=expected_acc_counts
        )
        if self.session.evaluated() == self.global_steps:
            return numbers
        seconds = time.perf_counter() - self._began_evaluation
        wanted = sum((expected_acc_counts or {}).values())
        if len(self._held_out) < wanted:
            raise BadRollout(
                f"{wanted - len(self._held_out)} of {wanted} held-out rollouts failed in verl's "
                "agent loops (see verl's log for the errors): evaluations must answer the same "
                "questions each time"
            )
        names = (rollout.prompt_id for _, rollout in self._held_out)
        chosen = choose_recorded(names, self.session.config.run.trajectories)
        rollouts = [
            self._with_text(rollout, row) if rollout.prompt_id in chosen else rollout
            for row, rollout in self._held_out
        ]
        numbers |= self.session.observe(self.global_steps, rollouts, seconds)
        if self._state_path(self.global_steps).exists():  # written before this evaluation
            self._write_state()
        return numbers

    # ---- its state -----------------------------------------------------------------------------

    def _save_checkpoint(self) -> None:
        """Save our state first: verl's last file names the latest checkpoint."""
        self._state_path(self.global_steps).parent.mkdir(parents=True, exist_ok=True)
        self._write_state()
        super()._save_checkpoint()  # type: ignore[misc]

    def _write_state(self) -> None:
        write_text(self._state_path(self.global_steps), json.dumps(self.session.state()))

    def _state_path(self, step: int) -> Path:
        return Path(self.config.trainer.default_local_dir) / f"global_step_{step}" / _STATE

    def _read_state(self, step: int) -> dict[str, Any]:
        trainer = self.config.trainer
        path = self._state_path(step)
        if trainer.resume_mode == "resume_path":
            path = Path(trainer.resume_from_path) / _STATE
        try:
            state: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"verl resumes from step {step}, and {path} cannot be read ({error}): that "
                "checkpoint was written without paretopo; start again, trainer.resume_mode=disable"
            ) from None
        return state


def _check_options(config: Any) -> None:
    """Refuse options of verl that do not work with several objectives."""
    unknown = [name for name in config.get("paretopo") or {} if name not in _SETTINGS]
    if unknown:
        raise ConfigError(
            f"verl's configuration has paretopo.{unknown[0]}; {nearest(unknown[0], _SETTINGS)}"
        )
    if config.algorithm.use_kl_in_reward:
        raise ConfigError(
            "algorithm.use_kl_in_reward does not apply to ranks of several rewards: use "
            "actor_rollout_ref.actor.use_kl_loss=true"
        )
    model = config.reward.reward_model
    if model.enable and not model.enable_resource_pool:
        raise ConfigError(
            "reward.reward_model without its own pool scores after the rollouts are collected, "
            "and gives one number: set reward.reward_model.enable_resource_pool=true, and return "
            "the objectives from compute_score"
        )
    filtered = config.algorithm.get("filter_groups")
    if filtered and filtered.enable and filtered.metric != INFORMATIVE:
        raise ConfigError(
            f"algorithm.filter_groups.metric must be {INFORMATIVE}, got {filtered.metric!r}: a "
            "single number would drop groups that differ in another objective"
        )


def make_config(verl: Any, steps: int, held_out: int) -> RunConfig:
    """Return the job's table of objectives and method, completed by verl's configuration.

    Args:
        verl: verl's configuration.
        steps: Number of training steps.
        held_out: Number of held-out prompts.

    Raises:
        ConfigError: There is no table, a key of it is wrong, or an option of verl does not work
            with several objectives.
    """
    _check_options(verl)
    given, algorithm = _settings(verl), verl.algorithm
    table = read_table(given.get("config"))
    if "config" not in given:
        names = algorithm.get("gdpo_reward_keys")
        if not names:
            raise ConfigError(
                f"algorithm.adv_estimator={algorithm.adv_estimator} needs the objectives: "
                "+algorithm.gdpo_reward_keys=[NAME,...] for values of compute_score, or "
                "+paretopo.config=FILE, a TOML file (docs/trainers.md)"
            )
        table = {"objectives": [{"name": str(name)} for name in names]}
        weights = algorithm.get("gdpo_reward_weights")
        if weights and len(weights) != len(names):
            raise ConfigError(
                f"algorithm.gdpo_reward_weights must have a number for each of {list(names)}, got "
                f"{list(weights)}"
            )
        for objective, weight in zip(table["objectives"], weights or (), strict=False):
            objective["weight"] = float(weight)
    method = given.get("method")
    chosen = {} if method is None else apply_method(table, method, {})
    name = str(algorithm.adv_estimator)
    if name != ESTIMATOR:
        chosen["paretopo.stage2_estimator"] = name.removeprefix(f"{ESTIMATOR}_")
    known = {
        "seed": int(verl.data.get("seed") or 0),
        "model.path": str(verl.actor_rollout_ref.model.path),
        "warmup.steps": 0,
        "optimiser.steps": steps,
        "optimiser.prompts_per_step": int(verl.data.train_batch_size),
        "optimiser.group_size": int(verl.actor_rollout_ref.rollout.n),
        "optimiser.learning_rate": float(verl.actor_rollout_ref.actor.optim.lr),
        "optimiser.max_completion_tokens": int(verl.data.max_response_length),
        "evaluation.prompts": held_out,
        "evaluation.every": max(1, int(verl.trainer.test_freq)),
        "run.out": str(Path(verl.trainer.default_local_dir).absolute()),
    }
    return _JOB.make_config(table, chosen | known)


def group_rows(keys: Sequence[str], tags: Sequence[_Row]) -> dict[str, list[list[int]]]:
    """Return the rows of a batch by prompt, in the order in which prompts first appear.

    Args:
        keys: The key of every row.
        tags: The tags of every row; verl's padding is left out.

    Returns:
        For each uid its rollouts, and for each rollout the row numbers of its outputs, in order.

    >>> group_rows(["b_1_0", "a_0_1", "b_0_0", "a_0_0"], [{}] * 4)
    {'b': [[2], [0]], 'a': [[3, 1]]}
    """
    found: dict[str, dict[int, dict[int, int]]] = {}
    for row, (key, tag) in enumerate(zip(keys, tags, strict=True)):
        if not tag.get("is_padding", False):
            uid, number, index = key.rsplit("_", 2)
            found.setdefault(uid, {}).setdefault(int(number), {})[int(index)] = row
    return {
        uid: [
            [row for _, row in sorted(outputs.items())] for _, outputs in sorted(rollouts.items())
        ]
        for uid, rollouts in found.items()
    }


def make_rollout(
    outputs: Sequence[_Row], objectives: Sequence[str], longest: int, end: int
) -> Rollout:
    """Return a rollout with the values of the reward function.

    Args:
        outputs: The rows of its outputs; the last one is measured.
        objectives: Names of the run's objectives.
        longest: Longest response in tokens.
        end: The token that ends a response.

    Raises:
        BadRollout: It lacks a value for an objective; the message names prompt and row.
    """
    row = outputs[-1]
    extra = row.get("extra_fields") or {}
    values = extra.get("reward_extra_info") or {}
    more = row.get("extra_info") or {}
    name = more.get("id")
    if name is None:
        name = digest_prompt(format_prompt(_plain(row["raw_prompt"])))
    for objective in objectives:
        if objective not in values and objective not in UNASKED:
            raise BadRollout(
                f"the rollout of prompt {str(name)!r} (row {row['key']}) has no {objective!r} in "
                "its reward_extra_info: compute_score must return it with 'score', None if it "
                f"does not apply; {nearest(objective, values)}"
            )
    known = dict.fromkeys([*objectives, *MEASURES])
    components = {one: values[one] for one in known if one in values}
    if row.get("num_turns") is not None:  # turns of user, policy and tools
        components.setdefault("turns", int(row["num_turns"]) // 2)
    response = _plain(row["responses"])
    cut = len(response) >= longest and response[-1] != end
    return Rollout(
        str(name),
        components,
        kind=str(row.get("data_source") or "all"),
        tokens=sum(int(sum(_plain(one["response_mask"]))) for one in outputs),
        truncated=bool(extra.get("truncated", cut)),
    )


def _settings(config: Any) -> Mapping[str, Any]:
    settings: Mapping[str, Any] = config.get("paretopo") or {}
    return settings


def _column(values: Any) -> list[Any]:
    """Return the values of a field in the queue's reply, one for each row.

    They arrive as a nested tensor, as a stack of objects, or as an array.
    """
    if hasattr(values, "unbind") and hasattr(values, "layout"):
        return list(values.unbind())
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else values
