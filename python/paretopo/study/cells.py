"""One training of a study: a table in this process, or `paretopo train` in one of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from paretopo.config import run as configuration
from paretopo.config import RECIPES, expand_method, with_method
from paretopo.run.jsonl import Row
from paretopo.run.records import RunFolder
from paretopo.study.plan import Cell, Plan, TaskSection
from paretopo.study.tabular import TASKS
from paretopo.study.tabular_agent import train_tabular

_KEPT_LINES = 15  # of what a failed training said
_MEASURES = ("step", "accuracy", "economy", "calls", "hypervolume")
_DIGITS = 5


def run_cell(plan: Plan, cell: Cell, runs: Path) -> Row:
    """Train, and say what came of it.

    Args:
        plan: The study.
        cell: One of its cells.
        runs: Where `paretopo train` puts its run folders; one that was begun is gone on with.

    Returns:
        task, method, seed, fingerprint, step (the last), seconds, and evaluations: a list each of
        step, accuracy, economy, calls and hypervolume, to five digits.

    Raises:
        RuntimeError: the training failed; says what it said last.
    """
    began = time.monotonic()
    section = plan.tasks[cell.task]
    if section.config is None:
        steps = section.steps or plan.study.steps
        evaluations = train_tabular(TASKS[cell.task], cell.method, seed=cell.seed, steps=steps)
    else:
        evaluations = _trained(section, cell, runs)
    return {
        "task": cell.task,
        "method": cell.method,
        "seed": cell.seed,
        "fingerprint": fingerprint(plan, cell),
        "step": evaluations[-1]["step"],
        "seconds": round(time.monotonic() - began, 2),
        "evaluations": {
            name: [round(row[name], _DIGITS) for row in evaluations] for name in _MEASURES
        },
    }


def fingerprint(plan: Plan, cell: Cell) -> str:
    """Of everything that a cell's result follows from; a record with another one is out of date."""
    section = plan.tasks[cell.task]
    changes = overrides(cell.method)
    recipe = RECIPES[changes.get("recipe", "recommended")]
    switches = {name: dict(values) for name, values in recipe.items()}
    about: dict[str, Any] = {"method": changes, "recipe": switches, "seed": cell.seed}
    if section.config is None:
        task = TASKS[cell.task]
        table = [task.success, task.calls, task.saved]
        about |= {
            "steps": section.steps or plan.study.steps,
            "unit": task.unit,
            "table": [None if part is None else part.tolist() for part in table],
        }
    else:
        # As it is written, not as it is resolved: a new key does not change what a run was told.
        about["config"] = tomllib.loads(Path(section.config).read_text(encoding="utf-8"))
        about["steps"] = section.steps
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def _config(section: TaskSection, cell: Cell, out: Path) -> configuration.RunConfig:
    also: dict[str, Any] = {"seed": cell.seed, "run.out": str(out)}
    if section.steps is not None:
        also["optimiser.steps"] = section.steps
    return with_method(str(section.config), cell.method, also)


def _trained(section: TaskSection, cell: Cell, runs: Path) -> list[Row]:
    out = runs / cell.task / cell.method / str(cell.seed)
    config = _config(section, cell, out)
    begun = [path.parent for path in sorted(out.glob("*/config.toml"))]
    begun = [path for path in begun if RunFolder.open(path).config == config]
    if not begun:
        file = out / "study.toml"
        out.mkdir(parents=True, exist_ok=True)
        file.write_text(configuration.dumps(config), encoding="utf-8")
        _paretopo("train", str(file))
        begun = [path.parent for path in sorted(out.glob("*/config.toml"))]
    elif RunFolder.open(begun[-1]).manifest.get("status") != "finished":
        _paretopo("train", "--resume", str(begun[-1]))
    rows = RunFolder.open(begun[-1]).evaluations()
    return [
        {
            "step": row["step"],
            "accuracy": row["accuracy"],
            "economy": 1.0 - row["calls"] / section.most_calls,
            "calls": row["calls"],
            "hypervolume": section.hypervolume(row["accuracy"], row["calls"]),
        }
        for row in rows
    ]


def _paretopo(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "paretopo.cli", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()][-_KEPT_LINES:]
        raise RuntimeError(
            f"paretopo {' '.join(arguments)} ended with {done.returncode}:\n" + "\n".join(said)
        )
