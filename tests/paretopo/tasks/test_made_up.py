"""The made-up tasks: answers and traces, worked out independently of their generator."""

import asyncio
import hashlib
import itertools
import json
import re
from collections import Counter
from dataclasses import asdict

import pytest

from paretopo.config import ConfigError, loads
from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import STOP, TorlEpisode, last_program, torl_prompt
from paretopo.rewards.correctness import exact_answer
from paretopo.rewards.mathematics import last_box
from paretopo.tasks.calculator import (
    FACTS,
    CalculatorTask,
    CalculatorWithSolver,
    calculator,
    is_correct,
    solver,
)
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.made_up import KINDS
from paretopo.tasks.made_up_math import MadeUpMath
from paretopo.tasks.made_up_multihop import MadeUpMultihop
from paretopo.tasks.task import TextTrace
from paretopo.tools.python_interpreter import PythonInterpreter
from paretopo.tools.search import SearchClient, ServerError

SIZES = {"prompts": 300, "held_out": 90, "seed": 1}
CALCULATOR, MATH, MULTIHOP = (
    kind(**SIZES) for kind in (CalculatorTask, MadeUpMath, MadeUpMultihop)
)
TASKS = pytest.mark.parametrize(
    "task", [CALCULATOR, MATH, MULTIHOP], ids=["calculator", "math", "multihop"]
)


def everything(task):
    return [*task.training, *task.held_out]


# Texts, questions, tools and traces as they were recorded.
DIGESTS = {
    CalculatorTask: "c5addda24ae7580e",
    CalculatorWithSolver: "c264fe3d14eb763a",
    MadeUpMath: "3b0bf48aa4fb9f37",
    MadeUpMultihop: "9f7bb0a8ce1ed5e5",
}


@pytest.mark.parametrize("kind", DIGESTS)
def test_a_seed_gives_the_recorded_questions_and_traces(kind):
    task = kind(prompts=40, held_out=20, seed=5)
    recorded = {
        "words": task.words(),
        "phrases": task.phrases(),
        "training": task.training,
        "held_out": task.held_out,
        "prompts": [task.prompt(one) for one in task.training],
        "functions": [(tool.__name__, tool.__doc__) for tool in task.functions],
    }
    if kind is MadeUpMultihop:  # whose traces need its server
        recorded["articles"] = list(task.encyclopedia.articles())
    else:
        recorded["traces"] = [task.traces(step, 8, 2, 0.3) for step in range(3)]
    text = json.dumps(recorded, sort_keys=True, default=asdict)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == DIGESTS[kind]


@TASKS
def test_shares_and_disjoint_questions(task):
    assert Counter(one.kind for one in task.training) == {"fact": 102, "one": 99, "two": 99}
    asked = Counter(one.id for one in task.training if one.kind == "fact")
    assert max(asked.values()) - min(asked.values()) <= 1
    held_out = {one.text for one in task.held_out if one.kind != "fact"}
    assert len(held_out) == 60
    assert not held_out & {one.text for one in task.training}
    texts = {one.id: one.text for one in everything(task)}
    assert all(texts[one.id] == one.text for one in everything(task))
    assert len(texts) == len(set(texts.values()))
    if task is not MULTIHOP:
        traces = [one for step in range(40) for one in task.traces(step, 64, 2, 0.3)]
        prompts = {one.prompt if task is MATH else one[0]["content"] for one in traces}
        assert not held_out & prompts


def test_a_pass_asks_every_question_once_and_a_shorter_run_the_same_first():
    for count in (1, 2, 3, 7):
        assert len(CalculatorTask(count, count, kinds=(0.0, 0.5, 0.5)).training) == count
    asked = list(CALCULATOR.schedule(steps=75, per_step=8))
    for lap in (asked[:300], asked[300:]):
        assert Counter(one.text for one in lap) == Counter(one.text for one in CALCULATOR.training)
    assert asked[:300] != asked[300:]
    assert list(CALCULATOR.schedule(5, 8)) == list(itertools.islice(asked, 40))


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (CalculatorTask, {"facts": 99}, rf"task.facts must be from 1 to {len(FACTS)}, got 99"),
        (CalculatorTask, {"prompts": 20_000}, "more than 6000 questions of kind 'one': 20000"),
        (
            CalculatorTask,
            {"prompts": 2_000_000, "kinds": (0.0, 0.0, 1.0)},
            "more than 1000000 questions of kind 'two': 2000000",
        ),
        (MadeUpMath, {"facts": 99}, r"task\.facts must be from 1 to 60, got 99"),
        (MadeUpMath, {"prompts": 20_000}, "more than 6000 questions of kind 'one'"),
    ],
)
def test_too_many_questions_are_refused(kind, settings, message):
    with pytest.raises(ConfigError, match=message):
        kind(**{"prompts": 8, "held_out": 8} | settings)


