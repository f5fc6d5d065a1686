"""Our trainers' changes to verl's: advantages, evaluations and state.

They only override methods and copy no code of verl. The session scores and ranks the rollouts of a
step before verl computes advantages, which calls our estimator. A step is recorded after its
update. An evaluation is read during verl's own. The session's state lies in verl's checkpoint and
is written before the file that names the latest checkpoint.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from paretopo.config import ConfigError
from paretopo.integrations.advantages import hand_over
from paretopo.integrations.verl.options import INFORMATIVE
from paretopo.integrations.verl.rollouts import (
    FIELDS,
    RolloutRows,
    Rows,
    column,
    group_rows,
    measured,
)
from paretopo.integrations.verl.settings import VerlRun
from paretopo.records.files import write_text
from paretopo.rollout import BadRollout, Rollout
from paretopo.session import ScoredGroup, choose_recorded

_STATE = "paretopo.json"  # in the folder of a checkpoint


class ParetoTraining:
    """Mixin before a trainer of verl.

    Attributes:
        verl_mode: verl's name of that trainer. verl chooses by this name how it buffers and keeps
            rollouts.
    """

    verl_mode: ClassVar[str]
    agent_loop_manager: Any
    config: Any
    global_steps: int
    replay_buffer: Any
    tokenizer: Any

    def __init__(self, config: Any) -> None:
        from omegaconf import open_dict

        self.run = VerlRun(config)
        with open_dict(config):
            config.trainer.v1.trainer_mode = self.verl_mode
        super().__init__(config)  # type: ignore[call-arg]
        self._scored: dict[str, ScoredGroup] = {}
        self._held_out: list[tuple[Rows, RolloutRows, Rollout]] = []
        self._began_evaluation = 0.0

    def fit(self, agent_loop_manager: Any) -> None:
        """Train; a run that reaches its last step is marked as finished."""
        with self.run.training():
            super().fit(agent_loop_manager)  # type: ignore[misc]
            if not self.config.trainer.get("val_only", False):
                self.session.finish()

    def _build_replay_buffer(self) -> Any:
        """Return verl's buffer; it also reads the samples, and its filter calls the session."""
        buffer = super()._build_replay_buffer()  # type: ignore[misc]
        sample, poll = buffer.sample, buffer._sync_metadata_from_transfer_queue

        def sample_and_read(
            global_steps: int, partition_id: str, batch_size: int
        ) -> tuple[Any, dict[str, Any]]:
            batch, numbers = sample(global_steps, partition_id, batch_size)
            if partition_id == "val":  # read now: verl clears the queue too early
                rows = self._read(batch.keys, partition_id)
                for session in (one for group in self._group(batch) for one in group):
                    rollout = rows.rollout(session, held_out=True)
                    self._held_out.append((rows, session, rollout))
            return batch, numbers

        def poll_and_check() -> None:
            poll()
            self._check_rollouts(sum(map(len, buffer.failure_keys.values())))

        buffer.sample, buffer._sync_metadata_from_transfer_queue = sample_and_read, poll_and_check
        if getattr(buffer, "filter_groups_metric", None) == INFORMATIVE:
            buffer._dapo_filtered_keys = self._find_uninformative
        return buffer

    def _check_rollouts(self, failed: int) -> None:
        """Stop where verl would train on the rest of a group, or wait for ever for a dead worker.

        Raises:
            BadRollout: Rollouts failed.
            RuntimeError: An agent-loop worker died.
        """
        import ray

        if failed:
            raise BadRollout(
                f"rollouts of {failed} prompts failed in verl's agent loops: see the errors in "
                "verl's log, correct their cause and resume the run"
            )
        alive = [one.__ray_ready__.remote() for one in self.agent_loop_manager.agent_loop_workers]
        answered, _ = ray.wait(alive, num_returns=len(alive), timeout=0.1)
        try:
            ray.get(answered)
        except ray.exceptions.RayActorError as error:
            raise RuntimeError(
                f"an agent-loop worker of verl died, and its rollouts will not end: {error}; "
                "correct the cause, such as too little memory, and resume the run"
            ) from error

    def _load_checkpoint(self) -> None:
        """Begin or resume the session, after verl has looked for a checkpoint."""
        super()._load_checkpoint()  # type: ignore[misc]
        done = self.global_steps
        self.session = self.run.open(
            steps=self.total_training_steps,  # type: ignore[attr-defined]
            prompts=len(self.train_dataset),  # type: ignore[attr-defined]
            held_out=len(self.val_dataset),  # type: ignore[attr-defined]
            resumed=done > 0,
        )
        self._objectives = self.session.objectives
        if done > 0:
            self.session.restore(self._read_state(done))
        elif self.run.folder.evaluations() or self.run.folder.steps():
            self.session.restore(None)  # the run ended before its first checkpoint

    # ---- a step --------------------------------------------------------------------------------

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> Any:
        """Take a step of verl and record it after its update."""
        began = time.perf_counter()
        batch = super().step(metrics, timing_raw)  # type: ignore[misc]
        numbers = measured(metrics, timing_raw, time.perf_counter() - began)
        metrics |= self.session.record_step(self.global_steps, numbers, dict(metrics))
        return batch

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Make verl write the session's advantages into the queue, for all rows of a rollout."""
        with hand_over(self._advantages_of(batch)):
            return super()._compute_advantage(batch, metrics)  # type: ignore[misc]

    def _advantages_of(self, batch: Any) -> NDArray[np.float64]:
        """Return the advantages of a batch, shape (rows,); 0 for verl's padding."""
        groups = self._group(batch)
        rows = self._read(batch.keys, batch.partition_id)
        new = [group for group in groups if group[0].uid not in self._scored]
        scored = self.session.score([[rows.rollout(one) for one in group] for group in new])
        self._scored |= {group[0].uid: one for group, one in zip(new, scored, strict=True)}
        rollouts = [list(self._scored.pop(group[0].uid).rollouts) for group in groups]
        for at, group in enumerate(groups[: self.session.config.run.trajectories]):
            rollouts[at] = [
                rows.with_text(one, session)
                for one, session in zip(rollouts[at], group, strict=True)
            ]
        given = np.zeros(len(batch.keys))
        for group, advantages in zip(groups, self.session.advantages(rollouts), strict=True):
            for session, advantage in zip(group, advantages, strict=True):
                given[list(session.rows)] = advantage
        return given

    def _find_uninformative(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """Find prompts whose groups teach nothing; replaces verl's filter by one number."""
        if partition_id == "val":
            return set(), Counter()
        buffer = self.replay_buffer
        finished, partition = buffer.finished_keys[partition_id], buffer.partitions[partition_id]
        for uid in self._scored.keys() - finished:
            del self._scored[uid]
        keys = [key for key in partition if key.rsplit("_", 2)[0] in finished - self._scored.keys()]
        if keys:
            rows = self._read(keys, partition_id)
            groups = group_rows(keys, [partition[key] for key in keys])
            scored = self.session.score([[rows.rollout(one) for one in group] for group in groups])
            self._scored |= {group[0].uid: one for group, one in zip(groups, scored, strict=True)}
        teaching = {uid for uid, one in self._scored.items() if one.informative}
        return finished - teaching, Counter()

    # ---- an evaluation -------------------------------------------------------------------------

    def _validate(self) -> dict[str, float]:
        """Run verl's evaluation and read its rollouts."""
        self._held_out = []
        self._began_evaluation = time.perf_counter()
        try:
            numbers: dict[str, float] = super()._validate()  # type: ignore[misc]
        finally:
            self._held_out = []
        return numbers

    def _val_metrics_update(
        self,
        data_sources: Any,
        sample_uids: Any,
        reward_extra_infos_dict: Any,
        sample_turns: Any,
        expected_acc_counts: Mapping[Any, int] | None = None,
    ) -> dict[str, float]:
        """Record the evaluation once for each step: a resumed run repeats its first evaluation."""
        numbers: dict[str, float] = super()._val_metrics_update(  # type: ignore[misc]
            data_sources,
            sample_uids,
            reward_extra_infos_dict,
            sample_turns,
            expected_acc_counts=expected_acc_counts,
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
        names = (rollout.prompt_id for _, _, rollout in self._held_out)
        chosen = choose_recorded(names, self.session.config.run.trajectories)
        rollouts = [
            rows.with_text(rollout, session) if rollout.prompt_id in chosen else rollout
            for rows, session, rollout in self._held_out
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
        text = json.dumps(self.session.state())
        write_text(self._state_path(self.global_steps), text)

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

    # ---- parts ---------------------------------------------------------------------------------

    def _group(self, batch: Any) -> list[list[RolloutRows]]:
        return group_rows(batch.keys, batch.tags)

    def _read(self, keys: list[str], partition_id: str) -> Rows:
        import transfer_queue

        data = transfer_queue.kv_batch_get(
            keys=keys, partition_id=partition_id, select_fields=list(FIELDS)
        )
        return Rows(
            keys,
            {name: column(data[name]) for name in FIELDS if name in data.keys()},  # noqa: SIM118
            objectives=self._objectives,
            longest=int(self.config.data.max_response_length),
            tokenizer=self.tokenizer,
        )
