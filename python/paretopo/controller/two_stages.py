"""The two-stage controller: turns rewards into advantages, and evaluations into a signal.

Stage 1 is a scalar method whose step size follows the hypervolume gained on held-out prompts. Stage
2 ranks the rollouts of each prompt by Pareto dominance. Every training framework drives this one
class. Each difference between the paper's Algorithm 1 and our method is one switch of
:class:`~paretopo.config.switches.ParetoPOConfig`.

Source: arXiv 2606.16111, Algorithm 1, equations 2 to 6.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import paretopo_core
from paretopo.config import ParetoPOConfig
from paretopo.config.switches import HYPERVOLUME_ESTIMATORS, OF_SUCCESS
from paretopo.controller.estimators import find_estimators
from paretopo.controller.estimators.groups import merge_ties_of_objectives
from paretopo.controller.gain import HypervolumeGain, Signal
from paretopo.controller.gate import apply_gate, find_informative, keep_least_economy
from paretopo.controller.limits import Multipliers, judge
from paretopo.controller.reward_vectors import check_weights, name_objectives, read_vectors
from paretopo.controller.watch import Watch, explain_idle, share_differing

__all__ = ["Gated", "ParetoPO", "Signal", "Step"]

_STATE_FORMAT = 2
_NEVER_ENDS = 2**63 - 1  # steps


@dataclass(frozen=True)
class Gated:
    """Reward vectors after the gate.

    Attributes:
        vectors: (groups, points, objectives) float64.
        informative: (groups,) bool, do the rollouts differ under ``group_filter``?
        mask: (groups, points) bool, False for padding of smaller groups; None without padding.
        rewards: The vectors before the gate.
        prompts: A name for each group.
    """

    vectors: NDArray[np.float64]
    informative: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None
    rewards: NDArray[np.float64]
    prompts: Sequence[Hashable]

    def split(self, values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the values, (groups, points, ...), of each group without padding."""
        if self.mask is None:
            return [*values]
        return [one[inside] for one, inside in zip(values, self.mask, strict=True)]


@dataclass(frozen=True)
class Step:
    """The rollouts of one training step, gated and ranked once.

    Attributes:
        advantages: (groups, points) float64, 0 for groups that ``group_filter`` drops and for
            masked rollouts.
        gated: (groups, points, objectives) float64, the reward vectors after the gate.
        ranks: (groups, points) int32, Pareto rank of each gated vector in its group, 0 is best; -1
            for masked rollouts.
        informative: (groups,) bool, do the rollouts differ under ``group_filter``?
        stage: 1 or 2.
        multiplier: ``r_pareto`` at the beginning of the step.
    """

    advantages: NDArray[np.float64]
    gated: NDArray[np.float64]
    ranks: NDArray[np.int32]
    informative: NDArray[np.bool_]
    stage: int
    multiplier: float

    @property
    def rank_histogram(self) -> list[int]:
        """Return the number of rollouts of rank 0, 1, 2, ..."""
        return [int(count) for count in np.bincount(self.ranks[self.ranks >= 0])]


