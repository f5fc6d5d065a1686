"""Check a rehearsal's records against the controller and against each other."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.controller.two_stages import ParetoPO
from paretopo.records.folder import RunFolder
from paretopo.records.sweeps import split_sweeps
from paretopo.rollout import Rollout
from paretopo.session import Session

_EXCHANGE = "rehearsal/advantages.jsonl"
# Engine and policy compute the same log-probabilities except for rounding to bfloat16. A loaded
# model has more layers: SmolLM2's 30 layers differ by 0.04 a token, and means of 300 tokens by up
# to 0.006.
MOST_VLLM_KL = {"made": 0.01, "loaded": 0.03}


class RehearsalFailed(RuntimeError):
    """A rehearsal reached its end with a wrong result, which the message names."""


class RehearsedSession(Session):
    """A session that also records the controller's inputs and outputs."""

    def advantages(
        self, groups: Sequence[Sequence[Rollout]], given: NDArray[np.float64] | None = None
    ) -> list[NDArray[np.float64]]:
        """Return the session's advantages; record them with their inputs for the checks."""
        before = self.controller.state_dict()
        advantages = super().advantages(groups, given)
        weights = self.weights_of(groups)
        entry = {
            "step": self.controller.steps_taken,
            "before": before,
            "rewards": [[one.rewards for one in group] for group in groups],
            "weights": None if weights is None else weights.tolist(),
            "punished": [self.penalties_of(group).tolist() for group in groups],
            "advantages": [own.tolist() for own in advantages],
        }
        with (self.run.path / _EXCHANGE).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        return advantages


def check(run: RunFolder) -> list[str]:
    """Check the records of a rehearsal against each other.

    Returns:
        The proved facts, a sentence each.

    Raises:
        RehearsalFailed: Two records disagree.
    """
    return [
        _check_steps(run),
        _check_stages(run),
        _check_log_probabilities(run),
        _check_weights(run),
        _check_controller(run),
        _check_buffer(run),
    ]


def format_proofs(proved: Sequence[str], left: Sequence[str]) -> str:
    """Return the summary that ends a rehearsal."""
    return "\n".join(
        [
            "",
            "The rehearsal is over. Proved here, on the real Ray, DeepSpeed and vLLM:",
            *(f"  + {sentence}" for sentence in proved),
            "Not covered here; test these parts on a GPU:",
            *(f"  - {sentence}" for sentence in left),
        ]
    )


def _check_steps(run: RunFolder) -> str:
    config, steps = run.config, [row["step"] for row in run.steps()]
    ended = run.manifest.get("status") == "stopped"  # dropped groups used up a script's prompts
    wanted = list(range(1, (run.last_step() if ended else config.optimiser.steps) + 1))
    _require(steps == wanted, f"expected the steps {wanted}, recorded were {steps}")
    every = config.evaluation.every
    due = [step for step in (0, *wanted) if step % every == 0 or step == wanted[-1]]
    evaluated = [sweep[0]["step"] for sweep in split_sweeps(run.evaluations())]
    _require(evaluated == due, f"expected evaluations at {due}, recorded were {evaluated}")
    return f"{len(steps)} steps and {len(evaluated)} evaluations, the first before any update"


def _check_stages(run: RunFolder) -> str:
    seen = sorted({row["stage"] for row in run.steps()})
    first = int(run.config.paretopo.stage1_steps)
    wanted = [stage for stage, there in ((1, first > 0), (2, first < len(run.steps()))) if there]
    _require(seen == wanted, f"expected the stages {wanted}, recorded were {seen}")
    return f"stage{'s' * (len(seen) > 1)} {' and '.join(map(str, seen))} of the method"


