"""One program, in a process that is thrown away afterwards."""

from __future__ import annotations

import atexit
import gc
import io
import linecache
import os
import resource
import signal
import sys
import threading
import traceback
import types
from typing import Any

from . import kernel

_FILE_NAME = "main.py"
_OPEN_FILES = 128
_MB = 1 << 20


def run(request: dict[str, Any], stdout: int, stderr: int) -> None:
    """Become the program; never returns.

    Args:
        request: "code" and the limits.
        stdout: file descriptor for the program's output.
        stderr: the same for its errors.
    """
    status = 1
    try:
        _redirect_output(stdout, stderr)
        _set_limits(request)
        if request["isolated"]:
            kernel.drop_privileges(request["user"])
            kernel.forbid_system_calls()
        sys.stdout = _open_text(1, line_buffering=True)
        sys.stderr = _open_text(2, line_buffering=True)
        status = _execute(request["code"])
    except BaseException:
        os.write(2, traceback.format_exc().encode(errors="backslashreplace"))
    finally:
        os._exit(status)


def _redirect_output(stdout: int, stderr: int) -> None:
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.closerange(3, 1024)  # among them the pipe that reports the results


def _set_limits(request: dict[str, Any]) -> None:
    with open("/proc/self/statm", encoding="ascii") as statm:
        mapped = int(statm.read().split()[0]) * resource.getpagesize()
    limits = {
        # The limit is in addition to the memory of the interpreter and its modules.
        resource.RLIMIT_AS: mapped + request["memory_mb"] * _MB,
        resource.RLIMIT_FSIZE: request["file_mb"] * _MB,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    if request["isolated"]:  # elsewhere it would count all processes of the user
        limits[resource.RLIMIT_NPROC] = request["processes"] + 4  # 4 are ours
    for name, value in limits.items():
        resource.setrlimit(name, (int(value), int(value)))
    # The first limit sends a signal that identifies it, the second ends the program.
    resource.setrlimit(resource.RLIMIT_CPU, (request["cpu_seconds"], request["cpu_seconds"] + 1))
    os.nice(5)  # the machine has a model to train


def _execute(code: str) -> int:
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "numpy.random" in sys.modules:  # forked generators would all draw the same numbers
        sys.modules["numpy.random"].seed()
    main = types.ModuleType("__main__")
    main.__dict__["__file__"] = _FILE_NAME
    sys.modules["__main__"] = main
    sys.argv = [_FILE_NAME]
    linecache.cache[_FILE_NAME] = (len(code), None, code.splitlines(keepends=True), _FILE_NAME)
    status = 0
    try:
        exec(compile(code, _FILE_NAME, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as leave:
        status = _exit_status(leave.code)
    except BaseException as error:
        status = 1
        # Without the frame of this function.
        inner = error.__traceback__.tb_next if error.__traceback__ else None
        traceback.print_exception(type(error), error, inner)
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as Python does
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):  # closed or replaced by the program
        status = status or 120
    return status


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def _open_text(descriptor: int, *, line_buffering: bool) -> io.TextIOWrapper:
    raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115 -- lives as long as the program
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=line_buffering)
