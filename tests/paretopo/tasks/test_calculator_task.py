"""The calculator task: kinds, disjoint questions, schedules, traces."""

import hashlib
import itertools
import json
from collections import Counter
from dataclasses import asdict

import pytest

from paretopo.config import ConfigError
from paretopo.tasks.calculator import (
    FACTS,
    CalculatorTask,
    CalculatorWithSolver,
    calculator,
    is_correct,
    solver,
)
from paretopo.tasks.made_up import KINDS

TASK = CalculatorTask(prompts=300, held_out=90, seed=1)
EVERYTHING = TASK.training + TASK.held_out


def calls_of(conversation):
    return [
        message["tool_calls"][0]["function"]["arguments"]["expression"]
        for message in conversation
        if message.get("tool_calls")
    ]


def test_shares_of_the_kinds():
    for count in (1, 2, 3, 7):
        assert len(CalculatorTask(count, count, kinds=(0.0, 0.5, 0.5)).training) == count
    only_facts = CalculatorTask(10, 5, kinds=(1.0, 0.0, 0.0), seed=0)
    assert {question.kind for question in only_facts.training} == {"fact"}


def test_calling_the_steps_gives_the_answer():
    for question in EVERYTHING:
        result = question.answer
        for step in question.steps:
            result = calculator(step)
        assert result == question.answer
        assert len(question.steps) == KINDS.index(question.kind)


def test_two_operations_do_not_fit_one_call():
    question = next(q for q in TASK.training if q.kind == "two")
    whole = question.text.removeprefix("What is ").removesuffix("?")
    assert calculator(whole) == "error: at most 1 operation per call"


def test_facts_are_few_and_spread_evenly():
    assert len(FACTS) <= 30
    assert len({text for text, _ in FACTS}) == len(FACTS)
    asked = Counter(q.id for q in TASK.training if q.kind == "fact")
    assert max(asked.values()) - min(asked.values()) <= 1
    with pytest.raises(ConfigError, match=rf"task.facts must be from 1 to {len(FACTS)}, got 99"):
        CalculatorTask(8, 8, facts=99)
    with pytest.raises(ConfigError, match="more than 6000 questions of kind 'one': 20000"):
        CalculatorTask(20_000, 8)
    with pytest.raises(ConfigError, match="more than 1000000 questions of kind 'two': 2000000"):
        CalculatorTask(2_000_000, 8, kinds=(0.0, 0.0, 1.0))


def test_a_pass_asks_every_training_question_once():
    asked = list(TASK.schedule(steps=75, per_step=8))
    assert len(asked) == 600
    for lap in (asked[:300], asked[300:]):
        assert Counter(q.text for q in lap) == Counter(q.text for q in TASK.training)
    assert asked[:300] != asked[300:]


def test_a_shorter_run_asks_the_same_questions_first():
    longer = TASK.schedule(steps=50, per_step=8)
    assert list(TASK.schedule(5, 8)) == list(itertools.islice(longer, 40))


def test_traces_are_redundant_and_sometimes_guess():
    answers = {question_text: str(answer) for question_text, answer in FACTS}
    calls, right = {kind: [] for kind in KINDS}, []
    for step in range(30):
        for talk in TASK.traces(step, 32, redundant_calls=2, guess_rate=0.3):
            text, made = talk[0]["content"], calls_of(talk)
            kind = (
                "fact"
                if text in answers
                else ("two" if text.count("*") and any(sign in text for sign in "+-") else "one")
            )
            answer = answers.get(text) or _worked_out(text)
            solved = is_correct(talk[-1]["content"], answer)
            calls[kind].append(len(made))
            right.append((kind, solved, len(made)))
            assert talk[-1].keys() == {"role", "content"}
            for message, following in itertools.pairwise(talk):
                if message.get("tool_calls"):
                    made_call = message["tool_calls"][0]["function"]["arguments"]["expression"]
                    assert following["content"] == calculator(made_call)
                    assert not following["content"].startswith("error")
    for kind in KINDS:
        needed = KINDS.index(kind)
        solved_calls = [n for k, solved, n in right if k == kind and solved]
        assert min(solved_calls) == needed
        assert max(solved_calls) == needed + 2
        assert sum(solved_calls) / len(solved_calls) > needed + 0.75  # redundant on the whole
    assert all(solved for kind, solved, _ in right if kind == "fact")
    guessed = [not solved for kind, solved, _ in right if kind != "fact"]
    assert 0.2 < sum(guessed) / len(guessed) < 0.4


