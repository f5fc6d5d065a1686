"""Loads modules once, then forks a supervisor for each program that comes in on standard input.

Requests and answers are lines of JSON. A request holds "code", an answer the fields of
`python_interpreter.ProgramResult`.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import traceback
import types
from typing import Any

from . import kernel, supervisor

_WARM_UP = "warm_up"


def main(settings: dict[str, Any]) -> None:
    """Serve until standard input ends.

    Args:
        settings: "isolated", "user", "kept" and the limits, for every program; "preload",
            the modules to load; "warm_up", the text of a module to run before any program.
    """
    sys.path.pop(0)  # where this package was found
    sys.dont_write_bytecode = True
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when memory runs out, programs go first, not the model
    for module in settings.pop("preload"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    if warm_up := settings.pop("warm_up"):
        _run_once(warm_up)
    answers = os.dup(1)
    os.dup2(2, 1)
    here = os.open("/proc/self/ns/pid", os.O_RDONLY) if settings["isolated"] else -1
    gc.collect()
    gc.freeze()  # existing objects are never collected, so forks need not copy them
    gc.disable()
    _send(answers, {"ready": sys.version})
    for request in sys.stdin.buffer:
        process = _fork(here)
        if process == 0:
            try:
                _send(answers, supervisor.supervise({**settings, **json.loads(request)}))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(70)
        _, status = os.waitpid(process, 0)
        if status != 0:
            sys.exit(f"a supervisor ended with status {status}")


def _run_once(text: str) -> None:
    """Run a module's text; programs import it as `warm_up`."""
    module = types.ModuleType(_WARM_UP)
    sys.modules[_WARM_UP] = module
    exec(compile(text, f"{_WARM_UP}.py", "exec"), module.__dict__)


def _fork(here: int) -> int:
    """Fork into a new process namespace, if there are namespaces."""
    if here < 0:
        return os.fork()
    kernel.unshare(kernel.CLONE_NEWPID)  # children only; this process stays where it is
    try:
        return os.fork()
    finally:
        # In the child this is refused, and needless: its own children belong to its namespace.
        with contextlib.suppress(OSError):
            kernel.setns(here, kernel.CLONE_NEWPID)


def _send(pipe: int, message: dict[str, Any]) -> None:
    with open(pipe, "wb", closefd=False) as file:
        file.write(json.dumps(message).encode() + b"\n")
