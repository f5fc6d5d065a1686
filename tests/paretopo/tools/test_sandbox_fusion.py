"""SandboxFusion's protocol, against a server on the loopback."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.loopback import replying

from paretopo.protocols.torl import format_observation
from paretopo.tools.http_client import ServerError
from paretopo.tools.sandbox_fusion import SandboxFusion


def ran(status="Finished", code=0, stdout="", stderr="", **more):
    return {
        "status": "Success" if code == 0 else "Failed",
        "message": "",
        "compile_result": None,
        "run_result": {
            "status": status,
            "execution_time": 0.25,
            "return_code": code,
            "stdout": stdout,
            "stderr": stderr,
        },
        "executor_pod_name": None,
        "files": {},
        **more,
    }


def result_of(reply, status=200):
    with replying(lambda *_: (status, reply)) as (address, seen):
        with SandboxFusion(address, retries=0) as python:
            return python.run("print(42)"), seen


def test_a_program_is_sent_and_its_result_read():
    result, seen = result_of(ran(stdout="42\n"))
    assert seen == [
        (
            "/run_code",
            {
                "code": "print(42)",
                "language": "python",
                "compile_timeout": 10.0,
                "run_timeout": 10.0,
                "memory_limit_MB": -1,
            },
        )
    ]
    assert (result.stdout, result.stderr, result.returncode) == ("42\n", "", 0)
    assert result.seconds == 0.25
    assert not result.timed_out


def test_errors_and_time_outs():
    result, _ = result_of(ran(code=1, stderr="Traceback\nKeyError: 3\n"))
    assert result.returncode == 1
    assert format_observation(result) == "KeyError: 3"
    result, _ = result_of(ran("TimeLimitExceeded", None, stdout=None, stderr=None))
    assert result.timed_out
    assert (result.stdout, result.returncode) == ("", -9)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ({"status": "SandboxError", "message": "no runner", "run_result": None}, 200),
        ({"status": "SandboxError", "message": "x", "run_result": {"status": "Error"}}, 200),
        (b"Internal Server Error", 500),
    ],
)
def test_server_errors_reach_the_model(reply, status):
    result, _ = result_of(reply, status)
    assert result.limit == "sandbox"
    assert format_observation(result) == "UnknownError"


@pytest.mark.parametrize(
    ("reply", "status", "message"),
    [
        ({"result": 3}, 200, "this is no answer of a SandboxFusion server: {'result': 3}"),
        (b"<html>", 200, "something else than JSON"),
        ({"detail": "no such language"}, 422, "refuses: 422 no such language"),
    ],
)
def test_another_server_stops_the_run(reply, status, message):
    with pytest.raises(ServerError, match=message):
        result_of(reply, status)


def test_a_server_that_is_gone_stops_the_run():
    with replying(lambda *_: (200, {})) as (address, _):
        pass
    with SandboxFusion(address, retries=0) as python:
        with pytest.raises(ServerError, match=r"does not answer, tried 1 times .* is it running"):
            asyncio.run(python.run_async("1"))


def test_programs_run_side_by_side():
    def reply(_, message):
        time.sleep(0.2)
        return 200, ran(stdout=message["code"])

    with replying(reply) as (address, _):
        with SandboxFusion(address, memory_mb=256, connections=32) as python:
            started = time.monotonic()
            with ThreadPoolExecutor(32) as callers:
                results = list(callers.map(python.run, map(str, range(32))))
            assert time.monotonic() - started < 3
    assert [result.stdout for result in results] == [str(i) for i in range(32)]