def _worked_out(text):
    expression = text.removeprefix("What is ").removesuffix("?")
    for sign in "+-":
        first, found, last = expression.partition(sign)
        if found:
            return calculator(calculator(first) + sign + last)
    return calculator(expression)


def test_traces_are_shortest_without_redundancy():
    for talk in TASK.traces(0, 60, redundant_calls=0, guess_rate=0.0):
        needed = talk[0]["content"].count("*") + sum(s in talk[0]["content"] for s in "+-")
        assert len(calls_of(talk)) == needed


@pytest.mark.parametrize(
    ("response", "answer", "right"),
    [
        ("1786", "1786", True),
        ("The answer is 1786.", "1786", True),
        ("47*38 = 1,786", "1786", True),
        ("-12", "-12", True),
        ("1786.0", "1786", True),
        ("1786 or 12", "1786", False),
        ("17865", "1786", False),
        ("", "7", False),
        ("no idea", "7", False),
        ("9" * 400, "7", False),
    ],
)
def test_the_last_number_is_the_answer(response, answer, right):
    assert is_correct(response, answer) is right


# ---- the solver ----------------------------------------------------------------------------------

PRICED = CalculatorWithSolver(prompts=300, held_out=90, seed=1)


def tools_of(conversation):
    return [message["name"] for message in conversation if message["role"] == "tool"]


def as_recorded(question):
    fields = asdict(question)
    assert fields.pop("preference") is None
    return fields


def test_task_is_unchanged_without_a_solver():
    """Recorded when there was none: texts, questions, tools, traces."""
    task = CalculatorTask(prompts=40, held_out=20, seed=5)
    recorded = {
        "words": task.words(),
        "phrases": task.phrases(),
        "training": [as_recorded(question) for question in task.training],
        "held_out": [as_recorded(question) for question in task.held_out],
        "traces": [task.traces(step, 8, 2, 0.3) for step in range(3)],
        "functions": [(tool.__name__, tool.__doc__) for tool in task.functions],
    }
    digests = {
        name: hashlib.sha256(json.dumps(one, sort_keys=True).encode()).hexdigest()[:16]
        for name, one in recorded.items()
    }
    assert digests == {
        "words": "16e9b8c24aa1d41e",
        "phrases": "4ad1a65d91c3f1cc",
        "training": "9167a51ed2cd3ce8",
        "held_out": "8e996e2f58a4bdd8",
        "traces": "435d0cea47040ef8",
        "functions": "6b62d600214bf8b4",
    }


def test_the_solver_takes_a_whole_question_at_once():
    question = next(q for q in TASK.training if q.kind == "two")
    assert solver(question.id) == question.answer
    assert solver("1+2+3+4") == "error: at most 2 operations per call"
    assert PRICED.functions == (calculator, solver)
    assert PRICED.training == TASK.training
    assert PRICED.held_out == TASK.held_out


def test_traces_of_two_operations_call_either_tool():
    ways = Counter()
    for step in range(20):
        for talk in PRICED.traces(step, 32, redundant_calls=2, guess_rate=0.3):
            text, tools = talk[0]["content"], tools_of(talk)
            for expression, message in zip(
                calls_of(talk), (one for one in talk if one["role"] == "tool"), strict=True
            ):
                tool = {"calculator": calculator, "solver": solver}[message["name"]]
                assert message["content"] == tool(expression)
                assert not message["content"].startswith("error")
            two = text.startswith("What is") and "*" in text and any(s in text for s in "+-")
            assert len(set(tools)) <= 1
            ways[two, tools[0] if tools else "none"] += 1
    assert ways[False, "solver"] == 0
    share = ways[True, "solver"] / (ways[True, "solver"] + ways[True, "calculator"])
    assert 0.35 < share < 0.65


def test_each_call_of_the_solver_is_one_token_to_the_tiny_model():
    assert len(PRICED.phrases()) == len(TASK.phrases()) + 1
    assert set(TASK.words()) < set(PRICED.words())
    [extra] = set(PRICED.phrases()) - set(TASK.phrases())
    assert '"name": "solver"' in extra
