"""A small script for TRL: its questions, rewards and trainer."""

import re

from datasets import Dataset
from support.tiny_trainers import grpo_arguments, tiny_policy

from paretopo.integrations.trl import ParetoGRPOTrainer, ScriptSession

TABLE = {
    "objectives": [
        {"name": "digits", "weight": 0.6, "gate": True},
        {"name": "tokens", "weight": 0.2, "high": 6},
        {"name": "even", "weight": 0.2, "low": 0, "high": 1},
    ]
}


def digits(completions, **_):
    return [float(any(letter.isdigit() for letter in text)) for text in completions]


def even(completions, **_):
    """Does not apply to an answer without a number."""
    return [
        None
        if not any(c.isdigit() for c in text)
        else float(int(re.findall("[0-9]", text)[-1]) % 2)
        for text in completions
    ]


def watched(completions, **_):
    return [float(len(text)) for text in completions]


def questions(count, start=0):
    return [{"prompt": f"{start + i}+1=", "kind": "odd" if i % 2 else "even"} for i in range(count)]


def make_trainer(folder, table=TABLE, functions=(digits, even), *, session=None, **settings):
    own = {name: settings.pop(name, None) for name in ("callbacks", "environment_factory")}
    held_out = settings.pop("held_out", Dataset.from_list(questions(5, start=20)))
    method = settings.pop("method", None)
    training = settings.pop("train_dataset", None) or Dataset.from_list(questions(6))
    defaults = {
        "per_device_train_batch_size": 8,
        "per_device_eval_batch_size": 8,
        "num_generations": 4,
        "num_generations_eval": 2,
        "max_completion_length": 6,
        "max_steps": 4,
        "logging_steps": 1,
        "eval_strategy": "steps",
        "eval_steps": 2,
    }
    given = {} if table is None else {"session": session or ScriptSession(table, method=method)}
    return ParetoGRPOTrainer(
        args=grpo_arguments(folder, **defaults | settings),
        reward_funcs=list(functions),
        train_dataset=training,
        eval_dataset=held_out,
        **tiny_policy("a b"),
        **given,
        **own,
    )
