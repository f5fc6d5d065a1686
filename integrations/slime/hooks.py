"""What slime calls: a mixin for its data source, and three functions.

All are called in one process, that of slime's rollout manager, in this order::

    source = DataSource(args); source.load(start - 1)
    log_evaluation(0, ...)                      # before the first update
    for rollout_id in range(start, ...):
        keep_informative(...)                   # for each group that is generated
        post_process_rewards(...)               # the advantages; then slime's update
        source.save(rollout_id)                 # when a checkpoint is due
        log_evaluation(rollout_id, ...)         # when an evaluation is due
    source.close()

slime's train_async.py asks for the advantages of the next rollout before it saves or evaluates this
one.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from paretopo.integrations.slime.samples import (
    RolloutSamples,
    flatten,
    group_rollouts,
    has_scores,
    keep_scores,
    read_rollout,
    split_rollouts,
    with_scores,
    with_text,
)
from paretopo.integrations.slime.settings import (
    check_arguments,
    claim_folder,
    open_folder,
    read_state,
    state_path,
)
from paretopo.rollout import BadRollout, Rollout
from paretopo.run.files import write_text
from paretopo.session import Session, choose_recorded

_source: SessionSource | None = None  # of this process


def post_process_rewards(args: Any, samples: Sequence[Any]) -> tuple[list[Any], list[float]]:
    """For ``--custom-reward-post-process-path``: the advantages of a rollout's samples.

    Args:
        args: slime's arguments.
        samples: Of all groups that are trained on, one after the other.

    Returns:
        For each sample what slime logs as its reward, and its advantage. slime normalises neither,
        and its estimators grpo, gspo and cispo give a sample's advantage to each of its tokens.

    Raises:
        BadRollout: A sample says nothing of an objective.
    """
    advantages = _find_source().advantages(samples)
    return [one.get_reward_value(args) for one in samples], advantages


def keep_informative(args: Any, samples: Sequence[Any], **_: Any) -> Any:  # noqa: ARG001
    """For ``--dynamic-sampling-filter-path``: is there something to learn from a group?

    Groups that are equal in accuracy and differ in cost are kept, by ``paretopo.group_filter``.
    """
    from slime.rollout.filter_hub.base_types import DynamicFilterOutput

    keep = _find_source().is_informative(samples)
    return DynamicFilterOutput(keep=keep, reason=None if keep else "uninformative")


def log_evaluation(
    rollout_id: int,
    args: Any,  # noqa: ARG001
    data: Mapping[str, Mapping[str, Any]],
    extra_metrics: dict[str, Any] | None,  # noqa: ARG001
) -> bool:
    """For ``--custom-eval-rollout-log-function-path``: take an evaluation in.

    Returns:
        False: slime logs its own numbers as well.
    """
    _find_source().observe(rollout_id, data)
    return False


class SessionSource:
    """Mixin before a data source of slime's: the session of this process, kept with checkpoints."""

    args: Any

    def __init__(self, args: Any) -> None:
        global _source
        check_arguments(args)
        super().__init__(args)  # type: ignore[call-arg]
        self._opened: Session | None = None
        self._name = secrets.token_hex(8)
        self._claim = ExitStack()
        self._before: tuple[int, str] | None = None  # the latest advantages: step and state
        self._since = 0.0
        self._tokenizer: Any = None
        self._lock = threading.RLock()  # rollout functions may generate beside the training
        _source = self

    @property
    def session(self) -> Session:
        """The session, once slime has called :meth:`load`."""
        if self._opened is None:
            raise RuntimeError(
                "slime has not called load of its data source in this process: a rollout manager "
                "that slime has restarted by itself knows nothing of archive and stage; end the "
                "job, and start it again from its checkpoint"
            )
        return self._opened

    # ---- for slime -----------------------------------------------------------------------------

    def load(self, rollout_id: int | None = None) -> Any:
        """Where slime has loaded its checkpoint, or found none: begin, or go on."""
        loaded = super().load(rollout_id)  # type: ignore[misc]
        done = -1 if rollout_id is None else rollout_id
        prompts = len(self)  # type: ignore[arg-type]
        with self._lock, ExitStack() as claim:
            self._claim.close()
            claim.enter_context(claim_folder(self.args))
            state = read_state(self.args, done) if done >= 0 else None
            run = open_folder(self.args, prompts=prompts, rollout_id=done)
            steps_per_epoch = run.config.optimiser.steps_per_epoch(prompts)
            session = Session(run, prompts=prompts, steps_per_epoch=steps_per_epoch)
            if state is not None or run.evaluations() or run.steps():
                session.restore(state)  # None: it ended before its first checkpoint
            self._opened, self._since = session, time.perf_counter()
            self._claim = claim.pop_all()
        return loaded

    def save(self, rollout_id: int) -> None:
        """Keep the state that belongs to the policy of this checkpoint."""
        super().save(rollout_id)  # type: ignore[misc]
        with self._lock:
            self._write_state(rollout_id)

    def close(self) -> None:
        """The end of the job: a run that has made all its steps is finished."""
        close = getattr(super(), "close", None)
        if close is not None:
            close()
        with self._lock:
            session = self._opened
            if session and session.progress()[0] >= session.config.optimiser.steps:
                session.finish()
            self._claim.close()

    # ---- for the functions ---------------------------------------------------------------------

    def advantages(self, samples: Sequence[Any]) -> list[float]:
        """Those of each sample of a step, which is recorded with them.

        slime tells this process nothing of the update that follows.
        """
        with self._lock:
            session = self.session
            self._before = (session.steps_done(), json.dumps(session.state()))
            groups = group_rollouts(samples)
            self._score([group for group in groups if not self._is_scored(group)])
            rollouts = [
                [with_scores(self._read(one), one.last) for one in group] for group in groups
            ]
            for at, group in enumerate(groups[: session.config.run.trajectories]):
                rollouts[at] = self._with_texts(rollouts[at], group)
            given = [0.0] * len(samples)
            for group, advantages in zip(groups, session.advantages(rollouts), strict=True):
                for one, advantage in zip(group, advantages.tolist(), strict=True):
                    for row in one.rows:
                        given[row] = advantage
            now = time.perf_counter()
            session.record_step(session.steps_done(), {"seconds": now - self._since})
            self._since = now
            return given

    def is_informative(self, samples: Sequence[Any]) -> bool:
        """Does the group of one prompt teach anything?"""
        with self._lock:
            return self._score([split_rollouts(flatten(samples))])[0]

    def observe(self, rollout_id: int, data: Mapping[str, Mapping[str, Any]]) -> None:
        """Take a held-out evaluation in, once for each step.

        Raises:
            BadRollout: The evaluation came without samples, or one says nothing of an objective.
        """
        with self._lock:
            session = self.session
            # Before the first update, too, slime says rollout 0.
            step = rollout_id + 1 if session.steps_done() else 0
            evaluated = session.evaluated()
            if evaluated is not None and evaluated >= step:
                return
            found: list[RolloutSamples] = []
            rollouts: list[Rollout] = []
            for name, results in data.items():
                if not results.get("samples"):
                    raise BadRollout(
                        f"the evaluation of {name!r} came without samples: a function of "
                        "--eval-function-path must return them"
                    )
                own = split_rollouts(flatten(results["samples"]))
                found += own
                rollouts += [
                    read_rollout(one, session.objectives, kind=name, held_out=True) for one in own
                ]
            chosen = choose_recorded(
                [one.prompt_id for one in rollouts], session.config.run.trajectories
            )
            wanted = [at for at, one in enumerate(rollouts) if one.prompt_id in chosen]
            texts = self._with_texts([rollouts[at] for at in wanted], [found[at] for at in wanted])
            for at, one in zip(wanted, texts, strict=True):
                rollouts[at] = one
            session.observe(step, rollouts)
            if step == session.steps_done() and state_path(self.args.save, rollout_id).exists():
                self._write_state(rollout_id)  # written before this evaluation

    # ---- parts ---------------------------------------------------------------------------------

    def _read(self, one: RolloutSamples) -> Rollout:
        return read_rollout(one, self.session.objectives)

    def _score(self, groups: Sequence[Sequence[RolloutSamples]]) -> list[bool]:
        """Score groups, whose samples then carry what they were worth; does each teach?"""
        if not groups:
            return []
        scored = self.session.score([[self._read(one) for one in group] for group in groups])
        for group, result in zip(groups, scored, strict=True):
            for one, rollout in zip(group, result.rollouts, strict=True):
                keep_scores(one.last, rollout, self._name)
        return [one.informative for one in scored]

    def _is_scored(self, group: Sequence[RolloutSamples]) -> bool:
        """By the filter, when it was generated."""
        return all(has_scores(one.last, self._name) for one in group)

    def _with_texts(
        self, rollouts: Sequence[Rollout], found: Sequence[RolloutSamples]
    ) -> list[Rollout]:
        if self._tokenizer is None and found:
            from slime.utils.processing_utils import load_tokenizer

            self._tokenizer = load_tokenizer(self.args.hf_checkpoint, trust_remote_code=True)
        return [
            with_text(rollout, one.last, self._tokenizer.decode, self._tokenizer.eos_token)
            for rollout, one in zip(rollouts, found, strict=True)
        ]

    def _write_state(self, rollout_id: int) -> None:
        session, step = self.session, rollout_id + 1
        if session.steps_done() == step:
            state = json.dumps(session.state())
        elif self._before is not None and self._before[0] == step:
            state = self._before[1]  # the next rollout was asked for already
        else:
            raise RuntimeError(
                f"slime saves rollout {rollout_id}, and the session has given advantages for "
                f"{session.steps_done()} rollouts: slime repeats some that this process knows "
                "already; end the job, and start it again from its checkpoint"
            )
        path = state_path(self.args.save, rollout_id)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, state)


def _find_source() -> SessionSource:
    if _source is None:
        raise RuntimeError(
            "there is no session in this process: --data-source-path must be "
            "paretopo.integrations.slime.data_source.DataSource, and rollouts must be generated by "
            "slime's rollout manager itself"
        )
    return _source
