"""A training session: the whole interface of this package for a trainer, without its imports.

Every framework makes the same calls in the same order, so the same rollouts give the same
records::

    session = Session(run, prompts=..., steps_per_epoch=...)
    session.restore(state)                                 # where a run is resumed
    session.observe(0, held_out_rollouts, seconds)         # the policy as it starts
    for step in ...:
        scored = session.score(groups)                     # as groups are generated
        advantages = session.advantages(scored_groups)     # their rollouts, with their rewards
        ...                                                # the framework's update
        session.record_step(step, {"loss": ..., "seconds": ...})
        session.observe(step, held_out_rollouts, seconds)  # when an evaluation is due
        state = session.state()                            # for the framework's checkpoint
    session.finish()
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config import SKIPPED
from paretopo.config.paretopo import Limit
from paretopo.controller.by_group import step_by_group
from paretopo.controller.gate import apply_gate
from paretopo.controller.limits import judge
from paretopo.controller.rules import fill_missing
from paretopo.controller.two_stages import ParetoPO, Step
from paretopo.preference import Preference, preferences_of
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder
from paretopo.records.measures import describe_evaluation
from paretopo.records.rows import (
    average,
    average_answers,
    average_by_kind,
    average_outcomes,
    count_skipped,
    list_values,
    share_mixed,
    tabulate_questions,
)
from paretopo.records.start_checks import (
    MixedGroups,
    warn_of_absence,
    warn_of_gate,
    warn_of_reference,
)
from paretopo.records.sweeps import average_sweep
from paretopo.records.trackers import (
    Trackers,
    add_framework_numbers,
    numbers_of_evaluation,
    numbers_of_step,
)
from paretopo.records.trajectories import Group
from paretopo.rewards.measures import complete_rollouts
from paretopo.rewards.scoring import Scores
from paretopo.rollout import BadRollout, Rollout

_NO_STEP = -1  # before every record


@dataclass(frozen=True)
class ScoredGroup:
    """One group with its rewards.

    Attributes:
        rollouts: Rollouts with all derived measures, ``solved``, ``rewards``, ``gated`` and
            ``informative``.
    """

    rollouts: tuple[Rollout, ...]

    @property
    def informative(self) -> bool:
        """Return whether the group teaches anything, by ``paretopo.group_filter``."""
        return self.rollouts[0].informative

    @property
    def rewards(self) -> NDArray[np.float64]:
        """Return (points, objectives) float64 in the order of the run's objectives, not gated."""
        return _rewards_of(self.rollouts)


