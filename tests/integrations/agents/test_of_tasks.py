"""The agents of the tasks: their answers to turns and their measures."""

import asyncio
import json
import threading

import pytest
from tokenizers import AddedToken

from paretopo.config import loads
from paretopo.integrations.agents import of_tasks
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.integrations.agents.of_tasks import FunctionAgent, ProtocolAgent, make_agent
from paretopo.protocols.episode import SingleTurn, StepResult
from paretopo.protocols.torl import TorlEpisode
from paretopo.tasks.choice import ensure_search_server, make_task
from paretopo.tasks.environment import Environment, grade_each
from paretopo.tools.python_interpreter import ProgramResult


def played(agent, *texts):
    """Return the agent's turns, each with the measures so far."""

    async def rollout():
        return [(await agent.take(text), agent.measured) for text in texts]

    return asyncio.run(rollout())


@pytest.fixture
def play_by(monkeypatch):
    """Return ``f(new_episode)``, which sets the protocol of every task."""

    def set_protocol(new_episode, grade=lambda *_: 1.0):
        environment = Environment(grade_each(grade), new_episode)
        monkeypatch.setattr(of_tasks, "environment_of", lambda _: environment)

    return set_protocol


@pytest.mark.parametrize(
    ("text", "agent"),
    [
        ('name = "calculator"', FunctionAgent),
        ('name = "math"', ProtocolAgent),
        ('name = "multihop"', ProtocolAgent),
        ('name = "questions"\ntrain = "a"\nheld_out = "b"', ProtocolAgent),
        ('name = "questions"\ntrain = "a"\nheld_out = "b"\ntools = "t.py"', FunctionAgent),
    ],
)
def test_every_task_has_its_agent(text, agent, play_by):
    play_by(SingleTurn)
    assert type(make_agent(loads(f"[task]\n{text}"), Words(), {})) is agent


# ---- protocols -----------------------------------------------------------------------------------


class Words:
    """A tokenizer that counts words."""

    eos_token = "<end>"

    def __call__(self, text, add_special_tokens):
        return {"input_ids": text.split(" ")}

    def decode(self, tokens):
        return " ".join(tokens)


@pytest.mark.parametrize("name", [pytest.param("math", marks=pytest.mark.sandbox), "multihop"])
def test_the_agent_plays_a_written_rollout_as_it_was_written(name, tmp_path):
    text = f'[task]\nname = "{name}"\n[tool]\nworkers = 1\ntimeout = 30'
    with ensure_search_server(loads(text), tmp_path / "data") as config:
        task = make_task(config)
        questions = {str(task.prompt(one)): one for one in task.training}
        count = 0
        for trace in task.traces(0, 300, redundant_calls=1, guess_rate=0.0):
            if str(trace.prompt) not in questions or count == 6:
                continue
            count += 1
            label = {"answer": questions[str(trace.prompt)].answer}
            texts = [piece for piece, is_own in trace.pieces if is_own]
            seen = [piece for piece, is_own in trace.pieces if not is_own]
            turns = played(make_agent(config, Words(), label), *texts)
            assert [turn.feedback for turn, _ in turns] == [*seen, ""]
            assert [turn.done for turn, _ in turns] == [False] * len(seen) + [True]
            _, measured = turns[-1]
            assert (measured["correct"], measured["calls"]) == (1.0, len(seen))
        assert count == 6


def test_tool_results_add_no_control_tokens(play_by):
    class Prints:
        async def run_async(self, code):
            return ProgramResult("so <end> <|tool|>", "", 0, 0.1)

    play_by(lambda: TorlEpisode(Prints()))
    tokenizer = Words()
    tokenizer.all_special_tokens = ["<end>"]
    tokenizer.added_tokens_decoder = {7: AddedToken("<|tool|>", special=True)}
    agent = ProtocolAgent(loads(""), tokenizer, {})
    ((turn, _),) = played(agent, "```python\nprint(1)\n```\n```output")
    assert turn.feedback == "\nso < end> < |tool|>\n```\n"


def test_the_episode_limits_turns_and_the_feedback_of_tools(play_by):
    class Talk:
        stop, turn_tokens, feedback_tokens = ("x",), 6, 2
        calls = failed_calls = 0

        async def step(self, text):
            return StepResult("7 7 7 7", done=False)

    play_by(Talk)
    agent = ProtocolAgent(loads(""), Words(), {})
    assert (agent.stop, agent.turn_tokens) == (("x",), 6)
    ((turn, _),) = played(agent, "so x")
    assert turn.feedback == "7 7"


def test_rollouts_are_graded_side_by_side(play_by):
    together = threading.Barrier(2, timeout=60)
    play_by(SingleTurn, lambda *_: float(together.wait() >= 0))

    async def play():
        agents = [ProtocolAgent(loads(""), Words(), {"answer": "42"}) for _ in range(2)]
        await asyncio.gather(*(agent.take("42") for agent in agents))
        return [agent.measured["correct"] for agent in agents]

    assert asyncio.run(play()) == [1.0, 1.0]


