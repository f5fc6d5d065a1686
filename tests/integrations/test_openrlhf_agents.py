"""The agents of the paper's two worlds, turn by turn; their tools have tests of their own."""

from __future__ import annotations

import asyncio
import importlib.util
import types
from pathlib import Path

import pytest

pytest.importorskip("openrlhf")

EXAMPLES = Path(__file__).parents[2] / "examples" / "agents"


class Words:
    """A tokenizer that counts words."""

    eos_token = "<end>"

    def __call__(self, text, add_special_tokens):
        return {"input_ids": text.split(" ")}

    def decode(self, tokens):
        return " ".join(tokens)


@pytest.fixture(scope="module", autouse=True)
def without_cuda():
    from paretopo_core.integrations.openrlhf.rehearsal import prepare_process

    prepare_process()


def agent_file(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def play(module, label, texts, *, calls):
    from paretopo_core.training.config import RunConfig

    optimiser = types.SimpleNamespace(max_tool_calls=calls)
    config = types.SimpleNamespace(optimiser=optimiser, openrlhf=RunConfig().openrlhf)

    async def rollout():
        agent = module.AgentExecutor.agent(config, Words())
        await agent.reset({"observation": "question", "label": label})
        return [await agent.step({"action_text": text}) for text in texts]

    return asyncio.run(rollout())


def test_torl_runs_programs_and_grades_the_box(monkeypatch):
    from paretopo_core.training.tools.python_interpreter import ProgramResult

    module = agent_file("torl")

    class Python:
        async def run_async(self, code):
            assert code.strip() == "print(6 * 7)"
            return ProgramResult("42\n", "", 0, 0.1)

    grader = types.SimpleNamespace(grade=lambda text, answer: float(f"boxed{{{answer}}}" in text))
    monkeypatch.setattr(module, "_interpreter", Python)
    monkeypatch.setattr(module, "_grader", lambda: grader)
    first, last = play(
        module,
        "42",
        ["```python\nprint(6 * 7)\n```\n```output", "So \\boxed{42}<end>"],
        calls=1,
    )
    assert "42" in first["environment_feedback"]
    assert not first["done"]
    assert last["done"]
    assert last["extra_logs"] == {**last["extra_logs"], "correct": 1.0, "calls": 1}


def test_search_r1_searches_and_grades_the_answer(monkeypatch):
    from paretopo_core.training.tools.search import Document

    module = agent_file("search_r1")

    class Search:
        async def search_async(self, query):
            assert query == "capital of Norway"
            return [Document("7", '"Oslo"\nCapital of Norway.', 1.0)]

    monkeypatch.setattr(module, "_search", Search)
    label = '{"answer": ["Oslo", "Oslo, Norway"]}'
    texts = ["<search> capital of Norway </search>", "<answer> oslo </answer><end>"]
    first, last = play(module, label, texts, calls=4)
    assert "Capital of Norway." in first["environment_feedback"]
    assert last["done"]
    assert last["extra_logs"] == {**last["extra_logs"], "correct": 1.0, "calls": 1}
    assert play(module, label, ["<answer> Rome </answer>"], calls=4)[0]["rewards"] == 0.0


@pytest.mark.parametrize(
    ("reason", "done", "cut"),
    [("stop", True, False), ("length", True, True), ("stop", False, True)],
)
def test_a_rollout_that_ran_out_of_room_is_marked(monkeypatch, reason, done, cut):
    import torch

    from paretopo_core.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn
    from paretopo_core.integrations.openrlhf.environment import CONFIG_VARIABLE
    from paretopo_core.training.config import dumps, loads

    class Once(ToolAgent):
        async def turn(self, text):
            return Turn(feedback="so", done=done)

    class Executor(ToolAgentExecutor):
        agent = Once

    class Numbers:
        eos_token = "<end>"

        def __call__(self, text, add_special_tokens, return_tensors=None):
            numbers = [1] * len(text.split())
            return {"input_ids": torch.tensor([numbers]) if return_tensors else numbers}

    class Engine:
        async def generate(self, tokens, params, **_):
            answer = types.SimpleNamespace(token_ids=[5, 6], text="a b", finish_reason=reason)
            return types.SimpleNamespace(outputs=[answer])

    monkeypatch.setenv(CONFIG_VARIABLE, dumps(loads("[optimiser]\nmax_completion_tokens = 3")))
    params = types.SimpleNamespace(max_tokens=None, logprobs=None)
    rollout = Executor().execute("what is it", "42", params, 100, Numbers(), Engine())
    response = asyncio.run(rollout)
    assert response["action_ranges"] == [(3, 5)]
    assert response["truncated"] is cut