class ParetoPO:
    """The controller of a run.

    A step calls ``step`` with the reward vectors of its rollouts, then the framework updates the
    policy. If an evaluation is due, ``observe`` follows with its outcome. Call ``observe`` once
    before the first step, with the outcome of the initial policy; this call never changes the
    multiplier.

    Args:
        config: The switches.
        steps_per_epoch: Steps in which every training prompt is seen once, needed for
            ``stage1_steps = "epoch"``: ceil(prompts / prompts per step).
        steps: Steps of the whole run, needed if ``k`` changes during it.
        names: A name for each reward, for errors and warnings; None numbers them.

    Attributes:
        names: Of the rewards.
        steps_taken: Number of steps whose advantages were computed.
        watch: Warns of steps that teach nothing.

    Raises:
        ConfigError: The number of names is not that of the weights.
        ValueError: ``stage1_steps`` is "epoch" and ``steps_per_epoch`` is missing or below 1, or
            ``steps`` is missing although it is needed.

    >>> import numpy as np
    >>> from paretopo.config import ParetoPOConfig
    >>> switches = {"stage1_steps": 1, "stage2_estimator": "pareto", "weights": (0.6, 0.4)}
    >>> controller = ParetoPO(ParetoPOConfig(**switches))
    >>> first = controller.observe([0.4, 0.3])
    >>> rewards = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 1.0], [0.0, 0.0]]])
    >>> controller.step(rewards).advantages.round(3)  # stage 1: standardised weighted sums
    array([[ 1.046,  0.665, -0.856, -0.856]])
    >>> controller.observe([0.5, 0.4]).multiplier.__round__(3)
    0.56
    >>> controller.step(rewards).advantages.round(3)  # stage 2: centred ranks, failures last
    array([[ 1.25,  0.25, -0.75, -0.75]])
    """

    def __init__(
        self,
        config: ParetoPOConfig,
        *,
        steps_per_epoch: int | None = None,
        steps: int | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        if config.max_k and isinstance(config.k, tuple) and len(config.k) > 1 and not steps:
            raise ValueError(
                f"k = {list(config.k)} needs steps, those of the whole run, got {steps!r}"
            )
        self.config = config
        self._estimators = find_estimators(config)
        self._steps = steps
        self.objectives = len(config.weights)
        self.names, self.watch = name_objectives(config, names), Watch()
        if config.stage1_steps == "all":
            self.stage1_steps = _NEVER_ENDS
        elif config.stage1_steps == "epoch":
            if steps_per_epoch is None or steps_per_epoch < 1:
                raise ValueError(
                    'stage1_steps = "epoch" needs steps_per_epoch, the steps that see every '
                    f"training prompt once (at least 1), got {steps_per_epoch!r}"
                )
            self.stage1_steps = int(steps_per_epoch)
        else:
            self.stage1_steps = int(config.stage1_steps)
        self.steps_taken = 0
        self._gain = HypervolumeGain(config)
        self._limited = [one.objective for one in config.limits]
        self._limits = Multipliers(
            [one.aim for one in config.limits], [one.unit for one in config.limits]
        )

    # ---- the training side -------------------------------------------------------------------

    def step(
        self,
        rewards: ArrayLike,
        *,
        mask: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        prompts: Sequence[Hashable] | None = None,
    ) -> Step:
        """Convert the reward vectors of one step into advantages, and count the step.

        Args:
            rewards: (groups, points, objectives), larger is better, finite, not yet gated; None
                if an objective does not apply. A group holds the rollouts of one prompt; its gate
                applies to all of them or to none.
            mask: (groups, points) bool, False for padding of smaller groups.
            weights: (groups, objectives), the preference of each group; None takes the weights of
                the configuration in this step.
            prompts: A name for each group, for errors; None numbers them.

        Returns:
            Advantages of stage 1 or 2, by the number of calls so far, with the gated vectors, ranks
            and informative groups used. They then update the multipliers of limits.

        Raises:
            BadRollout: A reward is not finite, or has no share that an estimator needs; names it.
            ValueError: The shape is wrong, a weight is negative or not finite, or rewards are so
                large that their sums overflow. The step does not count then.
        """
        groups = self.gate_groups(rewards, mask=mask, weights=weights, prompts=prompts)
        step = self.step_gated(groups, weights)
        inside = groups.vectors[slice(None) if groups.mask is None else groups.mask]
        self.see_rewards(groups.split(groups.rewards))
        # An objective with a limit keeps its value in the gate.
        if self._limited and inside.size:
            judged = self.judge(inside).reshape(-1, self.objectives)[:, self._limited]
            self.hold(judged.mean(axis=0), judged.std(axis=0))
        return step

    def hold(self, means: ArrayLike, deviations: ArrayLike) -> None:
        """Update the multipliers of limits from the rollouts of a step, for the next step.

        Args:
            means: (limits,) mean rewards of all rollouts; for a limit on a share, the share of the
                rollouts that reach its bound. NaN, for an objective that applies to no rollout,
                leaves a multiplier as it is.
            deviations: (limits,) standard deviations of these rewards.
        """
        self._limits.update(means, deviations)

    def see_rewards(
        self, groups: Sequence[NDArray[np.float64]], unpriced: Sequence[str] = ()
    ) -> dict[str, float]:
        """Watch the rewards of the latest step; return the share of differing groups by name.

        Args:
            groups: (points, objectives) of each group, before the gate.
            unpriced: The objectives whose rewards wait for the price of a right answer.
        """
        shares = share_differing(self.names, map(self.judge, groups))
        self.watch.see_rewards(self.steps_taken, shares, self._teaching, len(groups), unpriced)
        return shares

    def step_gated(self, groups: Gated, weights: ArrayLike | None = None) -> Step:
        """Take a :meth:`step` with groups from :meth:`gate_groups`; call :meth:`hold` after it."""
        gated, inside, keep = groups.vectors, groups.mask, groups.informative
        if weights is not None:
            weights = check_weights(weights, self.names, groups.prompts)
        preferred = self._current_weights(weights)
        stage = self._stage_of(self.steps_taken + 1)
        multiplier = self._gain.multiplier
        scale = multiplier if stage == 1 else 1.0
        name = self.config.stage1_estimator if stage == 1 else self.config.stage2_estimator
        values = self._estimate(gated, preferred, inside, name, scale)
        kept = keep[:, None] if inside is None else keep[:, None] & inside
        ranks = np.asarray(paretopo_core.pareto_rank(gated, mask=inside), np.int32)
        self.steps_taken += 1
        advantages = np.where(kept, values, 0.0)
        self.watch.see_advantages(
            self.steps_taken,
            idle=not advantages.any(),
            explain=lambda: explain_idle(
                groups.split(gated),
                self.names,
                self._teaching,
                self.config,
                estimator=name,
                dropped=not keep.any(),
            ),
        )
        return Step(advantages, gated, ranks, keep, stage, multiplier)

    def gate_groups(
        self,
        rewards: ArrayLike,
        *,
        mask: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        prompts: Sequence[Hashable] | None = None,
    ) -> Gated:
        """Gate and filter the groups of a step; pure. Arguments and errors: :meth:`step`."""
        # Objectives of weight 0 are only recorded and teach nothing.
        columns = self._weighted_columns(self._current_weights(weights), with_first=True)
        shape = np.shape(rewards)
        if len(shape) != 3 or shape[-1] != self.objectives:
            raise ValueError(
                "rewards must have shape (groups, points, objectives) with "
                f"{self.objectives} objectives, one per weight, got {shape}"
            )
        present = np.ones(shape[:2], np.bool_) if mask is None else np.asarray(mask)
        if present.dtype != np.bool_ or present.shape != shape[:2]:
            raise ValueError(
                f"mask must be bool of shape {shape[:2]}, got {present.dtype} {present.shape}"
            )
        prompts = range(shape[0]) if prompts is None else prompts
        vectors = read_vectors(rewards, present, self.config, columns, self.names, prompts)
        inside = None if mask is None else present
        config, threshold = self.config, self.config.threshold
        gated = merge_ties_of_objectives(
            apply_gate(vectors, config.gate, config.gated_floors, inside, threshold), present
        )
        seen = self.judge(gated)[..., columns]
        keep = find_informative(seen, inside, config.group_filter, threshold)
        return Gated(gated, keep, inside, vectors, prompts)

    def judge(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rewards that teach: with a limit on a share, 1 where the bound is reached.

        Args:
            vectors: (..., objectives), larger is better; the result is a copy.
        """
        judged = vectors.copy()
        for limit in self.config.limits:
            judged[..., limit.objective] = judge(limit, vectors[..., limit.objective])
        return judged

    # ---- the evaluation side -----------------------------------------------------------------

    def observe(self, outcome: ArrayLike, *, bounds: ArrayLike | None = None) -> Signal:
        """Record the outcome of a held-out evaluation.

        The first call gives the outcome of the initial policy. It sets the reference point if that
        is "initial", enters the archive, and leaves the multiplier at 1.

        Args:
            outcome: (objectives,) mean of the gated reward vectors over the held-out prompts;
                :meth:`gate_groups` gates them as one group.
            bounds: (objectives,) the worst rewards of the evaluation, NaN for rewards with a bound
                of their own. The first evaluation lowers the reference point to them.

        Raises:
            ValueError: The length is wrong, or a value is NaN or infinite.
        """
        return self._gain.observe(outcome, bounds=bounds)

    # ---- where it stands ---------------------------------------------------------------------

    @property
    def stage(self) -> int:
        """Return the stage of the latest step, 1 or 2; before the first step, the first stage."""
        return self._stage_of(max(self.steps_taken, 1))

    @property
    def multiplier(self) -> float:
        """Return the paper's ``r_pareto``; stage 2 updates it but does not use it."""
        return self._gain.multiplier

    @property
    def multipliers(self) -> tuple[float, ...]:
        """Return the multiplier of each limit in the next step."""
        return tuple(float(one) for one in self._limits.values)

    @property
    def weights(self) -> tuple[float, ...]:
        """Return the share of each objective in the next step; the shares sum to 1.

        A limit's is its multiplier's, for the judged reward in the unit of the limit.
        """
        shares = np.array(self.config.weights)
        shares[self._limited] = self._limits.values
        return tuple((shares / shares.sum()).tolist())

    @property
    def k(self) -> int:
        """Return the k of HV@k in the next step; several split the steps into equal parts."""
        config, several = self.config, self.config.k
        if isinstance(several, int):
            return several
        begin = 0 if config.stage1_estimator in HYPERVOLUME_ESTIMATORS else self.stage1_steps
        end = self._steps or 1
        if config.stage2_estimator not in HYPERVOLUME_ESTIMATORS:
            end = min(end, self.stage1_steps)
        done = max((self.steps_taken - begin) / max(end - begin, 1), 0.0)
        return several[min(int(done * len(several)), len(several) - 1)]

    @property
    def observations(self) -> int:
        """Return the number of evaluations observed so far."""
        return self._gain.observations

    @property
    def reference(self) -> NDArray[np.float64]:
        """Return the archive's reference point (objectives,); NaN until an evaluation sets it."""
        return self._gain.reference

    @property
    def archive(self) -> paretopo_core.ParetoArchive | None:
        """Return the archive of held-out outcomes; None before the first evaluation."""
        return self._gain.archive

    def finish_stage1(self) -> None:
        """End stage 1 early: every prompt was seen in fewer steps than planned."""
        self.stage1_steps = min(self.stage1_steps, self.steps_taken)

    def state_dict(self) -> dict[str, Any]:
        """Return the state that changes during a run, JSON-able."""
        return {
            "format": _STATE_FORMAT,
            "objectives": self.objectives,
            "stage1_steps": self.stage1_steps,
            "step": self.steps_taken,
            "gain": self._gain.state_dict(),
            "watch": self.watch.state_dict(),
        } | ({"limits": self._limits.state_dict()} if self._limited else {})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: The state has another format, number of objectives or stage length.
        """
        if self.config.stage1_steps == "epoch":  # stage 1 may have ended early
            self.stage1_steps = min(self.stage1_steps, int(state["stage1_steps"]))
        expected = {
            "format": _STATE_FORMAT,
            "objectives": self.objectives,
            "stage1_steps": self.stage1_steps,
        }
        for name, value in expected.items():
            if state.get(name) != value:
                raise ValueError(
                    f"the saved controller has {name} = {state.get(name)!r}, this one {value!r}: "
                    "resume with the configuration of the run"
                )
        self._limits.load_state_dict(state.get("limits", {}))
        self.steps_taken = int(state["step"])
        self._gain.load_state_dict(state["gain"])
        self.watch.load_state_dict(state.get("watch", {}))

    # ---- parts -------------------------------------------------------------------------------

    def _stage_of(self, step: int) -> int:
        return 1 if step <= self.stage1_steps else 2

    def _estimate(
        self,
        gated: NDArray[np.float64],
        weights: NDArray[np.float64],
        inside: NDArray[np.bool_] | None,
        name: str,
        scale: float,
    ) -> NDArray[np.float64]:
        estimator = self._estimators[name]
        rewards = self.judge(gated)
        if self.config.multiplier_on == "reward":
            rewards = rewards * scale
        # An estimator without weights must also leave out objectives of weight 0.
        least = self.config.economies == "least"
        seen = self._weighted_columns(weights, with_first=least or name in OF_SUCCESS)
        rewards, weights = np.ascontiguousarray(rewards[..., seen]), weights[..., seen]
        if least and len(seen) > 2:
            rewards, weights = keep_least_economy(rewards, weights)
        switches = {
            switch: self.k if switch == "k" else getattr(self.config, switch)
            for switch in estimator.switches
        }
        try:
            with np.errstate(over="raise"):
                # Contiguous: sums depend on the order in memory.
                values: NDArray[np.float64] = estimator(rewards, weights, mask=inside, **switches)
        except FloatingPointError:
            raise ValueError(
                f"rewards are too large for the estimator {name!r}: its sums overflow at rewards "
                f"of {np.abs(gated).max():g}; give them in larger units"
            ) from None
        return values * scale if self.config.multiplier_on == "advantage" else values

    @property
    def _teaching(self) -> list[str]:
        """Return the rewards with a weight or a limit."""
        return [
            name
            for at, name in enumerate(self.names)
            if self.config.weights[at] > 0.0 or at in self._limited
        ]

    def _current_weights(self, weights: ArrayLike | None) -> NDArray[np.float64]:
        given = self.config.weights if weights is None else weights
        if not self._limited:
            return np.asarray(given, np.float64)
        factors = np.array(given, np.float64)
        factors[..., self._limited] = self._limits.values / self._limits.units
        factors /= 1.0 + self._limits.values.sum()
        return factors

    def _weighted_columns(
        self, weights: NDArray[np.float64], *, with_first: bool
    ) -> NDArray[np.intp]:
        """Return the columns of objectives with a weight above 0 or a limit.

        If each group has its own weights, return all.
        """
        given = weights.ndim == 2 or self.config.preference == "given"
        counted = np.ones(self.objectives, np.bool_) if given else weights > 0.0
        counted[0] |= with_first
        counted[self._limited] = True
        return np.flatnonzero(counted)
