"""The report of a study, only from its records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from paretopo.config import ConfigError
from paretopo_lab.document.report import Heading, Marked, Part, Report, Table
from paretopo_lab.statistics.intervals import t_interval
from paretopo_lab.statistics.pairs import SIGNIFICANT, Comparison
from paretopo_lab.study.analysis import Floats, Results
from paretopo_lab.study.plan import Plan
from paretopo_lab.study.plots import draw_overview
from paretopo_lab.study.records import read_records

Section = Callable[[Results], list[Part]]
_OVERVIEW = "overview.png"
_LEAST_P = 1e-4  # smaller ones are written as such


def results_folder(file: Path, *, quick: bool = False) -> Path:
    """Return the folder of a study's records, next to its file.

    >>> results_folder(Path("mine.toml"), quick=True).name
    'mine-quick'
    """
    return file.with_name(file.stem + ("-quick" if quick else ""))


def write_report(plan: Plan, out: Path, further: Section | None = None) -> Path:
    """Write ``report.md`` and a picture to the folder of the records; returns the report.

    Args:
        plan: The study.
        out: Folder of the records.
        further: Returns the parts of a last section.

    Raises:
        ConfigError: a line of the records is broken, no task has a training of each method, or a
            method is better than the policy that the plan calls the best.
    """
    results = Results(plan, read_records(plan, out))
    if not results.tasks:
        raise ConfigError(f"{out} has no task on which every method was tried: nothing to report")
    _check_scores(results)
    if len(results.tasks) > 1:
        draw_overview(results, out / _OVERVIEW)
    path = out / "report.md"
    path.write_text(describe(results, further).write(), encoding="utf-8")
    return path


def _check_scores(results: Results) -> None:
    """Refuse a method that is ahead of "the best policy" beyond noise: there is a better one."""
    name = "best" if results.plan.study.preferences is None else "best_front"
    for task in results.tasks:
        for method, measure in itertools.product(results.methods(task), _list_measures(results)):
            above = results.read(task, method, measure) - 1.0
            if above.mean() > results.plan.study.margin and t_interval(above)[0] > 0.0:
                raise ConfigError(
                    f"tasks.{task}: {method!r} has {100 * (1 + above.mean()):.1f} % of the best "
                    f"policy's {measure}: name a better policy in tasks.{task}.{name}"
                )


_TITLES = {
    "hypervolume": "Hypervolume, % of the best policy",
    "preference": "Value by the stated preference, % of the best policy",
    "utility": "Expected utility, % of the way from the best blind policy to the best policies",
    "order": "Pairs of preferences in the requested order, %",
    "distinct": "Preferences that lead to different points, %",
}
_OF_FRONTS = (
    "A method is a front here: of one policy that is given a preference, or of {count} policies, "
    "one for each. Hypervolume is that of the front between (share right, share right and "
    "saved) of a policy that takes every way alike{trained} and the front of the best policies; "
    "the value by the stated preference is the mean over the preferences. A blind policy ignores "
    "preferences, and its expected utility is 0 %. Steps are those of all policies{groups}."
)


def describe(results: Results, further: Section | None = None) -> Report:
    """Return all tables and findings.

    Args:
        results: The records.
        further: See `write_report`.
    """
    parts: list[Part] = [_origin(results), *_losses(results)]
    parts += [f"![{_OVERVIEW}]({_OVERVIEW})"] * (len(results.tasks) > 1)
    study = results.plan.study
    if study.preferences is not None:
        trained = ", or of the cheapest way," if any(map(results.is_trained, results.tasks)) else ""
        explanation = _OF_FRONTS.format(
            count=study.preferences,
            trained=trained,
            groups=", in groups of the task's configuration" if trained else "",
        )
        parts += [explanation, *_cost_to_match(results)]
    measures = _list_measures(results)
    if len(results.tasks) > 1:
        parts += _worst_cases(results, measures)
    for measure in measures:
        parts += _scores(results, measure, None)
    if study.early is not None:
        parts += _scores(results, study.measure, study.early)
    parts += _outcomes(results)
    if len(results.tasks) > 1:
        title = "Worst case and mean over the tasks: ours against each other method"
        parts += [Heading(title), *_over_tasks(results, measures)]
    for task in results.tasks:
        parts += [
            *_task(results, task, measures),
            *_tests(results, task),
            *_questions(results, task),
        ]
    parts += _variations(results)
    parts += [] if further is None else further(results)
    return Report("Study", [Marked(one) if isinstance(one, str) else one for one in parts])


def _list_measures(results: Results) -> list[str]:
    """Return the deciding measure, then the others that every training has."""
    first = results.plan.study.measure
    tried = [(task, method) for task in results.tasks for method in results.methods(task)]
    others = [name for name in _TITLES if all(results.is_measured(*one, name) for one in tried)]
    return list(dict.fromkeys([first, *others]))


def _origin(results: Results) -> str:
    plan = results.plan
    tasks = [f"{one} ({len(results.seeds(one, plan.ours))} seeds)" for one in results.tasks]
    missing = [task for task in plan.tasks if task not in results.tasks]
    lines = (
        f"{results.trainings:,} trainings, {results.hours:.1f} hours by their clocks. Method to "
        f"defend: `{plan.ours}`. Deciding measure: {plan.study.measure}, at the end. p is "
        "that of a sign-flip test over seeds, exact up to 13 of them and corrected after Holm; "
        "each table says for how many comparisons. A comparison is ours less theirs in points, on "
        "average, the 95 % interval, p and a verdict. The interval has the mean differences "
        "that the same test does not reject; it is not corrected, and of fewer than 6 seeds there "
        f"is none. Margin: {100 * plan.study.margin:g} point(s). Ours is better or worse if p < "
        f"{SIGNIFICANT} and the mean difference exceeds the margin. Else it is equal where the "
        "interval lies within the margin, no worse where it begins above the lower end, no better "
        "where it ends below the upper end. A dash: none of these can be said. Tasks: "
        f"{', '.join(tasks)}."
    )
    free = [one for one in results.tasks if results.is_trained(one) and not plan.names_best(one)]
    if free and plan.study.preferences is None:
        lines += (
            f" The file names no best policy of {', '.join(free)}: the scores are then shares of "
            "those of a policy that is always right and costs nothing."
        )
    if missing:
        lines += f" Not finished yet: {', '.join(missing)}."
    return lines


def _losses(results: Results) -> list[Part]:
    lost, margin = results.find_losses(), results.plan.study.margin
    tested = [results.compare(task) for task in results.tasks]
    unsure = []
    for task, compared in zip(results.tasks, tested, strict=True):
        worse = [one for one in compared if one.mean < -margin and one.p >= SIGNIFICANT]
        names = ", ".join(f"`{one.other}` ({100 * one.mean:+.2f})" for one in worse)
        unsure += [f"{task}: {names}"] * bool(worse)
    counts = sorted({len(compared) for compared in tested})
    parts: list[Part] = [
        Heading("Where ours loses"),
        f"p after Holm over the {' or '.join(map(str, counts))} other methods of a task.",
        *name_too_few_seeds([one for compared in tested for one in compared]),
    ]
    if unsure:
        listed = "; ".join(unsure)
        parts.append(f"Worse on average by more than the margin, with p ≥ {SIGNIFICANT}: {listed}.")
    if not lost:
        return [*parts, "Significantly worse by more than the margin: nowhere."]
    rows = [
        [task, _code(one.other), f"{100 * one.mean:+.2f}", _interval(one), _p(one)]
        for task, one in lost
    ]
    heads = ["task", "better than ours", "ours less theirs, points", "95 %", "p"]
    return [*parts, Table(heads, rows, 2)]


def _worst_cases(results: Results, measures: Sequence[str]) -> list[Part]:
    """Return every method's worst case over the tasks, by each measure and budget."""
    early = results.plan.study.early
    columns: list[tuple[str, str, int | None]] = [(name, name, None) for name in measures]
    if early is not None:
        columns += [(f"{name} after {early} steps", name, early) for name in measures]

    def read(method: str, measure: str, step: int | None) -> str:
        scores = 100 * results.over_tasks(method, measure, step)
        return f"{_mean_and_deviation(scores.min(axis=0))} / {scores.mean():.1f}"

    rows = [
        [_code(method), *(read(method, measure, at) for _, measure, at in columns)]
        for method in (*results.rank_by_worst(), *results.variations())
    ]
    return [
        Heading("Worst cases"),
        "The least over the tasks, seed by seed: % of the best policy, mean ± standard deviation. "
        "After the stroke, the mean over the tasks.",
        Table(["method", *(title for title, _, _ in columns)], rows),
    ]


