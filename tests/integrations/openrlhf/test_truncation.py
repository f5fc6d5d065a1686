"""A rollout that ends for want of room says so, on every release of OpenRLHF."""

from __future__ import annotations

import asyncio
import types

import pytest

pytest.importorskip("openrlhf")


@pytest.fixture(scope="module", autouse=True)
def without_cuda():
    from paretopo.integrations.openrlhf.rehearsal import prepare_process

    prepare_process()


@pytest.mark.parametrize(
    ("reason", "done", "cut"),
    [("stop", True, False), ("length", True, True), ("stop", False, True)],
)
def test_a_rollout_that_ran_out_of_room_is_marked(monkeypatch, reason, done, cut):
    import torch

    from paretopo.config import dumps, loads
    from paretopo.integrations.openrlhf.agent import ToolAgent, ToolAgentExecutor, Turn
    from paretopo.integrations.openrlhf.options import CONFIG_VARIABLE

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