# ---- answers that are worked out from the question -----------------------------------------------

FRAMES = {MATH: torl_prompt("|").split("|"), MULTIHOP: search_r1_prompt("|?").split("|?")}


def bare(task, text):
    before, after = FRAMES[task]
    assert text.startswith(before)
    return text.removeprefix(before).removesuffix(after)


def calculate(text):
    """Return the needed calls and the answer of a question of the calculator task."""
    facts = dict(FACTS)
    if text in facts:
        return [], str(facts[text])
    expression = text.removeprefix("What is ").removesuffix("?")
    for sign in "+-":
        first, found, last = expression.partition(sign)
        if found and "*" in first:
            step = f"{calculator(first)}{sign}{last}"
            return [first, step], calculator(step)
    return [expression], calculator(expression)


COINS = {
    int(re.search(r"\d+", bare(MATH, one.text))[0]): int(one.answer)
    for one in everything(MATH)
    if one.kind == "fact"
}


def count_coins(text, coins=COINS):
    """Return the needed calls and the answer of a question of made-up mathematics."""
    if text.startswith("How many"):
        return [], str(coins[int(re.search(r"\d+", text)[0])])
    numbers = [*map(int, re.findall(r"\d+", text))]
    if "coins" in text:
        times, a, b, drawers = numbers
        found = coins[a * b % drawers]
        return [f"{a}*{b}%{drawers}", f"{times}*{found}"], str(times * found)
    a, b = numbers
    return [f"{a}*{b}"], str(a * b)


ARTICLES = dict(MULTIHOP.encyclopedia.articles())
SENTENCES = {  # question about one name → the sentence that answers it
    r"What is the capital of (\w+)\?": r"The capital of {} is (\w+)\.",
    r"Where was (.+) born\?": r"{} was born in (\w+)\.",
    r"Who taught (.+)\?": r"{} studied under (\w+)\.",
    r"Which river runs through (.+)\?": r"{} lies on the (\w+)\.",
    r"Who founded (.+)\?": r"{} was founded by (\w+)\.",
}
PHRASES = {
    r"the birthplace of (\w+)": r"{} was born in (\w+)\.",
    r"the teacher of (\w+)": r"{} studied under (\w+)\.",
    r"the founder of (\w+)": r"{} was founded by (\w+)\.",
}


def find_fact(patterns, text):
    """Return the name that a question or phrase is about, and the sentence that tells of it."""
    return next(
        (found[1], sentence)
        for asked, sentence in patterns.items()
        if (found := re.fullmatch(asked, text))
    )


def look_up(text):
    """Return the articles to read in order and the answer, found only by reading."""
    read = lambda name, sentence: re.search(sentence.format(name), ARTICLES[name])[1]  # noqa: E731
    name, fact = find_fact(SENTENCES, text)
    if name in ARTICLES:
        return [] if "capital" in text else [name], read(name, fact)
    first, link = find_fact(PHRASES, name)
    between = read(first, link)
    return [first, between], read(between, fact)


SOLVE = {
    CALCULATOR: calculate,
    MATH: lambda text: count_coins(bare(MATH, text)),
    MULTIHOP: lambda text: look_up(bare(MULTIHOP, text)),
}


@TASKS
def test_calling_the_steps_gives_the_answer(task):
    for one in everything(task):
        steps, answer = SOLVE[task](one.text)
        assert answer == str(one.answer)
        assert len(one.steps) == len(steps) == KINDS.index(one.kind)
        assert task is MATH or list(one.steps) == steps


# ---- traces --------------------------------------------------------------------------------------


def read_calculator(talk):
    """Return the question of a trace, its number of calls, and the text of its answer."""
    assert talk[-1].keys() == {"role", "content"}
    calls = 0
    for message, following in itertools.pairwise(talk):
        if message.get("tool_calls"):
            calls += 1
            asked = message["tool_calls"][0]["function"]["arguments"]["expression"]
            tool = {"calculator": calculator, "solver": solver}[following["name"]]
            assert following["content"] == tool(asked)
            assert not following["content"].startswith("error")
    return talk[0]["content"], calls, talk[-1]["content"]


def split(trace):
    parts = [[piece for piece, own in trace.pieces if own is which] for which in (True, False)]
    assert [own for _, own in trace.pieces] == [True, False] * len(parts[1]) + [True]
    return parts