# ---- functions that the chat template presents ---------------------------------------------------


class Template:
    """Frames results as chat templates do."""

    eos_token = "<end>"

    def apply_chat_template(self, messages, **_):
        return "".join(f"<{one['role']}>{one['content']}<end>" for one in messages)


@pytest.fixture
def function_turns(tmp_path):
    """Return ``f(*texts)``, which plays these turns with an agent that has a user's own tool."""
    tools = tmp_path / "tools.py"
    tools.write_text(
        "def half(number: int) -> str:\n    return str(number // 2)\n"
        "async def later(word: str) -> str:\n    return word.upper()\n",
        encoding="utf-8",
    )
    text = (
        f"[task]\nname = 'questions'\ntrain = 'a'\nheld_out = 'b'\ntools = '{tools}'\n"
        "[optimiser]\nmax_tool_calls = 2"
    )

    def say(*texts, answer="21", objectives=""):
        agent = make_agent(loads(text + objectives), Template(), {"answer": answer})
        return played(agent, *texts)

    return say


def call(name, **arguments):
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def test_tool_errors_are_returned_to_the_policy(function_turns):
    first, second = function_turns(
        call("half", number=42), call("later", word="x") + call("double", number=1)
    )
    assert "<tool>21<end>" in first[0].feedback
    assert second[0].done  # three calls are too many
    wrong, *_ = function_turns(call("half", number="many"))
    assert "error: unsupported operand" in wrong[0].feedback
    both, *_ = function_turns(call("later", word="x") + call("double", number=1))
    assert "<tool>X\nerror: there is no tool double<end>" in both[0].feedback


FAILURES = "[[objectives]]\nname = 'correct'\n[[objectives]]\nname = 'failed_calls'\n"


def test_failed_calls_of_functions_are_counted(function_turns):
    (_, first), (_, second) = function_turns(
        call("half", number="many"), call("double", number=1), objectives=f"\n{FAILURES}"
    )
    assert (first["failed_calls"], second["failed_calls"]) == (1, 2)
    assert "failed_calls" not in function_turns("21")[0][1]


def test_failed_programs_are_counted(play_by):
    class Prints:
        async def run_async(self, code):
            return ProgramResult("1\n", "", int("raise" in code), 0.1)

    play_by(lambda: TorlEpisode(Prints(), max_calls=2))
    program = "```python\n{}\n```\n```output"
    turns = played(
        ProtocolAgent(loads(FAILURES), Words(), {}), *map(program.format, ("1", "raise"))
    )
    assert [measured["failed_calls"] for _, measured in turns] == [0, 1]


def test_an_agent_that_does_not_count_its_failed_calls_is_refused():
    class Lookup(ToolAgent):
        async def turn(self, text):
            return Turn("found", calls=1)

    assert played(Lookup(loads(""), Words(), {}), "so")
    with pytest.raises(TypeError, match=r"must say how many of them failed, as Turn\(calls=1, f"):
        played(Lookup(loads(FAILURES), Words(), {}), "so")


def test_functions_with_a_price_cost_it_each_call(function_turns, tmp_path):
    with (tmp_path / "tools.py").open("a", encoding="utf-8") as tools:
        tools.write("half.dollars = 0.25\n")
    first, last = function_turns(call("half", number=4) + call("later", word="x"), "2")
    assert first[1]["dollars"] == 0.25
    assert last[1]["dollars"] == 0.25


def test_answers_are_graded_up_to_the_call_limit(function_turns):
    [right] = function_turns("21")
    assert right[1] == {"correct": 1.0, "calls": 0, "turns": 1}
    *_, over = function_turns(*[call("half", number=1)] * 3)
    assert over[0].done
    assert over[1] == {"correct": 0.0, "calls": 2, "turns": 3}
    [ungraded] = function_turns("21", answer="")
    assert "correct" not in ungraded[1]


# ---- the calculator ------------------------------------------------------------------------------


def test_the_solver_of_the_calculator_task_costs_dollars():
    def calculate(name, expression):
        return call(name, expression=expression)

    def play(config, *texts):
        turns = played(make_agent(config, Template(), {"answer": "3"}), *texts)
        return [turn.feedback for turn, _ in turns], turns[-1][1]

    priced = loads("[tool]\nsolver_price = 0.25")
    both = calculate("calculator", "1+1") + calculate("solver", "1+1+1")
    said, components = play(priced, both, calculate("solver", "2*2-1"), "3")
    assert said == ["<tool>2\n3<end>", "<tool>3<end>", ""]
    assert components == {"correct": 1.0, "dollars": 0.5, "calls": 3, "turns": 3}
    said, components = play(priced, calculate("solver", "1+1"))
    assert components["dollars"] == 0.25  # it is not over, and has been paid for
    said, components = play(loads(""), calculate("solver", "1+1+1"), "3")
    assert said[0] == "<tool>error: there is no tool solver<end>"
    assert components == {"correct": 1.0, "calls": 1, "turns": 2}
