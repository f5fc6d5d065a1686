"""One training of a study: a table in this process, or `paretopo train` in one of its own."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from paretopo.config import RECIPES, RunConfig, dumps, load
from paretopo.config.methods import by_dotted_name
from paretopo.config.python_files import hash_own_files
from paretopo.run.files import Row
from paretopo.run.folder import RunFolder
from paretopo.study.plan import Cell, Plan, TaskSection
from paretopo.study.tabular_agent import train_tabular
from paretopo.study.tabular_fronts import train_tabular_front
from paretopo.study.tabular_tasks import TASKS

_ERROR_LINES = 15  # of a failed training
_DIGITS = 5


def run_cell(plan: Plan, cell: Cell, runs: Path) -> Row:
    """Train, and measure the policy along the way.

    Args:
        plan: The study.
        cell: One of its cells.
        runs: Where `paretopo train` puts its run folders; one that was begun is gone on with.

    Returns:
        task, method, seed, fingerprint, step (the last), seconds, and evaluations: a list each of
        step, accuracy, economy, cost, hypervolume and preference, to five digits; of a language
        model response, its tokens.

    Raises:
        RuntimeError: the training failed; with the last lines of its error output.
    """
    began = time.monotonic()
    section = plan.tasks[cell.task]
    if section.config is None:
        steps = section.steps or plan.study.steps
        overrides = plan.overrides_of(cell.method)
        task, along = TASKS[cell.task], {"steps": steps, "every": plan.study.every}
        preferences = plan.study.preferences
        evaluations = (
            train_tabular(task, overrides, seed=cell.seed, **along)
            if preferences is None
            else train_tabular_front(task, overrides, preferences, seed=cell.seed, **along)
        )
    else:
        evaluations = _train_language_model(plan, cell, runs)
    return {
        "task": cell.task,
        "method": cell.method,
        "seed": cell.seed,
        "fingerprint": fingerprint(plan, cell),
        "step": evaluations[-1]["step"],
        "seconds": round(time.monotonic() - began, 2),
        "evaluations": {
            name: [round(row[name], _DIGITS) for row in evaluations] for name in evaluations[0]
        },
    }


def fingerprint(plan: Plan, cell: Cell) -> str:
    """Hash everything that a cell's result follows from; a record with another is out of date.

    A method enters by its switches and the other values that it sets, not by its name.
    """
    section = plan.tasks[cell.task]
    overrides = plan.overrides_of(cell.method)
    recipe = overrides.get("recipe", "recommended")
    method = by_dotted_name(RECIPES[recipe]) | {"recipe": recipe} | overrides
    about: dict[str, Any] = {"method": method, "seed": cell.seed}
    if section.config is None:
        task = TASKS[cell.task]
        table = [task.success, task.cost, task.most, task.later, task.policy_rows]
        about |= {
            "steps": section.steps or plan.study.steps,
            "every": plan.study.every,
            "units": [dataclasses.asdict(unit) for unit in task.units],
            "paid": [task.counted, task.budget, task.scaled],
            "table": [None if part is None else part.tolist() for part in table],
        }
        if plan.study.preferences is not None:
            about["preferences"] = plan.study.preferences
    else:
        # As it is written, not as it is resolved: a new key does not change old trainings.
        about["config"] = tomllib.loads(Path(section.config).read_text(encoding="utf-8"))
        about["method"] = method | plan.overrides_of_training(cell)
        about["files"] = hash_own_files(load(section.config, plan.overrides_of_training(cell)))
        about["scale"] = [section.cost, section.most, section.cheapest_accuracy]
        about["best"] = [section.best_accuracy, section.best_cost]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _train_language_model(plan: Plan, cell: Cell, runs: Path) -> list[Row]:
    out = runs / cell.task / cell.method / str(cell.seed)
    section = plan.tasks[cell.task]
    config = _configure(plan, cell, runs, out)
    begun = _runs_of(config, out)
    if not begun:
        file = out / "study.toml"
        out.mkdir(parents=True, exist_ok=True)
        file.write_text(dumps(config), encoding="utf-8")
        _run_command("train", str(file))
        begun = _runs_of(config, out)
    elif begun[-1].manifest.get("status") != "finished":
        _run_command("train", "--resume", str(begun[-1].path))
    return [_evaluation(section, config, row) for row in begun[-1].evaluations()]


def _evaluation(section: TaskSection, config: RunConfig, row: Row) -> Row:
    """What the held-out answers were worth; costs as they were before price and budget."""
    measure = config.objective(section.cost)
    accuracy, cost = row["solved"], measure.to_amount(row["measured"][section.cost])
    known = row["measured_of_solved"][section.cost]  # None where no answer was right
    cost_of_solved = cost if known is None else measure.to_amount(known)
    return {
        "step": row["step"],
        "accuracy": accuracy,
        "economy": 1.0 - cost / section.most,
        "cost": cost,
        "response": row["response_tokens"],
        **section.score(accuracy, cost, cost_of_solved),
    }


def _configure(plan: Plan, cell: Cell, runs: Path, out: Path) -> RunConfig:
    """Methods share the warm-up of a task and seed."""
    overrides = plan.overrides_of_training(cell) | {"run.out": str(out)}
    overrides["warmup.shared"] = str(runs / "warmups")
    return load(str(plan.tasks[cell.task].config), overrides)


def _runs_of(config: RunConfig, out: Path) -> list[RunFolder]:
    """The runs of a configuration, the oldest first."""
    runs = [RunFolder.open(path.parent) for path in sorted(out.glob("*/config.toml"))]
    return [run for run in runs if run.config == config]


def _run_command(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paretopo.cli", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()][-_ERROR_LINES:]
        raise RuntimeError(
            f"paretopo {' '.join(arguments)} ended with {done.returncode}:\n" + "\n".join(lines)
        )
