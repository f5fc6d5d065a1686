"""What a run needs on disk before Ray starts: the policy, the prompts, the agent's file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from paretopo_core.integrations.openrlhf.options import Files, longest_sequence
from paretopo_core.training.cluster import FROM_TASK
from paretopo_core.training.config import RunConfig
from paretopo_core.training.keys import ConfigError
from paretopo_core.training.records import RunFolder
from paretopo_core.training.tasks.calculator import CalculatorTask, Question, calculator

TINY = "tiny"
SMALL = "small:"  # before a name: a small model with random weights, and the tokenizer of that name
_MOST_SMALL_ROWS = 64  # of a data file, where the model is a small one
_MADE = "start"  # folder of a policy made on the spot, under checkpoints/


def prepare(config: RunConfig, run: RunFolder, interrupted: Callable[[], bool]) -> Files:
    """Make, or find again, what the options point to.

    Args:
        config: What to run.
        run: Gets the prompts, and a tiny policy where that is wanted.
        interrupted: Asked during the warm-up; True stops it.

    Raises:
        ConfigError: A file is missing or has a wrong row, the tokenizer cannot be loaded, or the
            tiny policy does not suit the engines.
        KeyboardInterrupt: `interrupted` said so.
    """
    cluster = config.openrlhf
    agent = Path(cluster.agent)
    if cluster.agent == FROM_TASK:
        agent = Path(__file__).parent / "agents" / f"{config.task.name}.py"
    if not agent.is_file():
        raise ConfigError(f"openrlhf.agent: there is no file {agent}")
    task = CalculatorTask(
        prompts=config.task.prompts,
        held_out=config.evaluation.prompts,
        facts=config.task.facts,
        kinds=config.task.kinds,
        seed=config.seed,
    )
    model = config.model.path
    if model == TINY:
        model = str(_tiny_policy(config, task, run, interrupted))
    tokenizer = _tokenizer(model.removeprefix(SMALL))
    if model.startswith(SMALL):
        model = str(_small_policy(config, run, tokenizer))
    prompts, count = _rows(config, run, tokenizer, "prompts", cluster.prompts, task.training)
    held_out, held_out_count = _rows(
        config, run, tokenizer, "held_out", cluster.held_out, task.held_out
    )
    return Files(model, agent.resolve(), prompts, count, held_out, held_out_count)


def _tiny_policy(
    config: RunConfig, task: CalculatorTask, run: RunFolder, interrupted: Callable[[], bool]
) -> Path:
    import torch

    from paretopo_core.integrations.huggingface.tiny_model import make_model, make_tokenizer
    from paretopo_core.integrations.huggingface.warmup import warm_up

    folder = run.checkpoints / _MADE
    if (folder / "whole").exists():
        return folder
    if config.model.width // config.model.heads < 32:
        raise ConfigError(
            "model.width / model.heads must be at least 32 for vLLM's attention, got "
            f"{config.model.width} / {config.model.heads}"
        )
    if config.run.threads > 0:
        torch.set_num_threads(config.run.threads)
    tokenizer = make_tokenizer(task.words())
    model = make_model(
        tokenizer,
        layers=config.model.layers,
        width=config.model.width,
        heads=config.model.heads,
        mlp_width=config.model.mlp_width,
        seed=config.seed,
        positions=longest_sequence(config),
    )

    def traces(step: int) -> list[list[dict[str, Any]]]:
        settings = config.warmup
        # Guesses are noise to imitate: the first half is without them, and learns to call sooner.
        guess_rate = settings.guess_rate if 2 * step >= settings.steps else 0.0
        return task.traces(step, settings.batch_size, settings.redundant_calls, guess_rate)

    state = run.checkpoints / "warmup.pt"
    if config.warmup.steps and not warm_up(
        model, tokenizer, traces, config.warmup, state, interrupted
    ):
        raise KeyboardInterrupt
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "whole").touch()
    return folder


def _small_policy(config: RunConfig, run: RunFolder, tokenizer: Any) -> Path:
    import torch

    from paretopo_core.integrations.huggingface.tiny_model import make_model

    folder = run.checkpoints / _MADE
    if not (folder / "whole").exists():
        sizes = config.model
        model = make_model(
            tokenizer,
            layers=sizes.layers,
            width=sizes.width,
            heads=sizes.heads,
            mlp_width=sizes.mlp_width,
            seed=config.seed,
            positions=longest_sequence(config),
        )
        model.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        (folder / "whole").touch()
    return folder


def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        raise ConfigError(f"model.path: cannot load the tokenizer of {model!r}: {error}") from error


def _rows(
    config: RunConfig,
    run: RunFolder,
    tokenizer: Any,
    name: str,
    source: str,
    questions: Iterable[Question],
) -> tuple[Path, int]:
    """The prompts as OpenRLHF reads them: text and label, ready for the tokenizer."""
    if source == FROM_TASK:
        rows = [
            {
                "prompt": tokenizer.apply_chat_template(
                    question.row()["prompt"],
                    tools=[calculator],
                    tokenize=False,
                    add_generation_prompt=True,
                ),
                "label": json.dumps(
                    {"id": question.id, "kind": question.kind, "answer": question.answer}
                ),
                "datasource": question.kind,
            }
            for question in questions
        ]
    else:
        rows = [
            _row(tokenizer, row, f"openrlhf.{name}: row {number} of {source}", config)
            for number, row in enumerate(_read(name, source), start=1)
        ]
        if config.model.path.startswith(SMALL):
            rows = rows[:_MOST_SMALL_ROWS]
    if not rows:
        raise ConfigError(f"openrlhf.{name}: {source} holds no prompts")
    path = run.path / "data" / f"{name}.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path.resolve(), len(rows)


def _read(name: str, source: str) -> list[dict[str, Any]]:
    path = Path(source)
    if not path.is_file():
        raise ConfigError(f"openrlhf.{name}: there is no file {source}")
    if path.suffix == ".parquet":
        from datasets import Dataset

        return list(Dataset.from_parquet(str(path)))
    if path.suffix != ".jsonl":
        raise ConfigError(f"openrlhf.{name} must be a .jsonl or .parquet file, got {source}")
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            raise ConfigError(f"openrlhf.{name}: line {number} of {source}: {error}") from None
    return rows


def _row(tokenizer: Any, row: Any, where: str, config: RunConfig) -> dict[str, Any]:
    if not isinstance(row, Mapping) or "prompt" not in row or "label" not in row:
        keys = sorted(row) if isinstance(row, Mapping) else type(row).__name__
        raise ConfigError(f"{where} must have the keys prompt and label, got {keys}")
    prompt, label = row["prompt"], row["label"]
    if config.openrlhf.chat_template:
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    if not isinstance(prompt, str):
        raise ConfigError(f"{where}: prompt must be a text when openrlhf.chat_template is false")
    if not isinstance(label, str):
        label = json.dumps(label)
    return {"prompt": prompt, "label": label, "datasource": str(row.get("datasource", "default"))}
