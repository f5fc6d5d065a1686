"""Client of SandboxFusion, a server that runs programs: `PythonInterpreter` on another machine.

Protocol: github.com/bytedance/SandboxFusion, `POST /run_code`.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from paretopo.tools.http_client import JsonClient, ServerError
from paretopo.tools.python_interpreter import ProgramResult


class SandboxFusion:
    """Runs Python programs on a SandboxFusion server; the same surface as `PythonInterpreter`.

    How well programs are isolated is up to the server.

    Args:
        url: the server's address, for example "http://127.0.0.1:8080".
        timeout: seconds a program may run.
        memory_mb: MiB a program may take, None for the server's own limit.
        connections: programs at a time; ToRL uses 64.
        retries: further attempts, with growing pauses, where the server does not answer.

    Example:
        >>> with SandboxFusion("http://127.0.0.1:8080") as python:  # doctest: +SKIP
        ...     python.run("print(6 * 7)").stdout
        '42\\n'
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        memory_mb: int | None = None,
        connections: int = 64,
        retries: int = 5,
    ) -> None:
        self.timeout = timeout
        self._memory_mb = -1 if memory_mb is None else memory_mb
        # The server compiles and runs, each within its own limit, and has to queue requests.
        self._client = JsonClient(
            "SandboxFusion server",
            url,
            timeout=2 * timeout + 20,
            connections=connections,
            retries=retries,
        )
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="sandbox-fusion")

    def run(self, code: str) -> ProgramResult:
        """Run a program and wait for its end.

        A program that the server itself stumbles over gets a result with `limit="sandbox"`.

        Args:
            code: its text.

        Raises:
            ServerError: the server is gone, or does not speak the protocol.
        """
        request = {
            "code": code,
            "language": "python",
            "compile_timeout": self.timeout,
            "run_timeout": self.timeout,
            "memory_limit_MB": self._memory_mb,
        }
        try:
            reply = self._client.post("/run_code", request)
        except ServerError as error:
            if error.status is not None and error.status >= 500:
                return ProgramResult("", str(error), -1, 0.0, "sandbox")
            raise
        return _parse_reply(reply)

    async def run_async(self, code: str) -> ProgramResult:
        """Run a program like `run`, without blocking the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.run, code)

    def close(self) -> None:
        """Close all connections; programs that run are waited for."""
        self._threads.shutdown()
        self._client.close()

    def __enter__(self) -> SandboxFusion:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _parse_reply(reply: Any) -> ProgramResult:
    if not isinstance(reply, dict) or "status" not in reply:
        raise ServerError(f"this is no answer of a SandboxFusion server: {str(reply)[:200]}")
    ran = reply.get("run_result")
    if reply["status"] == "SandboxError" or not isinstance(ran, dict):
        return ProgramResult("", str(reply.get("message", "")), -1, 0.0, "sandbox")
    late = ran.get("status") == "TimeLimitExceeded"
    code = ran.get("return_code")
    return ProgramResult(
        ran.get("stdout") or "",
        ran.get("stderr") or "",
        (-9 if late else -1) if code is None else int(code),
        float(ran.get("execution_time") or 0.0),
        "time" if late else None,
    )