def read_math(trace):
    own, seen = split(trace)
    for program, output in zip(own, seen, strict=False):
        expression = last_program(program.removesuffix(STOP)).strip()[6:-1]
        assert output == f"\n{eval(expression)}\n```\n"
    return trace.prompt, len(seen), own[-1]


def read_multihop(trace):
    own, seen = split(trace)
    for query, passages in zip(own, seen, strict=False):
        title = re.search(r"<search> (\w+) </search>", query)[1]
        assert f'Doc 1(Title: "{title}") {ARTICLES[title]}' in passages
    [message] = trace.prompt
    return message["content"], len(seen), "".join(own)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    config = loads('seed = 1\ntask = { name = "multihop", prompts = 300 }\nevaluation.prompts = 90')
    with ensure_search_server(config, tmp_path_factory.mktemp("world") / "data") as config:
        yield config


TRACES = {
    CALCULATOR: (read_calculator, is_correct),
    MATH: (read_math, lambda said, answer: last_box(said) == answer),
    MULTIHOP: (read_multihop, lambda said, answer: exact_answer(said, answer) == 1.0),
}


@TASKS
def test_traces_are_redundant_and_sometimes_guess(task, served):
    drawn = make_task(served) if task is MULTIHOP else task
    assert (drawn.training, drawn.held_out) == (task.training, task.held_out)
    read, is_right = TRACES[task]
    guessed, needless = [], {kind: [] for kind in KINDS}
    for step in range(20):
        for trace in drawn.traces(step, 32, redundant_calls=2, guess_rate=0.3):
            text, calls, said = read(trace)
            steps, answer = SOLVE[task](text)
            right = is_right(said, answer)
            assert right or calls < len(steps)
            guessed += [not right] if steps else []
            needless[KINDS[len(steps)]] += [calls - len(steps)] if right else []
    assert 0.2 < sum(guessed) / len(guessed) < 0.4
    for calls in needless.values():
        assert (min(calls), max(calls)) == (0, 2)
        assert sum(calls) / len(calls) > 0.75  # redundant on the whole
    for trace in drawn.traces(0, 60, redundant_calls=0, guess_rate=0.0):
        text, calls, said = read(trace)
        assert calls == len(SOLVE[task](text)[0])


@pytest.mark.sandbox
def test_traces_match_the_interpreter():
    with PythonInterpreter(workers=1, preload=(), timeout=30.0) as python:
        for trace in MATH.traces(0, 6, 2, 0.3):
            episode, pieces = TorlEpisode(python, max_calls=4), []
            for text in split(trace)[0]:
                heard = asyncio.run(episode.step(text)).feedback
                pieces += [(text, True)] + [(heard, False)] * bool(heard)
            assert TextTrace(trace.prompt, tuple(pieces)) == trace


# ---- the calculator's grading and solver ---------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "answer", "right"),
    [
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


def test_the_solver_takes_a_whole_question_at_once():
    priced = CalculatorWithSolver(**SIZES)
    question = next(one for one in CALCULATOR.training if one.kind == "two")
    assert solver(question.id) == question.answer
    assert solver("1+2+3+4") == "error: at most 2 operations per call"
    assert priced.functions == (calculator, solver)
    assert (priced.training, priced.held_out) == (CALCULATOR.training, CALCULATOR.held_out)
    assert set(CALCULATOR.words()) < set(priced.words())
    [extra] = set(priced.phrases()) - set(CALCULATOR.phrases())  # one token of the tiny model
    assert '"name": "solver"' in extra
    ways = Counter()
    for talk in (one for step in range(20) for one in priced.traces(step, 32, 2, 0.3)):
        text, _, _ = read_calculator(talk)
        tools = {message["name"] for message in talk if message["role"] == "tool"}
        assert len(tools) <= 1
        ways.update((len(calculate(text)[0]), name) for name in tools)
    assert {steps for steps, name in ways if name == "solver"} == {2}
    assert 0.35 < ways[2, "solver"] / (ways[2, "solver"] + ways[2, "calculator"]) < 0.65


# ---- the search server ---------------------------------------------------------------------------


def test_the_server_stops_with_its_context_and_other_tasks_need_none(tmp_path):
    with ensure_search_server(loads('task.name = "multihop"'), tmp_path / "data") as config:
        url = config.tool.search_url
        assert url.startswith("http://127.0.0.1:")
    with SearchClient(url, retries=0) as search, pytest.raises(ServerError):
        search.search("anything")
    config = loads('task.name = "math"')
    with ensure_search_server(config, tmp_path / "none") as same:
        assert same is config
    assert not (tmp_path / "none").exists()