class Session:
    """Rewards, advantages, evaluations, records and state of one run.

    Args:
        run: The run folder.
        prompts: Number of training prompts.
        steps_per_epoch: Steps in which the framework sees every training prompt once.
        warmed_up: True if the policy was warmed up before its first evaluation.
        updates_per_step: Updates of the framework with the rollouts of one step. Each update counts
            and is recorded as a step; advantages are requested once for this many.
        writes: False in all but one of several processes that make the same calls: all compute, one
            writes records.
        penalise: Maps the (rollouts,) tokens of responses to the amounts that are subtracted from
            their advantages after ranking; None subtracts nothing.

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
        >>> group = [Rollout("q", {"correct": 1.0, "calls": calls}) for calls in (1, 2)]
        >>> [scored] = session.score([group])
        >>> scored.rewards.round(3).tolist(), scored.informative
        ([[1.0, 0.5], [1.0, 0.0]], True)
        >>> session.advantages([scored.rollouts])
        [array([ 0.5, -0.5])]
        >>> folder.cleanup()
    """

    def __init__(
        self,
        run: RunFolder,
        *,
        prompts: int,
        steps_per_epoch: int,
        warmed_up: bool = False,
        updates_per_step: int = 1,
        writes: bool = True,
        penalise: Callable[[NDArray[np.int64]], NDArray[np.float64]] | None = None,
    ) -> None:
        self.run = run
        self.config = run.config
        self.controller = ParetoPO(
            self.config.paretopo,
            steps_per_epoch=steps_per_epoch,
            steps=math.ceil(self.config.optimiser.steps / updates_per_step),
            names=[one.name for one in self.config.objectives],
        )
        self.controller.watch.speaks = writes
        self.objectives = self.controller.names
        self.preferences = preferences_of(self.config)
        self._scores = Scores(self.config.objectives, recompute=self.config.recipe == "recommended")
        self._prompts = prompts
        self._warmed_up = warmed_up
        self._updates = updates_per_step
        self._writes = writes
        self._penalise = penalise
        self._trackers = Trackers(run)
        self._consumed = 0  # groups scored since the start, filtered ones included
        # The values of all groups scored since the last step, those that are dropped included.
        self._limited: dict[str, list[float]] = {
            one.name: [] for one in self.config.objectives if one.limit is not None
        }
        self._groups = Counter[str]()  # scored and informative since the last recorded step
        self._pending: Row = {}  # the current step's row, until its update
        self._pending_groups: list[Group] = []
        self._mixed = MixedGroups()
        self._recorded = 0
        self._evaluations = 0
        self._evaluated: int | None = None
        self._latest = "not evaluated yet"

    # ---- training ------------------------------------------------------------------------------

    def preference_of(self, group: int) -> Preference | None:
        """Return the preference of a training group; None if weights are fixed.

        Args:
            group: Its index in the run.
        """
        if self.preferences is None:
            return None
        return self.preferences.draw(group)

    def score(self, groups: Sequence[Sequence[Rollout]]) -> list[ScoredGroup]:
        """Score the rollouts of training prompts, a group for each prompt.

        All groups count towards the fewest calls of their prompts before any is scored, including
        groups that are dropped afterwards.

        Raises:
            BadRollout: An unusable measurement; the message names prompt, objective and value.
        """
        completed = [self._complete(group) for group in groups]
        self._scores.learn([one for group in completed for one in group])
        scored = []
        for group in completed:
            rewards = fill_missing(self._scores.rewards_of(group), self._fill_for_group())
            self._penalise_over_budget(group, rewards)
            gated = self.controller.gate_groups(rewards[None], prompts=[group[0].prompt_id])
            [vectors], [informative] = gated.vectors.tolist(), gated.informative.tolist()
            rewarded = zip(_with_rewards(group, rewards), vectors, strict=True)
            rollouts = [
                replace(one, gated=tuple(vector), informative=informative)
                for one, vector in rewarded
            ]
            scored.append(ScoredGroup(tuple(rollouts)))
            skipped = count_skipped(group)
            self._groups.update(scored=1, informative=int(informative), skipped=skipped)
            for name, values in self._limited.items():
                values += list_values(name, group)
        self._consumed += len(groups)
        return scored

    def advantages(
        self, groups: Sequence[Sequence[Rollout]], given: NDArray[np.float64] | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the advantages of a step, for rollouts from :meth:`score`.

        Args:
            groups: One group of any size for each prompt of the step; none if no rollout of the
                step may teach. Rollouts with their text are kept in the records.
            given: (rollouts,) advantages that the framework computed, to record in their place.

        Returns:
            (points,) float64 for each group, minus the penalties of its responses.
        """
        rollouts = [one for group in groups for one in group]
        ids = [at for at, group in enumerate(groups) for _ in group]
        weights = self.weights_of(groups)
        informative = [group[0].informative for group in groups]
        shares, multipliers = self.controller.weights, self.controller.multipliers
        vectors = np.reshape([one.gated for one in rollouts], (-1, len(self.objectives)))
        step = step_by_group(self.controller, vectors, ids, weights, informative)
        punished = self.penalties_of(rollouts)
        advantages = step.advantages - punished if given is None else given
        self._pending = {
            "stage": step.stage,
            **average_outcomes(self.objectives, rollouts),
            "multiplier": step.multiplier,
            "informative": average(step.informative.tolist()),
            "differs": self.controller.see_rewards([_rewards_of(group) for group in groups]),
            "response_tokens": average([one.tokens for one in rollouts]),
            "truncated": average([one.truncated for one in rollouts]),
            "overlong": average(punished.tolist()),
            "rank_histogram": step.rank_histogram,
        }
        if {one.kind for one in rollouts} - {"all"}:
            self._pending["by_kind"] = average_by_kind(self.objectives, rollouts)
        if weights is None and (self.config.paretopo.weight_changes or self._limited):
            self._pending["weight"] = dict(zip(self.objectives, shares, strict=True))
        if self._limited:
            self._pending["limits"] = self._hold_limits(multipliers)
        if prices := self._scores.prices():
            self._pending["prices"] = prices
            self.controller.watch.see_prices(self.controller.steps_taken, prices)
        mixed = share_mixed(groups)
        if mixed is not None:
            self._pending["mixed"] = mixed
        if self.preferences is not None:
            self._pending["preferences"] = [group[0].preference for group in groups]
            if self._writes:
                self._mixed.check(self.controller.steps_taken * self._updates, mixed)
        bounds = np.cumsum([0, *map(len, groups)])
        places = [slice(first, last) for first, last in pairwise(bounds)]
        self._pending_groups = [
            self._group_of_step(group, step, place, advantages[place])
            for group, place in zip(groups, places, strict=True)
            if group[0].has_text
        ]
        return [advantages[place] for place in places]

    def penalties_of(self, rollouts: Sequence[Rollout]) -> NDArray[np.float64]:
        """Return (rollouts,) amounts that are subtracted from the advantages after ranking."""
        tokens = np.array([one.tokens for one in rollouts], np.int64)
        return np.zeros(tokens.shape) if self._penalise is None else self._penalise(tokens)

    def weights_of(self, groups: Sequence[Sequence[Rollout]]) -> NDArray[np.float64] | None:
        """Return (groups, objectives) weights of the preferences; None if weights are fixed."""
        if self.preferences is None or not self.preferences.all[0].weights:
            return None
        return np.array([self._preference_given(group).weights for group in groups])

    def learning_rate_factor(self) -> float:
        """Return the factor on the learning rate of the step whose advantages came last."""
        return self.controller.learning_rate_factor

    def record_step(
        self,
        step: int,
        measured: Mapping[str, Any],
        other_measures: Mapping[str, Any] | None = None,
    ) -> dict[str, float]:
        """Write the row of a step after its update.

        Args:
            step: Number of the step, from 1 on.
            measured: The framework's numbers, by the names in docs/training.md: ``loss``,
                ``grad_norm``, ``learning_rate``, ``seconds`` and others.
            other_measures: Numbers under the framework's own names, for the run's trackers.

        Returns:
            Numbers for the framework's own trackers.

        Raises:
            RuntimeError: Framework and controller are at different steps.
        """
        taken = self.controller.steps_taken
        if (
            self.config.optimiser.learn_from == "rewards"
            and math.ceil(step / self._updates) != taken
        ):
            raise RuntimeError(
                f"the trainer is at step {step}, ParetoPO at {taken}: advantages must be requested "
                + ("once in each step" if self._updates == 1 else f"every {self._updates} steps")
            )
        row: Row = {"step": step}
        if self._pending:
            row |= self._pending | self._count_groups()
            self._groups = Counter()
        row |= measured
        tracked = self._tracked(row)
        if self._writes:
            self.run.append_step(row)
            self._trackers.log(
                "train", step, add_framework_numbers(tracked, measured, other_measures or {})
            )
            for group in self._pending_groups:
                self.run.append_trajectories(group)
        self._pending, self._pending_groups = {}, []
        self._recorded = step
        if self.config.paretopo.stage1_steps == "epoch" and self._consumed >= self._prompts:
            self.controller.finish_stage1()  # filtered groups use up prompts
        return tracked

    def tracked(self) -> dict[str, float]:
        """Return the numbers of :meth:`record_step` for the step whose advantages came last."""
        return self._tracked(self._pending | self._count_groups())

    # ---- evaluation ----------------------------------------------------------------------------

    def observe(
        self, step: int, rollouts: Sequence[Rollout], seconds: float | None = None
    ) -> dict[str, float]:
        """Record a held-out evaluation.

        Args:
            step: The step after which the policy was evaluated, 0 before the first.
            rollouts: One for each held-out question or, with preferences, for each question and
                preference. Rollouts with their text are kept in the records.
            seconds: Time that the evaluation took.

        Returns:
            Numbers for the framework's own trackers; means over the preferences.
        """
        asked = [""] if self.preferences is None else [one.text for one in self.preferences.all]
        parts = {text: [one for one in rollouts if one.preference == text] for text in asked}
        if sum(map(len, parts.values())) < len(rollouts):
            strange = {one.preference for one in rollouts} - parts.keys()
            raise BadRollout(f"held-out rollouts have preferences that are not given: {strange}")
        parts = {text: part for text, part in parts.items() if part} or {"": []}
        share = None if seconds is None else seconds / len(parts)
        rows = []
        for text, part in parts.items():
            rows.append(self._observe_preference(step, part, share, text))
        row = rows[0] if len(rows) == 1 else average_sweep(rows)
        tracked = numbers_of_evaluation(row)
        if self._writes:
            self._trackers.log("eval", step, tracked)
        self._latest = describe_evaluation(row, self.config.objectives)
        self._evaluations += len(rows)
        self._evaluated = step
        return tracked

    def _observe_preference(
        self, step: int, rollouts: Sequence[Rollout], seconds: float | None, preference: str
    ) -> Row:
        """Record the answers to all questions under one preference."""
        controller = self.controller
        ordered = self._complete(
            [
                replace(one, held_out=True)
                for one in sorted(rollouts, key=lambda rollout: rollout.prompt_id)
            ]
        )
        self._scores.learn(ordered)
        counted = self._find_counted(ordered)
        vectors, outcome, earlier = self._scores.evaluate(
            ordered,
            self._scores.rewards_of(ordered),
            lambda vectors: self._outcome_of(vectors[counted]),
        )
        main = [ordered[at] for at in counted]
        if len(self._scores.outcomes()) == 1:
            warn_of_reference(self.config.objectives, outcome, controller.reference)
            warn_of_gate(self.config, main)
            if self._writes:
                warn_of_absence(self.config.objectives, main)
        signal = controller.observe(outcome, earlier=earlier, bounds=self._bound(vectors[counted]))
        vectors = fill_missing(vectors, self._fill_for_evaluation())
        rewarded = _with_rewards(ordered, vectors)
        main = [rewarded[at] for at in counted]
        row: Row = {
            "step": step,
            **self._describe_preference(preference, main),
            "phase": self._phase(step),
            "stage": controller.stage,
            **average_answers(self.objectives, main),
            **self._describe_shares(main),
            "outcome": dict(zip(self.objectives, outcome.tolist(), strict=True)),
            "response_tokens": float(np.mean([one.tokens for one in main])),
            "truncated": float(np.mean([one.truncated for one in main])),
            "gain": signal.gain,
            "smoothed_gain": signal.smoothed_gain,
            "multiplier": signal.multiplier,
            "archived": signal.archived,
            "rescored": earlier is not None,
            "archive_size": self._archive_size(),
            "hypervolume": signal.hypervolume,
            "reference": dict(zip(self.objectives, controller.reference.tolist(), strict=True)),
            "by_kind": average_by_kind(self.objectives, rewarded),
        }
        row |= self._count_skipped(count_skipped(ordered))
        if seconds is not None:
            row["seconds"] = seconds
        if self._writes:
            self.run.append_evaluation(row)
            if self.preferences is None:
                self.run.write_questions(step, tabulate_questions(self.objectives, ordered))
            answers = self._scores.latest_answers()
            if answers is not None:
                self.run.append_answers({"step": step} | answers)
            if earlier is not None:
                self.run.write_outcomes(self.objectives, self._scores.outcomes())
            self._record_held_out(step, rewarded)
        return row

    # ---- where it stands -----------------------------------------------------------------------

    def steps_done(self) -> int:
        """Return the number of steps whose advantages were computed."""
        return self.controller.steps_taken

    def evaluated(self) -> int | None:
        """Return the step of the last evaluation; None before the first evaluation."""
        return self._evaluated

    def progress(self) -> tuple[int, str]:
        """Return the number of recorded steps, and a line about the state of the run."""
        stage = f"stage {self.controller.stage}, " if self.controller.stage1_steps else ""
        return self._recorded, f"{self._latest}, {stage}{self._archive_size()} on the front"

    def state(self) -> dict[str, Any]:
        """Return the state that a checkpoint must keep in addition to the run folder, as JSON.

        It does not grow with the number of evaluated answers: those are in the run folder.
        """
        return {
            "controller": self.controller.state_dict(),
            "scores": self._scores.state_dict(),
            "consumed": self._consumed,
            "recorded": self._recorded,
            "evaluations": self._evaluations,
        }

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Resume from a checkpoint's state, or start afresh with None; drop later records.

        Raises:
            ValueError: The state belongs to another run folder.
        """
        done, evaluations = _NO_STEP, 0
        if state is not None:
            self.controller.load_state_dict(state["controller"])
            self._scores.load_state_dict(state["scores"], self.run.answers())
            self._consumed = int(state["consumed"])
            done, evaluations = int(state["recorded"]), int(state["evaluations"])
        self._recorded, self._evaluations = max(done, 0), evaluations
        if self._writes:
            self.run.truncate_after(done, evaluations)
            self.run.truncate_answers(self._scores.answers_needed)
            self._trackers.resume(done)
            self.run.write_outcomes(self.objectives, self._scores.outcomes())
            self.run.resumed(self._recorded)
        for row in self.run.evaluations()[:evaluations][-1:]:
            self._latest = describe_evaluation(row, self.config.objectives)
            self._evaluated = row["step"]

    def finish(self) -> None:
        """Mark the run as finished.

        Raises:
            RuntimeError: Steps are missing.
        """
        steps = self.config.optimiser.steps
        if self._recorded < steps:
            raise RuntimeError(f"the training ended after {self._recorded} of {steps} steps")
        if self._writes:
            self._trackers.close()
            self.run.finish()

    # ---- parts ---------------------------------------------------------------------------------

    def _complete(self, rollouts: Sequence[Rollout]) -> list[Rollout]:
        return complete_rollouts(rollouts, self.config.objectives, self.config.rewards)

    def _penalise_over_budget(self, group: Sequence[Rollout], rewards: NDArray[np.float64]) -> None:
        """Score a rollout over its budget like a wrong answer; in place."""
        if self.preferences is None:
            return
        given = self._preference_given(group)
        for one, reward in zip(group, rewards, strict=True):
            if given.is_exceeded(one.reward_components):
                reward[0] = min(reward[0], 0.0, self.config.paretopo.threshold)

    def _preference_given(self, group: Sequence[Rollout]) -> Preference:
        texts = sorted({one.preference for one in group})
        if self.preferences is None or len(texts) != 1:
            raise BadRollout(
                f"the rollouts of prompt {group[0].prompt_id!r} must share one preference, got "
                f"{texts}"
            )
        return self.preferences[texts[0]]

    def _describe_preference(self, text: str, rollouts: Sequence[Rollout]) -> Row:
        if self.preferences is None:
            return {}
        given = self.preferences[text]
        kept = [not given.is_exceeded(one.reward_components) for one in rollouts]
        asked: Row = {"preference": text, "weights": list(given.weights)}
        if given.budgets:
            asked = {"preference": text, "budgets": dict(given.budgets)}
            asked["within_budget"] = float(np.mean(kept))
        return asked

    def _fill_for_evaluation(self) -> NDArray[np.float64]:
        """Return the values of objectives that apply to no question of an evaluation: no gain."""
        return np.nan_to_num(self.controller.reference)

    def _fill_for_group(self) -> NDArray[np.float64]:
        """Return the best reward, which is neutral, for objectives not measured in a group."""
        best = np.array([one.best for one in self.config.objectives], np.float64)  # None is NaN
        return np.where(np.isnan(best), self._fill_for_evaluation(), best)

    def _find_counted(self, rollouts: Sequence[Rollout]) -> list[int]:
        """Return the places of the rollouts whose kind counts: `evaluation.kinds`.

        Raises:
            BadRollout: There are none.
        """
        kinds = self.config.evaluation.kinds
        found = [at for at, one in enumerate(rollouts) if kinds is None or one.kind in kinds]
        if rollouts and not found:
            raise BadRollout(
                f"evaluation.kinds = {list(kinds or ())}: no held-out rollout is of these kinds, "
                f"they are of {sorted({one.kind for one in rollouts})}"
            )
        return found

    def _outcome_of(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (objectives,) means of an evaluation's vectors after the gate."""
        outcome: NDArray[np.float64] = self._gate_held_out(
            fill_missing(vectors, self._fill_for_evaluation())
        ).mean(axis=0)
        return outcome

    def _gate_held_out(self, vectors: ArrayLike) -> NDArray[np.float64]:
        switches = self.config.paretopo
        gate: Literal["success", "none"] = "success" if self.config.gates_outcomes else "none"
        rewards, floors = np.array(vectors, np.float64), switches.gated_floors
        return apply_gate(rewards, gate, floors, threshold=switches.threshold)

    def _bound(self, vectors: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return (objectives,) worst rewards of an evaluation, NaN for those with a bound."""
        if self.config.paretopo.reference == "initial" or not len(vectors):
            return None
        learnt = [one.learns_bound for one in self.config.objectives]
        return np.where(learnt, np.fmin.reduce(vectors, axis=0), np.nan)

    def _hold_limits(self, multipliers: Sequence[float]) -> Row:
        """Update the multipliers; return those of the step, and the means that they meet."""
        row: Row = {}
        means, deviations = [], []
        for limit, multiplier in zip(self.config.paretopo.limits, multipliers, strict=True):
            name = self.objectives[limit.objective]
            values = self._limited[name]
            judged = self._judge_values(limit, values)
            reached = average(judged)
            deviation = float(np.std(judged)) if judged else None
            means.append(np.nan if reached is None else reached)
            deviations.append(np.nan if deviation is None else deviation)
            found = {"deviation": deviation} if limit.share is None else {"share": reached}
            row[name] = {"mean": average(values), **found, "multiplier": multiplier}
            values.clear()
        self.controller.hold(means, deviations)
        return row

    def _describe_shares(self, rollouts: Sequence[Rollout]) -> Row:
        """Return the share of an evaluation's rollouts within each limit on a share."""
        limits: Row = {}
        for limit in self.config.paretopo.limits:
            name = self.objectives[limit.objective]
            if limit.share is not None:
                judged = self._judge_values(limit, list_values(name, rollouts))
                limits[name] = {"share": average(judged)}
        return {"limits": limits} if limits else {}

    def _judge_values(self, limit: Limit, values: Sequence[float]) -> list[float]:
        """Return a limited objective's values as rewards; of a share, 1 where the bound is kept."""
        objective = self.config.objectives[limit.objective]
        judged: list[float] = judge(limit, [objective.to_reward(one) for one in values]).tolist()
        return judged

    def _group_of_step(
        self, group: Sequence[Rollout], step: Step, place: slice, advantages: NDArray[np.float64]
    ) -> Group:
        rollouts = [
            replace(one, rank=rank, advantage=advantage)
            for one, rank, advantage in zip(
                group, step.ranks[place].tolist(), advantages.tolist(), strict=True
            )
        ]
        number = (self.controller.steps_taken - 1) * self._updates + 1
        return Group(tuple(rollouts), number, step.stage, self.objectives)

    def _record_held_out(self, step: int, ordered: Sequence[Rollout]) -> None:
        """Record the prompts whose rollouts have their text, a group for each prompt."""
        for name in dict.fromkeys(one.prompt_id for one in ordered if one.has_text):
            group = [one for one in ordered if one.prompt_id == name and one.has_text]
            gated = self._gate_held_out([one.rewards for one in group])
            rollouts = tuple(
                replace(one, gated=tuple(seen.tolist()))
                for one, seen in zip(group, gated, strict=True)
            )
            self.run.append_trajectories(
                Group(rollouts, step, self.controller.stage, self.objectives)
            )

    def _phase(self, step: int) -> str:
        if step == 0:
            return "warmup" if self._warmed_up else "pretrained"
        return "final" if step >= self.config.optimiser.steps else "train"

    def _archive_size(self) -> int:
        archive = self.controller.archive
        return 0 if archive is None else len(archive.points)

    def _count_groups(self) -> Row:
        """Count the groups scored since the last recorded step."""
        scored = self._groups["scored"]
        kept = self._groups["informative"] / scored if scored else 1.0
        return {"generated_groups": scored, "kept": kept} | self._count_skipped(
            self._groups["skipped"]
        )

    def _count_skipped(self, count: int) -> Row:
        """Return the number of rewards that failed calls left out, in a run that skips these."""
        return {SKIPPED: count} if self.config.rewards.failing == "skip" else {}

    def _tracked(self, row: Row) -> dict[str, float]:
        archive = self.controller.archive
        volume = 0.0 if archive is None else float(archive.hypervolume)
        return numbers_of_step(row | {"archive_size": self._archive_size(), "hypervolume": volume})


def _with_rewards(group: Sequence[Rollout], rewards: NDArray[np.float64]) -> list[Rollout]:
    """Return the rollouts of a group, with a row of (points, objectives) rewards each."""
    rows = rewards.tolist()
    return [replace(one, rewards=tuple(row)) for one, row in zip(group, rows, strict=True)]


def _rewards_of(group: Sequence[Rollout]) -> NDArray[np.float64]:
    return np.array([one.rewards for one in group], np.float64)


def choose_recorded(prompt_ids: Iterable[str], count: int) -> set[str]:
    """Choose the held-out prompts whose text adapters record: ``count`` of them, evenly spread.

    >>> sorted(choose_recorded(["c", "a", "d", "b", "a"], 2))
    ['b', 'd']
    """
    names = sorted(set(prompt_ids))
    if count >= len(names):
        return set(names)
    return {names[(2 * at + 1) * len(names) // (2 * count)] for at in range(count)}
