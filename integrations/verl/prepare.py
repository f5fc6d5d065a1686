"""Prepare a run's files before verl starts: the policy, the prompts, the reward function."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paretopo.config import FROM_TASK, ConfigError, ModelConfig, RunConfig
from paretopo.config.python_files import load_module
from paretopo.integrations.huggingface.loading import load_tokenizer
from paretopo.integrations.huggingface.policy import keep_policy
from paretopo.integrations.huggingface.prompts import leave_out_long_prompts, prompt_text
from paretopo.integrations.verl.options import Files, longest_prompt
from paretopo.records.folder import RunFolder
from paretopo.tasks.choice import make_task
from paretopo.tasks.task import Question, Task


def prepare(config: RunConfig, run: RunFolder, interrupted: Callable[[], bool]) -> Files:
    """Create the files that the options point to, or find them again.

    Args:
        config: The configuration.
        run: The run folder, which keeps the prompts, and a tiny policy if the configuration asks
            for one.
        interrupted: Called during the warm-up; True stops it.

    Raises:
        ConfigError: A file is missing or wrong.
        KeyboardInterrupt: `interrupted` returned True.
    """
    settings = config.verl
    task = make_task(config)
    positions = longest_prompt(config) + config.optimiser.max_completion_tokens
    model = keep_policy(config, run, task, interrupted, positions=positions)
    tokenizer = load_tokenizer(ModelConfig(path=model))
    # verl would leave out longer prompts, too, but without a word, and after we count the steps.
    leave_out_long_prompts(task, tokenizer, longest_prompt(config))
    optimiser = config.optimiser
    training = task.written(optimiser.steps, optimiser.prompts_per_step)
    prompts = _data(run, "prompts", settings.prompts, tokenizer, task, training)
    held_out = _data(run, "held_out", settings.held_out, tokenizer, task, task.sweep())
    reward = None
    if settings.reward != FROM_TASK:
        reward = Path(settings.reward).resolve()
        if not callable(getattr(load_module("verl.reward", reward), "compute_score", None)):
            raise ConfigError(f"verl.reward: {reward} has no function compute_score")
    count = _count_rows(prompts)
    config.optimiser.steps_per_epoch(count)
    return Files(model, prompts, count, held_out, reward)


def _data(
    run: RunFolder,
    name: str,
    source: str,
    tokenizer: Any,
    task: Task,
    questions: Sequence[Question],
) -> Path:
    if source == FROM_TASK:
        from datasets import Dataset

        run.data.mkdir(exist_ok=True)
        path = run.data / f"{name}.parquet"
        rows = [_row_of(tokenizer, task, question, at) for at, question in enumerate(questions)]
        if any(isinstance(question.answer, list) for question in questions):
            for row in rows:  # also one type for each column
                graded = row["reward_model"]
                answer = graded["ground_truth"]
                graded["ground_truth"] = [answer] if isinstance(answer, str) else answer
        Dataset.from_list(rows).to_parquet(str(path))
        return path.resolve()
    path = Path(source)
    if path.suffix != ".parquet" or not path.is_file():
        raise ConfigError(f"verl.{name} must be an existing Parquet file, got {source}")
    return path.resolve()


def _row_of(tokenizer: Any, task: Task, question: Question, index: int) -> dict[str, Any]:
    """Return a row with verl's columns; our columns are in `extra_info`.

    The policy reads `text`, which is the same on every trainer; verl's column `prompt` has its
    messages.
    """
    prompt = task.ask(question)
    more: dict[str, Any] = {
        "id": question.id,
        "index": index,
        "text": prompt_text(tokenizer, prompt, task.functions),
    }
    # Store as text: Parquet needs one type for a column, and the user's types vary.
    more["own"] = json.dumps({"answer": question.answer, "columns": dict(question.columns)})
    if question.preference is not None:
        more["preference"] = question.preference.text
    return {
        "data_source": question.kind,
        "prompt": [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt,
        "reward_model": {"style": "rule", "ground_truth": question.answer},
        "extra_info": more,
    }


def _count_rows(path: Path) -> int:
    from pyarrow import parquet

    count: int = parquet.read_metadata(path).num_rows
    if not count:
        raise ConfigError(f"verl.prompts: {path} holds no prompts")
    return count
