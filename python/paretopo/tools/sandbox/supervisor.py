"""The supervisor of one program: namespaces of its own for it, and a watch over its limits.

The supervisor is the first process of the program's process namespace. No process inside can kill
it, the kernel hands it every orphan, and all other processes end with it.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import tempfile
import time
from typing import Any

from . import kernel, program

_TICK = 0.02  # seconds between looks at processes and memory
_CHUNK = 65536


def supervise(request: dict[str, Any]) -> dict[str, Any]:
    """Run one program to its end; call it in a process of its own.

    Args:
        request: "code", the limits, "isolated": are there namespaces, "kept": folders below /tmp
            that stay visible.

    Returns:
        The fields of `python_interpreter.ProgramResult`.
    """
    # Python's own handler would let the program interrupt its supervisor.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if request["isolated"]:
        _mount_private_folders(request)
        os.chdir("/tmp")
    else:
        kernel.adopt_orphans()
        os.chdir(folder := tempfile.mkdtemp(prefix="paretopo-program-"))
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    started = time.monotonic()
    process = os.fork()
    if process == 0:
        program.run(request, out_write, err_write)
    os.close(out_write)
    os.close(err_write)
    output = {out_read: bytearray(), err_read: bytearray()}
    limit = _read_output(process, output, request, started)
    seconds = time.monotonic() - started
    status = _kill_all(process, isolated=request["isolated"])
    if status == -signal.SIGXCPU:
        limit = "time"
    if not request["isolated"]:
        shutil.rmtree(folder, ignore_errors=True)
    most = request["output_kb"] * 1024
    for pipe, seen in output.items():  # written before the end and not read yet
        while len(seen) < most and (chunk := os.read(pipe, _CHUNK)):
            seen += chunk
    stdout, stderr = (bytes(seen[:most]).decode(errors="replace") for seen in output.values())
    return {
        "stdout": stdout,
        "stderr": stderr,
        "returncode": status,
        "seconds": seconds,
        "limit": limit,
    }


def _mount_private_folders(request: dict[str, Any]) -> None:
    """Mount a private /tmp, /dev/shm and /proc; everything else is already read-only."""
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
    kernel.mount("none", "/", "none", kernel.MS_REC | kernel.MS_PRIVATE)
    kept = {path: os.open(path, os.O_PATH) for path in request["kept"]}
    plain = kernel.MS_NOSUID | kernel.MS_NODEV
    size = f"mode=1777,nr_inodes=10000,size={request['disk_mb']}m"
    kernel.mount("tmpfs", "/tmp", "tmpfs", plain, size)
    kernel.mount("tmpfs", "/dev/shm", "tmpfs", plain | kernel.MS_NOEXEC, size)
    for path, source in kept.items():
        os.makedirs(path)
        kernel.mount(f"/proc/self/fd/{source}", path, "none", kernel.MS_BIND | kernel.MS_REC)
        os.close(source)
    # Read-only: to a process of the host's user 0, writing to /proc/sys needs no capability.
    kernel.mount("proc", "/proc", "proc", plain | kernel.MS_NOEXEC | kernel.MS_RDONLY)


def _read_output(
    process: int, output: dict[int, bytearray], request: dict[str, Any], started: float
) -> str | None:
    """Read the program's output until it ends or breaks a limit; return that limit."""
    deadline = started + request["timeout"]
    most = request["output_kb"] * 1024
    ended = os.pidfd_open(process)
    watched = select.poll()
    for descriptor in (*output, ended):
        watched.register(descriptor, select.POLLIN)
    watched.register(0, 0)  # hangs up when the one who asked is gone
    looked = started
    try:
        while (now := time.monotonic()) < deadline:
            for descriptor, event in watched.poll(1000 * min(_TICK, deadline - now)):
                if descriptor == ended:
                    return None
                if descriptor == 0:
                    return "time"
                chunk = os.read(descriptor, _CHUNK) if event & select.POLLIN else b""
                output[descriptor] += chunk
                if not chunk:
                    watched.unregister(descriptor)
                if len(output[descriptor]) > most:
                    return "output"
            if time.monotonic() - looked >= _TICK:
                broken = _find_broken_limit(request)
                if broken is not None:
                    return broken
                looked = time.monotonic()
        return "time"
    finally:
        os.close(ended)


def _find_broken_limit(request: dict[str, Any]) -> str | None:
    processes = _descendants(isolated=request["isolated"])
    if len(processes) > request["processes"]:
        return "processes"
    inherited = _private_kb(os.getpid())  # modules, shared with the zygote until written to
    used = sum(max(0, _private_kb(process) - inherited) for process in processes)
    return "memory" if used > request["memory_mb"] * 1024 else None


def _private_kb(process: int) -> int:
    """Anonymous and shared memory of a process in KiB, 0 if it is gone."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as status:
            return sum(
                int(line.split()[1])
                for line in status
                if line.startswith(("RssAnon:", "RssShmem:"))
            )
    except OSError:
        return 0


def _descendants(*, isolated: bool) -> list[int]:
    """Processes below this one; in a namespace of their own, that is all the others."""
    own = os.getpid()
    processes = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    if isolated:
        return [process for process in processes if process != own]
    parents = {process: _parent_of(process) for process in processes}
    below = {own}
    while more := {one for one, parent in parents.items() if parent in below} - below:
        below |= more
    return sorted(below - {own})


def _parent_of(process: int) -> int:
    try:
        with open(f"/proc/{process}/stat", "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _kill_all(process: int, *, isolated: bool) -> int:
    """Kill whatever still runs; returns the program's exit code, minus a signal's number."""
    status = 0
    while True:
        if isolated:
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            for one in _descendants(isolated=False):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
        try:
            ended, how = os.waitpid(-1, 0)
        except ChildProcessError:
            return status
        if ended == process:
            status = os.waitstatus_to_exitcode(how)