def _check_log_probabilities(run: RunFolder) -> str:
    if run.config.openrlhf.correction == "off":
        return "log-probabilities of engine and policy: not compared, openrlhf.correction is off"
    gaps = [row.get("vllm_kl") for row in run.steps()]
    finite = [gap for gap in gaps if gap is not None and math.isfinite(gap)]
    _require(len(finite) == len(gaps), f"vllm_kl must be finite at every step, got {gaps}")
    most = max(map(abs, finite))
    if run.config.openrlhf.asynchronous:
        return f"|vllm_kl| at most {most:.1e}, in part from rollouts by older policies"
    limit = MOST_VLLM_KL["made" if run.config.model.is_made else "loaded"]
    _require(most < limit, f"|vllm_kl| must be below {limit}, got {gaps}")
    return f"engine and policy compute the same log-probabilities: |vllm_kl| at most {most:.1e}"


def _check_weights(run: RunFolder) -> str:
    rows = list(_read_last_rows(run.path / "rehearsal" / "weights.jsonl").values())
    _require(bool(rows), "no weights were compared")
    for row in rows:
        for engine in row["engines"]:
            _compare_weights(row["step"], row["policy"], engine)
    engines = len(rows[-1]["engines"])
    return f"weights of {engines} engine(s) equal the policy's after each of {len(rows)} updates"


def _compare_weights(step: int, policy: dict[str, Any], engine: dict[str, Any]) -> None:
    # vLLM fuses some matrices, and pads the vocabulary with rows of zeros. Compare matrices of the
    # same name and size one by one, and the rest by sums.
    shared = [name for name in policy if name in engine and policy[name][0] == engine[name][0]]
    rest = [
        np.sum([sums[1:] for name, sums in one.items() if name not in shared] or [[0.0]], axis=0)
        for one in (policy, engine)
    ]
    pairs = [(name, policy[name][1:], engine[name][1:]) for name in shared]
    for name, ours, theirs in [*pairs, ("the sum of the fused matrices", *rest)]:
        close = np.allclose(ours, theirs, rtol=1e-9, atol=0.0)
        _require(close, f"after step {step}, {name} differs: policy {ours}, engine {theirs}")


def _check_controller(run: RunFolder) -> str:
    rows = _read_last_rows(run.path / _EXCHANGE)
    count = 0
    for row in rows.values():
        controller = ParetoPO(run.config.paretopo, steps=run.config.optimiser.steps)
        controller.load_state_dict(row["before"])
        step = controller.step(row["rewards"], weights=row["weights"])
        wanted = step.advantages - np.array(row["punished"])
        _require(
            bool(np.array_equal(wanted, np.array(row["advantages"]))),
            f"the advantages of step {row['step']} are not those of the controller",
        )
        count += wanted.size
    return f"advantages of {count} rollouts recomputed from the recorded reward vectors: equal"


def _check_buffer(run: RunFolder) -> str:
    given = {
        step: np.array(row["advantages"]).reshape(-1)
        for step, row in _read_last_rows(run.path / _EXCHANGE).items()
    }
    ranks = [
        _read_last_rows(path) for path in sorted((run.path / "rehearsal").glob("buffer-*.jsonl"))
    ]
    _require(bool(ranks), "no process of the policy recorded its advantages")
    nonzero = 0
    for step, wanted in given.items():
        seen: dict[int, list[float]] = {}
        for rank in ranks:
            for number, low, high, tokens in rank[step]["samples"]:
                seen[int(number)] = [low, high, tokens]
        _require(sorted(seen) == list(range(len(wanted))), f"samples are missing at step {step}")
        for number, value in enumerate(wanted):
            low, high, tokens = seen[number]
            value = float(np.float32(value)) if tokens else 0.0
            _require(
                low == high == value,
                f"sample {number} of step {step} has the advantage {value}, the replay buffer "
                f"got {low} to {high}",
            )
            nonzero += value != 0 and not math.isnan(value)
    total = sum(map(len, given.values()))
    return (
        f"replay buffers got the controller's advantages: {total} rollouts, {nonzero} advantages "
        "not 0"
    )


def _read_last_rows(path: Path) -> dict[int, Any]:
    """Return the last row of every step, since a resumed run repeats some steps."""
    return {row["step"]: row for row in _read_lines(path)}


def _read_lines(path: Path) -> list[Any]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RehearsalFailed(otherwise)
