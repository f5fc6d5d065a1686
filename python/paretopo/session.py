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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.controller.by_group import step_by_group
from paretopo.controller.two_stages import ParetoPO
from paretopo.preference import Preference, preferences_of, split_by_preference
from paretopo.records import rows
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder
from paretopo.records.recorder import Recorder
from paretopo.records.trajectories import Group, group_held_out
from paretopo.rewards.measures import complete_rollouts
from paretopo.rewards.outcomes import Outcomes
from paretopo.rewards.scoring import Scores
from paretopo.rollout import Rollout, ScoredGroup, annotate


class Session:
    """Rewards, advantages, evaluations and state of one run; ``Recorder`` writes its records.

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
        self.run, self.config = run, run.config
        self.controller = ParetoPO(
            self.config.paretopo,
            steps_per_epoch=steps_per_epoch,
            steps=math.ceil(self.config.optimiser.steps / updates_per_step),
            names=[one.name for one in self.config.objectives],
        )
        self.controller.watch.speaks, self.controller.watch.updates = writes, updates_per_step
        self.objectives = self.controller.names
        self.preferences = preferences_of(self.config)
        self._scores = Scores(
            self.config.objectives, max_calls=self.config.optimiser.max_tool_calls
        )
        self._outcomes = Outcomes(self.config)
        self._recorder = Recorder(run, self.controller, warmed_up=warmed_up, writes=writes)
        self._prompts = prompts
        self._updates, self._penalise = updates_per_step, penalise
        self._consumed = 0  # groups scored since the start, filtered ones included
        # The values of all groups scored since the last step, those that are dropped included.
        self._limited = {one.objective: list[float]() for one in run.config.paretopo.limits}

    def preference_of(self, group: int) -> Preference | None:
        """Return the preference of a training group, by its index; None if weights are fixed."""
        return None if self.preferences is None else self.preferences.draw(group)

    def score(self, groups: Sequence[Sequence[Rollout]]) -> list[ScoredGroup]:
        """Score the rollouts of training prompts, a group for each prompt.

        All groups count towards the fewest calls of their prompts before any is scored, including
        groups that are dropped afterwards.

        Raises:
            BadRollout: An unusable measurement; the message names prompt, objective and value.
        """
        completed = [self._complete(group) for group in groups]
        self._scores.learn([one for group in completed for one in group])
        self._consumed += len(groups)
        return [self._score_group(group) for group in completed]

    def _score_group(self, group: Sequence[Rollout]) -> ScoredGroup:
        raw = self._scores.rewards_of(group)
        rewards = self._outcomes.fill_group(raw, self.controller.reference)
        gated = self.controller.gate_groups(rewards[None], prompts=[group[0].prompt_id])
        [informative] = gated.informative.tolist()
        self._recorder.count_group(group, informative=informative)
        for at, values in self._limited.items():
            values += rows.list_values(self.objectives[at], group)
        teaches = [informative] * len(group)
        scored = annotate(group, rewards=rewards, gated=gated.vectors[0], informative=teaches)
        return ScoredGroup(tuple(scored))

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
        controller, names = self.controller, self.objectives
        rollouts = [one for group in groups for one in group]
        weights = self.weights_of(groups)
        shares, multipliers = controller.weights, controller.multipliers  # before the step
        step = step_by_group(
            controller,
            np.reshape([one.gated for one in rollouts], (-1, len(names))),
            [at for at, group in enumerate(groups) for _ in group],
            weights,
            [group[0].informative for group in groups],
        )
        punished = self.penalties_of(rollouts)
        advantages = step.advantages - punished if given is None else given
        prices = self._scores.prices()
        differs = controller.see_rewards(
            [ScoredGroup(tuple(one)).rewards for one in groups],
            unpriced=[name for name, by_kind in prices.items() if not by_kind],
        )
        changing = weights is None and self._limited
        limits, means, deviations = rows.describe_limits(self.config, self._limited, multipliers)
        controller.hold(np.array(means, np.float64), np.array(deviations, np.float64))
        self._limited = {at: [] for at in self._limited}
        controller.watch.see_prices(controller.steps_taken, prices)
        number = (controller.steps_taken - 1) * self._updates + 1
        ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
        ranks, parts = np.split(step.ranks, ends)[:-1], np.split(advantages, ends)[:-1]
        shown = [
            Group(tuple(annotate(group, rank=rank, advantage=own)), number, step.stage, names)
            for group, rank, own in zip(groups, ranks, parts, strict=True)
            if group[0].has_text
        ]
        self._recorder.begin_step(
            groups,
            step,
            differs=differs,
            penalties=punished.tolist(),
            weights=shares if changing else None,
            limits=limits,
            prices=prices,
            shown=shown,
        )
        return parts

    def penalties_of(self, rollouts: Sequence[Rollout]) -> NDArray[np.float64]:
        """Return (rollouts,) amounts that are subtracted from the advantages after ranking."""
        tokens = np.array([one.tokens for one in rollouts], np.int64)
        return np.zeros(tokens.shape) if self._penalise is None else self._penalise(tokens)

    def weights_of(self, groups: Sequence[Sequence[Rollout]]) -> NDArray[np.float64] | None:
        """Return (groups, objectives) weights of the preferences; None if weights are fixed."""
        return None if self.preferences is None else self.preferences.weights_of(groups)

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
        imitates = self.config.optimiser.learn_from != "rewards"
        if not imitates and math.ceil(step / self._updates) != taken:
            raise RuntimeError(
                f"the trainer is at step {step}, ParetoPO at {taken}: advantages must be requested "
                + ("once in each step" if self._updates == 1 else f"every {self._updates} steps")
            )
        tracked = self._recorder.end_step(step, measured, other_measures)
        if self.config.paretopo.stage1_steps == "epoch" and self._consumed >= self._prompts:
            self.controller.finish_stage1()  # filtered groups use up prompts
        return tracked

    def tracked(self) -> dict[str, float]:
        """Return the numbers of :meth:`record_step` for the step whose advantages came last."""
        return self._recorder.tracked()

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
        parts = split_by_preference(self.preferences, rollouts)
        share = None if seconds is None else seconds / len(parts)
        made = [self._observe_part(step, part, share, text) for text, part in parts.items()]
        return self._recorder.end_evaluation(step, made)

    def _observe_part(
        self, step: int, rollouts: Sequence[Rollout], seconds: float | None, preference: str
    ) -> Row:
        """Record the answers to all questions under one preference."""
        controller, outcomes = self.controller, self._outcomes
        in_order = sorted(rollouts, key=lambda one: one.prompt_id)
        ordered = self._complete([replace(one, held_out=True) for one in in_order])
        self._scores.learn(ordered)
        rewards, reference = self._scores.rewards_of(ordered), controller.reference
        bounds, is_first = outcomes.find_bounds(rewards), not controller.observations
        if bounds is not None and is_first:
            reference = np.fmin(reference, bounds)  # as the controller will lower it
        outcome = outcomes.average(rewards, reference)
        signal = controller.observe(outcome, bounds=bounds)
        if is_first:
            self._recorder.warn(ordered, outcome, controller.reference)
        rewarded = annotate(ordered, rewards=outcomes.fill(rewards, controller.reference))
        return self._recorder.add_evaluation(
            step,
            rewarded,
            outcome,
            signal,
            preference=None if self.preferences is None else self.preferences[preference],
            seconds=seconds,
            shown=group_held_out(
                rewarded,
                partial(outcomes.gate, reference=controller.reference),
                step,
                controller.stage,
                self.objectives,
            ),
        )

    def steps_done(self) -> int:
        """Return the number of steps whose advantages were computed."""
        return self.controller.steps_taken

    def evaluated(self) -> int | None:
        """Return the step of the last evaluation; None before the first evaluation."""
        return self._recorder.evaluated

    def progress(self) -> tuple[int, str]:
        """Return the number of recorded steps, and a line about the state of the run."""
        stage = f"stage {self.controller.stage}, " if self.controller.stage1_steps else ""
        size = rows.count_points(self.controller.archive)
        evaluated = self._recorder.evaluated
        of_step = "" if evaluated is None else f" at step {evaluated}"
        return self._recorder.steps, f"{self._recorder.latest}{of_step}, {stage}{size} on the front"

    def state(self) -> dict[str, Any]:
        """Return the state that a checkpoint must keep in addition to the run folder, as JSON."""
        return {
            "controller": self.controller.state_dict(),
            "scores": self._scores.state_dict(),
            "consumed": self._consumed,
            "recorded": self._recorder.steps,
            "evaluations": self._recorder.evaluations,
        }

    def restore(self, state: Mapping[str, Any] | None) -> None:
        """Resume from a checkpoint's state, or start afresh with None; drop later records.

        Raises:
            ValueError: The controller's state has another format, number of objectives or length
                of stage 1.
        """
        if state is not None:
            self.controller.load_state_dict(state["controller"])
            self._scores.load_state_dict(state["scores"])
            self._consumed = int(state["consumed"])
        self._recorder.resume(state)

    def finish(self) -> None:
        """Mark the run as finished; raise a RuntimeError if steps are missing."""
        self._recorder.finish()

    def _complete(self, rollouts: Sequence[Rollout]) -> list[Rollout]:
        return complete_rollouts(rollouts, self.config.objectives)
