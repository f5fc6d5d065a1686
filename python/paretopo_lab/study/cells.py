"""One training of a study: `paretopo train` in a process of its own, or a table in this one."""

from __future__ import annotations

import ctypes
import hashlib
import json
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from paretopo.config import RECIPES, ConfigError, RunConfig, dumps, load
from paretopo.config.python_files import hash_own_files, read_call
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder
from paretopo_lab.study.plan import Cell, Plan, TaskSection

_ERROR_LINES = 15  # of a failed training
_DIGITS = 5
_PR_SET_PDEATHSIG = 1  # of linux/prctl.h
SAVING = "of the price of a right answer"  # an earlier version used the start's cost


def run_cell(plan: Plan, cell: Cell, runs: Path) -> Row:
    """Train, and measure the policy along the way.

    Args:
        plan: The study.
        cell: One of its cells.
        runs: Where `paretopo train` puts its run folders; an unfinished run is resumed.

    Returns:
        task, method, seed, fingerprint, step (the last), seconds, and evaluations: a list each of
        step, accuracy, economy, cost, hypervolume and preference, to five digits. Language models
        have response (its tokens) and economy_of_solved (of right answers) in place of the last
        two, which `add_scores` computes. If the task has test questions, test has the same numbers
        of the last policy on them. Language models have by_question: accuracy and cost of each
        question in the last evaluation, and in the test; and start, a digest of the policy after
        the warm-up.

    Raises:
        RuntimeError: the training failed; with the last lines of its error output.
    """
    began = time.monotonic()
    section = plan.tasks[cell.task]
    further: Row = {}
    if section.table is not None:
        overrides, steps = plan.overrides_of(cell.method), section.steps or plan.study.steps
        evaluations = section.table.train(overrides, cell.seed, steps, plan.study)
    else:
        evaluations, further = _train_language_model(plan, cell, runs)
    return {
        "task": cell.task,
        "method": cell.method,
        "seed": cell.seed,
        "fingerprint": fingerprint(plan, cell, further.get("start")),
        "step": evaluations[-1]["step"],
        "seconds": round(time.monotonic() - began, 2),
        "evaluations": _columns(evaluations),
        **further,
    }


def _columns(rows: Sequence[Row]) -> Row:
    return {name: [round(row[name], _DIGITS) for row in rows] for name in rows[0]}


def add_scores(plan: Plan, row: Row) -> Row:
    """Add hypervolume and preference, relative to the plan's best policies, to a training's record.

    Tables and fronts have theirs when they are recorded.
    """
    section, scored = plan.tasks[row["task"]], dict(row)
    if section.config is None or plan.study.preferences is not None:
        return row
    for part in ("evaluations", *(["test"] if "test" in row else [])):
        columns = (row[part][name] for name in ("accuracy", "economy", "economy_of_solved"))
        scores = [section.score(*one) for one in zip(*columns, strict=True)]
        added = {name: [one[name] for one in scores] for name in ("hypervolume", "preference")}
        scored[part] = row[part] | added
    return scored


_SCORED = {"recommended": "recompute", "paper": "running"}
# Arguments that estimators had when records were made.
_REMOVED_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "tchebycheff": {"paretopo.smoothing": 0.0},
    "hypervolume": {
        "paretopo.hypervolume_reference": "weights",
        "paretopo.hypervolume_unit": "raw",
    },
}