def _scores(results: Results, measure: str, step: int | None) -> list[Part]:
    when = "at the end" if step is None else f"after {step} steps"
    several = len(results.tasks) > 1
    worst_of = " Worst: the least over the tasks, seed by seed." if several else ""

    def read(task: str, method: str) -> str:
        return _mean_and_deviation(100 * results.read(task, method, measure, step))

    rows = _tabulate_methods(results, read)
    if several:
        for row, method in zip(rows, results.rank_by_worst(), strict=True):
            row.append(_mean_and_deviation(100 * results.worst(method, measure, step)))
    return [
        Heading(f"{_TITLES[measure]}, {when}"),
        f"Mean ± standard deviation over seeds.{worst_of}",
        Table(["method", *results.tasks, *["worst"] * several], rows),
    ]


def _tabulate_methods(results: Results, read: Callable[[str, str], str]) -> list[list[str]]:
    """Return a row for each method, with a cell for each task; a dash if it was not tried there."""
    return [
        [_code(method)]
        + [read(task, method) if method in results.methods(task) else "—" for task in results.tasks]
        for method in results.rank_by_worst()
    ]


def _cost_to_match(results: Results) -> list[Part]:
    """Ours after the early steps against others at the end."""
    early, ours = results.plan.study.early, results.plan.ours
    if early is None:
        return []
    compared = results.compare_early(early)
    measure = results.plan.study.measure
    rows = []
    for one in compared:
        task, _, method = one.other.partition("/")
        cheap = results.read(task, ours, measure, early)
        share = _mean_and_deviation(100 * cheap / results.read(task, method, measure))
        rows.append([task, _code(method), share, f"{100 * one.mean:+.2f}", _interval(one), _p(one)])
    heads = ["task", "against", "% of its hypervolume", "ours less theirs, points", "95 %", "p"]
    title = f"`{ours}` after {early} steps against the others at the end"
    return [f"## {title}", *_family(compared), Table(heads, rows, 2)]


