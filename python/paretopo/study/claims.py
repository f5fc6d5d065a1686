"""The claims of the paper, held against the records of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paretopo.evaluation.statistics import sign_flips
from paretopo.study.analysis import SIGNIFICANT, Results

PAPER, ACCURACY, FIXED = "paper", "accuracy_only", "grpo"


@dataclass(frozen=True)
class Finding:
    """What the records say of one claim on one task.

    Attributes:
        claim: The claim in words.
        task: Where it was looked at.
        verdict: "reproduced", "not reproduced", or "the opposite".
        numbers: What it rests on.
    """

    claim: str
    task: str
    verdict: str
    numbers: str


def findings(results: Results) -> list[Finding]:
    """Every claim on every table on which its methods were tried."""
    return [
        finding
        for claim, methods, look in _CLAIMS
        for task in results.tables
        if all(results.seeds(task, method) for method in methods)
        and results.plan.tasks[task].config is None
        and task in ("free", "lucky", "overcalling")
        for finding in look(results, task, claim)
    ]


# ---- how a claim is looked at --------------------------------------------------------------------

Look = Callable[[Results, str, str], Iterator[Finding]]


def _verdict(difference: float, p: float) -> str:
    """Of a claim that the difference is above 0."""
    if p >= SIGNIFICANT:
        return "not reproduced"
    return "reproduced" if difference > 0 else "the opposite"


def _told(measure: str, difference: float, p: float) -> str:
    factor, unit = (100.0, " points") if measure == "accuracy" else (1.0, "")
    return f"{measure} {factor * difference:+.2f}{unit} (p = {p:.4f})"


def _higher(one: str, other: str, measure: str = "accuracy") -> Look:
    """`one` has more of a measure than `other`."""

    def look(results: Results, task: str, claim: str) -> Iterator[Finding]:
        difference, p = results.paired(task, one, other, measure)
        verdict, told = _verdict(difference, p), _told(measure, difference, p)
        yield Finding(claim, task, verdict, f"`{one}` less `{other}`: {told}")

    return look


def _dominates(one: str, other: str) -> Look:
    """`one` is not less accurate than `other` and makes fewer calls."""

    def look(results: Results, task: str, claim: str) -> Iterator[Finding]:
        accuracy, accuracy_p = results.paired(task, one, other, "accuracy")
        calls, calls_p = results.paired(task, one, other, "calls")
        lost = accuracy < 0 and accuracy_p < SIGNIFICANT
        fewer = calls < 0 and calls_p < SIGNIFICANT
        told = f"{_told('accuracy', accuracy, accuracy_p)}, {_told('calls', calls, calls_p)}"
        verdict = "reproduced" if fewer and not lost else "not reproduced"
        yield Finding(claim, task, verdict, f"`{one}` less `{other}`: {told}")

    return look


def _falls(method: str) -> Look:
    """Calls fall from the first evaluation to the last."""

    def look(results: Results, task: str, claim: str) -> Iterator[Finding]:
        calls, accuracy = (results.course(task, method, name) for name in ("calls", "accuracy"))
        fall, gain = calls[:, 0] - calls[:, -1], accuracy[:, -1] - accuracy[:, 0]
        told = f"`{method}`: calls {-fall.mean():+.2f}, accuracy {100 * gain.mean():+.2f} points"
        yield Finding(claim, task, _verdict(float(fall.mean()), sign_flips(fall)), told)

    return look


def _most_calls(results: Results, task: str, claim: str) -> Iterator[Finding]:
    calls = {m: results.at_end(task, m, "calls").mean() for m in results.methods(task)}
    right = {m: results.at_end(task, m, "accuracy").mean() for m in results.methods(task)}
    most = max(calls, key=lambda method: calls[method])
    behind = max(right.values()) - right[ACCURACY]
    verdict = "reproduced" if most == ACCURACY and behind < 0.005 else "not reproduced"
    yield Finding(
        claim,
        task,
        verdict,
        f"{calls[ACCURACY]:.2f} calls, most has `{most}` with {calls[most]:.2f}; "
        f"{100 * behind:.2f} points of accuracy behind the best",
    )


def _broader(results: Results, task: str, claim: str) -> Iterator[Finding]:
    volumes = {m: results.of_all_evaluations(task, m).mean() for m in results.methods(task)}
    best = max(volumes, key=lambda method: volumes[method])
    ahead = sum(volumes[method] < volumes[PAPER] for method in volumes)
    verdict = "reproduced" if best == PAPER else "not reproduced"
    yield Finding(
        claim,
        task,
        verdict,
        f"{volumes[PAPER]:.4f}, more than {ahead} of {len(volumes) - 1} others; most has `{best}` "
        f"with {volumes[best]:.4f}",
    )


_CLAIMS: tuple[tuple[str, tuple[str, ...], Look], ...] = (
    ("accuracy only: near the highest accuracy, most calls", (ACCURACY,), _most_calls),
    (
        "ParetoPO: as accurate as accuracy only, fewer calls",
        (PAPER, ACCURACY),
        _dominates(PAPER, ACCURACY),
    ),
    ("ParetoPO dominates fixed weights", (PAPER, FIXED), _dominates(PAPER, FIXED)),
    ("MO-GRPO is less accurate than ParetoPO", (PAPER, "mo_grpo"), _higher(PAPER, "mo_grpo")),
    (
        "OTC: fewer calls than accuracy only, accuracy kept",
        ("otc_grpo", ACCURACY),
        _dominates("otc_grpo", ACCURACY),
    ),
    (
        "removing stage 1 lowers accuracy",
        (PAPER, "paper+without_stage_1"),
        _higher(PAPER, "paper+without_stage_1"),
    ),
    (
        "removing stage 2 lowers accuracy",
        (PAPER, "paper+without_stage_2"),
        _higher(PAPER, "paper+without_stage_2"),
    ),
    (
        "removing ranks lowers accuracy",
        (PAPER, "paper+without_ranking"),
        _higher(PAPER, "paper+without_ranking"),
    ),
    (
        "removing dynamic weighting lowers accuracy",
        (PAPER, "paper+without_dynamic_weighting"),
        _higher(PAPER, "paper+without_dynamic_weighting"),
    ),
    (
        "weights 0.2, 0.8 lose accuracy",
        (PAPER, "paper+weights_20_80"),
        _higher(PAPER, "paper+weights_20_80"),
    ),
    (
        "weights 0.4, 0.6 lose accuracy",
        (PAPER, "paper+weights_40_60"),
        _higher(PAPER, "paper+weights_40_60"),
    ),
    (
        "weights 0.8, 0.2 lose accuracy",
        (PAPER, "paper+weights_80_20"),
        _higher(PAPER, "paper+weights_80_20"),
    ),
    ("calls fall in the course of ParetoPO", (PAPER,), _falls(PAPER)),
    (
        "control: calls fall without any reward, by positive advantages alone",
        ("constant+loss_grpo",),
        _falls("constant+loss_grpo"),
    ),
    ("the front over a run is broadest for ParetoPO", (PAPER,), _broader),
)
