"""A training session: everything a trainer needs from this package, and no trainer's import.

The same calls in the same order from every framework, and therefore the same records for the same
rollouts::

    session = Session(run, prompts=..., steps_per_epoch=...)
    session.restore(state)                                 # where a run is resumed
    session.observe(0, held_out_rollouts, seconds)         # the policy as it starts
    for step in ...:
        scored = session.score(groups)                     # as groups are generated
        advantages = session.advantages(groups_with_rewards)
        ...                                                # the framework's update
        session.record_step(step, {"loss": ..., "seconds": ...})
        session.observe(step, held_out_rollouts, seconds)  # when an evaluation is due
        state = session.state()                            # for the framework's checkpoint
    session.finish()
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.controller.two_stages import ParetoPO, Step
from paretopo.rewards.overlong import overlong
from paretopo.rewards.scoring import CallScores
from paretopo.rollout import Rollout
from paretopo.run.files import Row
from paretopo.run.folder import RunFolder
from paretopo.run.trajectories import Group

_NO_STEP = -1  # every record is after it
_SHOWN_OF_STEPS = (
    "stage", "accuracy", "calls", "economy", "multiplier", "informative", "kept", "truncated",
    "overlong",
)  # fmt: skip
_SHOWN_OF_EVALUATIONS = (
    "accuracy", "calls", "economy", "response_tokens", "truncated", "archive_size", "hypervolume",
)  # fmt: skip


@dataclass(frozen=True)
class ScoredGroup:
    """The rewards of one group.

    Attributes:
        rewards: (points, objectives) float64, correctness and economy, not gated.
        informative: Does the group teach anything, by ``paretopo.group_filter``?
    """

    rewards: NDArray[np.float64]
    informative: bool


class Session:
    """Rewards, advantages, evaluations, records and state of one run.

    Args:
        run: The run folder.
        prompts: Training prompts.
        steps_per_epoch: Steps in which every training prompt is seen once, as the framework
            batches them.
        warmed_up: Was the policy warmed up before its first evaluation?
        writes: False in all but one of several processes that make the same calls: they compute
            alike, one records.

    Example:
        >>> import tempfile
        >>> from paretopo.config import loads
        >>> folder = tempfile.TemporaryDirectory()
        >>> config = loads('''
        ... [paretopo]
        ... stage1_steps = 0
        ... stage2_estimator = "pareto"
        ... ''')
        >>> session = Session(RunFolder.create(folder.name, config), prompts=8, steps_per_epoch=8)
        >>> group = [Rollout("q", correct=1.0, calls=calls) for calls in (1, 2)]
        >>> [scored] = session.score([group])
        >>> scored.rewards.round(3).tolist(), scored.informative
        ([[1.0, 1.0], [1.0, 0.497]], True)
        >>> session.advantages([with_rewards(group, scored.rewards)])
        array([[ 0.5, -0.5]])
        >>> folder.cleanup()
    """

    def __init__(
        self,
        run: RunFolder,
        *,
        prompts: int,
        steps_per_epoch: int,
        warmed_up: bool = False,
        writes: bool = True,
    ) -> None:
        self.run = run
        self.config = run.config
        self.controller = ParetoPO(
            self.config.paretopo,
            steps_per_epoch=steps_per_epoch,
            steps=self.config.optimiser.steps,
        )
        self._scores = CallScores(self.config.rewards)
        self._prompts = prompts
        self._warmed_up = warmed_up
        self._writes = writes
        self._consumed = 0  # groups scored since the start, filtered ones included
        self._groups = Counter[str]()  # scored since the last recorded step, and informative ones
        self._pending: Row = {}  # the row of the step at hand, until the update is made
        self._pending_groups: list[Group] = []
        self._recorded = 0
        self._latest = "not evaluated yet"

    # ---- training ------------------------------------------------------------------------------

    def score(self, groups: Sequence[Sequence[Rollout]]) -> list[ScoredGroup]:
        """Score the rollouts of training prompts, a group for each prompt.

        All of them count towards the fewest calls of their prompts before any is scored, also
        those of groups that are dropped afterwards.
        """
        self._scores.learn([one for group in groups for one in group])
        scored = []
        for group in groups:
            rewards = self._rewards_of(group)
            informative = bool(self.controller.informative(rewards[None])[0])
            self._groups.update(scored=1, informative=int(informative))
            scored.append(ScoredGroup(rewards, informative))
        self._consumed += len(groups)
        return scored

    def advantages(self, groups: Sequence[Sequence[Rollout]]) -> NDArray[np.float64]:
        """Advantages of a step, from rollouts that carry their ``rewards``.

        Args:
            groups: Of equal size, one for each prompt of the step. Those that come with their text
                are kept in the records.

        Returns:
            (groups, points) float64, the punishment of overlong responses taken off.
        """
        step = self.controller.step([[one.rewards for one in group] for group in groups])
        punished = self._punish_overlong(groups)
        advantages = step.advantages - punished
        rollouts = [one for group in groups for one in group]
        self._pending = {
            "step": self.controller.steps_taken,
            "stage": step.stage,
            **_averages(rollouts),
            "economy": float(np.mean([one.rewards[1] for one in rollouts])),
            "multiplier": step.multiplier,
            "informative": float(step.informative.mean()),
            "response_tokens": float(np.mean([one.tokens for one in rollouts])),
            "truncated": float(np.mean([one.truncated for one in rollouts])),
            "overlong": float(punished.mean()),
            "rank_histogram": step.rank_histogram,
        }
        self._pending_groups = [
            self._group_of_step(group, step, at, advantages[at])
            for at, group in enumerate(groups)
            if group[0].has_text
        ]
        return advantages

    def learning_rate_factor(self) -> float:
        """Factor on the learning rate of the step whose advantages were given last."""
        return self.controller.learning_rate_factor

    def record_step(self, step: int, measured: Mapping[str, Any]) -> dict[str, float]:
        """Write the row of a step, once its update is made.

        Args:
            step: Number of the step, from 1 on.
            measured: What the framework knows of it, as docs/training.md names it: ``loss``,
                ``grad_norm``, ``learning_rate``, ``seconds`` and others.

        Returns:
            Numbers for the framework's trackers.

        Raises:
            RuntimeError: The framework counts another step than the controller.
        """
        taken = self.controller.steps_taken
        if self.config.optimiser.learn_from == "rewards" and step != taken:
            raise RuntimeError(
                f"the trainer is at step {step}, ParetoPO at {taken}: advantages must be asked for "
                "once in each step"
            )
        row: Row = {"step": step}
        if self._pending:
            scored, self._groups = self._groups, Counter()
            kept = scored["informative"] / scored["scored"] if scored["scored"] else 1.0
            row = self._pending | {"generated_groups": scored["scored"], "kept": kept}
        row |= measured
        if self._writes:
            self.run.append_step(row)
            for group in self._pending_groups:
                self.run.append_trajectories(group)
        self._pending, self._pending_groups = {}, []
        self._recorded = step
        if self.config.paretopo.stage1_steps == "epoch" and self._consumed >= self._prompts:
            self.controller.finish_stage1()  # filtered groups use prompts up
        return self._tracked(row)

    # ---- evaluation ----------------------------------------------------------------------------

    def observe(
        self, step: int, rollouts: Sequence[Rollout], seconds: float | None = None
    ) -> dict[str, float]:
        """Take a held-out evaluation in and record it.

        Args:
            step: The step after which the policy was evaluated, 0 before the first.
            rollouts: One for each held-out question. Those that come with their text are kept in
                the records.
            seconds: Time that the evaluation took.

        Returns:
            Numbers for the framework's trackers.
        """
        controller = self.controller
        ordered = [
            replace(one, held_out=True)
            for one in sorted(rollouts, key=lambda rollout: rollout.prompt_id)
        ]
        self._scores.learn(ordered)
        vectors, before = self._scores.rescore(ordered, self._rewards_of(ordered))
        outcome = controller.gate(vectors).mean(axis=0)
        earlier = None if before is None else controller.gate(before).mean(axis=1)
        signal = controller.observe(outcome, earlier=earlier)
        kinds = sorted({one.kind for one in ordered})
        row: Row = {
            "step": step,
            "phase": self._phase(step),
            "stage": controller.stage,
            **_averages(ordered),
            "economy": float(vectors[:, 1].mean()),
            "outcome": outcome.tolist(),
            "response_tokens": float(np.mean([one.tokens for one in ordered])),
            "truncated": float(np.mean([one.truncated for one in ordered])),
            "gain": signal.gain,
            "smoothed_gain": signal.smoothed_gain,
            "multiplier": signal.multiplier,
            "archived": signal.archived,
            "archive_size": self._archive_size(),
            "hypervolume": signal.hypervolume,
            "by_kind": {
                kind: _averages([one for one in ordered if one.kind == kind]) for kind in kinds
            },
        }
        if earlier is not None:
            row["rescored"] = earlier.tolist()
        if seconds is not None:
            row["seconds"] = seconds
        if self._writes:
            self.run.append_evaluation(row)
            self._record_held_out(step, ordered, vectors)
        self._latest = _describe(row)
        return {name: float(row[name]) for name in _SHOWN_OF_EVALUATIONS}

    # ---- where it stands -----------------------------------------------------------------------

    def steps_done(self) -> int:
        """Steps whose advantages were given."""
        return self.controller.steps_taken

    def progress(self) -> tuple[int, str]:
        """Steps that are recorded, and a line on where the run stands."""
        stage, size = self.controller.stage, self._archive_size()
        return self._recorded, f"{self._latest}, stage {stage}, archive {size}"

    def state(self) -> dict[str, Any]:
        """Everything that a checkpoint must keep, JSON-able."""
        return {
            "controller": self.controller.state_dict(),
            "scores": self._scores.state_dict(),
            "consumed": self._consumed,
            "recorded": self._recorded,
        }

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Resume from a checkpoint's state, or from None begin anew; later records are dropped."""
        done = _NO_STEP
        if state is not None:
            self.controller.load_state_dict(state["controller"])
            self._scores.load_state_dict(state["scores"])
            self._consumed = int(state["consumed"])
            done = int(state["recorded"])
        self._recorded = max(done, 0)
        if self._writes:
            self.run.truncate_after(done)
            self.run.resumed(self._recorded)
        for row in self.run.evaluations()[-1:]:
            self._latest = _describe(row)

    def finish(self) -> None:
        """Mark the run as finished.

        Raises:
            RuntimeError: Steps are missing.
        """
        steps = self.config.optimiser.steps
        if self._recorded < steps:
            raise RuntimeError(f"the training ended after {self._recorded} of {steps} steps")
        if self._writes:
            self.run.finish()

    # ---- parts ---------------------------------------------------------------------------------

    def _rewards_of(self, rollouts: Sequence[Rollout]) -> NDArray[np.float64]:
        """(rollouts, 2): correctness and economy."""
        return np.array([[one.correct, self._scores.economy_of(one)] for one in rollouts])

    def _punish_overlong(self, groups: Sequence[Sequence[Rollout]]) -> NDArray[np.float64]:
        tokens = np.array([[one.tokens for one in group] for group in groups])
        settings = self.config.openrlhf
        if self.config.backend != "openrlhf":
            return np.zeros(tokens.shape)
        longest = self.config.optimiser.max_completion_tokens
        return settings.overlong_penalty * overlong(tokens, longest, settings.overlong_buffer)

    def _group_of_step(
        self, group: Sequence[Rollout], step: Step, at: int, advantages: NDArray[np.float64]
    ) -> Group:
        rollouts = [
            replace(
                one,
                gated=tuple(step.gated[at, point].tolist()),
                rank=int(step.ranks[at, point]),
                advantage=float(advantages[point]),
            )
            for point, one in enumerate(group)
        ]
        return Group(tuple(rollouts), step=self.controller.steps_taken, stage=step.stage)

    def _record_held_out(
        self, step: int, ordered: Sequence[Rollout], vectors: NDArray[np.float64]
    ) -> None:
        """Keep the prompts whose rollouts come with their text, a group for each prompt."""
        for name in dict.fromkeys(one.prompt_id for one in ordered if one.has_text):
            rows = [at for at, one in enumerate(ordered) if one.prompt_id == name and one.has_text]
            gated = self.controller.gate(vectors[rows])
            group = with_rewards([ordered[at] for at in rows], vectors[rows])
            rollouts = tuple(
                replace(one, gated=tuple(seen.tolist()))
                for one, seen in zip(group, gated, strict=True)
            )
            self.run.append_trajectories(Group(rollouts, step=step, stage=self.controller.stage))

    def _phase(self, step: int) -> str:
        if step == 0:
            return "warmup" if self._warmed_up else "pretrained"
        return "final" if step >= self.config.optimiser.steps else "train"

    def _archive_size(self) -> int:
        archive = self.controller.archive
        return 0 if archive is None else len(archive.points)

    def _tracked(self, row: Row) -> dict[str, float]:
        if "rank_histogram" not in row:
            return {}
        archive, ranks = self.controller.archive, row["rank_histogram"]
        numbers = {name: float(row[name]) for name in _SHOWN_OF_STEPS}
        numbers["archive_size"] = float(self._archive_size())
        numbers["hypervolume"] = 0.0 if archive is None else float(archive.hypervolume)
        numbers |= {f"rank_{rank}": count / sum(ranks) for rank, count in enumerate(ranks)}
        return {f"paretopo/{name}": value for name, value in numbers.items()}


def with_rewards(group: Sequence[Rollout], rewards: ArrayLike) -> list[Rollout]:
    """The rollouts of a group with a row of (points, objectives) rewards each."""
    rows = np.asarray(rewards, np.float64)
    return [replace(one, rewards=tuple(row.tolist())) for one, row in zip(group, rows, strict=True)]


def choose_recorded(prompt_ids: Iterable[str], count: int) -> set[str]:
    """The held-out prompts whose text adapters hand over: ``count`` of them, evenly spread.

    >>> sorted(choose_recorded(["c", "a", "d", "b", "a"], 2))
    ['b', 'd']
    """
    names = sorted(set(prompt_ids))
    if count >= len(names):
        return set(names)
    return {names[(2 * at + 1) * len(names) // (2 * count)] for at in range(count)}


def _averages(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Share of right answers, and calls per rollout."""
    return {
        "accuracy": float(np.mean([one.solved for one in rollouts])),
        "calls": float(np.mean([one.calls for one in rollouts])),
    }


def _describe(evaluation: Row) -> str:
    return f"accuracy {evaluation['accuracy']:.2f}, calls {evaluation['calls']:.2f}"
