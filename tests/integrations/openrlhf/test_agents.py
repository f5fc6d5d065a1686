"""Rollouts of agents on a fake engine: context length, threads, deadlines, returned turns."""

import asyncio
import resource
import threading
import time
import types

import pytest

pytest.importorskip("openrlhf")

from paretopo.config import dumps, loads
from paretopo.integrations.agents.agent import ToolAgent, Turn
from paretopo.integrations.openrlhf.options import CONFIG_VARIABLE
from paretopo.rollout import BadRollout

pytestmark = pytest.mark.usefixtures("without_cuda")


class Numbers:
    """A tokenizer that counts words."""

    eos_token = "<end>"

    def __call__(self, text, add_special_tokens, return_tensors=None):
        import torch

        numbers = [1] * len(text.split())
        return {"input_ids": torch.tensor([numbers]) if return_tensors else numbers}


class Engine:
    """Always writes the same."""

    def __init__(self, reason="stop"):
        self._reason = reason

    async def generate(self, tokens, params, **_):
        answer = types.SimpleNamespace(
            token_ids=[5, 6], text="a b", finish_reason=self._reason, logprobs=None
        )
        return types.SimpleNamespace(outputs=[answer])


@pytest.fixture
def execute(monkeypatch):
    """``f(turn, label, timeout, reason, made_by)``: a rollout of an agent with that turn."""
    from paretopo.integrations.openrlhf.agent import ToolAgentExecutor

    def make(turn, label="42", timeout=600.0, reason="stop", made_by=lambda kind: kind):
        class Agent(ToolAgent):
            pass

        Agent.turn = turn

        class Executor(ToolAgentExecutor):
            agent = made_by(Agent)
            turn_timeout = timeout

        text = "[optimiser]\nmax_completion_tokens = 3\n"
        monkeypatch.setenv(CONFIG_VARIABLE, dumps(loads(text)))
        params = types.SimpleNamespace(max_tokens=None, logprobs=None)
        return Executor().execute("what is it", label, params, 100, Numbers(), Engine(reason))

    return make


@pytest.mark.parametrize(
    ("reason", "done", "cut"),
    [("stop", True, False), ("length", True, True), ("stop", False, True)],
)
def test_a_rollout_that_ran_out_of_room_is_marked(execute, reason, done, cut):
    async def turn(self, text):
        return Turn(feedback="so", done=done)

    response = asyncio.run(execute(turn, reason=reason))
    assert response["action_ranges"] == [(3, 5)]
    assert response["truncated"] is cut


def test_a_function_makes_the_agent(execute):
    def function_of(kind):
        def make(config, tokenizer, label):
            return kind(config, tokenizer, label)

        return make

    async def turn(self, text):
        return Turn(done=True, reward_components={"correct": float(self.label["answer"])})

    assert asyncio.run(execute(turn, made_by=function_of))["reward"] == 42.0


def test_blocking_turn_is_named_and_delays_no_other(execute):
    stuck, freed = threading.Event(), threading.Event()

    async def block(self, text):
        stuck.set()
        freed.wait()
        return Turn(done=True)

    async def answer(self, text):
        return Turn(done=True, reward_components={"correct": 1.0})

    async def rollouts():
        first = asyncio.create_task(execute(block, label='{"id": "q7"}', timeout=0.5))
        while not stuck.is_set():
            await asyncio.sleep(0.01)
        others = await asyncio.gather(*(execute(answer) for _ in range(8)))
        assert [one["reward"] for one in others] == [1.0] * 8
        with pytest.raises(BadRollout) as raised:
            await first
        return str(raised.value)

    try:
        message = asyncio.run(rollouts())
    finally:
        freed.set()
    assert "the agent hung on prompt 'q7': a turn took more than" in message
    assert "turn_timeout = 0.5 seconds; set a shorter timeout for its own calls" in message


def test_event_loop_lives_as_long_as_the_rollout(execute):
    loops = []

    async def turn(self, text):
        loops.append(asyncio.get_running_loop())
        return Turn(done=len(loops) == 2)

    response = asyncio.run(execute(turn))
    assert len(response["action_ranges"]) == len(loops) == 2
    assert loops[0] is loops[1]


@pytest.mark.parametrize(
    ("returned", "complaint"),
    [
        (None, 'must return a Turn, as Turn(feedback="...", calls=1) if the rollout continues'),
        ("it is 42", "got 'it is 42'"),
        (5.0, "got 5.0"),
    ],
)
def test_wrong_return_of_a_turn_is_explained(execute, returned, complaint):
    async def turn(self, text):
        return returned

    with pytest.raises(BadRollout, match="the agent failed on prompt 'q7': TypeError") as raised:
        asyncio.run(execute(turn, label='{"id": "q7"}'))
    assert complaint in str(raised.value)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"feedback": None}, "Turn.feedback must be a text, got None"),
        ({"calls": "two"}, "Turn.calls must be a whole number, got 'two'"),
        ({"reward_components": 1.0}, "Turn.reward_components must be a mapping of names"),
    ],
)
def test_a_turn_of_wrong_fields_names_them(execute, given, complaint):
    async def turn(self, text):
        return Turn(**given)

    with pytest.raises(BadRollout) as raised:
        asyncio.run(execute(turn))
    assert complaint in str(raised.value)


def test_a_limit_of_the_agents_own_is_no_hanging_turn(execute):
    async def turn(self, text):
        raise TimeoutError("the index does not answer")

    with pytest.raises(BadRollout, match=r"failed on prompt .* TimeoutError: the index does not"):
        asyncio.run(execute(turn))


def test_many_rollouts_at_a_time_do_not_run_out_of_open_files(execute):
    together = threading.Barrier(200)

    async def turn(self, text):
        together.wait(timeout=600.0)
        return Turn(done=True, reward_components={"correct": 1.0})

    async def rollouts():
        return await asyncio.gather(*(execute(turn) for _ in range(200)))

    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, most))  # as if it were little
    try:
        assert len(asyncio.run(rollouts())) == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_threads_end_with_their_rollouts(execute):
    async def turn(self, text):
        return Turn(done=True)

    asyncio.run(execute(turn))
    end = time.monotonic() + 60
    while any(thread.name == "agent" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
