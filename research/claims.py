"""The claims of the paper, checked against the records of a study.

All differences that decide verdicts are tested together: p is corrected for their number. A
difference below a margin that was fixed in advance counts as no difference. Only an interval that
excludes a claim refutes it; an undecided claim is "unknown". Claims about calls are applied to the
unit in which a task is charged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from paretopo_lab.document.report import Heading, Marked, Part, Table
from paretopo_lab.statistics.pairs import SIGNIFICANT, Comparison, compare
from paretopo_lab.study.analysis import Floats, Results
from paretopo_lab.study.report import name_too_few_seeds

PAPER, ACCURACY, FIXED = "paper", "accuracy_only", "grpo"
ACCURACY_MARGIN = 0.005  # half a point
_COST_MARGIN = 0.0125  # of the most that an answer costs: of four calls, one in twenty questions
_RESPONSE, _RESPONSE_MARGIN = "response tokens", 0.5
_TABLES = ("free", "lucky", "overcalling")  # that are paid for calls, as the paper's policies


@dataclass(frozen=True)
class Finding:
    """The verdict of the records on one claim and one task.

    Attributes:
        claim: The claim in words.
        task: The task on which it was tested.
        verdict: "reproduced", "the opposite", "no difference" within the margins, "not reproduced"
            where the interval rules the claim out, "unknown", or "too few seeds"; "by means: yes"
            or "by means: no" if only means are compared.
        numbers: The measurements that the verdict follows from.
        tested: The comparisons among them.
    """

    claim: str
    task: str
    verdict: str
    numbers: str
    tested: tuple[Comparison, ...] = ()


@dataclass(frozen=True)
class _Claim:
    """A claim, and how it is checked.

    Attributes:
        text: In words; {cost} stands for the unit that the task is charged in.
        methods: Methods that the study must contain.
        measure: (results, task) → the relevant differences by name: accuracy, the unit of the
            cost, or response tokens. Empty if the claim is about something else.
        decide: Maps the verdicts on these differences to the verdict on the claim.
        about: A description of the differences.
    """

    text: str
    methods: tuple[str, ...]
    measure: Callable[[Results, str], dict[str, Floats]]
    decide: Callable[[Sequence[Comparison]], str]
    about: str


def check_claims(results: Results) -> list[Finding]:
    """Check every claim on every task on which its methods were tried."""
    tasks = [task for task in results.tasks if task in _TABLES or results.is_trained(task)]
    tried = [
        (claim, task, claim.measure(results, task))
        for claim in _CLAIMS
        for task in tasks
        if all(results.seeds(task, method) for method in claim.methods)
    ]
    differences = {
        f"{number}/{name}": values
        for number, (_, _, measured) in enumerate(tried)
        for name, values in measured.items()
    }
    margins = {
        f"{number}/{name}": _margin(results, task, name)
        for number, (_, task, measured) in enumerate(tried)
        for name in measured
    }
    tested = compare(differences, margins)
    found = []
    for number, (claim, task, _) in enumerate(tried):
        own = [one for one in tested if one.other.startswith(f"{number}/")]
        if own:
            text, told = claim.text.format(cost=results.unit(task)), ", ".join(map(_describe, own))
            few = any(one.verdict == "too few seeds" for one in own)
            verdict = "too few seeds" if few else claim.decide(own)
            found.append(Finding(text, task, verdict, f"{claim.about}: {told}", tuple(own)))
    for check, method in ((_find_most_calls, ACCURACY), (_find_broadest, PAPER)):
        found += [check(results, task) for task in tasks if results.seeds(task, method)]
    return found


def format_claims(results: Results) -> list[Part]:
    """Write the findings as the last section of a report on studies that defend the paper."""
    found = check_claims(results) if results.plan.ours == PAPER else []
    if not found:
        return []
    tested = [one for finding in found for one in finding.tested]
    rows = [[one.claim, one.task, one.verdict, Marked(one.numbers)] for one in found]
    return [
        Heading("Claims of the paper"),
        f"Paired by seed; p after Holm over the {len(tested)} differences that are tested here; "
        f"95 % intervals in brackets, not corrected. Margins: {_describe_margins(results, found)}. "
        "Reproduced, or the opposite: the mean difference exceeds the margin, with p < "
        f"{SIGNIFICANT}. No difference: the interval lies within the margin. Not reproduced: the "
        "interval rules the claim out, and p does not contradict it. Unknown: neither the one nor "
        "the other. By means: compared without a test.",
        *name_too_few_seeds(tested),
        Table(["claim", "task", "verdict", "numbers"], rows, 4),
    ]


def _describe_margins(results: Results, found: Sequence[Finding]) -> str:
    """Describe the margins below which a difference counts as none."""
    tasks = dict.fromkeys(one.task for one in found)
    costs = {results.unit(task): _margin(results, task, results.unit(task)) for task in tasks}
    margins = [f"{100 * ACCURACY_MARGIN:g} points of accuracy"]
    margins += [f"{margin:g} {unit}" for unit, margin in costs.items()]
    if any(_RESPONSE in one.numbers for one in found):
        margins.append(f"{_RESPONSE_MARGIN:g} {_RESPONSE}")
    return f"{', '.join(margins[:-1])} and {margins[-1]}"


def _margin(results: Results, task: str, name: str) -> float:
    fixed = {"accuracy": ACCURACY_MARGIN, _RESPONSE: _RESPONSE_MARGIN}
    return fixed.get(name, _COST_MARGIN * results.plan.tasks[task].most)


def _describe(one: Comparison) -> str:
    measure = one.other.rpartition("/")[2]
    factor, unit = (100.0, " points of accuracy") if measure == "accuracy" else (1.0, f" {measure}")
    digits = 2 if factor * one.margin >= 0.01 else 4
    low, high = (f"{factor * end:+.{digits}f}" for end in one.interval)
    interval = f"[{low}, {high}]" if np.isfinite(one.interval[0]) else "[no interval]"
    return f"{factor * one.mean:+.{digits}f}{unit} {interval} (p = {one.p:.3g})"


# ---- how a claim is checked --------------------------------------------------------------------


_OF_MORE = {
    "more": "reproduced",
    "less": "the opposite",
    "equal": "no difference",
    "no better": "not reproduced",
}


def _verdicts(found: Sequence[Comparison]) -> list[str]:
    """Replace verdicts that p contradicts by "unknown": such an interval refutes no claim."""
    return [
        "unknown" if one.is_contradictory and one.verdict != "equal" else one.verdict
        for one in found
    ]


def _decide_more(found: Sequence[Comparison]) -> str:
    (verdict,) = _verdicts(found)
    return _OF_MORE.get(verdict, "unknown")


def _decide_dominates(found: Sequence[Comparison]) -> str:
    accuracy, cost = _verdicts(found)
    if accuracy == "less" and cost == "more":
        return "the opposite"
    if accuracy in ("equal", "more", "no worse") and cost == "less":
        return "reproduced"
    refuted = accuracy == "less" or cost in ("more", "equal", "no worse")
    return _refuted_or_unknown(refuted)


def _refuted_or_unknown(refuted: bool) -> str:
    return "not reproduced" if refuted else "unknown"


def _decide_settled(found: Sequence[Comparison]) -> str:
    (verdict,) = _verdicts(found)
    return "reproduced" if verdict == "equal" else _refuted_or_unknown(verdict in ("more", "less"))


def _differ(
    text: str,
    one: str,
    other: str,
    columns: Sequence[str] = ("accuracy",),
    decide: Callable[[Sequence[Comparison]], str] = _decide_more,
) -> _Claim:
    """Return a claim about the difference of two methods at the end."""

    def measure(results: Results, task: str) -> dict[str, Floats]:
        names = {"cost": results.unit(task)}
        return {
            names.get(column, column): results.read(task, one, column)
            - results.read(task, other, column)
            for column in columns
        }

    return _Claim(text, (one, other), measure, decide, f"`{one}` less `{other}`")


def _dominates(text: str, one: str, other: str) -> _Claim:
    """Return whether a method is as accurate to the margin, or more, and leaner."""
    return _differ(text, one, other, ("accuracy", "cost"), _decide_dominates)


def _leaner_at_end(text: str, method: str) -> _Claim:
    """Costs fall from the first evaluation to the last."""

    def measure(results: Results, task: str) -> dict[str, Floats]:
        spent = results.curve(task, method, "cost")
        return {results.unit(task): spent[:, 0] - spent[:, -1]}

    return _Claim(text, (method,), measure, _decide_more, f"`{method}`, first less last evaluation")


def _shorter_at_end(text: str, method: str) -> _Claim:
    """Responses shorten, on tasks that are not charged by tokens."""

    def measure(results: Results, task: str) -> dict[str, Floats]:
        if results.unit(task) == "tokens" or not results.is_measured(task, method, "response"):
            return {}
        length = results.curve(task, method, "response")
        return {_RESPONSE: length[:, 0] - length[:, -1]}

    return _Claim(text, (method,), measure, _decide_more, f"`{method}`, first less last evaluation")


def _settled(text: str, method: str) -> _Claim:
    """The fewest calls known to solve a question no longer change after a quarter of the steps."""

    def measure(results: Results, task: str) -> dict[str, Floats]:
        if not results.is_measured(task, method, "fewest"):
            return {}
        quarter = results.curve(task, method, "step")[0, -1] // 4
        known = [results.read(task, method, "fewest", step) for step in (quarter, None)]
        return {results.unit(task): known[0] - known[1]}

    about = f"`{method}`, after a quarter of the steps less at the end"
    return _Claim(text, (method,), measure, _decide_settled, about)


def _find_most_calls(results: Results, task: str) -> Finding:
    unit = results.unit(task)
    calls = {m: results.read(task, m, "cost").mean() for m in results.methods(task)}
    right = {m: results.read(task, m, "accuracy").mean() for m in results.methods(task)}
    most = max(calls, key=lambda method: calls[method])
    gap = max(right.values()) - right[ACCURACY]
    return Finding(
        f"training for accuracy has nearly the highest accuracy and the most {unit}",
        task,
        _by_means(most == ACCURACY and gap <= ACCURACY_MARGIN),
        f"{calls[ACCURACY]:.2f} {unit}, most has `{most}` with {calls[most]:.2f}; "
        f"{100 * gap:.2f} points of accuracy below the best",
    )


def _find_broadest(results: Results, task: str) -> Finding:
    volumes = {m: results.hypervolume_of_run(task, m).mean() for m in results.methods(task)}
    best = max(volumes, key=lambda method: volumes[method])
    ahead = sum(volumes[method] < volumes[PAPER] for method in volumes)
    return Finding(
        "ParetoPO has the broadest front over a run",
        task,
        _by_means(best == PAPER),
        f"{volumes[PAPER]:.4f}, more than {ahead} of {len(volumes) - 1} others; most has `{best}` "
        f"with {volumes[best]:.4f}",
    )


def _by_means(holds: bool) -> str:
    return "by means: yes" if holds else "by means: no"


def _ablation(text: str, switch: str) -> _Claim:
    return _differ(text, PAPER, f"{PAPER}+{switch}")


_CLAIMS: tuple[_Claim, ...] = (
    _dominates(
        "ParetoPO is as accurate as training for accuracy, with fewer {cost}", PAPER, ACCURACY
    ),
    _dominates("ParetoPO dominates fixed weights", PAPER, FIXED),
    _differ("MO-GRPO is less accurate than ParetoPO", PAPER, "mo_grpo"),
    _dominates(
        "OTC needs fewer {cost} than training for accuracy, at equal accuracy", "otc_grpo", ACCURACY
    ),
    _ablation("removing stage 1 lowers accuracy", "without_stage_1"),
    _ablation("removing stage 2 lowers accuracy", "without_stage_2"),
    _ablation("removing ranks lowers accuracy", "without_ranking"),
    _ablation("removing dynamic weighting lowers accuracy", "without_dynamic_weighting"),
    _ablation("weights 0.2 and 0.8 lower accuracy", "weights_20_80"),
    _ablation("weights 0.4 and 0.6 lower accuracy", "weights_40_60"),
    _ablation("weights 0.8 and 0.2 lower accuracy", "weights_80_20"),
    _differ("a larger alpha leads to fewer {cost}", "paper+alpha_035", "paper+alpha_14", ["cost"]),
    _ablation("removing the spread within fronts (beta 0) lowers accuracy", "beta_0"),
    _ablation("doubling the spread within fronts (beta 1) lowers accuracy", "beta_1"),
    _ablation("removing the smoothing of the gain (gamma 0) lowers accuracy", "gamma_0"),
    _ablation("more smoothing (gamma 0.9) lowers accuracy", "gamma_09"),
    *(
        _differ(
            f"with RLOO, where the gain does not cancel, smoothing (gamma {gamma}) raises accuracy",
            f"dynamic_hv_rloo+gamma_{digits}",
            "dynamic_hv_rloo",
        )
        for gamma, digits in ((0.5, "05"), (0.9, "09"))
    ),
    _leaner_at_end("{cost} fall during training with ParetoPO", PAPER),
    _shorter_at_end("responses become shorter during training with ParetoPO", PAPER),
    _settled("the lowest number of {cost} per question settles in the first quarter", PAPER),
    _leaner_at_end(
        "control: {cost} fall without rewards, only because advantages are positive",
        "constant+loss_grpo",
    ),
)
