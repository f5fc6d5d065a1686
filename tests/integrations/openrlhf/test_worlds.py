"""The made-up worlds on the real OpenRLHF: agents with real tools, both stages, on a CPU."""

from __future__ import annotations

import asyncio
import types
from pathlib import Path

import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)
pytest.importorskip("psutil")

from support.rehearsals import command

from paretopo.config import dumps, load, loads
from paretopo.run.folder import RunFolder
from paretopo.tasks.choice import ensure_search_server, make_task

EXAMPLES = Path(__file__).parents[3] / "examples"
WORLDS = [pytest.param("math", marks=pytest.mark.sandbox), "multihop"]


class Words:
    """A tokenizer that counts words."""

    eos_token = "<end>"

    def __call__(self, text, add_special_tokens):
        return {"input_ids": text.split(" ")}

    def decode(self, tokens):
        return " ".join(tokens)


@pytest.fixture(scope="module", autouse=True)
def without_cuda():
    from paretopo.integrations.openrlhf.rehearsal import prepare_process

    prepare_process()


@pytest.mark.parametrize("name", WORLDS)
def test_the_agent_plays_a_written_rollout_as_it_was_written(name, tmp_path):
    from paretopo.integrations.openrlhf.agents.protocol import AgentExecutor

    text = f'[task]\nname = "{name}"\n[tool]\nworkers = 1\ntimeout = 30'
    with ensure_search_server(loads(text), tmp_path / "data") as config:
        task = make_task(config)
        questions = {str(task.prompt(one)): one for one in task.training}
        played = 0
        for trace in task.traces(0, 300, redundant_calls=1, guess_rate=0.0):
            if str(trace.prompt) not in questions or played == 6:
                continue
            played += 1
            label = {"answer": questions[str(trace.prompt)].answer}
            texts = [piece for piece, is_own in trace.pieces if is_own]
            seen = [piece for piece, is_own in trace.pieces if not is_own]

            async def rollout(texts=texts, label=label):
                agent = AgentExecutor.agent(config, Words())
                await agent.reset({"observation": "question", "label": label})
                return [await agent.step({"action_text": text}) for text in texts]

            turns = asyncio.run(rollout())
            assert [turn["environment_feedback"] for turn in turns] == [*seen, ""]
            assert [turn["done"] for turn in turns] == [False] * len(seen) + [True]
            assert turns[-1]["extra_logs"]["reward_components"]["correct"] == 1.0
            assert turns[-1]["extra_logs"]["reward_components"]["calls"] == len(seen)
        assert played == 6


@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", WORLDS)
def test_a_world_is_rehearsed_with_its_real_tool(name, tmp_path):
    """The example's cluster and tools, at the size of facts alone."""
    small = {
        "backend": "openrlhf",
        "task.prompts": 32,
        "task.facts": 4,
        "task.kinds": [1.0, 0.0, 0.0],
        "warmup.steps": 120,
        "warmup.batch_size": 16,
        "warmup.learning_rate": 5e-3,
        "paretopo.stage1_steps": "epoch",
        "optimiser.prompts_per_step": 4,
        "evaluation.prompts": 16,
    }
    config = load(EXAMPLES / f"made_up_{name}.toml", small)
    (tmp_path / "small.toml").write_text(dumps(config), encoding="utf-8")
    words = ["train", str(tmp_path / "small.toml"), "--rehearse"]
    told = command(tmp_path, "paretopo.cli", *words, "--out", str(tmp_path / "runs"))
    assert "Proved here" in told
    assert "replay buffers got the controller's advantages" in told
    (folder,) = (tmp_path / "runs").iterdir()
    run = RunFolder.open(folder)
    assert [row["stage"] for row in run.steps()] == [1, 1, 2, 2]
    assert [row["step"] for row in run.evaluations()] == [0, 2, 4]
    assert run.evaluations()[0]["solved"] > 0.5
    assert any(row["measured"]["calls"] > 0 for row in run.steps()), "no tool was called"


@pytest.mark.slow
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("name", WORLDS)
def test_forty_steps_raise_accuracy_while_calls_fall(name, tmp_path):
    example = str(EXAMPLES / f"made_up_{name}.toml")
    words = ["train", example, "--backend", "openrlhf", "--rehearse", "--steps", "40"]
    told = command(tmp_path, "paretopo.cli", *words, "--out", str(tmp_path / "runs"))
    assert "40 steps" in told
    (folder,) = (tmp_path / "runs").iterdir()
    rows = RunFolder.open(folder).evaluations()
    assert rows[-1]["solved"] > rows[0]["solved"]
    assert rows[-1]["measured"]["calls"] < rows[0]["measured"]["calls"]


def test_the_solver_of_the_calculator_task_costs_dollars():
    from paretopo.config import loads
    from paretopo.integrations.openrlhf.agents.calculator import CalculatorAgent

    def render(messages, **_):
        said = "".join(f"<{m['role']}>{m['content']}<end>" for m in messages)
        return said + "<assistant>"

    def call(name, expression):
        return f'<call>{{"name": "{name}", "arguments": {{"expression": "{expression}"}}}}</call>'

    def play(config, *turns):
        tokenizer = types.SimpleNamespace(apply_chat_template=render, eos_token="<end>")
        agent = CalculatorAgent(config, tokenizer)
        agent.label = {"answer": "3"}
        answers = [
            asyncio.run(agent.step({"action_text": turn, "observation_text": ""})) for turn in turns
        ]
        said = [answer["environment_feedback"] for answer in answers]
        return said, answers[-1]["extra_logs"]["reward_components"]

    priced = loads("[tool]\nsolver_price = 0.25")
    both = call("calculator", "1+1") + call("solver", "1+1+1")
    said, components = play(priced, both, call("solver", "2*2-1"), "3")
    assert said == ["<tool>2\n3<end><assistant>", "<tool>3<end><assistant>", ""]
    assert components == {"correct": 1.0, "dollars": 0.5, "calls": 3, "turns": 3}
    said, components = play(priced, call("solver", "1+1"))
    assert components["dollars"] == 0.25  # it is not over, and has been paid for
    said, components = play(loads(""), call("solver", "1+1+1"), "3")
    assert said[0] == "<tool>error: there is no tool solver<end><assistant>"
    assert components == {"correct": 1.0, "calls": 1, "turns": 2}
