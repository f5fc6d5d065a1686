"""Prepare a run's files before Ray starts: the policy, the prompts, the agent's file."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paretopo.config import FROM_TASK, SMALL, ConfigError, ModelConfig, OpenRLHFConfig, RunConfig
from paretopo.config.python_files import load_module
from paretopo.integrations.huggingface.loading import load_tokenizer
from paretopo.integrations.huggingface.policy import keep_policy
from paretopo.integrations.huggingface.prompts import prompt_text
from paretopo.integrations.openrlhf.options import Files, longest_sequence, micro_batch
from paretopo.records.folder import RunFolder
from paretopo.records.schema import DataError, read_lines
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
        ConfigError: A file is missing or has a wrong row, the tokenizer cannot be loaded, or the
            tiny policy does not suit the engines.
        KeyboardInterrupt: `interrupted` returned True.
    """
    cluster = config.openrlhf
    agent = Path(cluster.agent)
    if cluster.agent == FROM_TASK:
        agent = Path(__file__).with_name("task_agent.py")
    else:
        check_code("openrlhf.agent", agent, "AgentExecutor")
    task = make_task(config)
    model = keep_policy(
        config,
        run,
        task,
        interrupted,
        positions=longest_sequence(config),
        least_head=_LEAST_HEAD,
    )
    tokenizer = load_tokenizer(ModelConfig(path=model))
    given = {"prompts": cluster.prompts, "held_out": cluster.held_out}
    optimiser = config.optimiser
    training = task.written(optimiser.steps, optimiser.prompts_per_step)
    asked = {"prompts": training, "held_out": task.sweep()}
    (prompts, count), (held_out, held_out_count) = (
        _write_rows(run, name, _rows(config, tokenizer, name, source, task, asked[name]))
        for name, source in given.items()
    )
    _check_disjoint(prompts, held_out, cluster)
    return Files(model, agent.resolve(), prompts, count, held_out, held_out_count)


def check_step(config: RunConfig) -> int:
    """Refuse a step that does not fit its prompts or GPUs, before a rehearsal makes it smaller.

    Returns:
        The number of training prompts.

    Raises:
        ConfigError: There are too few prompts, GPUs or micro-batches do not divide the rollouts, or
            the prompts cannot be read.
    """
    source = config.openrlhf.prompts
    prompts = make_task(config).training if source == FROM_TASK else _read("prompts", source)
    config.optimiser.steps_per_epoch(len(prompts))
    micro_batch(config)
    return len(prompts)


def check_code(key: str, path: Path, name: str) -> None:
    """Import a file of the user: in a worker, an import error would hang forever.

    Args:
        key: The key or option that names the file.
        path: The file.
        name: The class or function that OpenRLHF looks for.

    Raises:
        ConfigError: The import fails, or the file does not define the name.
    """
    if not callable(getattr(load_module(key, path), name, None)):
        raise ConfigError(f"{key}: {path} defines no {name}")


def _check_disjoint(prompts: Path, held_out: Path, cluster: OpenRLHFConfig) -> None:
    """Refuse the user's own files if they share a prompt; a task's files never do."""
    if FROM_TASK in (cluster.prompts, cluster.held_out):
        return
    trained, asked = (
        {json.loads(line)["prompt"] for line in path.read_text(encoding="utf-8").splitlines()}
        for path in (prompts, held_out)
    )
    shared = trained & asked
    if shared:
        raise ConfigError(
            f"openrlhf.held_out: {len(shared)} of its prompts are trained on in {cluster.prompts}, "
            f"the first ends in {min(shared)[-80:]!r}"
        )


def _rows(
    config: RunConfig,
    tokenizer: Any,
    name: str,
    source: str,
    task: Task,
    questions: Iterable[Question],
) -> list[dict[str, Any]]:
    """Return the prompts as OpenRLHF reads them: text and label, ready for the tokenizer."""
    if source == FROM_TASK:
        rows = [_row_of(tokenizer, task, question) for question in questions]
    else:
        rows = [
            _row(tokenizer, row, f"openrlhf.{name}: row {number} of {source}")
            for number, row in enumerate(_read(name, source), start=1)
        ]
    if not rows:
        raise ConfigError(f"openrlhf.{name}: {source} holds no prompts")
    if name == "held_out" and source != FROM_TASK:
        drawn = random.Random(f"held out {config.seed}").sample(
            range(len(rows)), min(config.evaluation.prompts, len(rows))
        )
        rows = [rows[at] for at in sorted(drawn)]
    from_file = source != FROM_TASK or not config.task.is_made_up
    return rows[:_MOST_SMALL_ROWS] if config.model.path.startswith(SMALL) and from_file else rows


def _write_rows(run: RunFolder, name: str, rows: Sequence[dict[str, Any]]) -> tuple[Path, int]:
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


def _read(name: str, source: str) -> list[dict[str, Any]]:
    path = Path(source)
    if not path.is_file():
        raise ConfigError(f"openrlhf.{name}: there is no file {source}")
    if path.suffix == ".parquet":
        from datasets import Dataset

        return list(Dataset.from_parquet(str(path)))
    if path.suffix != ".jsonl":
        raise ConfigError(f"openrlhf.{name} must be a .jsonl or .parquet file, got {source}")
    try:
        return [row for _, row in read_lines(path)]
    except DataError as error:
        raise ConfigError(f"openrlhf.{name}: {error}") from None


def _row(tokenizer: Any, row: Any, where: str) -> dict[str, Any]:
    if not isinstance(row, Mapping) or "prompt" not in row or "label" not in row:
        keys = sorted(row) if isinstance(row, Mapping) else type(row).__name__
        raise ConfigError(f"{where} must have the keys prompt and label, got {keys}")
    prompt, label = row["prompt"], row["label"]
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    prompt = prompt_text(tokenizer, messages)
    if isinstance(label, Mapping):  # rows of `paretopo prepare` have these next to the label
        further = {"id": row.get("id"), "kind": row.get("datasource")}
        label = {name: value for name, value in further.items() if value is not None} | dict(label)
    if not isinstance(label, str):
        label = json.dumps(label)
    return {"prompt": prompt, "label": label, "datasource": str(row.get("datasource", "default"))}
