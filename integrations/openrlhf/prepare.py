"""Prepare a run's files before Ray starts: the policy and the prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paretopo.config import SMALL, ModelConfig, RunConfig
from paretopo.integrations.huggingface.loading import load_tokenizer
from paretopo.integrations.huggingface.policy import keep_policy
from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.integrations.openrlhf.options import Files, longest_sequence, micro_batch
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task
from paretopo.tasks.task import Question, Task

_LEAST_HEAD = 32  # of vLLM's attention on a CPU
_MOST_SMALL_ROWS = 64  # rows of a data file for a small model


def prepare(config: RunConfig, run: RunFolder, interrupted: Callable[[], bool]) -> Files:
    """Create the files that the options point to, or find them again.

    Args:
        config: The configuration.
        run: The run folder, which keeps the prompts, and a tiny policy if the configuration asks
            for one.
        interrupted: Called during the warm-up; True stops it.

    Raises:
        ConfigError: There are too few prompts, the tokenizer cannot be loaded, or the tiny policy
            does not suit the engines.
        KeyboardInterrupt: `interrupted` returned True.
    """
    task = make_task(config)
    config.optimiser.steps_per_epoch(len(task.training))
    model = keep_policy(
        config,
        run,
        task,
        interrupted,
        positions=longest_sequence(config),
        least_head=_LEAST_HEAD,
    )
    tokenizer = load_tokenizer(ModelConfig(path=model))
    training = task.written(config.optimiser.steps, config.optimiser.prompts_per_step)
    (prompts, count), (held_out, held_out_count) = (
        _write_rows(config, run, name, [_row_of(tokenizer, task, one) for one in questions])
        for name, questions in (("prompts", training), ("held_out", task.sweep()))
    )
    return Files(model, prompts, count, held_out, held_out_count)


def check_step(config: RunConfig) -> int:
    """Refuse a step that does not fit its prompts or GPUs, before a rehearsal makes it smaller.

    Returns:
        The number of training prompts.

    Raises:
        ConfigError: There are too few prompts, or GPUs or micro-batches do not divide the rollouts.
    """
    prompts = make_task(config).training
    config.optimiser.steps_per_epoch(len(prompts))
    micro_batch(config)
    return len(prompts)


def _write_rows(
    config: RunConfig, run: RunFolder, name: str, rows: list[dict[str, Any]]
) -> tuple[Path, int]:
    """Write the prompts as OpenRLHF reads them: text and label, ready for the tokenizer."""
    if config.model.path.startswith(SMALL) and not config.task.is_made_up:
        rows = rows[:_MOST_SMALL_ROWS]
    run.data.mkdir(exist_ok=True)
    path = run.data / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.resolve(), len(rows)


def _row_of(tokenizer: Any, task: Task, question: Question) -> dict[str, Any]:
    label: dict[str, Any] = {"id": question.id, "kind": question.kind, "answer": question.answer}
    if question.columns:
        label["columns"] = dict(question.columns)
    if question.preference is not None:
        label["preference"] = question.preference.text
    return {
        "prompt": prompt_text(tokenizer, task.ask(question), task.functions),
        "label": json.dumps(label),
        "datasource": question.kind,
    }
