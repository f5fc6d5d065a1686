"""The two-stage controller: rewards in, advantages out; evaluation outcomes in, signal out.

Stage 1 is a scalar method whose step size follows the hypervolume gained on held-out prompts;
stage 2 ranks the rollouts of each prompt by Pareto dominance. Every training framework drives this
one class; where the paper's Algorithm 1 and our reading differ, one switch of
:class:`~paretopo.config.paretopo.ParetoPOConfig` says so.

Source: arXiv 2606.16111, Algorithm 1, equations 2 to 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import paretopo_core
from paretopo.config import HYPERVOLUMES, OF_SUCCESS, ParetoPOConfig
from paretopo.controller.estimators import ESTIMATORS, Estimator, refuse_broken
from paretopo.controller.estimators.volume import choose_k
from paretopo.controller.gain import HypervolumeGain, Signal
from paretopo.controller.gate import apply_gate, find_informative, keep_least_economy

__all__ = ["Gated", "ParetoPO", "Signal", "Step"]

_STATE_FORMAT = 2
_FOR_EVER = 2**63 - 1  # steps


@dataclass(frozen=True)
class Gated:
    """Reward vectors after the gate.

    Attributes:
        vectors: (groups, points, objectives) float64.
        informative: (groups,) bool, do the rollouts differ in what ``group_filter`` looks at?
        mask: (groups, points) bool, False where a group of fewer rollouts is padded; None where
            none is.
    """

    vectors: NDArray[np.float64]
    informative: NDArray[np.bool_]
    mask: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Step:
    """The rollouts of one training step, gated and ranked once.

    Attributes:
        advantages: (groups, points) float64, 0 for groups that ``group_filter`` refuses and for
            masked rollouts.
        gated: (groups, points, objectives) float64, the reward vectors behind the gate.
        ranks: (groups, points) int32, Pareto rank of each gated vector in its group, 0 is best;
            -1 for masked rollouts.
        informative: (groups,) bool, do the rollouts differ in what ``group_filter`` looks at?
        stage: 1 or 2.
        multiplier: ``r_pareto`` as the step found it.
    """

    advantages: NDArray[np.float64]
    gated: NDArray[np.float64]
    ranks: NDArray[np.int32]
    informative: NDArray[np.bool_]
    stage: int
    multiplier: float

    @property
    def rank_histogram(self) -> list[int]:
        """Number of rollouts of rank 0, 1, 2, ..."""
        return [int(count) for count in np.bincount(self.ranks[self.ranks >= 0])]


class ParetoPO:
    """The controller of a run.

    One step is: ``step`` with the reward vectors of its rollouts, the framework's update, then,
    when an evaluation is due, ``observe`` with its outcome. Call ``observe`` once before the first
    step, with the outcome of the policy as it starts: it never moves the multiplier.

    Args:
        config: the switches.
        steps_per_epoch: steps in which every training prompt is seen once, needed for
            ``stage1_steps = "epoch"``: ceil(prompts / prompts per step).
        steps: of the whole run, needed where ``k`` changes in parts of it.

    Raises:
        ValueError: ``stage1_steps`` is "epoch" and ``steps_per_epoch`` is missing or below 1, or
            ``steps`` is missing where it is needed.

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
    ) -> None:
        if config.most_together and isinstance(config.k, tuple) and len(config.k) > 1 and not steps:
            raise ValueError(
                f"k = {list(config.k)} needs steps, those of the whole run, got {steps!r}"
            )
        if (
            config.hypervolume_reference == "archive"
            and "hypervolume" in (config.stage1_estimator, config.stage2_estimator)
            and "initial" in config.reference_point
        ):
            raise ValueError(
                'hypervolume_reference = "archive" needs a reference that is known before '
                f"training, got {config.reference_point}"
            )
        self.config = config
        self._steps = steps
        self.objectives = len(config.weights)
        self._weights = np.array(config.weights, np.float64)
        if config.stage1_steps == "all":
            self.stage1_steps = _FOR_EVER
        elif config.stage1_steps == "epoch":
            if steps_per_epoch is None or steps_per_epoch < 1:
                raise ValueError(
                    'stage1_steps = "epoch" needs steps_per_epoch, the steps that see every '
                    f"training prompt once (at least 1), got {steps_per_epoch!r}"
                )
            self.stage1_steps = int(steps_per_epoch)
        else:
            self.stage1_steps = int(config.stage1_steps)
        self._steps_taken = 0
        self._gain = HypervolumeGain(config)

    # ---- the training side -------------------------------------------------------------------

    def step(
        self,
        rewards: ArrayLike,
        *,
        mask: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Step:
        """Turn the reward vectors of one step into advantages; counts the step.

        Args:
            rewards: (groups, points, objectives), larger is better, finite, not yet gated;
                a group holds the rollouts of one prompt.
            mask: (groups, points) bool, False where a group of fewer rollouts is padded.
            weights: (groups, objectives), the preference that each group was given; None takes
                those of the configuration.

        Returns:
            Advantages of stage 1 or 2, by the number of calls so far, with the gated vectors, the
            ranks and the informative groups that they come from.

        Raises:
            ValueError: wrong shape, NaN or infinite rewards, naming where, or rewards so large
                that their sums overflow; the step does not count then.
        """
        return self.step_gated(self.gate_groups(rewards, mask=mask, weights=weights), weights)

    def step_gated(self, groups: Gated, weights: ArrayLike | None = None) -> Step:
        """As :meth:`step`, for groups that :meth:`gate_groups` has seen."""
        gated, inside, keep = groups.vectors, groups.mask, groups.informative
        preferred = self._preferred(weights)
        stage = self._stage_of(self._steps_taken + 1)
        multiplier = self._gain.multiplier
        scale = multiplier if stage == 1 else 1.0
        values = self._estimate(gated, preferred, inside, stage, scale)
        kept = keep[:, None] if inside is None else keep[:, None] & inside
        ranks = np.asarray(paretopo_core.pareto_rank(gated, mask=inside), np.int32)
        self._steps_taken += 1
        return Step(np.where(kept, values, 0.0), gated, ranks, keep, stage, multiplier)

    def gate(self, rewards: ArrayLike) -> NDArray[np.float64]:
        """The rewards with the floors of failed rollouts in the objectives behind the first; pure.

        Args:
            rewards: (..., objectives); a rollout failed when objective 0 is not above the
                threshold. With a floor "worst", the last axis but one is the group.

        Returns:
            A float64 copy; unchanged values with ``gate = "none"``.

        Raises:
            ValueError: the last axis is not the number of weights.
        """
        vectors = np.array(rewards, np.float64)
        if vectors.ndim == 0 or vectors.shape[-1] != self.objectives:
            raise ValueError(
                f"rewards must have {self.objectives} objectives on the last axis, one per "
                f"weight, got shape {vectors.shape}"
            )
        return self._apply_gate(vectors)

    def gate_groups(
        self,
        rewards: ArrayLike,
        *,
        mask: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Gated:
        """Gate and filter the groups of a step; pure. Arguments and errors as of :meth:`step`."""
        vectors, inside = self._check(rewards, mask)
        gated = self._apply_gate(vectors, inside)
        # Objectives that are only watched teach nothing.
        seen = gated[..., self._counted(self._preferred(weights), with_first=True)]
        switches = self.config
        keep = find_informative(seen, inside, switches.group_filter, threshold=switches.threshold)
        return Gated(gated, keep, inside)

    # ---- the evaluation side -----------------------------------------------------------------

    def observe(self, outcome: ArrayLike, *, earlier: ArrayLike | None = None) -> Signal:
        """Take in the outcome of a held-out evaluation.

        The first call is the policy as it starts: it sets the reference point where that is
        "initial", enters the archive, and leaves the multiplier at 1.

        Args:
            outcome: (objectives,) mean of the gated reward vectors over the held-out prompts.
            earlier: (evaluations so far, objectives), the earlier outcomes as they score today
                (:class:`~paretopo.rewards.held_out.HeldOut`), from which the archive
                is rebuilt; None keeps them as they were scored, as the paper does.

        Raises:
            ValueError: wrong length, NaN or infinity.
        """
        return self._gain.observe(outcome, earlier=earlier)

    # ---- where it stands ---------------------------------------------------------------------

    @property
    def steps_taken(self) -> int:
        """Steps whose advantages were given."""
        return self._steps_taken

    @property
    def stage(self) -> int:
        """The stage of the latest step, 1 or 2; before the first step that of the first."""
        return self._stage_of(max(self._steps_taken, 1))

    @property
    def multiplier(self) -> float:
        """The paper's ``r_pareto``; stage 2 keeps it up to date and does not use it."""
        return self._gain.multiplier

    @property
    def k(self) -> int:
        """How many rollouts HV@k lets count together in the next step."""
        config, gain = self.config, self._gain
        begin = 0 if config.stage1_estimator in HYPERVOLUMES else self.stage1_steps
        end = self._steps or 1
        if config.stage2_estimator not in HYPERVOLUMES:
            end = min(end, self.stage1_steps)
        done = (self._steps_taken - begin) / max(end - begin, 1)
        gains = {"smoothed_gain": gain.smoothed, "highest_gain": gain.highest}
        return choose_k(config.k, done=max(done, 0.0), **gains)

    @property
    def learning_rate_factor(self) -> float:
        """Factor on the learning rate of the latest step; read it after ``step``."""
        scales = self.config.multiplier_on == "learning_rate" and self.stage == 1
        return self._gain.multiplier if scales else 1.0

    @property
    def reference(self) -> NDArray[np.float64]:
        """(objectives,) the archive's reference point, NaN where the first evaluation sets it."""
        return self._gain.reference

    @property
    def archive(self) -> paretopo_core.ParetoArchive | None:
        """The archive of held-out outcomes; None before an "initial" reference is known."""
        return self._gain.archive

    def finish_stage1(self) -> None:
        """Every prompt was seen, in fewer steps than foreseen: the next step belongs to stage 2."""
        self.stage1_steps = min(self.stage1_steps, self._steps_taken)

    def state_dict(self) -> dict[str, Any]:
        """Everything that changes during a run, JSON-able."""
        return {
            "format": _STATE_FORMAT,
            "objectives": self.objectives,
            "stage1_steps": self.stage1_steps,
            "step": self._steps_taken,
            "gain": self._gain.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`, bit for bit.

        Raises:
            ValueError: the state belongs to another format, number of objectives or stage length.
        """
        if self.config.stage1_steps == "epoch":  # it may have finished early
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
        self._steps_taken = int(state["step"])
        self._gain.load_state_dict(state["gain"])

    # ---- parts -------------------------------------------------------------------------------

    def _stage_of(self, step: int) -> int:
        return 1 if step <= self.stage1_steps else 2

    def _estimate(
        self,
        gated: NDArray[np.float64],
        weights: NDArray[np.float64],
        inside: NDArray[np.bool_] | None,
        stage: int,
        scale: float,
    ) -> NDArray[np.float64]:
        name = self.config.stage1_estimator if stage == 1 else self.config.stage2_estimator
        estimator = ESTIMATORS[name]
        rewards = gated * scale if self.config.multiplier_on == "reward" else gated
        # Also where an estimator knows no weights, 0 leaves an objective out.
        least = self.config.economies == "least"
        seen = self._counted(weights, with_first=least or name in OF_SUCCESS)
        rewards, weights = np.ascontiguousarray(rewards[..., seen]), weights[..., seen]
        if least and len(seen) > 2:
            rewards, weights = keep_least_economy(rewards, weights)
        try:
            with np.errstate(over="raise"):
                values: NDArray[np.float64] = estimator(
                    rewards,  # contiguous: sums go by the order in memory
                    weights,
                    mask=inside,
                    **self._switches(estimator, seen),
                )
        except FloatingPointError:
            raise ValueError(
                f"rewards are too large for the estimator {name!r}: its sums overflow at rewards "
                f"of {np.abs(gated).max():g}; give them in larger units"
            ) from None
        return values * scale if self.config.multiplier_on == "advantage" else values

    def _switches(self, estimator: Estimator, seen: NDArray[np.intp]) -> dict[str, Any]:
        switches = {name: getattr(self.config, name) for name in estimator.switches}
        if "k" in switches:
            switches["k"] = self.k
        if switches.get("hypervolume_reference") == "archive":
            switches["hypervolume_reference"] = tuple(self._gain.reference[seen].tolist())
        return switches

    def _check(
        self, rewards: ArrayLike, mask: ArrayLike | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        vectors = np.array(rewards, np.float64)
        if vectors.ndim != 3 or vectors.shape[-1] != self.objectives:
            raise ValueError(
                "rewards must have shape (groups, points, objectives) with "
                f"{self.objectives} objectives, one per weight, got {vectors.shape}"
            )
        inside = None
        if mask is not None:
            inside = np.asarray(mask)
            if inside.dtype != np.bool_ or inside.shape != vectors.shape[:2]:
                raise ValueError(
                    f"mask must be bool of shape {vectors.shape[:2]}, got {inside.dtype} "
                    f"{inside.shape}"
                )
            vectors[~inside] = 0.0
        refuse_broken(vectors)
        return vectors, inside

    def _apply_gate(
        self, vectors: NDArray[np.float64], inside: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        switches = self.config
        return apply_gate(
            vectors, switches.gate, switches.gated_floors, inside, threshold=switches.threshold
        )

    def _preferred(self, weights: ArrayLike | None) -> NDArray[np.float64]:
        return self._weights if weights is None else np.asarray(weights, np.float64)

    def _counted(self, weights: NDArray[np.float64], *, with_first: bool) -> NDArray[np.intp]:
        """Columns of the objectives whose weight is above 0; all where each group has its own."""
        given = weights.ndim == 2 or self.config.preference == "given"
        counted = np.ones(self.objectives, np.bool_) if given else weights > 0.0
        counted[0] |= with_first
        return np.flatnonzero(counted)
