"""Evaluate a trained policy on its own task: the run's questions, tool and rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paretopo.config import NONE, ConfigError, RunConfig
from paretopo.records.folder import fresh_folder
from paretopo.records.measures import SOLVED, measure_objective
from paretopo_lab.document.report import Table, write_table


def plan_evaluation(
    config: RunConfig,
    model: str,
    *,
    questions: str | None = None,
    limit: int = 0,
    temperature: float | None = None,
) -> RunConfig:
    """Return the run's configuration for a held-out evaluation of its policy.

    Args:
        config: The configuration of the run, of any framework.
        model: The trained policy.
        questions: A file that replaces the held-out questions.
        limit: Number of questions; 0 takes as many as the run.
        temperature: Sampling temperature; None takes the run's.

    >>> from paretopo.config import loads
    >>> plan_evaluation(loads("[evaluation]\\ntemperature = 1.0"), "runs/A/model").model.path
    'runs/A/model'
    """
    asked = config.task if questions is None else replace(config.task, held_out=questions)
    prompts = limit or config.evaluation.prompts
    warm = config.evaluation.temperature if temperature is None else temperature
    return replace(
        config,
        backend="trl",
        task=asked,
        model=config.model.trained(model),
        warmup=replace(config.warmup, steps=0),
        optimiser=replace(config.optimiser, learn_from="rewards", kl=0.0),
        evaluation=replace(config.evaluation, prompts=prompts, temperature=warm),
        run=replace(config.run, trajectories=prompts, tensorboard=False, wandb_project=NONE),
    )


def make_folder(out: str | None, name: str) -> Path:
    """Make the folder of an evaluation: `out`, or a fresh one in ``evaluations``.

    Raises:
        ConfigError: There is something in `out`.
    """
    if out is None:
        return fresh_folder(Path("evaluations"), name)
    path = Path(out)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} is not an empty folder: give another --out")
    path.mkdir(parents=True, exist_ok=True)
    return path


def format_evaluation(rows: Sequence[Mapping[str, Any]], config: RunConfig) -> str:
    """Return the measurements, each objective with its unit: by kind, or by preference.

    ± is the standard error of a mean over questions.

    Args:
        rows: The rows of the evaluation; one, or one for each preference.
        config: Names the objectives.

    >>> from paretopo.config import loads
    >>> part = {"solved": 0.5, "solved_error": 0.063, "rollouts": 64}
    >>> part |= {"measured": {"calls": 1.25}, "error": {"calls": 0.1}}
    >>> print(format_evaluation([{**part, "by_kind": {"all": part}}], loads("")))
    |                    |         all |
    |--------------------|------------:|
    | solved (%)         |  50.0 ± 6.3 |
    | calls per question | 1.25 ± 0.10 |
    | answers            |          64 |
    """
    row = rows[0]
    parts = {"all": row} | (row["by_kind"] if len(row["by_kind"]) > 1 else {})
    if "preference" in row:
        parts = {one["preference"]: one for one in rows}
    measures = [measure_objective(one) for one in config.objectives if one.name in row["measured"]]
    if all(part["solved"] is not None for part in parts.values()):
        measures = [SOLVED, *measures]
    lines = [[one.title, *one.describe(parts.values())] for one in measures]
    if "rollouts" in row:
        lines.append(["answers", *(str(part["rollouts"]) for part in parts.values())])
    return "\n".join(write_table(Table(["", *parts], lines), aligned=True))