def _outcomes(results: Results) -> list[Part]:
    def read(task: str, method: str) -> str:
        right = 100 * results.read(task, method, "accuracy").mean()
        return f"{right:.1f} / {results.read(task, method, 'cost').mean():.2f}"

    return [
        Heading("Accuracy (%) / first cost per question at the end"),
        "Costs as the tasks have them, before price and budget: calls, where calls are paid.",
        Table(["method", *results.tasks], _tabulate_methods(results, read)),
    ]


def _over_tasks(
    results: Results, measures: Sequence[str], others: Sequence[str] | None = None
) -> list[Part]:
    """Compare the worst cases over the tasks, and the means over them."""
    early = results.plan.study.early
    over = {", worst": False, ", mean": True} if len(results.tasks) > 1 else {"": False}
    compared = {
        measure + title: results.compare_worst(measure, mean=mean, others=others)
        for measure in measures
        for title, mean in over.items()
    }
    if early is not None:
        title = f"{measures[0]}, worst, after {early} steps"
        compared[title] = results.compare_worst(measures[0], early, others=others)
    return _comparisons(compared)


def _task(results: Results, task: str, measures: Sequence[str]) -> list[Part]:
    by = ", ".join(f"`{name}`" for name in results.find_dominating(task)) or "none"
    table = results.plan.tasks[task].table
    return [
        Heading(f"{task}: {'a language model' if table is None else table.about}"),
        "Methods on average as accurate and as lean as ours, one of both significantly (p after "
        f"Holm over the methods, of accuracy and of economy each): {by}.",
        *_comparisons({one: results.compare(task, one) for one in measures}, results, task),
    ]


def _tests(results: Results, task: str) -> list[Part]:
    """Held-out and test questions side by side, where a task has both."""
    section = results.plan.tasks[task]
    if section.test is None:
        return []
    heads = [f"{of}: {measure}" for of in ("held out", "test") for measure in _TESTED]
    rows = [
        [_code(method)]
        + [
            _mean_and_deviation(scale * read(task, method, measure), decimals)
            for read in (results.read, results.test)
            for measure, scale, decimals in _TESTED.values()
        ]
        for method in results.methods(task)
    ]
    return [
        Heading(f"{task}: held-out questions, and those of {Path(section.test).stem}", 3),
        "At the end, mean ± standard deviation over seeds; tokens are those that the policy wrote.",
        Table(["method", *heads], rows),
        "On the test questions:",
        *_comparisons({results.plan.study.measure: results.compare_tests(task)}),
    ]


def _questions(results: Results, task: str) -> list[Part]:
    """Return the paired tests by question; empty where no record has its questions."""
    rows = []
    for part, title in (("evaluations", "held out"), ("test", "test")):
        right = results.compare_questions(task, part, "accuracy")
        cost = results.compare_questions(task, part, "cost")
        for one, other in zip(right, cost, strict=True):
            count = str(len(one.differences))
            cells = [title, _code(one.other), count, f"{100 * one.mean:+.1f}", _interval(one)]
            rows.append([*cells, _p(one), f"{other.mean:+.2f}", _interval(other, 1.0), _p(other)])
    if not rows:
        return []
    heads = ["questions", "against", "count", "accuracy, points", "95 %", "p", "cost", "95 %", "p"]
    return [
        Heading(f"{task}: question by question", 3),
        "Ours less theirs at the end: the mean over questions of the differences, each a mean over "
        "the seeds whose records have the answers. p: the sign-flip test over questions, after "
        "Holm over the methods. It judges these trained policies; the tables over seeds judge the "
        "methods.",
        Table(heads, rows, 2),
    ]


