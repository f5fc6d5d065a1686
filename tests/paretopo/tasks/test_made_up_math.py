"""Made-up mathematics: answers, programs, memory; checked independently of the generator."""

import asyncio
import re

import pytest

from paretopo.config import ConfigError
from paretopo.protocols.torl import STOP, TorlEpisode, last_program, torl_prompt
from paretopo.rewards.mathematics import last_box
from paretopo.tasks.made_up import KINDS
from paretopo.tasks.made_up_math import MadeUpMath
from paretopo.tasks.task import TextTrace
from paretopo.tools.python_interpreter import PythonInterpreter

TASK = MadeUpMath(prompts=300, held_out=90, seed=1)
EVERYTHING = [*TASK.training, *TASK.held_out]
BEFORE, AFTER = torl_prompt("|").split("|")


def bare(question):
    assert question.text.startswith(BEFORE)
    return question.text.removeprefix(BEFORE).removesuffix(AFTER)


def cupboard(task):
    """Read only the facts of a question."""
    facts = {}
    for question in [*task.training, *task.held_out]:
        if question.kind == "fact":
            facts[int(re.search(r"\d+", bare(question))[0])] = int(question.answer)
    return facts


def worked_out(text, coins):
    if text.startswith("How many"):
        return coins[int(re.search(r"\d+", text)[0])]
    if "coins" in text:
        times, a, b, drawers = map(
            int, re.fullmatch(r"What is (\d+) times .* drawer (\d+)\*(\d+)%(\d+)\?", text).groups()
        )
        return times * coins[a * b % drawers]
    a, b = map(int, re.fullmatch(r"What is (\d+)\*(\d+)\?", text).groups())
    return a * b


def test_answers_are_right():
    coins = cupboard(TASK)
    assert len(coins) == 24
    for question in EVERYTHING:
        assert int(question.answer) == worked_out(bare(question), coins)
        assert len(question.steps) == KINDS.index(question.kind)


def test_memory_limit_forces_two_programs():
    coins = cupboard(TASK)
    for question in EVERYTHING:
        if question.kind == "two":
            first, last = question.steps
            drawer = eval(first, {"__builtins__": {}})
            times, found = map(int, last.split("*"))
            assert coins[drawer] == found
            assert str(times) in bare(question)
            assert eval(last, {"__builtins__": {}}) == int(question.answer)
            assert first in bare(question)
            # The question does not tell the coins: with others it has another answer.
            others = {number: inside + 1 for number, inside in coins.items()}
            assert worked_out(bare(question), others) != int(question.answer)


def test_traces_include_needless_programs_and_guesses():
    guessed, needless = [], []
    coins = cupboard(TASK)
    for step in range(20):
        for trace in TASK.traces(step, 32, redundant_calls=2, guess_rate=0.3):
            text = trace.prompt.removeprefix(BEFORE).removesuffix(AFTER)
            own = [piece for piece, is_own in trace.pieces if is_own]
            seen = [piece for piece, is_own in trace.pieces if not is_own]
            assert [is_own for _, is_own in trace.pieces] == [True, False] * len(seen) + [True]
            needed = 0 if text.startswith("How") else 2 if "coins" in text else 1
            for program, output in zip(own, seen, strict=False):
                expression = last_program(program.removesuffix(STOP)).strip()[6:-1]
                assert output == f"\n{eval(expression, {'__builtins__': {}})}\n```\n"
            right = last_box(own[-1]) == str(worked_out(text, coins))
            assert right or (needed and len(seen) < needed)
            guessed.append(not right)
            if right:
                assert needed <= len(seen) <= needed + 2
                needless.append(len(seen) - needed)
    assert 0.15 < sum(guessed) / len(guessed) < 0.35
    assert sum(needless) / len(needless) > 0.75


def test_too_many_questions_are_refused():
    with pytest.raises(ConfigError, match=r"task\.facts must be from 1 to 60, got 99"):
        MadeUpMath(8, 8, facts=99)
    with pytest.raises(ConfigError, match="more than 6000 questions of kind 'one'"):
        MadeUpMath(20_000, 8)


@pytest.mark.sandbox
def test_traces_match_the_interpreter():
    with PythonInterpreter(workers=1, preload=(), timeout=30.0) as python:
        for trace in TASK.traces(0, 6, 2, 0.3):
            episode, pieces = TorlEpisode(python, max_calls=4), []
            for text in [piece for piece, is_own in trace.pieces if is_own]:
                turn = asyncio.run(episode.step(text))
                pieces += (
                    [(text, True), (turn.feedback, False)] if turn.feedback else [(text, True)]
                )
            assert TextTrace(trace.prompt, tuple(pieces)) == trace
