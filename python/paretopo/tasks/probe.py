"""The user's functions are called once before a model is loaded: estimators, and rewards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from paretopo.config import ConfigError, RunConfig, dumps, loads
from paretopo.config.keys import nearest
from paretopo.config.notes import Note
from paretopo.controller.estimators import find_estimators
from paretopo.controller.reward_vectors import check_number
from paretopo.rewards.functions import Reward, check_measured
from paretopo.rewards.own import OwnRewards
from paretopo.rewards.values import shape_completion
from paretopo.rollout import BadRollout, format_prompt
from paretopo.tasks.choice import make_task
from paretopo.tasks.environment import find_prices
from paretopo.tasks.task import Question, Task

_ALWAYS = ("prompts", "completions", "completion_ids", "answer", "id", "kind")
_LOGS = ("log_metric", "log_extra")
_STATE = "trainer_state"
_WITHOUT_ANSWER = "This is a call before training."


def check_functions(config: RunConfig) -> list[Note]:
    """Refuse estimators that fail, and objectives and rewards that do not fit the questions.

    Each reward function is called once, with as many rollouts as a group has, on the first training
    question; the response is then the question's answer. On OpenRLHF that call is made in a
    process of its own, because the functions run in others, too.

    Returns:
        Warnings of measures that no rollout can change.

    Raises:
        ConfigError: As :func:`~paretopo.controller.estimators.find_estimators`. An objective is
            measured by nothing, questions lack an answer or a column, or a call fails, hangs, or
            returns something else than numbers within their bounds.
    """
    find_estimators(config.paretopo)
    own = OwnRewards(config)
    check_measured(config, own.rewards)
    task = make_task(config)
    _check_answers(config, own.rewards, task)
    for reward in own.rewards:
        _check_arguments(reward, task.training[0])
    for reward in own.rewards:
        if reward.is_model:
            reward.function.check()  # type: ignore[attr-defined]
    if not all(one.is_model for one in own.rewards):
        if config.backend == "trl":
            _call_once(config, own, task)
        else:
            _call_in_process(config)
    return _find_constant_measures(config, own.rewards, task)


def _find_constant_measures(config: RunConfig, rewards: Sequence[Reward], task: Task) -> list[Note]:
    """Warn of calls and turns without a tool, and of dollars without a price."""
    own = {name for one in rewards for name in one.objectives}
    weighed = {one.name for one in config.objectives if one.teaches} - own
    without_tool = config.task.name == "questions" and not task.functions
    reasons = {}
    if without_tool or config.optimiser.max_tool_calls == 0:
        why = "the task has no tool" if without_tool else "optimiser.max_tool_calls = 0"
        reasons = dict.fromkeys(("calls", "failed_calls"), f"always 0: {why}")
        reasons["turns"] = f"always 1: {why}"
    if config.task.name == "multihop":
        reasons.setdefault("failed_calls", "always 0: a failing search server ends the run")
    if "calls" in reasons or not any(find_prices(config, task.functions).values()):
        reasons["dollars"] = "always 0: no call costs anything; give a tool a price"
    return [
        Note(f"the objective {name!r} is {why}. Nothing is learnt from it.")
        for name, why in reasons.items()
        if name in weighed
    ]


def _check_answers(config: RunConfig, rewards: Sequence[Reward], task: Task) -> None:
    """Questions that are graded as `correct` need an answer: each for the gate, else some."""
    names = [one.name for one in config.objectives]
    if "correct" not in names or any("correct" in one.objectives for one in rewards):
        return
    is_gate = config.objectives[0].name == "correct" and config.objectives[0].gate
    for key, questions in (("train", task.training), ("held_out", task.held_out)):
        without = [one.id for one in questions if not one.answer]
        if without and (is_gate or len(without) == len(questions)):
            raise ConfigError(
                f"task.{key}: {len(without)} of {len(questions)} questions have no answer, the "
                f"first is {without[0]!r}: the objective 'correct' compares with the column "
                "answer; write a reward function correct to grade otherwise"
            )


def _check_arguments(reward: Reward, question: Question) -> None:
    known = [*_ALWAYS, *(one for one in question.columns if one != "prompt"), *_LOGS, _STATE]
    for name in reward.needs:
        if name not in known:
            raise ConfigError(
                f"the reward {reward.name!r} needs the argument {name!r}, which no question has; "
                f"{nearest(name, known)}"
            )


def _call_once(config: RunConfig, own: OwnRewards, task: Task) -> None:
    question, count = task.training[0], config.optimiser.group_size
    answer = question.answer if isinstance(question.answer, str) else (*question.answer, "")[0]
    text = answer or _WITHOUT_ANSWER
    columns = dict(question.columns)
    prompt = columns.pop("prompt", None) or format_prompt(task.prompt(question))
    columns |= {"answer": question.answer, "id": question.id, "kind": question.kind}
    columns["completion_ids"] = list(range(len(text)))
    further = dict.fromkeys(_LOGS, _ignore) | {_STATE: _make_state(config)}
    own.rewards = [one for one in own.rewards if not one.is_model]  # these are loaded later
    try:
        measured = own.measure(
            [prompt] * count,
            [shape_completion(prompt, text)] * count,
            {name: [value] * count for name, value in columns.items()},
            further,
        )
        for one in config.objectives:
            amount = measured[0].get(one.name)
            if amount is not None:
                check_number(question.id, one.name, one.to_measure(amount), one.bounds)
    except BadRollout as error:
        raise ConfigError(
            f"{error} (a call before the model is loaded; each completion was {text[:80]!r})"
        ) from error


def _make_state(config: RunConfig) -> Any:
    if config.backend == "openrlhf":
        return SimpleNamespace(global_step=0, max_steps=config.optimiser.steps)
    from transformers import TrainerState

    return TrainerState(max_steps=config.optimiser.steps)


def _ignore(name: str, value: Any) -> None:
    del name, value


def _call_in_process(config: RunConfig) -> None:
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=dumps(config),
        stdout=sys.stderr,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise ConfigError(lines[-1].removeprefix(_REFUSED))


_REFUSED = "paretopo: "

if __name__ == "__main__":
    try:
        given = loads(sys.stdin.read())
        _call_once(given, OwnRewards(given), make_task(given))
    except ConfigError as refused:
        sys.exit(_REFUSED + " ".join(str(refused).splitlines()))