_TESTED = {  # heading: measure, factor, decimals
    "accuracy %": ("accuracy", 100, 1),
    "cost": ("cost", 1, 2),
    "tokens": ("response", 1, 1),
}


def _comparisons(
    compared: Mapping[str, Sequence[Comparison]], results: Results | None = None, task: str = ""
) -> list[Part]:
    """Return a table with a row for each other method and a column for each family."""
    rows = [
        [
            _code(ones[0].other),
            str(len(ones[0].differences)),
            *map(_conclude, ones),
            *(_ends(results, task, ones[0].other) if results else []),
        ]
        for ones in zip(*compared.values(), strict=True)
    ]
    if results:
        ours = results.plan.ours
        levels = [_mean_and_deviation(100 * results.read(task, ours, name), 2) for name in compared]
        seeds = str(len(results.seeds(task, ours)))
        rows.append([Marked(f"ours: `{ours}`"), seeds, *levels, *_ends(results, task, ours)])
    heads = ["against", "seeds", *compared, *(["accuracy %", "cost"] if results else [])]
    every = [one for ones in compared.values() for one in ones]
    return [*_family(every, len(compared)), Table(heads, rows)]


def _conclude(one: Comparison) -> str:
    verdict = {"more": "better", "less": "worse", "unknown": "—"}.get(one.verdict, one.verdict)
    return f"{100 * one.mean:+.2f} ({_interval(one)}), p {_p(one)}: {verdict}"


def _ends(results: Results, task: str, method: str) -> list[str]:
    return [
        _mean_and_deviation(100 * results.read(task, method, "accuracy")),
        _mean_and_deviation(results.read(task, method, "cost"), 3),
    ]


def _variations(results: Results) -> list[Part]:
    """Return the results of ablations on the tasks on which they were tried."""
    study = results.plan.study
    tasks = [task for task in results.tasks if task in (study.ablation_tasks or ())]
    tried = [
        method
        for method in study.ablations or ()
        if tasks and all(results.seeds(task, method) for task in tasks)
    ]
    if not tried:
        return []
    rows = []
    for method in tried:
        values = [results.read(task, method, study.measure) for task in tasks]
        cells = [_mean_and_deviation(100 * one) for one in (*values, results.worst(method))]
        ends = [", ".join(_ends(results, task, method)) for task in tasks]
        rows.append([_code(method), *cells, *ends])
    heads = ["method", *tasks, "worst", *(f"{task}: accuracy %, cost" for task in tasks)]
    return [
        Heading("Variations"),
        f"Tried next to the methods, without a decision. {_TITLES[study.measure]}, at the end.",
        Table(heads, rows),
        *_over_tasks(results, _list_measures(results), tried),
    ]


def _family(compared: Sequence[Comparison], families: int = 1) -> list[str]:
    """Over how many comparisons p is corrected, and whether that leaves anything to be found."""
    count = len(compared) // families
    over = f"p after Holm over the {count} comparisons of a column."
    if count == 1:
        over = "One comparison: p is not corrected."
    return [over, *name_too_few_seeds(compared)] if compared else []


def name_too_few_seeds(compared: Sequence[Comparison]) -> list[str]:
    """Name the comparisons that could not come out significant, however large they were."""
    few = [one for one in compared if one.verdict == "too few seeds"]
    if not few:
        return []
    which = "all" if len(few) == len(compared) else f"{len(few)} of the {len(compared)}"
    seeds = sorted({len(one.differences) for one in few})
    return [
        f"**Too few seeds for a verdict** on {which} of them: of {' or '.join(map(str, seeds))} "
        f"seeds p is at least {min(one.least_p for one in few):.3g} after Holm, whatever the "
        "differences."
    ]


def _interval(one: Comparison, scale: float = 100) -> str:
    low, high = one.interval
    if low == -np.inf:
        return "none"
    return f"{scale * low:+.2f} to {scale * high:+.2f}"


def _p(one: Comparison) -> str:
    return f"< {_LEAST_P}" if one.p < _LEAST_P else f"{one.p:.4f}"


def _mean_and_deviation(values: Floats, decimals: int = 1) -> str:
    deviation = values.std(ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{decimals}f} ± {deviation:.{decimals}f}"


def _code(name: str) -> Marked:
    return Marked(f"`{name}`")
