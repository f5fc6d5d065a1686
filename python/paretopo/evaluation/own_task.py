"""Evaluate a trained policy on its own task: the run's questions, tool and rewards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from paretopo.config import FROM_TASK, NONE, ConfigError, RunConfig
from paretopo.evaluation.tables import markdown_table


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

    Raises:
        ConfigError: The environment belongs to OpenRLHF or verl, or the task has no files.

    >>> from paretopo.config import loads
    >>> plan_evaluation(loads("[evaluation]\\ntemperature = 1.0"), "runs/A/model").model.path
    'runs/A/model'
    """
    agents, files = config.openrlhf, config.verl
    given = {
        "openrlhf": ("openrlhf.agent and openrlhf.held_out", {agents.agent, agents.held_out}),
        "verl": ("verl.reward and verl.held_out", {files.reward, files.held_out}),
    }
    keys, values = given.get(config.backend, ("", {FROM_TASK}))
    if values != {FROM_TASK}:
        named = {"openrlhf": "OpenRLHF", "verl": "verl"}[config.backend]
        raise ConfigError(
            f"{keys} are an environment that runs only on {named}: "
            "its held-out evaluations are those of the training, in evaluations.jsonl"
        )
    kinds = config.evaluation.kinds if questions is None else None
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
        evaluation=replace(config.evaluation, prompts=prompts, temperature=warm, kinds=kinds),
        run=replace(config.run, trajectories=prompts, tensorboard=False, wandb_project=NONE),
    )


def format_evaluation(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the measurements, each objective in its own unit: by kind, or by preference.

    ± is the standard error of a mean.

    Args:
        rows: The rows of the evaluation; one, or one for each preference.

    >>> part = {"solved": 0.5, "rollouts": 64, "measured": {"calls": 1.25}, "error": {"calls": 0.1}}
    >>> print(format_evaluation([{**part, "by_kind": {"all": part}}]))
    |         |        all |
    |---------|-----------:|
    | solved  |        0.5 |
    | calls   | 1.25 ± 0.1 |
    | answers |         64 |
    """
    row = rows[0]
    parts = {"all": row} | (row["by_kind"] if len(row["by_kind"]) > 1 else {})
    if "preference" in row:
        parts = {one["preference"]: one for one in rows}
    known = all(part["solved"] is not None for part in parts.values())
    lines = [["solved", *(f"{part['solved']:.3g}" for part in parts.values())]] if known else []
    for name in row["measured"]:
        lines.append([name, *(_write_mean(part, name) for part in parts.values())])
    if "rollouts" in row:
        lines.append(["answers", *(str(part["rollouts"]) for part in parts.values())])
    return "\n".join(markdown_table(["", *parts], lines))


def _write_mean(part: Mapping[str, Any], name: str) -> str:
    """Write a mean with its standard error, where they are known."""
    value, error = part["measured"].get(name), part.get("error", {}).get(name)
    spread = "" if error is None else f" ± {error:.2g}"
    return "" if value is None else f"{value:.4g}{spread}"
