"""All made-up tasks: shares of the kinds, disjoint questions, seeds."""

from collections import Counter

import pytest

from paretopo.tasks.calculator import CalculatorTask
from paretopo.tasks.made_up_math import MadeUpMath
from paretopo.tasks.made_up_multihop import MadeUpMultihop

TASKS = [
    kind(prompts=300, held_out=90, seed=1) for kind in (CalculatorTask, MadeUpMath, MadeUpMultihop)
]
WITH_TRACES = TASKS[:2]  # the third needs its server


def prompt_of(trace):
    return trace.prompt if hasattr(trace, "prompt") else trace[0]["content"]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_shares_and_disjoint_questions(task):
    assert Counter(question.kind for question in task.training) == {
        "fact": 102,
        "one": 99,
        "two": 99,
    }
    held_out = {question.text for question in task.held_out if question.kind != "fact"}
    assert len(held_out) == 60
    assert not held_out & {question.text for question in task.training}
    everything = [*task.training, *task.held_out]
    names = [question.id for question in everything if question.kind != "fact"]
    assert len(set(names)) == len(names)
    texts = {}
    for question in everything:
        assert texts.setdefault(question.id, question.text) == question.text


@pytest.mark.parametrize("task", WITH_TRACES, ids=lambda task: type(task).__name__)
def test_traces_ask_no_held_out_question(task):
    held_out = {question.text for question in task.held_out if question.kind != "fact"}
    warmed = {prompt_of(one) for step in range(40) for one in task.traces(step, 64, 2, 0.3)}
    assert not held_out & warmed


@pytest.mark.parametrize("task", TASKS, ids=lambda task: type(task).__name__)
def test_the_seed_fixes_everything(task):
    again, other = (type(task)(prompts=300, held_out=90, seed=seed) for seed in (1, 2))
    assert (again.training, again.held_out) == (task.training, task.held_out)
    assert other.held_out != task.held_out
    if task in WITH_TRACES:
        assert again.traces(5, 8, 2, 0.3) == task.traces(5, 8, 2, 0.3)
        assert task.traces(5, 8, 2, 0.3) != task.traces(6, 8, 2, 0.3)
