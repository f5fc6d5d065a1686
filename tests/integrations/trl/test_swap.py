"""`ParetoGRPOTrainer` in the place of `GRPOTrainer` changes the advantages and nothing else."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("trl")

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy
from torch.optim.optimizer import register_optimizer_step_pre_hook
from trl import GRPOTrainer

from paretopo.integrations.trl import ParetoGRPOTrainer
from paretopo.records.folder import RunFolder

TRAINED = Dataset.from_list([{"prompt": f"{number}+1="} for number in range(6)])
CONTINUOUS = {
    "use_transformers_continuous_batching": True,
    "transformers_continuous_batching_config": {"num_blocks": 64, "max_batch_tokens": 64},
}  # the default cache takes most of the memory
HELD_OUT = Dataset.from_list([{"prompt": f"{number}-1="} for number in range(3)])


def accuracy_reward(completions, **_):
    return [float(any(letter.isdigit() for letter in text)) for text in completions]


def format_reward(completions, **_):
    return [float(text.endswith("=")) for text in completions]


def length_reward(completion_ids, **_):
    return [-float(len(tokens)) for tokens in completion_ids]


def judge(completion_ids, **_):
    return [5.0 + sum(tokens) % 16 for tokens in completion_ids]


def share(completion_ids, **_):
    return [sum(tokens) % 7 / 7 for tokens in completion_ids]


def money(completion_ids, **_):
    return [100.0 * (sum(tokens) % 9) for tokens in completion_ids]


def of_some(completion_ids, **_):
    return [None if sum(tokens) % 3 == 0 else float(len(tokens)) for tokens in completion_ids]


def correct(prompts, completions, **_):
    values = zip(prompts, accuracy_reward(completions), strict=True)
    return [value if int(prompt[0]) % 2 else None for prompt, value in values]


def of_the_other_task(prompts, completion_ids, **_):
    values = zip(prompts, share(completion_ids), strict=True)
    return [None if int(prompt[0]) % 2 else value for prompt, value in values]


def run(trainer_class, folder, functions, capfd, caplog, **settings):
    """Train without a change of the weights; return the observed work.

    Returns:
        Batches of prompts and tokens, calls outside of evaluations, evaluations, metric names and
        printed lines.
    """
    batches, calls, evaluating = [], Counter(), []

    def record(prompts, completion_ids, **_):
        batches.append((prompts, completion_ids))
        return [0.0] * len(prompts)

    def count(name):
        if not evaluating:
            calls[name] += 1

    def evaluate(*given, **settings):
        evaluating.append(True)
        measured = trainer_class.evaluate(trainer, *given, **settings)
        evaluating.pop()
        return measured

    def generate(*given, **settings):
        count("generate")
        return type(trainer.model).generate(trainer.model, *given, **settings)

    sizes = {"per_device_train_batch_size": 8, "num_generations": 4, "max_completion_length": 24}
    sizes["per_device_eval_batch_size"] = 12  # all held-out questions: one batch an evaluation
    steps = {"max_steps": 4, "logging_steps": 1, "eval_strategy": "steps", "eval_steps": 2}
    steps["learning_rate"] = 0.0  # both trainers keep the same weights
    functions = [*functions, record]
    weights = [1.0] * (len(functions) - 1) + [0.0]
    capfd.readouterr()
    caplog.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        trainer = trainer_class(
            args=grpo_arguments(folder, **sizes | steps | {"reward_weights": weights} | settings),
            reward_funcs=functions,
            train_dataset=TRAINED,
            eval_dataset=HELD_OUT,
            **tiny_policy("a b"),
        )
        trainer.evaluate, trainer.model.generate = evaluate, generate
        trainer.model.register_forward_pre_hook(lambda *_: count("forward"))
        hook = register_optimizer_step_pre_hook(lambda *_: count("step"))
        trainer.train()
        hook.remove()
    names = {name for row in trainer.state.log_history for name in row}
    lines = len("".join(capfd.readouterr()).splitlines()) + len(caplog.records) + len(warned)
    trained = [batch for batch in batches if batch[0][0] in TRAINED["prompt"]]
    return trained, calls, len(batches) - len(trained), names, lines


@pytest.mark.parametrize(
    ("functions", "settings"),
    [
        ((accuracy_reward, format_reward), {}),
        pytest.param(
            (share, money, length_reward),
            {"cache_implementation": "static", "generation_kwargs": {"min_new_tokens": 20}},
            marks=pytest.mark.long,
        ),
        pytest.param(
            (accuracy_reward, of_some),
            {"generation_kwargs": {"num_beams": 2}},
            marks=pytest.mark.long,
        ),
        pytest.param(
            (judge,),
            CONTINUOUS | {"eval_strategy": "no", "max_steps": 2},
            marks=pytest.mark.long,
        ),
        pytest.param((correct, of_the_other_task), {}, marks=pytest.mark.long),
    ],
)
def test_the_swap_changes_the_advantages_only(tmp_path, capfd, caplog, functions, settings):
    given, steps = (functions, capfd, caplog), settings.get("max_steps", 4)
    asked = settings.get("eval_strategy") != "no"
    settings = settings | {"eval_on_start": asked}
    theirs, calls, evaluated, names, lines = run(GRPOTrainer, tmp_path / "trl", *given, **settings)
    ours, calls_ours, evaluated_ours, names_ours, lines_ours = run(
        ParetoGRPOTrainer, tmp_path / "ours", *given, **settings
    )
    assert ours == theirs
    assert len(theirs) == calls["step"] == steps
    assert calls_ours == calls
    assert calls["forward"] > steps  # the passes of generation, too
    # Without a schedule: before the first step and after the last.
    assert evaluated_ours == (evaluated if asked else 2)
    records = RunFolder.open(tmp_path / "ours")
    assert [row["step"] for row in records.evaluations()] == ([0, 2, 4] if asked else [0, 2])
    assert [row["step"] for row in records.steps()] == [*range(1, steps + 1)]
    assert names <= names_ours
    assert lines_ours <= lines + 20  # in a training of any length