def fingerprint(plan: Plan, cell: Cell, start: Any = None) -> str:
    """Hash everything that a cell's result follows from; a record with another is out of date.

    A method enters by its switches and the other values that it sets, not by its name; an estimator
    of a module by its name and arguments, so that it may move.

    Args:
        plan: The study.
        cell: One of its cells.
        start: The record's; records of earlier versions have none.
    """
    section = plan.tasks[cell.task]
    overrides = plan.overrides_of(cell.method)
    recipe = overrides.get("recipe", "recommended")
    removed = {"rewards.evaluation_n_opt": _SCORED[recipe]}  # keys when records were made
    if overrides.get("objectives.calls.economy") == "otc":
        removed["rewards.n_opt_scope"] = "running"
    switches = {f"paretopo.{name}": value for name, value in RECIPES[recipe].items()}
    settings = switches | {"recipe": recipe} | overrides
    removed |= _REMOVED_ARGUMENTS.get(settings.get("paretopo.stage2_estimator", ""), {})
    method = removed | settings
    about: dict[str, Any] = {"method": method, "seed": cell.seed}
    if section.table is not None:
        about |= {"steps": section.steps or plan.study.steps, "every": plan.study.every}
        about |= section.table.identify(overrides)
        if plan.study.preferences is not None:
            about["preferences"] = plan.study.preferences
    else:
        config = str(section.config)
        # As it is written, not as it is resolved: a new key does not change old trainings.
        about["config"] = tomllib.loads(Path(config).read_text(encoding="utf-8"))
        if "width" in about["config"].get("model", {}):  # mlp_width was a key, twice the width
            about["config"]["model"].setdefault("mlp_width", 2 * about["config"]["model"]["width"])
        about["method"] = method | plan.overrides_of_training(cell)
        trained = load(config, plan.overrides_of_training(cell))
        about["files"] = hash_own_files(trained)
        if any(one.economy == "saving" for one in trained.objectives):
            about["saving"] = SAVING
        # Shares of the cost are recorded; scores follow from them when they are read.
        about["scale"] = [section.cost, section.most_by_kind or section.most]
        if start is not None:
            about["start"] = start
        if section.test is not None:
            about["test"] = _digest(section.test)
        if plan.study.preferences is not None:
            about["front"] = [plan.study.preferences, plan.study.every]
            about["front"] += [section.cheapest_accuracy, section.best_front]
    estimator = about["method"].get("paretopo.stage2_estimator", "")
    if ":" in estimator:
        name, given = read_call("paretopo.stage2_estimator", estimator)
        about["method"] |= {"paretopo.stage2_estimator": name}
        about["method"] |= {f"paretopo.{key}": value for key, value in given.items()}
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _train_language_model(plan: Plan, cell: Cell, runs: Path) -> tuple[list[Row], Row]:
    """Train a language model; return its evaluations, and the further columns of its record."""
    section, out = plan.tasks[cell.task], _folder(cell, runs)
    run = _train(section, plan.overrides_of_training(cell), runs, out)
    evaluations = [_score_held_out(section, run.config, row) for row in run.evaluations()]
    further: Row = {"start": _start(run)}
    further["by_question"] = {"evaluations": _outcomes_by_question(section, run)}
    if section.test is not None:
        test = _test(run, section.test)
        further["test"] = _columns([_score_held_out(section, run.config, test.evaluations()[-1])])
        further["by_question"]["test"] = _outcomes_by_question(section, test)
    return evaluations, further


def _start(run: RunFolder) -> str | None:
    """Return the digest of a policy after its warm-up; None without one."""
    from paretopo.integrations.huggingface.policy import shared_warmup, starts_warmed_up

    return _digest(shared_warmup(run.config)) if starts_warmed_up(run.config) else None


def _outcomes_by_question(section: TaskSection, run: RunFolder) -> Row:
    """Return accuracy and cost of each question at the end, in order; None where undefined.

    Empty for a run folder without ``questions.json``, which earlier versions did not write.
    """
    kept = run.questions()
    if not kept:
        return {}
    right, cost = run.config.objectives[0].name, run.config.objective(section.cost)
    answers = list(kept["last"]["measured"].values())
    costs = [one[cost.name] for one in answers]
    return {
        "accuracy": [one[right] for one in answers],
        "cost": [None if one is None else cost.to_amount(one) for one in costs],
    }


