"""Runs Python programs that a model wrote, each in a sandbox of its own.

>>> with PythonInterpreter(timeout=5.0, workers=1) as python:
...     result = python.run("print(6 * 7)")
>>> result.stdout, result.returncode, result.timed_out
('42\\n', 0, False)
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import math
import os
import select
import threading
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from paretopo.tools.sandbox.launch import Isolation, Sandbox, SandboxError, Settings

__all__ = ["ProgramResult", "PythonInterpreter", "SandboxError"]

_START_SECONDS = 300.0  # covers the loading of modules on a busy machine
_GRACE_SECONDS = 15.0  # beyond its time-out, before a worker that does not answer is given up
_CHUNK = 65536  # bytes
_PRELOADED = ("numpy", "sympy")

Limit = Literal["time", "memory", "processes", "output", "sandbox"]


@dataclass(frozen=True)
class ProgramResult:
    """The end of a program.

    Attributes:
        stdout: Its output; bytes that are not UTF-8 are replaced.
        stderr: its errors, a traceback among them.
        returncode: its exit code; minus the number of the signal that ended it.
        seconds: how long it ran.
        limit: The limit that ended it: "time", "memory" (of all its processes together; a single
            process gets a MemoryError), "processes" or "output"; "sandbox" if its whole worker was
            lost; None if it ended by itself.
    """

    stdout: str
    stderr: str
    returncode: int
    seconds: float
    limit: Limit | None = None

    @property
    def timed_out(self) -> bool:
        """Was it ended because its time was up?"""
        return self.limit == "time"


class PythonInterpreter:
    """Runs programs, `workers` at a time, each from a fresh fork of a warmed-up interpreter.

    With `isolation="bubblewrap"` a program sees the system read-only, a private /tmp, no network,
    no process but its own, and nothing of this process: neither its environment nor its files. When
    it ends, or breaks a limit, everything it started ends with it. Needs Linux and the package
    bubblewrap; if root starts it, programs run as an unprivileged user.

    With `isolation="process"` there are the same limits but no isolation: a program can read and
    write whatever this process can. For machines that refuse namespaces, and code that you trust.

    Workers start when they are first needed. Any number of threads or coroutines may call at once;
    they wait for a free worker.

    Args:
        timeout: seconds a program may run.
        cpu_seconds: seconds of processor time that one of its processes may take, whole ones; by
            default so many that `timeout` comes first. Unlike it, the same on a busy machine.
        memory_mb: MiB it may allocate, in addition to the interpreter and its modules.
        workers: programs at a time.
        isolation: "bubblewrap", or "process" for none.
        processes: processes of a program at a time.
        output_kb: KiB it may print, and as much on its standard error.
        file_mb: MiB of a file it writes.
        disk_mb: MiB of all its files together; they are in memory, in addition to `memory_mb`.
        preload: modules to load beforehand, which programs then import for free; those that are not
            installed are left out.
        warm_up: text of a module that is run once, before any program and outside of the limits,
            and that programs import as `warm_up`: your own code, never a model's.
        readable: further folders that programs may read, if their permissions let them: started by
            root, they must be readable for all.

    Raises:
        SandboxError: bubblewrap is missing or refused.
        ValueError: a limit is not a positive number, or the isolation is unknown.
    """

    def __init__(
        self,
        *,
        timeout: float = 10.0,
        memory_mb: int = 512,
        workers: int = 8,
        isolation: Isolation = "bubblewrap",
        processes: int = 32,
        output_kb: int = 1024,
        file_mb: int = 32,
        disk_mb: int = 64,
        preload: Sequence[str] = _PRELOADED,
        warm_up: str = "",
        readable: Sequence[str | Path] = (),
        cpu_seconds: int | None = None,
    ) -> None:
        limits: dict[str, float] = {
            "timeout": timeout,
            "cpu_seconds": 1 if cpu_seconds is None else cpu_seconds,
            "memory_mb": memory_mb,
            "processes": processes,
            "output_kb": output_kb,
            "file_mb": file_mb,
            "disk_mb": disk_mb,
        }
        for name, value in {**limits, "workers": workers}.items():
            whole = name == "timeout" or isinstance(value, int)
            if isinstance(value, bool) or not whole or not 0 < value < math.inf:
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        if cpu_seconds is None:
            limits["cpu_seconds"] = math.ceil(timeout) + 2
        if isolation not in get_args(Isolation):
            raise ValueError(f'isolation must be "bubblewrap" or "process", got {isolation!r}')
        if isolation == "process":
            warnings.warn(
                'isolation = "process" does not isolate programs that a model wrote: they can '
                "read and change whatever this process can",
                stacklevel=2,
            )
        self.timeout = timeout
        self.isolation = isolation
        settings: Settings = {**limits, "preload": list(preload), "warm_up": warm_up}
        self._start = functools.partial(_Worker, isolation, [*map(str, readable)], settings)
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()
        self._free = threading.BoundedSemaphore(workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="python-interpreter")
        self._owner = os.getpid()
        self._closed = False
        self._idle.append(self._start())

    def run(self, code: str) -> ProgramResult:
        """Run a program and wait for its end.

        Args:
            code: its text; it runs as `__main__` in an empty folder, without arguments or input.

        Raises:
            SandboxError: the interpreter is closed, or a new worker cannot be started.
        """
        if self._owner != os.getpid():
            raise SandboxError("this process was forked: make a PythonInterpreter of its own")
        with self._free:
            with self._lock:
                if self._closed:
                    raise SandboxError("the PythonInterpreter is closed")
                worker = self._idle.pop() if self._idle else None
            worker = worker or self._start()
            result = worker.run(code, self.timeout)
            with self._lock:
                if worker.alive and not self._closed:
                    self._idle.append(worker)
                    return result
            worker.close()
            return result

    async def run_async(self, code: str) -> ProgramResult:
        """Run a program like `run`, without blocking the event loop."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.run, code)

    def close(self) -> None:
        """Stop all workers; programs that run are waited for."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()
        self._threads.shutdown()

    def __enter__(self) -> PythonInterpreter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Worker:
    """One sandbox with its zygote; runs one program at a time."""

    def __init__(self, isolation: Isolation, readable: list[str], settings: Settings) -> None:
        self._sandbox = Sandbox(isolation, readable, settings)
        self.alive = True
        ready = self._receive(time.monotonic() + _START_SECONDS)
        # Run a whole program now, so that a broken sandbox fails here and not in a call.
        probe = ready and self.run("print('works')", _START_SECONDS)
        if not probe or probe.stdout != "works\n":
            why = probe.stderr if probe else self.close()
            self.close()
            raise SandboxError(
                f"the sandbox does not start: {why}; if this machine refuses user namespaces, see "
                'docs/sandbox.md, or say isolation = "process"'
            )

    def run(self, code: str, timeout: float) -> ProgramResult:
        """Run a program; afterwards `alive` says whether the worker can run another."""
        started = time.monotonic()
        report = None
        with contextlib.suppress(OSError):
            self._sandbox.requests.write(json.dumps({"code": code}).encode() + b"\n")
            self._sandbox.requests.flush()
            report = self._receive(started + timeout + _GRACE_SECONDS)
        if report is None:
            why = f"the sandbox was lost: {self.close()}"
            return ProgramResult("", why, -9, time.monotonic() - started, "sandbox")
        return ProgramResult(**report)

    def close(self) -> str:
        """End the worker and everything in it; returns the end of its standard error."""
        self.alive = False
        return self._sandbox.kill()

    def _receive(self, deadline: float) -> dict[str, Any] | None:
        """Return the next answer; None if the worker is gone or silent."""
        pipe, line = self._sandbox.answers.fileno(), bytearray()
        poll = select.poll()  # unlike select.select, for any number of open files
        poll.register(pipe, select.POLLIN)
        while not line.endswith(b"\n"):
            wait = deadline - time.monotonic()
            if wait <= 0 or not poll.poll(1000 * wait):
                return None
            chunk = os.read(pipe, _CHUNK)
            if not chunk:
                return None
            line += chunk
        answer: dict[str, Any] = json.loads(line)
        return answer
