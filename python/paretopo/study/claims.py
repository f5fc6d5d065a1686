"""The claims of the paper, held against the records of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from paretopo.evaluation.statistics import sign_flips
from paretopo.study.analysis import SIGNIFICANT, Results

PAPER, ACCURACY, FIXED = "paper", "accuracy_only", "grpo"


@dataclass(frozen=True)
class Finding:
    """The verdict of the records on one claim and one task.

    Attributes:
        claim: The claim in words.
        task: The table on which it was tested.
        verdict: "reproduced", "not reproduced", or "the opposite".
        numbers: The measurements behind the verdict.
    """

    claim: str
    task: str
    verdict: str
    numbers: str


def check_claims(results: Results) -> list[Finding]:
    """Every claim on every table on which its methods were tried."""
    return [
        finding
        for claim, methods, check in _CLAIMS
        for task in results.tables
        if all(results.seeds(task, method) for method in methods)
        and results.plan.tasks[task].config is None
        and task in ("free", "lucky", "overcalling")
        for finding in check(results, task, claim)
    ]


# ---- how a claim is checked --------------------------------------------------------------------

Check = Callable[[Results, str, str], Iterator[Finding]]


def _verdict(difference: float, p: float) -> str:
    """Of a claim that the difference is above 0."""
    if p >= SIGNIFICANT:
        return "not reproduced"
    return "reproduced" if difference > 0 else "the opposite"


def _format_change(measure: str, difference: float, p: float) -> str:
    factor, unit = (100.0, " points") if measure == "accuracy" else (1.0, "")
    return f"{measure} {factor * difference:+.2f}{unit} (p = {p:.4f})"


def _check_higher(one: str, other: str, measure: str = "accuracy") -> Check:
    """`one` has more of a measure than `other`."""

    def check(results: Results, task: str, claim: str) -> Iterator[Finding]:
        difference, p = results.compare_pair(task, one, other, measure)
        verdict, change = _verdict(difference, p), _format_change(measure, difference, p)
        yield Finding(claim, task, verdict, f"`{one}` less `{other}`: {change}")

    return check


def _check_dominates(one: str, other: str) -> Check:
    """`one` is not less accurate than `other` and makes fewer calls."""

    def check(results: Results, task: str, claim: str) -> Iterator[Finding]:
        accuracy, accuracy_p = results.compare_pair(task, one, other, "accuracy")
        calls, calls_p = results.compare_pair(task, one, other, "calls")
        lost = accuracy < 0 and accuracy_p < SIGNIFICANT
        fewer = calls < 0 and calls_p < SIGNIFICANT
        verdict = "reproduced" if fewer and not lost else "not reproduced"
        changes = (
            _format_change("accuracy", accuracy, accuracy_p),
            _format_change("calls", calls, calls_p),
        )
        yield Finding(claim, task, verdict, f"`{one}` less `{other}`: {', '.join(changes)}")

    return check


def _check_falls(method: str) -> Check:
    """Calls fall from the first evaluation to the last."""

    def check(results: Results, task: str, claim: str) -> Iterator[Finding]:
        calls, accuracy = (results.curve(task, method, name) for name in ("calls", "accuracy"))
        fall, gain = calls[:, 0] - calls[:, -1], accuracy[:, -1] - accuracy[:, 0]
        change = f"`{method}`: calls {-fall.mean():+.2f}, accuracy {100 * gain.mean():+.2f} points"
        yield Finding(claim, task, _verdict(float(fall.mean()), sign_flips(fall)), change)

    return check


def _check_most_calls(results: Results, task: str, claim: str) -> Iterator[Finding]:
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


def _check_broader(results: Results, task: str, claim: str) -> Iterator[Finding]:
    volumes = {m: results.hypervolume_of_run(task, m).mean() for m in results.methods(task)}
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


_CLAIMS: tuple[tuple[str, tuple[str, ...], Check], ...] = (
    ("accuracy only: near the highest accuracy, most calls", (ACCURACY,), _check_most_calls),
    (
        "ParetoPO: as accurate as accuracy only, fewer calls",
        (PAPER, ACCURACY),
        _check_dominates(PAPER, ACCURACY),
    ),
    ("ParetoPO dominates fixed weights", (PAPER, FIXED), _check_dominates(PAPER, FIXED)),
    ("MO-GRPO is less accurate than ParetoPO", (PAPER, "mo_grpo"), _check_higher(PAPER, "mo_grpo")),
    (
        "OTC: fewer calls than accuracy only, accuracy kept",
        ("otc_grpo", ACCURACY),
        _check_dominates("otc_grpo", ACCURACY),
    ),
    (
        "removing stage 1 lowers accuracy",
        (PAPER, "paper+without_stage_1"),
        _check_higher(PAPER, "paper+without_stage_1"),
    ),
    (
        "removing stage 2 lowers accuracy",
        (PAPER, "paper+without_stage_2"),
        _check_higher(PAPER, "paper+without_stage_2"),
    ),
    (
        "removing ranks lowers accuracy",
        (PAPER, "paper+without_ranking"),
        _check_higher(PAPER, "paper+without_ranking"),
    ),
    (
        "removing dynamic weighting lowers accuracy",
        (PAPER, "paper+without_dynamic_weighting"),
        _check_higher(PAPER, "paper+without_dynamic_weighting"),
    ),
    (
        "weights 0.2, 0.8 lose accuracy",
        (PAPER, "paper+weights_20_80"),
        _check_higher(PAPER, "paper+weights_20_80"),
    ),
    (
        "weights 0.4, 0.6 lose accuracy",
        (PAPER, "paper+weights_40_60"),
        _check_higher(PAPER, "paper+weights_40_60"),
    ),
    (
        "weights 0.8, 0.2 lose accuracy",
        (PAPER, "paper+weights_80_20"),
        _check_higher(PAPER, "paper+weights_80_20"),
    ),
    ("calls fall in the course of ParetoPO", (PAPER,), _check_falls(PAPER)),
    (
        "control: calls fall without any reward, by positive advantages alone",
        ("constant+loss_grpo",),
        _check_falls("constant+loss_grpo"),
    ),
    ("the front over a run is broadest for ParetoPO", (PAPER,), _check_broader),
)