def _test(run: RunFolder, questions: str) -> RunFolder:
    """Ask a trained policy the test questions; repeat an unfinished test."""
    folder = run.path.parent / f"{run.path.name}-test-{_digest(questions)[:8]}"
    ended = (folder / "config.toml").is_file()
    if not ended or RunFolder.open(folder).manifest.get("status") != "finished":
        shutil.rmtree(folder, ignore_errors=True)
        count = len(Path(questions).read_text(encoding="utf-8").splitlines())
        asked = ("--tool", "task", "--data", questions, "--limit", str(count), "--out", str(folder))
        _run_command("evaluate", str(run.path), "--trust", *asked)
    return RunFolder.open(folder)


def _open_runs(folder: Path) -> list[RunFolder]:
    """Return the runs in a folder, the oldest first."""
    return [RunFolder.open(path.parent) for path in sorted(folder.glob("*/config.toml"))]


def _digest(file: str | Path) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _folder(cell: Cell, runs: Path) -> Path:
    return runs / cell.task / cell.method / str(cell.seed)


def _train(section: TaskSection, overrides: Row, runs: Path, out: Path) -> RunFolder:
    """Start the run of a configuration, or resume it if it has not ended."""
    # Methods share the warm-up of a task and seed.
    places = {"run.out": str(out), "warmup.shared": str(runs / "warmups")}
    config = load(str(section.config), overrides | places)
    begun = [run for run in _open_runs(out) if run.config == config]
    if not begun:
        file = out / "study.toml"
        out.mkdir(parents=True, exist_ok=True)
        file.write_text(dumps(config), encoding="utf-8")
        _run_command("train", str(file))
        begun = [run for run in _open_runs(out) if run.config == config]
    elif begun[-1].manifest.get("status") != "finished":
        _run_command("train", "--resume", str(begun[-1].path), "--trust")
    return begun[-1]


def _score_held_out(section: TaskSection, config: RunConfig, row: Row) -> Row:
    """Return the scores of the held-out answers; costs are before price and budget."""
    accuracy, cost, _ = _average_amounts(section, config, row)
    spent, spent_of_solved = _average_shares(section, config, row)
    return {
        "step": row["step"],
        "accuracy": accuracy,
        "economy": 1.0 - spent,
        "economy_of_solved": 1.0 - spent_of_solved,
        "cost": cost,
        "response": row["response_tokens"],
    }


def _average_shares(section: TaskSection, config: RunConfig, row: Row) -> tuple[float, float]:
    """Mean costs of all answers and of the right ones, as shares of the greatest cost.

    Raises:
        ConfigError: `most_by_kind` lacks a kind of question.
    """
    if not section.most_by_kind:
        _, cost, of_solved = _average_amounts(section, config, row)
        return cost / section.most, of_solved / section.most
    lacking = row["by_kind"].keys() - section.most_by_kind.keys()
    if lacking:
        raise ConfigError(
            f"most_by_kind must name every kind of held-out question; add {sorted(lacking)}"
        )
    parts = [
        (part["rollouts"], section.most_by_kind[kind], *_average_amounts(section, config, part))
        for kind, part in row["by_kind"].items()
    ]
    count, most, right, cost, of_solved = np.array(parts).T
    spent = float(np.average(cost / most, weights=count))
    if not right.any():
        return spent, spent
    return spent, float(np.average(of_solved / most, weights=count * right))


def _average_amounts(
    section: TaskSection, config: RunConfig, row: Row
) -> tuple[float, float, float]:
    """Share of right answers, mean cost of all and of the right ones."""
    measure = config.objective(section.cost)
    cost = measure.to_amount(row["measured"][section.cost])
    known = row["measured_of_solved"][section.cost]  # None where no answer was right
    return row["solved"], cost, cost if known is None else measure.to_amount(known)


def die_with_parent() -> None:
    """Let the kernel kill this process when its parent has died, however that came.

    A study that is killed leaves no trainings behind, which a second start would find claimed. On
    Linux only; elsewhere nothing happens.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _run_command(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paretopo", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        preexec_fn=die_with_parent,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()][-_ERROR_LINES:]
        raise RuntimeError(
            f"paretopo {' '.join(arguments)} ended with {done.returncode}:\n" + "\n".join(lines)
        )
