"""NeMo-Gym's resources server verifies answers that TRL generates.

PARETOPO_NEMO_GYM_PYTHON is the Python of an environment with nemo-gym 0.7. With it, the tests start
the package's real server `example_tool_call_multireward`; without it, they replay its replies.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import time

import pytest

pytest.importorskip("trl")

import httpx
from datasets import Dataset
from support.loopback import replying
from support.sessions import read_records
from support.tiny_trainers import grpo_arguments, tiny_policy

from paretopo.integrations.trl import ParetoGRPOTrainer, ScriptSession
from paretopo.integrations.trl.of_nemo_gym import read_tasks

PYTHON = os.environ.get("PARETOPO_NEMO_GYM_PYTHON")
NAMES = ("correctness", "schema_valid", "format")
SERVE = """
import sys
from unittest.mock import MagicMock
import uvicorn
from nemo_gym.server_utils import ServerClient
from resources_servers.example_tool_call_multireward import app
port = int(sys.argv[1])
config = app.ToolCallMultiRewardResourcesServerConfig(
    host="127.0.0.1", port=port, entrypoint="app.py", name="tools"
)
server = app.ToolCallMultiRewardResourcesServer(
    config=config, server_client=MagicMock(spec=ServerClient)
)
uvicorn.run(server.setup_webserver(), host="127.0.0.1", port=port, log_level="warning")
"""
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "name": "get_weather", "strict": True, "parameters": PARAMETERS}
TASK = {
    "responses_create_params": {
        "input": [
            {"role": "developer", "content": "Call one tool"},
            {"role": "user", "content": "How hot is it in Oslo?"},
        ],
        "tools": [TOOL],
    },
    "expected_call": {"name": "get_weather", "arguments": {"city": "Oslo"}},
}


def call(text, **arguments):
    """A message with a call, as TRL keeps it, and the tool's answer."""
    function = {"name": "get_weather", "arguments": arguments}
    calls = [{"type": "function", "function": function}]
    called = {"role": "assistant", "content": text, "tool_calls": calls}
    return [called, {"role": "tool", "name": "get_weather", "content": "sunny"}]


def call_item(at, arguments):
    """The same in OpenAI's Responses API."""
    name = f"call_{at}_0"
    called = {"call_id": name, "name": "get_weather", "arguments": json.dumps(arguments)}
    answer = {"type": "function_call_output", "call_id": name, "output": "sunny"}
    return [{"type": "function_call", **called}, answer]


def text_item(at, text):
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"type": "message", "id": f"message_{at}", "role": "assistant", "status": "completed"}
    return item | {"content": [part]}


OSLO, LIMA = {"city": "Oslo"}, {"city": "Lima"}
# Messages of a rollout, the output that the server receives, and its values of NAMES.
ANSWERS = [
    (call("", **OSLO), call_item(0, OSLO), (1.0, 1.0, 1.0)),
    (call("", **LIMA), call_item(0, LIMA), (0.0, 1.0, 1.0)),
    (
        [*call(""), *call("Again:", **OSLO)],
        [*call_item(0, {}), text_item(2, "Again:"), *call_item(2, OSLO)],
        (1.0, 0.0, 0.0),
    ),
    ([{"role": "assistant", "content": "Hot"}], [text_item(0, "Hot")], (0.0, 0.0, 0.0)),
]


@pytest.fixture(scope="module", params=["replayed", "real"])
def url(request):
    if request.param == "replayed":

        def reply(path, body):
            assert path == "/verify"
            assert {name: body[name] for name in TASK} == TASK
            written = body["response"]["output"]
            values = next((one for _, output, one in ANSWERS if output == written), (0.0,) * 3)
            components = dict(zip(NAMES, values, strict=True))
            return 200, body | {"reward": sum(values), "reward_components": components}

        with replying(reply) as (address, _):
            yield address
        return
    if PYTHON is None:
        pytest.skip("PARETOPO_NEMO_GYM_PYTHON names no environment with nemo-gym")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([PYTHON, "-c", SERVE, str(port)])
    try:
        for _ in range(300):
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/openapi.json")
                break
            assert process.poll() is None
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def test_components_of_the_reply_are_values(url):
    rows, rubric = read_tasks([TASK], url, NAMES)
    assert rows == [
        {
            "prompt": [
                {"role": "system", "content": "Call one tool"},
                {"role": "user", "content": "How hot is it in Oslo?"},
            ],
            "id": "0",
            "task": 0,
        }
    ]
    given = rubric(completions=[messages for messages, _, _ in ANSWERS], task=[0] * 4)
    assert given == [dict(zip(NAMES, values, strict=True)) for _, _, values in ANSWERS]


def test_components_are_the_objectives_of_a_training(tmp_path, url):
    rows, rubric = read_tasks([TASK] * 3, url, {"correctness": 1.0, "schema_valid": 0.5})
    arguments = grpo_arguments(
        tmp_path / "trl",
        max_steps=1,
        num_generations=2,
        per_device_train_batch_size=4,
        max_completion_length=4,
    )
    trainer = ParetoGRPOTrainer(
        reward_funcs=[rubric],
        args=arguments,
        train_dataset=Dataset.from_list(rows[:2]),
        eval_dataset=Dataset.from_list(rows[2:]),
        session=ScriptSession(gate="correctness"),
        **tiny_policy("Call one tool How hot is it in Oslo?"),
    )
    trainer.train()
    [step] = read_records(trainer.session.run.path)["steps"]
    assert step["rewards"] == {"correctness": 0.0, "schema_valid": 0.0}


def test_other_replies_are_refused_or_do_not_apply():
    replies = [
        (200, {"reward": 1.0}),
        (422, {"detail": "no expected_call"}),
        (200, {"reward": 0.0, "reward_components": {"a": 0.0}, "mask_sample": True}),
    ]
    with replying(lambda path, body: replies.pop(0)) as (address, _):
        _, rubric = read_tasks([TASK], address, ["a"])
        ask = {"completions": [[{"role": "assistant", "content": "Hot"}]], "task": [0]}
        with pytest.raises(ValueError, match=r"reward_components \['a'\].*only reward = 1\.0"):
            rubric(**ask)
        with pytest.raises(ValueError, match=r"answered 422: .*no expected_call"):
            rubric(**ask)
        assert rubric(**ask) == [{"a": None}]


def test_prompts_with_other_parts_are_refused():
    picture = [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]
    with pytest.raises(ValueError, match="task 0 has a prompt with parts other than text"):
        read_tasks([{"responses_create_params": {"input": picture}}], "http://127.0.0.1", ["a"])
